// The map: a frame marks the events on the screen. Drag to scroll to other events; drag with Shift to choose a stretch.
import { fetchPart, fill } from "./swap.js";

const strip = /** @type {HTMLElement | null} */ (document.querySelector(".map[data-strip]"));
const base = document.querySelector("[data-base]")?.getAttribute("data-base") ?? "";

/** @param {Element} drawing @param {string} name */
const given = (drawing, name) => JSON.parse(drawing.getAttribute(name) ?? "[]");

/** @param {[number, number][]} points @param {number} seq */
function placeOf(points, seq) {
  let before = points[0];
  for (const point of points) {
    if (point[1] > seq) {
      const share = (seq - before[1]) / Math.max(point[1] - before[1], 1);
      return before[0] + (point[0] - before[0]) * Math.max(0, Math.min(share, 1));
    }
    before = point;
  }
  return before ? before[0] : 0;
}

/** @param {[number, number][]} points @param {number} x */
function seqOf(points, x) {
  let best = points[0];
  for (const point of points) if (point[0] <= x) best = point;
  return best?.[1];
}

/** Scroll to an event without choosing it. @param {number} seq */
function scrub(seq) {
  const row = document.getElementById(`e${seq}`);
  if (row) row.scrollIntoView({ block: "center" });
  else document.querySelector(`.part[data-number="${Math.floor(seq / 50)}"]`)?.scrollIntoView();
}

/** @param {Element} drawing @param {string} classes @param {number} left @param {number} right */
function place(drawing, classes, left, right) {
  let box = drawing.querySelector(`.${classes}`);
  if (!box) {
    box = document.createElementNS("http://www.w3.org/2000/svg", "rect");
    box.setAttribute("class", classes);
    box.setAttribute("y", "14");
    box.setAttribute("height", "74");
    drawing.append(box);
  }
  box.removeAttribute("hidden");
  box.setAttribute("x", String(left));
  box.setAttribute("width", String(Math.max(right - left, 1)));
}

/** Sum up the events from one to another. @param {number} first @param {number} last */
async function sumUp(first, last) {
  const inspector = document.querySelector("[data-inspector]");
  if (!inspector) return;
  document.dispatchEvent(new Event("summing"));
  fill(inspector, await fetchPart(`${base}/stretch?from=${Math.min(first, last)}&to=${Math.max(first, last)}`, { part: "stretch" }));
}

/** @param {Element} box @param {(seq: number) => void} open */
function draggable(box, open) {
  /** @type {{x: number, isStretch: boolean, moved: boolean} | undefined} */
  let drag;
  const at = (/** @type {PointerEvent} */ event) => {
    const drawing = /** @type {SVGSVGElement} */ (box.querySelector("svg[data-points]"));
    const size = drawing.getBoundingClientRect();
    return { drawing, x: ((event.clientX - size.left) / size.width) * drawing.viewBox.baseVal.width, points: given(drawing, "data-points") };
  };
  box.addEventListener("pointerdown", (raw) => {
    const event = /** @type {PointerEvent} */ (raw);
    if (event.button || !/** @type {Element} */ (event.target).closest("svg[data-points]")) return;
    drag = { x: at(event).x, isStretch: event.shiftKey, moved: false };
    if (event.shiftKey) event.preventDefault();
  });
  box.addEventListener("pointermove", (raw) => {
    const event = /** @type {PointerEvent} */ (raw);
    if (!drag || (!drag.moved && Math.abs(at(event).x - drag.x) < 4)) return;
    drag.moved = true;
    box.setPointerCapture(event.pointerId);
    const { drawing, x, points } = at(event);
    if (drag.isStretch) place(drawing, "choice", Math.min(x, drag.x), Math.max(x, drag.x));
    else if (box === strip) scrub(seqOf(points, x));
  });
  box.addEventListener("pointerup", (raw) => {
    const event = /** @type {PointerEvent} */ (raw);
    const done = drag;
    drag = undefined;
    if (!done) return;
    const { x, points } = at(event);
    if (done.moved && done.isStretch) sumUp(seqOf(points, Math.min(x, done.x)), seqOf(points, Math.max(x, done.x)));
    if (done.moved) return;
    const marked = /** @type {Element} */ (event.target).closest("[data-seq]")?.getAttribute("data-seq");
    const seq = marked ? Number(marked) : seqOf(points, x);
    if (seq !== undefined) open(seq);
  });
}

/** The height of the map on the screen. */
function below() {
  return parseInt(document.documentElement.style.getPropertyValue("--map") || "0", 10);
}

/** @param {Element} drawing */
function follow(drawing) {
  const points = given(drawing, "data-points");
  if (!points.length) return;
  const update = () => {
    const rows = [...document.querySelectorAll(".talk .part[data-filled] > .ev")];
    const seen = rows.filter((row) => { const box = row.getBoundingClientRect(); return box.bottom > 60 + below() && box.top < innerHeight; });
    if (!seen.length) return;
    const places = [seen[0], seen[seen.length - 1]].map((row) => placeOf(points, Number(row.getAttribute("data-seq"))));
    place(drawing, "screen", places[0] - 3, Math.max(places[1], places[0] + 4) + 3);
  };
  let waiting = false;
  addEventListener("scroll", () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; update(); });
  }, { passive: true });
  document.addEventListener("filled", update);
  document.addEventListener("found", (event) => {
    const layer = drawing.querySelector(".hits-in");
    const seqs = /** @type {number[]} */ (/** @type {CustomEvent} */ (event).detail);
    layer?.replaceChildren(...[...new Set(seqs.map((seq) => Math.round(placeOf(points, seq))))].map((x) => {
      const tick = document.createElementNS("http://www.w3.org/2000/svg", "path");
      tick.setAttribute("d", `M${x} 84v6`);
      return tick;
    }));
  });
  update();
  replay(drawing, points);
}

/** Replay the session: scroll from event to event at the chosen speed, without the breaks. @param {Element} drawing @param {[number, number][]} points */
function replay(drawing, points) {
  const scale = Number(drawing.getAttribute("data-ms")) || 1000;
  const gaps = /** @type {[number, number][]} */ (given(drawing, "data-gaps"));
  const buttons = /** @type {HTMLElement[]} */ ([...(strip?.querySelectorAll("[data-speed]") ?? [])]);
  let speed = 0;
  let x = 0;
  let shown = -1;
  const set = (/** @type {number} */ next) => {
    speed = next;
    for (const button of buttons) button.setAttribute("aria-pressed", String(Number(button.dataset.speed) === speed));
  };
  const show = () => {
    const seq = seqOf(points, x);
    if (seq !== shown) scrub(seq);
    shown = seq;
  };
  const step = (/** @type {number} */ before) => (/** @type {number} */ now) => {
    if (!speed) return;
    x += ((now - before) * speed) / scale;
    for (const [left, right] of gaps) if (x > left && x < right) x = right;
    show();
    if (x >= points[points.length - 1][0]) set(0);
    else requestAnimationFrame(step(now));
  };
  const play = (/** @type {number} */ wanted) => {
    const frame = drawing.querySelector(".screen");
    const was = speed;
    if (!was) x = Number(frame?.getAttribute("x") ?? 0) + Number(frame?.getAttribute("width") ?? 0) / 2;
    // Without motion, each press shows the next place.
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) {
      if (shown < 0) shown = seqOf(points, x);
      x = points.find((point) => point[1] > shown)?.[0] ?? points[0][0];
      show();
      return;
    }
    set(wanted === was ? 0 : wanted);
    if (speed && !was) requestAnimationFrame(step(performance.now()));
  };
  addEventListener("wheel", () => set(0), { passive: true });
  for (const button of buttons) button.addEventListener("click", () => play(Number(button.dataset.speed)));
  document.addEventListener("replay", () => play(speed === 0 ? 1 : speed === 1 ? 8 : 64));
}

if (strip) {
  const room = strip.clientWidth - 32;
  fetchPart(`${strip.dataset.strip}${room < 700 ? `?width=${room}` : ""}`).then((html) => {
    fill(strip, html);
    // The map stays on the screen, so the rows beside and below it begin further down.
    const bar = strip.querySelector(".bar")?.getBoundingClientRect().bottom ?? 0;
    if (matchMedia("(min-width: 761px)").matches) document.documentElement.style.setProperty("--map", `${Math.round(strip.getBoundingClientRect().bottom - bar)}px`);
    const drawing = strip.querySelector("svg[data-points]");
    if (drawing) follow(drawing);
  });
  draggable(strip, (seq) => document.dispatchEvent(new CustomEvent("go-to", { detail: seq })));
}
for (const box of document.querySelectorAll("[data-opens]")) draggable(box, (seq) => { location.href = `${box.getAttribute("data-opens")}/e/${seq}`; });
document.addEventListener("stretch", (event) => {
  const [first, last] = /** @type {CustomEvent} */ (event).detail;
  const drawing = strip?.querySelector("svg[data-points]");
  if (drawing) {
    const places = [first, last].map((seq) => placeOf(given(drawing, "data-points"), seq)).sort((a, b) => a - b);
    place(drawing, "choice", places[0], places[1]);
  }
  sumUp(first, last);
});
