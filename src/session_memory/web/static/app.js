// The start of every page. Each module does one thing; state lives in the address and on the server.
import "./keys.js";
import "./palette.js";
import "./parts.js";
import "./live.js";
import "./fresh.js";

/** Modules that only some pages need, by what these have. @type {[string, () => Promise<unknown>][]} */
const some = [
  ['[data-swap="results"]', () => import("./search.js")],
  ['[data-swap="results"], [data-next]', () => import("./list.js")],
  [".reader[data-session]", () => import("./transcript.js")],
  [".map[data-strip], [data-opens]", () => import("./map.js")],
];
for (const [selector, load] of some) if (document.querySelector(selector)) load();

document.documentElement.classList.add("scripted");
