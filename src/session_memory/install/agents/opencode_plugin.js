// Written by: session-memory install. session-memory uninstall removes it.
//
// Gives the output of a failed command to `session-memory hook`. If the same error was resolved
// before, what resolved it is added to the output. When a session has nothing more to do, it is
// collected. Whatever fails here, opencode goes on without it.
import { spawn } from "node:child_process";

@HOOK@
export const SessionMemory = async ({ directory }) => ({
  event: async ({ event }) => {
    if (!EVENTS.includes("end") || event?.type !== "session.idle") return;
    await ask("end", { session_id: event.properties?.sessionID ?? "", cwd: directory });
  },
  "tool.execute.after": async (input, output) => {
    const exit = output?.metadata?.exit;
    if (!EVENTS.includes("failure") || input.tool !== "bash" || !exit) return;
    const text = await ask("failure", {
      session_id: input.sessionID,
      cwd: directory,
      tool: input.tool,
      command: input.args?.command ?? "",
      output: String(output.output ?? "").slice(-LONGEST_OUTPUT),
      exit,
    });
    if (text) output.output += `\n${text}`;
  },
  "chat.message": async (input, output) => {
    if (!EVENTS.includes("prompt") || !output.parts?.length) return;
    const typed = output.parts.filter((part) => part.type === "text" && !part.synthetic);
    const prompt = typed.map((part) => part.text).join("\n");
    const text = await ask("prompt", { session_id: input.sessionID, cwd: directory, prompt });
    if (!text) return;
    const { id, sessionID, messageID } = output.parts[output.parts.length - 1];
    // Parts are ordered by their ids, and this one comes after the last.
    output.parts.push({ id: `${id}m`, sessionID, messageID, type: "text", text, synthetic: true });
  },
});
