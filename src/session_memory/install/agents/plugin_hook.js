const COMMAND = @COMMAND@;
const EVENTS = @EVENTS@;
const LONGEST_WAIT = 2000;
const LONGEST_OUTPUT = 200000;

const call = (...words) => [...COMMAND.slice(0, @SIZE@), ...words, ...COMMAND.slice(@SIZE@)];

// What the hook answers, or "" if it has nothing to say.
function ask(event, payload) {
  return new Promise((resolve) => {
    let answer = "";
    const done = (text) => {
      clearTimeout(timer);
      resolve(text);
    };
    const [program, ...words] = call("hook", "@AGENT@", event);
    const child = spawn(program, words, { cwd: payload.cwd, stdio: ["pipe", "pipe", "ignore"] });
    const timer = setTimeout(() => {
      child.kill();
      done("");
    }, LONGEST_WAIT);
    child.on("error", () => done(""));
    child.stdin.on("error", () => {});
    child.stdout.on("data", (piece) => (answer += piece));
    child.on("close", () => {
      try {
        done(JSON.parse(answer).additionalContext ?? "");
      } catch {
        done("");
      }
    });
    child.stdin.end(JSON.stringify(payload));
  });
}
