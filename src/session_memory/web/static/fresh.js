// Rows with events since the last visit have a mark. Only this browser knows when that was.
const now = Date.now();
if (!sessionStorage.visit) sessionStorage.visit = localStorage.visited ?? String(now);
localStorage.visited = String(now);

/** @returns {Record<string, string>} */
const opened = () => JSON.parse(localStorage.opened ?? "{}");
const reader = /** @type {HTMLElement | null} */ (document.querySelector(".reader[data-session]"));
if (reader) {
  const known = Object.entries(opened()).filter(([uid]) => uid !== reader.dataset.session).slice(-300);
  localStorage.opened = JSON.stringify({ ...Object.fromEntries(known), [reader.dataset.session ?? ""]: reader.dataset.revision });
}

function mark() {
  const known = opened();
  for (const row of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(".srow[data-ended]:not(.fresh)"))) {
    const isLater = Number(row.dataset.ended) > Number(sessionStorage.visit);
    if (!isLater || known[row.dataset.uid ?? ""] === row.dataset.revision) continue;
    row.classList.add("fresh");
    const said = document.createElement("span");
    said.className = "sr";
    said.textContent = " (new since your last visit)";
    row.querySelector(".ti")?.append(said);
  }
}

mark();
document.addEventListener("swapped", mark);
