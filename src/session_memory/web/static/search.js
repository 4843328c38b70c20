// Search as you type: the last query wins, focus and scroll stay, and the address follows.
import { fetchPart, fill } from "./swap.js";

const DELAY = 20;
const field = /** @type {HTMLInputElement | null} */ (document.querySelector(".find input"));
const results = document.querySelector('[data-swap="results"]');
/** @type {AbortController | undefined} */
let asking;
/** @type {number | undefined} */
let timer;

/** @param {string} address @param {boolean} remember */
async function show(address, remember) {
  if (!results) return;
  asking?.abort();
  asking = new AbortController();
  const mine = asking;
  try {
    const html = await fetchPart(address, { part: "results", signal: mine.signal });
    if (mine.signal.aborted) return;
    const before = results.querySelector(".facets");
    fill(results, html);
    // Until the new filters are counted, the old ones keep their place.
    const filters = results.querySelector(".facets[data-part]");
    if (before && filters && !filters.childElementCount) {
      const old = document.createElement("div");
      old.inert = true;
      old.append(...before.childNodes);
      filters.append(old);
    }
    results.dispatchEvent(new CustomEvent("swapped", { bubbles: true }));
    if (remember) history.replaceState(null, "", address);
  } catch (error) {
    if (!mine.signal.aborted) throw error;
  }
}

const asked = () => new URL(location.href).searchParams.get("q") ?? "";

if (field && results) {
  const ask = () => {
    clearTimeout(timer);
    document.dispatchEvent(new Event("asking"));
    timer = setTimeout(() => {
      const url = new URL(location.href);
      if (field.value) url.searchParams.set("q", field.value);
      else url.searchParams.delete("q");
      url.searchParams.delete("after");
      show(`/sessions${url.search}`, true);
    }, DELAY);
  };
  field.addEventListener("input", ask);
  // Somebody typed before this module was loaded.
  if (field.value !== asked()) ask();
  results.addEventListener("click", (event) => {
    const link = /** @type {Element} */ (event.target).closest(".facet a, .filters a[href^='/sessions'], .hits > a:not(.hit), .empty + p a");
    if (!link || event.metaKey || event.ctrlKey || event.button) return;
    event.preventDefault();
    const address = link.getAttribute("href") ?? "/sessions";
    history.pushState(null, "", address);
    field.value = new URL(address, location.href).searchParams.get("q") ?? "";
    show(address, false);
  });
  addEventListener("popstate", () => {
    field.value = asked();
    show(location.pathname + location.search, false);
  });
}
