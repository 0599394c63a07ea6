// What every page of the desk does: ask before what cannot be undone. Buttons that need a script
// cannot be pressed before it is there.

document.addEventListener("submit", (event) => {
  const question = event.submitter?.dataset.confirm ?? event.target.dataset.confirm;
  if (question && !window.confirm(question)) {
    event.preventDefault();
    event.stopImmediatePropagation();
  }
}, { capture: true });
for (const button of document.querySelectorAll("form[data-confirm] button")) button.disabled = false;
