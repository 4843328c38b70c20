// The start of every page. Each module does one thing; state lives in the address and on the server.
import "./keys.js";
import "./palette.js";
import "./search.js";
import "./list.js";
import "./fresh.js";
import "./parts.js";
import "./transcript.js";
import "./map.js";
import "./live.js";

document.documentElement.classList.add("scripted");
