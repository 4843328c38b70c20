// The map: a frame shows what is on the screen, a click goes to that event.
import { fetchPart, fill } from "./swap.js";

const strip = /** @type {HTMLElement | null} */ (document.querySelector(".map[data-strip]"));

/** @param {SVGSVGElement} drawing @returns {[number, number][]} */
function pointsOf(drawing) {
  return JSON.parse(drawing.getAttribute("data-points") ?? "[]");
}

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

/** @param {SVGSVGElement} drawing */
function follow(drawing) {
  const points = pointsOf(drawing);
  const frame = drawing.querySelector(".screen");
  if (!frame || !points.length) return;
  const update = () => {
    const rows = [...document.querySelectorAll(".talk .part[data-filled] > .ev")];
    const seen = rows.filter((row) => { const box = row.getBoundingClientRect(); return box.bottom > 60 && box.top < innerHeight; });
    if (!seen.length) return;
    const left = placeOf(points, Number(seen[0].getAttribute("data-seq")));
    const right = placeOf(points, Number(seen[seen.length - 1].getAttribute("data-seq")));
    frame.removeAttribute("hidden");
    frame.setAttribute("x", String(left - 3));
    frame.setAttribute("width", String(Math.max(right - left, 4) + 6));
  };
  let waiting = false;
  addEventListener("scroll", () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; update(); });
  }, { passive: true });
  document.addEventListener("filled", update);
  update();
}

/** @param {MouseEvent} event @param {Element} box @returns {number | undefined} */
function seqAt(event, box) {
  const marked = /** @type {Element} */ (event.target).closest("[data-seq]");
  const given = marked?.getAttribute("data-seq");
  if (given) return Number(given);
  const drawing = box.querySelector("svg[data-points]");
  if (!drawing) return undefined;
  const points = pointsOf(/** @type {SVGSVGElement} */ (drawing));
  const size = drawing.getBoundingClientRect();
  const x = ((event.clientX - size.left) / size.width) * 1320;
  let best = points[0];
  for (const point of points) if (point[0] <= x) best = point;
  return best?.[1];
}

if (strip) {
  fetchPart(strip.dataset.strip ?? "").then((html) => {
    fill(strip, html);
    const drawing = /** @type {SVGSVGElement | null} */ (strip.querySelector("svg[data-points]"));
    if (drawing) follow(drawing);
  });
  strip.addEventListener("click", (event) => {
    if (/** @type {Element} */ (event.target).closest("a")) return;
    const seq = seqAt(event, strip);
    if (seq !== undefined) document.dispatchEvent(new CustomEvent("go-to", { detail: seq }));
  });
}

for (const box of document.querySelectorAll("[data-opens]")) {
  box.addEventListener("click", (event) => {
    const seq = seqAt(/** @type {MouseEvent} */ (event), box);
    if (seq !== undefined) location.href = `${box.getAttribute("data-opens")}/e/${seq}`;
  });
}
