// The command palette, which Ctrl K opens: it finds pages, actions of the page and sessions.
/** @typedef {{name: string, note: string, go: () => void}} Choice */

/** @returns {Choice[]} */
function pages() {
  return [...document.querySelectorAll(".rail a.go, .tabs a, .top a[href='/settings']")].map((link) => ({
    name: (link.getAttribute("aria-label") ?? link.querySelector("span")?.textContent ?? link.textContent ?? "").trim(),
    note: "page",
    go: () => { location.href = /** @type {HTMLAnchorElement} */ (link).href; },
  }));
}

/** @returns {Choice[]} */
function actions() {
  return [...document.querySelectorAll("main button[data-copy], main form button[type=submit]")].map((button) => ({
    name: (button.textContent ?? "").trim(),
    note: "action",
    go: () => /** @type {HTMLElement} */ (button).click(),
  }));
}

/** @param {string} text @returns {Promise<Choice[]>} */
async function sessions(text) {
  const answer = await fetch(`/api/v1/how?q=${encodeURIComponent(text)}&limit=6`);
  if (!answer.ok) return [];
  const found = await answer.json();
  return (found.sessions ?? []).map((/** @type {{session_uid: string, title?: string, repo?: string}} */ one) => ({
    name: one.title ?? one.session_uid,
    note: one.repo ?? "session",
    go: () => { location.href = `/s/${encodeURIComponent(one.session_uid)}`; },
  }));
}

function open() {
  const box = document.createElement("dialog");
  const field = document.createElement("input");
  const list = document.createElement("ul");
  box.className = "palette";
  field.className = "field";
  field.placeholder = "go to a page, a session, an action";
  field.setAttribute("aria-label", "Go to");
  list.setAttribute("role", "listbox");
  box.append(field, list);
  box.addEventListener("close", () => box.remove());
  document.body.append(box);
  /** @type {Choice[]} */
  let choices = [];
  let at = 0;
  let asked = 0;

  const draw = () => {
    list.replaceChildren(...choices.map((choice, place) => {
      const row = document.createElement("li");
      const note = document.createElement("span");
      row.setAttribute("role", "option");
      row.setAttribute("aria-selected", String(place === at));
      row.textContent = choice.name;
      note.className = "muted small";
      note.textContent = ` ${choice.note}`;
      row.append(note);
      row.addEventListener("click", choice.go);
      return row;
    }));
  };

  const update = async () => {
    const text = field.value.trim();
    const words = text.toLowerCase();
    const search = { name: `Search for "${text}"`, note: "search", go: () => { location.href = `/sessions?q=${encodeURIComponent(text)}`; } };
    choices = [...pages(), ...actions()].filter((one) => one.name.toLowerCase().includes(words));
    if (text) choices.push(search);
    at = 0;
    draw();
    const mine = ++asked;
    if (text.length < 3) return;
    const found = await sessions(text);
    if (mine !== asked || !box.open) return;
    choices = [...choices, ...found];
    draw();
  };

  field.addEventListener("input", update);
  field.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && choices.length) { event.preventDefault(); at = (at + step + choices.length) % choices.length; draw(); }
    if (event.key === "Enter") { event.preventDefault(); choices[at]?.go(); }
  });
  box.showModal();
  update();
}

document.addEventListener("keydown", (event) => {
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k" && !document.querySelector("dialog[open]")) {
    event.preventDefault();
    open();
  }
});
