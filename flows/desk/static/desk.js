// What every page of the desk does: ask before what cannot be undone, and send forms so that a
// refused one keeps what was typed. Buttons that need a script cannot be pressed before it is there.

document.addEventListener("submit", (event) => {
  const question = event.submitter?.dataset.confirm ?? event.target.dataset.confirm;
  if (question && !window.confirm(question)) {
    event.preventDefault();
    event.stopImmediatePropagation();
  }
}, { capture: true });

// Forms before a log-in have no secret of a session; their pages keep what they may keep.
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (event.defaultPrevented || form.method !== "post" || !form.elements.csrf) return;
  event.preventDefault();
  if (form.getAttribute("aria-busy") !== "true") send(form, event.submitter ?? form.querySelector("button"));
});
ready();

// Without a script the browser would go where the answer leads, or to the page of the refusal.
async function send(form, button) {
  form.setAttribute("aria-busy", "true");
  form.querySelector(".refused")?.remove();
  const typed = new FormData(form, button); // with the button's own value
  const body = form.enctype === "multipart/form-data" ? typed : new URLSearchParams(typed);
  try {
    const reply = await fetch(button.hasAttribute("formaction") ? button.formAction : form.action, { method: "POST", body, headers: { Accept: "text/html" } });
    if (reply.redirected) go(reply.url);
    else show(new DOMParser().parseFromString(await reply.text(), "text/html"), reply, button);
  } catch {
    refuse(button, "The desk does not answer. What you typed is still here; try again.");
  }
  form.removeAttribute("aria-busy");
}

function go(address) {
  if (address === location.href.split("#")[0]) location.reload();
  else location.assign(address);
}

function show(page, reply, button) {
  if (reply.ok) {
    const main = page.querySelector("main");
    document.querySelector("main").replaceWith(main);
    ready();
    main.tabIndex = -1;
    main.focus();
    window.scrollTo(0, 0);
  } else {
    refuse(button, page.querySelector("main .told")?.textContent ?? `The desk answered ${reply.status}; what you typed is still here.`);
  }
}

// A reader of the screen tells what changes in an alert that is there already.
function refuse(button, says) {
  const note = document.createElement("p");
  note.className = "bad told refused";
  note.setAttribute("role", "alert");
  (button.closest(".buttons") ?? button).after(note);
  note.textContent = says;
}

function ready() {
  for (const button of document.querySelectorAll("form[data-confirm] button")) button.disabled = false;
}
