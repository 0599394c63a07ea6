// The list of problems below the editor. Only its first line is a live region: a list read out at every pause
// would drown what the user is typing.

export class ProblemList {
  constructor(element) {
    this.element = element;
    this.status = document.createElement("p");
    this.status.setAttribute("role", "status");
    this.status.className = "editor-status";
    this.items = document.createElement("ul");
    this.items.className = "editor-problems";
    this.items.tabIndex = 0; // a long list is scrolled with the keyboard
    this.items.setAttribute("aria-label", "Problems of the spec");
    this.again = document.createElement("button");
    this.again.type = "button";
    this.again.textContent = "Check again";
    this.again.hidden = true;
    element.replaceChildren(this.status, this.again, this.items);
  }

  /** Say something instead of a summary; the problems of the last answer stay, marked as old while busy. */
  say(text, { busy = false, again = null } = {}) {
    this.element.setAttribute("aria-busy", String(busy));
    if (!busy) this.items.replaceChildren();
    if (this.status.textContent !== text && !busy) this.status.textContent = text;
    this.again.hidden = again === null;
    this.again.onclick = again;
  }

  show(text, problems, go) {
    this.say(text);
    this.items.replaceChildren(...problems.map((problem) => item(problem, go)));
  }
}

function item(problem, go) {
  const { line, key, message, severity, from } = problem;
  const entry = document.createElement("li");
  const there = document.createElement(from === null ? "span" : "button");
  if (from !== null) {
    there.type = "button";
    there.addEventListener("click", () => go(problem));
  }
  const word = severity === "warning" ? "Warning" : "Error";
  const kind = document.createElement("span");
  kind.className = severity === "warning" ? "editor-warning" : "editor-error";
  kind.textContent = line ? `${word}, line ${line}: ` : `${word}: `;
  there.append(kind);
  if (key) {
    const code = document.createElement("code");
    code.textContent = key;
    there.append(code, ": ");
  }
  there.append(message);
  entry.append(there);
  return entry;
}
