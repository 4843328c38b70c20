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

/** Regions that are slower to make come on their own; until then they keep their size. */
function loadRegions() {
  for (const region of document.querySelectorAll("[data-part][data-block]:not([data-asked])")) {
    region.setAttribute("data-asked", "");
    fetchPart(region.getAttribute("data-part") ?? "", { part: region.getAttribute("data-block") ?? "" })
      .then((html) => fill(region, html));
  }
}

loadRegions();
document.addEventListener("swapped", loadRegions);
document.documentElement.classList.add("scripted");
