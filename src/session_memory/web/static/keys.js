// Keyboard shortcuts. "?" lists them. They are off while somebody types in a field.
const HELP = [
  ["/", "search"], ["Ctrl+K", "go to a page, a session, an action"], ["g o", "overview"], ["g s", "sessions"], ["g c", "cost"], ["g w", "work"], ["g l", "learn"], ["g k", "keep"],
  ["j k", "next, previous row or event"], ["Enter", "open"], ["Space", "unfold in full width, and back"], ["Esc", "back"],
  ["[ ]", "previous, next turn"], ["n N", "next, previous error"], ["t T", "next, previous test run"], ["e E", "next, previous edit"], ["b B", "next, previous branch"], [".", "show less or more"], ["h", "hide inherited and left-behind events"], ["s", "open or close subagents"], ["i", "inspector"], ["p", "replay: 1×, 8×, 64×, stop"], ["v", "choose a stretch: at its start, then at its end"],
  ["f", "find in the session (Enter: next)"], ["m", "map"], ["x", "mark a row for comparing"], ["y", "copy a link to the event"], ["c", "copy the resume command"], ["u", "to the session it came from"], ["G", "to the end, and follow"],
];
const ROWS = "a.srow, .talk .ev";
let before = "";

/** @param {string} text */
function copy(text) {
  navigator.clipboard?.writeText(text);
  say("copied");
}

/** @param {string} text */
function say(text) {
  const box = document.createElement("div");
  box.className = "pill";
  box.setAttribute("role", "status");
  box.textContent = text;
  document.body.append(box);
  setTimeout(() => box.remove(), 1200);
}

function help() {
  const box = document.createElement("dialog");
  const list = document.createElement("dl");
  for (const [keys, words] of HELP) {
    const name = document.createElement("dt");
    for (const key of keys.split(" ")) {
      const shown = document.createElement("kbd");
      shown.textContent = key;
      name.append(shown, " ");
    }
    const text = document.createElement("dd");
    text.textContent = words;
    list.append(name, text);
  }
  box.append(list);
  box.addEventListener("close", () => box.remove());
  document.body.append(box);
  box.showModal();
}

/** @returns {Element | null} */
function current() {
  return document.querySelector("a.srow[data-at], .ev.sel");
}

/** @param {number} step */
function move(step) {
  const rows = [...document.querySelectorAll(ROWS)].filter((row) => !row.closest(".inside"));
  if (!rows.length) return;
  const at = current();
  const next = rows[at ? Math.max(0, Math.min(rows.length - 1, rows.indexOf(at) + step)) : 0];
  at?.removeAttribute("data-at");
  if (next.matches("a.srow")) {
    next.setAttribute("data-at", "");
    /** @type {HTMLElement} */ (next).focus();
    next.scrollIntoView({ block: "nearest" });
  } else document.dispatchEvent(new CustomEvent("choose", { detail: next }));
}

/** Show the output of the event in full width, or fold it. */
function unfold() {
  const row = document.querySelector(".ev.sel");
  if (!row) { scrollBy(0, innerHeight * 0.85); return; }
  const isFull = row.classList.toggle("full");
  for (const box of /** @type {NodeListOf<HTMLDetailsElement>} */ (row.querySelectorAll("details.more"))) box.open = isFull;
  row.scrollIntoView({ block: "nearest" });
}

/** @param {string} sort @param {number} step */
async function toMark(sort, step) {
  const map = document.querySelector("[data-map]");
  if (!map) return;
  const outline = await (await fetch(map.getAttribute("data-map") ?? "")).json();
  const sorts = { error: ["error", "failed"], test: ["passed", "failed"], edit: ["edit"], turn: ["prompt"], branch: ["branch"] }[sort] ?? [];
  const at = Number(current()?.getAttribute("data-seq") ?? -1);
  const marks = sort === "branch" ? outline.lanes.filter((/** @type {{sort: string, seq: number | null}} */ lane) => lane.seq !== null && lane.sort !== "subagent").map((/** @type {{seq: number}} */ lane) => ({ sort, seq: lane.seq })) : outline.marks;
  const places = marks.filter((/** @type {{sort: string}} */ mark) => sorts.includes(mark.sort)).map((/** @type {{seq: number}} */ mark) => mark.seq).sort((/** @type {number} */ a, /** @type {number} */ b) => a - b);
  const next = step > 0 ? places.find((/** @type {number} */ seq) => seq > at) : places.reverse().find((/** @type {number} */ seq) => seq < at);
  if (next === undefined) say("no more");
  else document.dispatchEvent(new CustomEvent("go-to", { detail: next }));
}

function find() {
  const base = document.querySelector(".reader[data-base]")?.getAttribute("data-base");
  if (!base) return;
  const box = document.createElement("dialog");
  const field = document.createElement("input");
  const said = document.createElement("p");
  field.className = "field";
  field.setAttribute("aria-label", "Find in this session");
  field.placeholder = "find in this session";
  said.className = "muted small";
  said.setAttribute("role", "status");
  box.className = "finder";
  box.append(field, said);
  box.addEventListener("close", () => box.remove());
  document.body.append(box);
  box.show();
  field.focus();
  /** @type {{seq: number}[]} */
  let hits = [];
  let at = -1;
  let asked = "";
  field.addEventListener("keydown", async (event) => {
    if (event.key === "Escape") { box.close(); return; }
    if (event.key !== "Enter") return;
    event.preventDefault();
    if (asked !== field.value) {
      asked = field.value;
      const answer = await (await fetch(`${base}/find?q=${encodeURIComponent(asked)}`)).json();
      hits = answer.hits;
      document.dispatchEvent(new CustomEvent("found", { detail: hits.map((hit) => hit.seq) }));
      at = event.shiftKey ? 0 : -1;
      said.textContent = `${answer.total_exact ? "" : "at least "}${answer.total} found`;
    }
    if (!hits.length) return;
    at = (at + (event.shiftKey ? -1 : 1) + hits.length) % hits.length;
    said.textContent = `${at + 1} of ${hits.length}`;
    document.dispatchEvent(new CustomEvent("go-to", { detail: hits[at].seq }));
    field.focus();
  });
}

/** Unselect the chosen event; without one, go back to the page before. */
function escape() {
  const row = document.querySelector(".ev.sel");
  if (row) row.classList.remove("sel");
  else if (history.length > 1) history.back();
}

/** @type {string[]} */
let marked = [];

function markForComparing() {
  const uid = document.querySelector("a.srow[data-at]")?.getAttribute("data-uid");
  if (!uid) return;
  marked = marked.includes(uid) ? marked.filter((one) => one !== uid) : [...marked, uid];
  document.querySelector("a.srow[data-at]")?.classList.toggle("marked");
  if (marked.length === 2) offer(`/compare?a=${encodeURIComponent(marked[0])}&b=${encodeURIComponent(marked[1])}`);
  else say(marked.length ? "one marked; press x on another one to compare them" : "none marked");
}

/** Offer to compare. @param {string} address */
function offer(address) {
  const link = document.createElement("a");
  link.className = "pill";
  link.href = address;
  link.textContent = "Compare the two (Enter)";
  document.body.append(link);
  link.focus();
  link.addEventListener("blur", () => { link.remove(); marked = []; for (const row of document.querySelectorAll(".srow.marked")) row.classList.remove("marked"); });
}

/** @type {number | undefined} */
let from;

function stretch() {
  const at = current()?.getAttribute("data-seq");
  if (at === null || at === undefined) return;
  if (from === undefined) { from = Number(at); say("go to the last event, then press v"); return; }
  document.dispatchEvent(new CustomEvent("stretch", { detail: [from, Number(at)] }));
  from = undefined;
}

/** @type {Record<string, () => void>} */
const ACTIONS = {
  "/": () => /** @type {HTMLInputElement} */ (document.querySelector(".find input")).select(),
  "?": help,
  j: () => move(1), k: () => move(-1),
  "]": () => toMark("turn", 1), "[": () => toMark("turn", -1),
  n: () => toMark("error", 1), N: () => toMark("error", -1),
  t: () => toMark("test", 1), T: () => toMark("test", -1),
  e: () => toMark("edit", 1), E: () => toMark("edit", -1),
  b: () => toMark("branch", 1), B: () => toMark("branch", -1),
  " ": unfold,
  ".": () => { const levels = [...document.querySelectorAll(".depth .seg a")]; const at = levels.findIndex((one) => one.hasAttribute("aria-current")); if (levels.length) /** @type {HTMLElement} */ (levels[(at + 1) % levels.length]).click(); },
  h: () => document.dispatchEvent(new Event("hide")),
  s: () => { const boxes = /** @type {HTMLDetailsElement[]} */ ([...document.querySelectorAll("details.sub-ag")]); const open = !boxes.some((one) => one.open); for (const one of boxes) one.open = open; },
  i: () => document.querySelector(".reader")?.classList.toggle("no-inspector"),
  y: () => { const link = current()?.querySelector("a.g"); if (link) copy(/** @type {HTMLAnchorElement} */ (link).href); },
  f: find,
  v: stretch,
  p: () => document.dispatchEvent(new CustomEvent("replay")),
  x: markForComparing,
  m: () => { const base = document.querySelector(".reader[data-base]")?.getAttribute("data-base"); if (base) location.href = `${base}/map`; },
  G: () => scrollTo(0, document.body.scrollHeight),
};

document.addEventListener("keydown", (event) => {
  const target = /** @type {HTMLElement} */ (event.target);
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (target.closest("input, textarea, select, dialog")) {
    if (event.key === "Escape") target.blur();
    return;
  }
  const key = before ? `${before} ${event.key}` : event.key;
  before = "";
  if (event.key === "g" && key === "g") { before = "g"; return; }
  if (event.key === "Escape" && !document.querySelector("dialog[open]")) { escape(); return; }
  const linked = /** @type {HTMLElement | null} */ (document.querySelector(`[data-key="${CSS.escape(key)}"]`));
  if (key === " " && target.closest("a, button, summary")) return;
  if (ACTIONS[key]) { event.preventDefault(); ACTIONS[key](); }
  else if (linked) { event.preventDefault(); linked.click(); }
});

document.addEventListener("submit", (event) => {
  const question = event.submitter?.getAttribute("data-confirm");
  if (question && !confirm(question)) event.preventDefault();
});

document.addEventListener("click", (event) => {
  const button = /** @type {Element} */ (event.target).closest("[data-copy], [data-does]");
  if (!button) return;
  const text = button.getAttribute("data-copy");
  if (text) copy(text);
  else if (button.getAttribute("data-does") === "keys") help();
});
