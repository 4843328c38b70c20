// A list goes on when its end comes near the screen.
import { fetchPart, replace } from "./swap.js";

const watcher = new IntersectionObserver((seen) => {
  for (const { target, isIntersecting } of seen) {
    if (!isIntersecting) continue;
    watcher.unobserve(target);
    fetchPart(target.getAttribute("href") ?? "", { part: "rows" }).then((html) => {
      replace(target, html);
      document.dispatchEvent(new Event("swapped"));
    });
  }
}, { rootMargin: "1200px" });

function watch() {
  for (const link of document.querySelectorAll("[data-next]")) watcher.observe(link);
}

watch();
document.addEventListener("swapped", watch);
