// The start of every page. Each module does one thing; state lives in the address and on the server.
import "./keys.js";
import "./palette.js";
import "./live.js";
import "./fresh.js";
import { fetchPart, fill } from "./swap.js";

/** Modules that only some pages need, each with a selector of what these pages have. @type {[string, () => Promise<unknown>][]} */
const some = [
  ['[data-swap="results"]', () => import("./search.js")],
  ['[data-swap="results"], [data-next]', () => import("./list.js")],
  [".reader[data-session]", () => import("./transcript.js")],
  [".map[data-strip], [data-opens]", () => import("./map.js")],
];
for (const [selector, load] of some) if (document.querySelector(selector)) load();

let asking = new AbortController();

/** Fetch the parts of the page that take longer to make. */
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
// While somebody types, each key sends a new query. So the slower parts are fetched after a pause.
document.addEventListener("asking", () => { clearTimeout(timer); asking.abort(); asking = new AbortController(); });
document.addEventListener("swapped", () => { clearTimeout(timer); timer = setTimeout(loadRegions, 250); });
document.documentElement.classList.add("scripted");
