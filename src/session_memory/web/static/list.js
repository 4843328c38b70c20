// Load more rows of a list when its end comes near the screen.
import { fetchPart, fill, replace } from "./swap.js";

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

let isWaiting = false;

/** Fetch the first rows again; those below stay. */
async function refresh() {
  isWaiting = false;
  const list = document.querySelector("[data-list]");
  if (!list) return;
  const box = document.createElement("div");
  fill(box, await fetchPart(location.href, { part: "rows" }));
  [...box.querySelectorAll("a.srow")].forEach((row, place) => {
    const [uid, revision] = ["data-uid", "data-revision"].map((name) => row.getAttribute(name) ?? "");
    const old = list.querySelector(`[data-uid="${CSS.escape(uid)}"]`);
    const shown = old?.getAttribute("data-revision") === revision ? old : row;
    if (old !== shown) old?.remove();
    if (list.children[place] !== shown) list.insertBefore(shown, list.children[place]);
  });
  document.dispatchEvent(new Event("swapped"));
}

document.addEventListener("store-changed", (event) => {
  if (isWaiting || !(/** @type {CustomEvent} */ (event).detail.sessions.length)) return;
  isWaiting = true;
  setTimeout(refresh, 1000);
});
