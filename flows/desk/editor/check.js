// The live check: send the text once typing pauses, and show what the desk finds wrong with it.

import { setDiagnostics } from "@codemirror/lint";
import { EditorView, ViewPlugin } from "@codemirror/view";

const PAUSE = 400; // milliseconds without a change before the text is sent

/** Check the text at `textarea.dataset.check` whenever it has changed; the list of problems goes into `list`. */
export function liveCheck(textarea, list, token) {
  return ViewPlugin.fromClass(
    class {
      constructor(view) {
        this.view = view;
        this.timer = setTimeout(() => this.check(), 0);
      }

      update(update) {
        if (!update.docChanged) return;
        this.forget();
        this.timer = setTimeout(() => this.check(), PAUSE);
      }

      destroy() {
        this.forget();
      }

      /** From now on no answer to an earlier text counts. */
      forget() {
        clearTimeout(this.timer);
        this.request?.abort();
        list?.say("Checking …", { busy: true });
      }

      async check() {
        const request = new AbortController();
        this.request = request;
        list?.say("Checking …", { busy: true });
        try {
          const answer = await ask(textarea, this.view.state.doc.toString(), token, request.signal);
          if (!request.signal.aborted) this.show(answer);
        } catch (error) {
          if (!request.signal.aborted) this.fail(error);
        }
      }

      show(answer) {
        const problems = answer.problems.map((problem) => ({ ...problem, ...rangeOf(this.view.state.doc, problem) }));
        const placed = problems.filter((problem) => problem.from !== null);
        this.view.dispatch(setDiagnostics(this.view.state, placed.map(diagnostic).sort((a, b) => a.from - b.from)));
        list?.show(summary(answer), problems, (problem) => go(this.view, problem));
        textarea.dispatchEvent(new CustomEvent("checked", { detail: answer, bubbles: true }));
      }

      fail(error) {
        this.view.dispatch(setDiagnostics(this.view.state, []));
        list?.say(`Not checked: ${error.message} Your text is kept.`, { again: () => this.check() });
        textarea.dispatchEvent(new CustomEvent("unchecked", { detail: { reason: error.message }, bubbles: true }));
      }
    },
  );
}

async function ask(textarea, text, token, signal) {
  let reply;
  try {
    reply = await fetch(textarea.dataset.check, {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-CSRF": token },
      body: JSON.stringify({ text, name: textarea.dataset.name ?? "" }),
      signal,
    });
  } catch {
    throw new Error("the desk cannot be reached; check the connection.");
  }
  if (reply.status === 401) throw new Error("you are signed out; sign in again in another tab.");
  if (reply.status === 403) throw new Error("the desk refused; you may not do this, or the page is too old: copy the text and reload.");
  if (!reply.ok) throw new Error(`the desk failed (status ${reply.status}).`);
  try {
    const answer = await reply.json();
    if (!Array.isArray(answer.problems)) throw new TypeError("no problems");
    return answer;
  } catch {
    throw new Error("the desk's answer cannot be read; you may be signed out.");
  }
}

/** What to underline: from the column, or from the first character of the line, to the end of the line. */
function rangeOf(doc, { line, column }) {
  if (!line) return { from: null, to: null };
  const at = doc.line(Math.min(Math.max(line, 1), doc.lines));
  const first = at.text.search(/\S|$/);
  const from = at.from + Math.min(column ? column - 1 : first, at.length);
  return { from, to: at.to };
}

const diagnostic = ({ from, to, key, message, severity }) => ({
  from,
  to,
  severity: severity === "warning" ? "warning" : "error",
  message: key ? `${key}: ${message}` : message,
});

function go(view, { from, message }) {
  view.dispatch({
    selection: { anchor: from },
    effects: [EditorView.scrollIntoView(from, { y: "center" }), EditorView.announce.of(message)],
  });
  view.focus();
}

function summary({ problems, complete }) {
  const warnings = problems.filter((problem) => problem.severity === "warning").length;
  const errors = problems.length - warnings;
  const count = (number, word) => (number ? [`${number} ${word}${number === 1 ? "" : "s"}`] : []);
  if (problems.length) return `${[...count(errors, "error"), ...count(warnings, "warning")].join(", ")}`;
  return complete ? "No problems." : "No problems so far, but the spec is not complete.";
}
