// The spec editor: every <textarea data-editor> becomes an editor for YAML, and stays what the form sends.
//
// data-check: where the text is checked while it is written; data-name: sent along with it
// data-schema: the JSON Schema that completes keys and values and explains them
// data-problems: id of the element that gets the list of problems
// The page's <meta name="csrf"> and <meta name="style-nonce"> are the token of a request and the nonce of styles.
//
// Events on the textarea, all of which bubble: `input` after each change, `checked` with the desk's answer about the
// text that stands there then, `unchecked` with {reason} where there is none.

import { closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { bracketMatching, foldGutter, foldKeymap, indentOnInput, indentUnit } from "@codemirror/language";
import { lintGutter, nextDiagnostic, previousDiagnostic } from "@codemirror/lint";
import { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search";
import { Compartment, EditorState } from "@codemirror/state";
import {
  EditorView, highlightActiveLine, highlightActiveLineGutter, highlightSpecialChars, keymap, lineNumbers, placeholder,
} from "@codemirror/view";

import { assistance } from "./assist.js";
import { liveCheck } from "./check.js";
import { AROUND, look } from "./look.js";
import { ProblemList } from "./problems.js";

const LEAVING = 10_000; // milliseconds after Escape in which Tab leaves the editor
const HINT =
  "Tab indents; Escape, then Tab leaves the editor. Ctrl+Space completes, F1 explains the key at the cursor, F8 goes " +
  "to the next problem, Ctrl+F searches.";

for (const textarea of document.querySelectorAll("textarea[data-editor]")) enhance(textarea);

function enhance(textarea) {
  style(meta("style-nonce"));
  const list = document.getElementById(textarea.dataset.problems);
  const help = new Compartment();
  const hint = paragraph(HINT);
  const view = new EditorView({
    doc: textarea.value,
    extensions: [
      EditorView.cspNonce.of(meta("style-nonce")),
      EditorView.contentAttributes.of(attributes(textarea, hint)),
      EditorState.readOnly.of(textarea.readOnly || textarea.disabled),
      EditorState.tabSize.of(2),
      indentUnit.of("  "),
      yaml(),
      look,
      EditorView.lineWrapping,
      lineNumbers(),
      foldGutter(),
      highlightActiveLine(),
      highlightActiveLineGutter(),
      highlightSpecialChars(),
      highlightSelectionMatches(),
      history(),
      indentOnInput(),
      bracketMatching(),
      closeBrackets(),
      search({ top: true }),
      placeholder(textarea.placeholder),
      keymap.of([
        { key: "F8", run: nextDiagnostic, shift: previousDiagnostic },
        ...closeBracketsKeymap,
        ...defaultKeymap,
        ...searchKeymap,
        ...historyKeymap,
        ...foldKeymap,
        ...completionKeymap,
        indentWithTab,
      ]),
      EditorView.domEventObservers({
        keydown: (event, own) => {
          if (event.key === "Escape") setTimeout(() => own.setTabFocusMode(LEAVING));
        },
      }),
      EditorView.updateListener.of((update) => update.docChanged && mirror(update.state, textarea)),
      help.of([]),
      textarea.dataset.check ? [lintGutter(), liveCheck(textarea, list && new ProblemList(list), meta("csrf"))] : [],
    ],
  });
  textarea.after(view.dom, hint);
  textarea.style.display = "none";
  textarea.required = false; // a browser cannot ask to fill in what is not displayed
  follow(textarea, view);
  if (textarea.autofocus) view.focus();
  if (textarea.dataset.schema) fetchHelp(textarea.dataset.schema, view, help);
}

/** The text of the editor into the textarea, so that the form sends it. */
function mirror(state, textarea) {
  const text = state.doc.toString();
  if (textarea.value === text) return;
  textarea.value = text;
  textarea.dispatchEvent(new Event("input", { bubbles: true }));
}

/** The text of the textarea into the editor, where the page, a reset or the browser's history has changed it. */
function follow(textarea, view) {
  const take = () => {
    const { doc } = view.state;
    if (doc.toString() !== textarea.value) view.dispatch({ changes: { from: 0, to: doc.length, insert: textarea.value } });
  };
  textarea.addEventListener("input", take);
  textarea.form?.addEventListener("reset", () => setTimeout(take));
  addEventListener("pageshow", take);
  for (const label of textarea.labels) label.addEventListener("click", () => view.focus());
}

/** Completion and explanations, once the schema has come; the editor works without them. */
async function fetchHelp(url, view, help) {
  try {
    const reply = await fetch(url);
    if (reply.ok) view.dispatch({ effects: help.reconfigure(assistance(await reply.json())) });
  } catch {
    // no schema, no help
  }
}

/** How assistive technology names the editor: as the textarea, with the hint added to its description. */
function attributes(textarea, hint) {
  const named = textarea.getAttribute("aria-labelledby") ?? [...textarea.labels].map(identified).join(" ");
  const described = [textarea.getAttribute("aria-describedby"), identified(hint)].filter(Boolean).join(" ");
  const label = textarea.getAttribute("aria-label") ?? "Spec in YAML";
  return {
    ...(named ? { "aria-labelledby": named } : { "aria-label": label }),
    "aria-describedby": described,
    "aria-multiline": "true",
    tabindex: "0",
  };
}

let identifiers = 0;

function identified(element) {
  element.id ||= `editor-${(identifiers += 1)}`;
  return element.id;
}

function paragraph(text) {
  const element = document.createElement("p");
  element.className = "editor-hint";
  element.textContent = text;
  return element;
}

function style(nonce) {
  if (document.getElementById("editor-style")) return;
  const element = document.createElement("style");
  element.id = "editor-style";
  element.nonce = nonce;
  element.textContent = AROUND;
  document.head.prepend(element);
}

function meta(name) {
  return document.querySelector(`meta[name="${name}"]`)?.content ?? "";
}
