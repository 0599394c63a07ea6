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
  clear(form);
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
    mark(button.form, page);
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

// What is wrong with a field stands below it, too. A field is named by some of the keys that it says:
// `memory` of cluster.local.memory, `plan` of approvals.plan.0, or all of them: `embargo_days`.
function mark(form, page) {
  for (const one of page.querySelectorAll("main [data-field]")) {
    const keys = one.dataset.field.split(".");
    const field = [keys.join("_"), ...keys.reverse()].map((key) => form.elements.namedItem(key)).find((found) => found?.id);
    if (!field || field.hasAttribute("data-refused")) continue;
    const note = document.createElement("p");
    note.className = "asked refused";
    note.id = `${field.id}-refused`;
    note.textContent = one.textContent;
    field.after(note);
    field.dataset.refused = field.getAttribute("aria-describedby") ?? "";
    field.setAttribute("aria-describedby", `${note.id} ${field.dataset.refused}`.trim());
    field.setAttribute("aria-invalid", "true");
    field.closest("details")?.setAttribute("open", "");
  }
  form.querySelector("[data-refused]")?.focus();
}

function clear(form) {
  for (const note of form.querySelectorAll(".refused")) note.remove();
  for (const field of form.querySelectorAll("[data-refused]")) {
    if (field.dataset.refused) field.setAttribute("aria-describedby", field.dataset.refused);
    else field.removeAttribute("aria-describedby");
    field.removeAttribute("aria-invalid");
    field.removeAttribute("data-refused");
  }
}

function ready() {
  for (const button of document.querySelectorAll("form[data-confirm] button")) button.disabled = false;
}
