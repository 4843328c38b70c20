// The only file that turns text into elements: parts of our own pages, and nothing else.
const policy = window.trustedTypes
  ? window.trustedTypes.createPolicy("sm", { createHTML: (text) => text })
  : { createHTML: (/** @type {string} */ text) => text };

/**
 * Fetch a part of a page of this server.
 * @param {string} address @param {{part?: string, signal?: AbortSignal}} [options]
 * @returns {Promise<string>}
 */
export async function fetchPart(address, { part, signal } = {}) {
  const url = new URL(address, location.href);
  if (url.origin !== location.origin) throw new Error("another host");
  const answer = await fetch(url, { headers: part ? { "X-Part": part } : {}, signal });
  if (!answer.ok) throw new Error(`the server said ${answer.status}`);
  return answer.text();
}

/** @param {Element} element @param {string} html */
export function fill(element, html) {
  element.innerHTML = /** @type {string} */ (policy.createHTML(html));
}

/** @param {Element} element @param {string} html */
export function replace(element, html) {
  const made = document.createElement("template");
  made.innerHTML = /** @type {string} */ (policy.createHTML(html));
  element.replaceWith(made.content);
}
