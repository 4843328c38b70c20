// The start of every page. Each module does one thing; state lives in the address and on the server.
import "./keys.js";
import "./palette.js";
import "./live.js";
import "./fresh.js";
import { fetchPart, fill } from "./swap.js";

/** Modules that only some pages need, by what these have. @type {[string, () => Promise<unknown>][]} */
const some = [
  ['[data-swap="results"]', () => import("./search.js")],
  ['[data-swap="results"], [data-next]', () => import("./list.js")],
  [".reader[data-session]", () => import("./transcript.js")],
  [".map[data-strip], [data-opens]", () => import("./map.js")],
];
for (const [selector, load] of some) if (document.querySelector(selector)) load();

let asking = new AbortController();

/** Fetch the regions that take longer to make. Until then they keep their size. */
function loadRegions() {
  for (const region of document.querySelectorAll("[data-part][data-block]:not([data-asked])")) {
    const { signal } = asking;
    region.setAttribute("data-asked", "");
    fetchPart(region.getAttribute("data-part") ?? "", { part: region.getAttribute("data-block") ?? "", signal })
      .then((html) => fill(region, html), (error) => { if (!signal.aborted) throw error; });
  }
}

/** @type {number | undefined} */
let timer;
loadRegions();
// While somebody types, each key asks again. So the slower regions come after a pause.
document.addEventListener("asking", () => { clearTimeout(timer); asking.abort(); asking = new AbortController(); });
document.addEventListener("swapped", () => { clearTimeout(timer); timer = setTimeout(loadRegions, 250); });
document.documentElement.classList.add("scripted");
