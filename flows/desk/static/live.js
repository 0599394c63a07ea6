// Where a release stands, kept up to date while the page is looked at. A browser keeps six
// connections to a desk at most, so a page that nobody looks at has none.

const place = document.querySelector("[data-live]");
const fields = [...document.querySelectorAll("main textarea, main input:not([type=hidden]), main select")];
const untouched = fields.map((field) => field.value);
let stream = null;
let over = !place;

function listen() {
  stream = new EventSource(place.dataset.live);
  stream.onmessage = (event) => {
    const said = new DOMParser().parseFromString(event.data, "text/html").body;
    const log = said.querySelector("details");
    if (log && place.querySelector("details")) log.open = place.querySelector("details").open;
    place.replaceChildren(...said.childNodes);
  };
  stream.addEventListener("changed", () => {
    over = true;
    leave();
    // What the page just answered is read first.
    setTimeout(again, document.querySelector("main [role=status].good") ? 8000 : 0);
  });
}

// Whoever is writing loses nothing.
function again() {
  if (fields.every((field, i) => field.value === untouched[i])) location.reload();
  else tell();
}

function leave() {
  stream?.close();
  stream = null;
}

function look() {
  leave();
  if (!over && document.visibilityState === "visible") listen();
}

function tell() {
  const note = document.createElement("p");
  note.className = "stop";
  note.setAttribute("role", "alert");
  place.prepend(note);
  note.textContent = "More than this has changed. What you typed is still here: keep a copy, and load the page again.";
}

document.addEventListener("visibilitychange", look);
window.addEventListener("pagehide", leave);
look();
