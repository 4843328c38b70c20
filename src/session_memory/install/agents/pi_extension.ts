// Written by: session-memory install. session-memory uninstall removes it.
//
// Registers the tools of `session-memory mcp` and gives the output of failed commands to
// `session-memory hook`. The server starts with the first question and ends with pi.
// Whatever fails here, pi goes on without it.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

@HOOK@
const TOOLS = @TOOLS@;
const LONGEST_QUESTION = 15000;
const textOf = (content) => (content ?? []).map((part) => part.text ?? "").join("\n");

// The server: JSON-RPC, one message in each line. It ends when its standard input is closed.
function server() {
  let child;
  let last = 0;
  const waiting = new Map();

  function request(method, params) {
    const id = ++last;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        waiting.delete(id);
        reject(new Error("session-memory did not answer"));
      }, LONGEST_QUESTION);
      waiting.set(id, (message) => {
        clearTimeout(timer);
        waiting.delete(id);
        if (message.error) reject(new Error(message.error.message));
        else resolve(message.result);
      });
      child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
    });
  }

  function start(cwd) {
    const [program, ...words] = call("mcp");
    const started = spawn(program, words, { cwd, stdio: ["pipe", "pipe", "ignore"] });
    const end = () => {
      if (child === started) child = undefined;
      for (const give of [...waiting.values()]) give({ error: { message: "session-memory ended" } });
    };
    started.on("error", end);
    started.on("close", end);
    started.stdin.on("error", () => {});
    // The server must not keep pi from ending.
    for (const handle of [started, started.stdin, started.stdout]) handle.unref?.();
    createInterface({ input: started.stdout }).on("line", (line) => {
      try {
        const message = JSON.parse(line);
        waiting.get(message.id)?.(message);
      } catch {
        // Not a message.
      }
    });
    child = started;
    const clientInfo = { name: "@AGENT@", version: "1" };
    const hello = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
    return request("initialize", hello);
  }

  return {
    async ask(name, input, cwd) {
      if (!child) await start(cwd);
      return request("tools/call", { name, arguments: input });
    },
    stop: () => child?.stdin.end(),
  };
}

export default function (pi) {
  const memory = server();
  // Why the session began, until its first prompt.
  let begun = "startup";
  const place = (ctx) => ({ session_id: ctx.sessionManager?.getSessionId?.() ?? "", cwd: ctx.cwd });
  for (const tool of TOOLS) {
    pi.registerTool({
      name: tool.name,
      label: tool.title,
      description: tool.description,
      promptSnippet: tool.description,
      parameters: tool.inputSchema,
      async execute(_id, params, _signal, _onUpdate, ctx) {
        const result = await memory.ask(tool.name, params, ctx.cwd);
        const text = textOf(result.content);
        if (result.isError) throw new Error(text);
        return { content: [{ type: "text", text }], details: {} };
      },
    });
  }
  pi.on("session_start", (event) => {
    begun = event?.reason ?? "startup";
  });
  pi.on("before_agent_start", async (event, ctx) => {
    const texts = [];
    if (begun && EVENTS.includes("start")) {
      texts.push(await ask("start", { ...place(ctx), source: begun }));
    }
    begun = "";
    if (EVENTS.includes("prompt")) {
      texts.push(await ask("prompt", { ...place(ctx), prompt: event.prompt ?? "" }));
    }
    const content = texts.filter(Boolean).join("\n");
    if (content) return { message: { customType: "session-memory", content, display: false } };
  });
  pi.on("tool_result", async (event, ctx) => {
    if (!EVENTS.includes("failure") || event.toolName !== "bash" || !event.isError) return;
    const output = textOf(event.content);
    const status = /exited with code (\d+)\s*$/.exec(output);
    const text = await ask("failure", {
      ...place(ctx),
      tool: event.toolName,
      command: event.input?.command ?? "",
      output: output.slice(-LONGEST_OUTPUT),
      exit: status ? Number(status[1]) : 1,
    });
    if (text) return { content: [...event.content, { type: "text", text }] };
  });
  pi.on("session_shutdown", (_event, ctx) => {
    memory.stop();
    if (EVENTS.includes("end")) return ask("end", place(ctx));
  });
}
