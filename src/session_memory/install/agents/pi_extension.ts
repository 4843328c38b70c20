// Written by: session-memory install. session-memory uninstall removes it.
//
// Registers the tools of `session-memory mcp` and gives the output of failed commands to
// `session-memory hook`. The server starts with the first question and ends with pi.
// Whatever fails here, pi goes on without it.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

const COMMAND: string[] = @COMMAND@;
const EVENTS: string[] = @EVENTS@;
const TOOLS: any[] = @TOOLS@;
const LONGEST_WAIT = 2000;
const LONGEST_QUESTION = 15000;
const LONGEST_OUTPUT = 200000;

const call = (...words: string[]) => [...COMMAND.slice(0, @SIZE@), ...words, ...COMMAND.slice(@SIZE@)];

// What the hook answers, or "" if it has nothing to say.
function ask(event: string, payload: any): Promise<string> {
  return new Promise((resolve) => {
    let answer = "";
    const done = (text: string) => {
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

// The server: JSON-RPC, one message in each line. It ends when its standard input is closed.
class Server {
  private child: any;
  private last = 0;
  private waiting = new Map<number, (message: any) => void>();

  async ask(name: string, input: any, cwd: string): Promise<any> {
    if (!this.child) await this.start(cwd);
    return this.request("tools/call", { name, arguments: input });
  }

  private async start(cwd: string) {
    const [program, ...words] = call("mcp");
    const child = spawn(program, words, { cwd, stdio: ["pipe", "pipe", "ignore"] });
    this.child = child;
    const end = () => {
      if (this.child === child) this.child = undefined;
      for (const give of this.waiting.values()) give({ error: { message: "the server ended" } });
      this.waiting.clear();
    };
    child.on("error", end);
    child.on("close", end);
    child.stdin.on("error", () => {});
    child.unref();
    (child.stdin as any).unref?.();
    (child.stdout as any).unref?.();
    createInterface({ input: child.stdout }).on("line", (line) => {
      try {
        const message = JSON.parse(line);
        this.waiting.get(message.id)?.(message);
        this.waiting.delete(message.id);
      } catch {
        // Not a message.
      }
    });
    const clientInfo = { name: "pi", version: "1" };
    const hello = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
    await this.request("initialize", hello);
    child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" })}\n`);
  }

  private request(method: string, params: any): Promise<any> {
    const id = ++this.last;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.waiting.delete(id);
        reject(new Error("session-memory did not answer"));
      }, LONGEST_QUESTION);
      this.waiting.set(id, (message) => {
        clearTimeout(timer);
        if (message.error) reject(new Error(message.error.message));
        else resolve(message.result);
      });
      if (!this.child) return this.waiting.get(id)?.({ error: { message: "the server ended" } });
      this.child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
    });
  }

  stop() {
    this.child?.stdin.end();
  }
}

export default function (pi: any) {
  const server = new Server();
  for (const tool of TOOLS) {
    pi.registerTool({
      name: tool.name,
      label: tool.title,
      description: tool.description,
      promptSnippet: tool.description,
      parameters: tool.inputSchema,
      async execute(_id: string, params: any, _signal: any, _onUpdate: any, ctx: any) {
        const result = await server.ask(tool.name, params, ctx.cwd);
        const text = (result.content ?? []).map((part: any) => part.text ?? "").join("\n");
        if (result.isError) throw new Error(text);
        return { content: [{ type: "text", text }], details: {} };
      },
    });
  }
  pi.on("tool_result", async (event: any, ctx: any) => {
    if (!EVENTS.includes("failure") || event.toolName !== "bash" || !event.isError) return;
    const output = (event.content ?? []).map((part: any) => part.text ?? "").join("\n");
    const status = /exited with code (\d+)\s*$/.exec(output);
    const text = await ask("failure", {
      session_id: ctx.sessionManager?.getSessionId?.() ?? "",
      cwd: ctx.cwd,
      tool: event.toolName,
      command: event.input?.command ?? "",
      output: output.slice(-LONGEST_OUTPUT),
      exit: status ? Number(status[1]) : 1,
    });
    if (text) return { content: [...event.content, { type: "text", text }] };
  });
  pi.on("session_shutdown", () => server.stop());
}
