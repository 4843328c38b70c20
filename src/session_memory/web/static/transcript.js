// The transcript of a session: parts near the screen are filled, parts far away are emptied.
import { fetchPart, fill, replace } from "./swap.js";

const NEAR = "3000px";
const EVENT_HEIGHT = 64;
// A page with more parts than this is printed as far as it is filled.
const MOST_PRINTED = 60;
const reader = /** @type {HTMLElement | null} */ (document.querySelector(".reader[data-session]"));

/** @param {HTMLElement} part */
function estimate(part) {
  part.style.height = `${Number(part.dataset.events) * EVENT_HEIGHT}px`;
}

if (reader) {
  const base = reader.dataset.base ?? "";
  const query = reader.dataset.depth === "tool" ? "" : `?depth=${reader.dataset.depth}`;
  const parts = /** @type {NodeListOf<HTMLElement>} */ (reader.querySelectorAll(".part"));
  /** @type {Map<Element, AbortController>} */
  const asking = new Map();

  /** @param {HTMLElement} part */
  const load = async (part) => {
    if ("filled" in part.dataset || asking.has(part)) return;
    const stop = new AbortController();
    asking.set(part, stop);
    try {
      const html = await fetchPart(`${base}/rows/${part.dataset.number}${query}`, { signal: stop.signal });
      if (stop.signal.aborted) return;
      fill(part, html);
      part.dataset.filled = "";
      part.style.height = "";
      part.dispatchEvent(new CustomEvent("filled", { bubbles: true }));
    } catch (error) {
      if (!stop.signal.aborted) throw error;
    } finally {
      asking.delete(part);
    }
  };

  /** @param {HTMLElement} part */
  const empty = (part) => {
    asking.get(part)?.abort();
    if (printing || !("filled" in part.dataset) || part.contains(document.activeElement) || part.querySelector(".sel")) return;
    // The height stays as it was, so that nothing on the screen moves.
    part.style.height = `${part.offsetHeight}px`;
    delete part.dataset.filled;
    part.replaceChildren();
  };

  let printing = false;
  addEventListener("keydown", async (event) => {
    if (event.key !== "p" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    printing = true;
    if (parts.length <= MOST_PRINTED) for (const part of parts) await load(part);
    print();
  });
  addEventListener("afterprint", () => { printing = false; });

  for (const part of parts) if (!("filled" in part.dataset)) estimate(part);
  const watcher = new IntersectionObserver((seen) => {
    for (const { target, isIntersecting } of seen) {
      const part = /** @type {HTMLElement} */ (target);
      if (isIntersecting) load(part);
      else empty(part);
    }
  }, { rootMargin: NEAR });
  for (const part of parts) watcher.observe(part);

  const turns = reader.querySelector("[data-part]");
  const chosenAt = document.querySelector("[data-chosen]")?.getAttribute("data-chosen");
  if (turns) fetchPart(`${turns.getAttribute("data-part")}${chosenAt ? `?at=${chosenAt}` : ""}`).then((html) => fill(turns, html));
  turns?.addEventListener("click", async (event) => {
    const more = /** @type {Element} */ (event.target).closest("[data-turns]");
    if (more) fill(turns, await fetchPart(more.getAttribute("data-turns") ?? ""));
  });

  reader.addEventListener("toggle", async (event) => {
    const box = /** @type {HTMLDetailsElement} */ (event.target);
    const inside = box.querySelector(":scope > .inside");
    if (!box.open || !inside || inside.childElementCount) return;
    fill(inside, await fetchPart(box.dataset.src ?? ""));
  }, true);

  const inspector = reader.querySelector("[data-inspector]");
  /** @type {AbortController | undefined} */
  let inspecting;
  // An event that is still loading must not replace the sums of a stretch.
  document.addEventListener("summing", () => inspecting?.abort());

  /** @param {Element} row @param {boolean} [move] */
  const choose = async (row, move = false) => {
    for (const other of reader.querySelectorAll(".ev.sel")) other.classList.remove("sel");
    row.classList.add("sel");
    if (move) row.scrollIntoView({ block: "center" });
    const link = row.querySelector(":scope > a.g")?.getAttribute("href");
    if (!link || !inspector) return;
    inspecting?.abort();
    inspecting = new AbortController();
    const stop = inspecting;
    try {
      const html = await fetchPart(`${link}/inspect`, { signal: stop.signal });
      if (!stop.signal.aborted) fill(inspector, html);
    } catch (error) {
      if (!stop.signal.aborted) throw error;
    }
  };

  reader.addEventListener("click", (event) => {
    const target = /** @type {Element} */ (event.target);
    const row = target.closest(".ev");
    const image = target.closest("[data-image]");
    const more = target.closest("[data-more]");
    const there = target.closest("[data-goto]");
    if (image) { event.preventDefault(); toggleImage(image); }
    else if (more) fetchPart(more.getAttribute("data-more") ?? "").then((html) => replace(more, html));
    else if (there) { event.preventDefault(); goTo(Number(there.getAttribute("data-goto"))); }
    else if (target.closest("[data-hide]")) { event.preventDefault(); hide(); }
    else if (row && !target.closest("a, button, summary, input")) choose(row);
  });

  /** @param {Element} link */
  const toggleImage = (link) => {
    const box = /** @type {Element} */ (link.parentElement);
    const shown = box.querySelector("img");
    link.textContent = shown ? "show" : "hide";
    if (shown) { shown.remove(); return; }
    const image = document.createElement("img");
    image.className = "shown-image";
    image.alt = box.textContent?.replace(/^hide/, "").trim() ?? "";
    image.addEventListener("error", () => { image.remove(); link.replaceWith("cannot be shown:"); });
    image.src = link.getAttribute("href") ?? "";
    box.append(image);
  };

  const hide = () => {
    const hides = reader.classList.toggle("hides");
    reader.querySelector("[data-hide]")?.setAttribute("aria-pressed", String(hides));
    const address = new URL(location.href);
    if (hides) address.searchParams.set("hide", "1");
    else address.searchParams.delete("hide");
    history.replaceState(null, "", address);
  };
  document.addEventListener("hide", hide);

  /**
   * Go to an event: fill its part, then show it.
   * @param {number} seq
   */
  const goTo = async (seq) => {
    const part = parts[Math.floor(seq / 50)];
    if (!part) return;
    part.scrollIntoView({ block: "start" });
    await load(part);
    const row = document.getElementById(`e${seq}`) ?? part.querySelector(".ev");
    if (row) choose(row, true);
  };

  const chosen = document.querySelector("[data-chosen]");
  if (chosen) goTo(Number(chosen.getAttribute("data-chosen")));
  reader.addEventListener("click", (event) => {
    const turn = /** @type {Element} */ (event.target).closest(".turn");
    if (!turn || event.metaKey || event.ctrlKey) return;
    event.preventDefault();
    history.replaceState(null, "", turn.getAttribute("href"));
    goTo(Number(turn.getAttribute("data-seq")));
  });
  document.addEventListener("go-to", (event) => goTo(/** @type {CustomEvent} */ (event).detail));
  document.addEventListener("choose", (event) => choose(/** @type {CustomEvent} */ (event).detail, true));
}
