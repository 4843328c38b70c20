// Bring changes of the store to an open page: rows of the list, and new events of a session.
import { fetchPart, fill } from "./swap.js";

const reader = /** @type {HTMLElement | null} */ (document.querySelector(".reader[data-session]"));
const uid = reader?.dataset.session ?? "";

/** Whether the end of the page is on the screen. */
function atEnd() {
  return innerHeight + scrollY >= document.documentElement.scrollHeight - 80;
}

/** @param {{uid: string, revision: number, events: number}} change */
async function grow(change) {
  if (!reader || String(change.revision) === reader.dataset.revision) return;
  reader.dataset.revision = String(change.revision);
  const parts = /** @type {NodeListOf<HTMLElement>} */ (reader.querySelectorAll(".part"));
  const last = parts[parts.length - 1];
  const known = last?.querySelectorAll(".ev").length ?? 0;
  const wasAtEnd = atEnd();
  const number = Math.max(0, Math.floor((change.events - 1) / 50));
  for (let made = parts.length; made <= number; made++) {
    const part = document.createElement("section");
    part.className = "part";
    part.dataset.number = String(made);
    part.dataset.events = "50";
    (reader.querySelectorAll(".part")[made - 1] ?? last).after(part);
  }
  const every = /** @type {NodeListOf<HTMLElement>} */ (reader.querySelectorAll(".part"));
  let fresh = -known;
  for (const part of [...every].slice(Math.max(0, parts.length - 1))) {
    if (!("filled" in part.dataset) && part === last) continue;
    fill(part, await fetchPart(`${reader.dataset.base}/rows/${part.dataset.number}`));
    part.dataset.filled = "";
    part.style.height = "";
    fresh += part.querySelectorAll(".ev").length;
  }
  const pill = /** @type {HTMLButtonElement | null} */ (reader.querySelector("[data-new]"));
  if (wasAtEnd) scrollTo(0, document.documentElement.scrollHeight);
  else if (pill && fresh > 0) {
    const waiting = Number(pill.dataset.waiting ?? 0) + fresh;
    pill.dataset.waiting = String(waiting);
    pill.textContent = `${waiting} new`;
    pill.hidden = false;
    pill.onclick = () => { scrollTo(0, document.documentElement.scrollHeight); pill.hidden = true; pill.dataset.waiting = "0"; };
  }
  const turns = reader.querySelector("[data-part]");
  if (turns) fill(turns, await fetchPart(turns.getAttribute("data-part") ?? ""));
}

if (window.EventSource) {
  const source = new EventSource(`/events${uid ? `?session=${encodeURIComponent(uid)}` : ""}`);
  source.addEventListener("changed", (event) => {
    const change = JSON.parse(/** @type {MessageEvent} */ (event).data);
    for (const one of change.sessions) if (one.uid === uid) grow(one);
    document.dispatchEvent(new CustomEvent("store-changed", { detail: change }));
  });
  addEventListener("pagehide", () => source.close());
}
