// Regions that are slower to make come on their own; until then they keep their size.
import { fetchPart, fill } from "./swap.js";

for (const region of document.querySelectorAll("[data-part][data-block]")) {
  fetchPart(region.getAttribute("data-part") ?? "", { part: region.getAttribute("data-block") ?? "" })
    .then((html) => fill(region, html));
}
