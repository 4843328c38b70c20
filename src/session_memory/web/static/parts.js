// Regions that are slower to make come on their own; until then they keep their size.
import { fetchPart, fill } from "./swap.js";

function load() {
  for (const region of document.querySelectorAll("[data-part][data-block]:not([data-asked])")) {
    region.setAttribute("data-asked", "");
    fetchPart(region.getAttribute("data-part") ?? "", { part: region.getAttribute("data-block") ?? "" })
      .then((html) => fill(region, html));
  }
}

load();
document.addEventListener("swapped", load);
