// How the editor looks: the colours are the desk's, with its own values where a page has none.
//
// The desk styles bare elements (button, input, label), so the editor's panels and the list of problems undo that.

import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { EditorView } from "@codemirror/view";
import { tags } from "@lezer/highlight";

const INK = "var(--ink, #1c1f24)";
const QUIET = "var(--quiet, #54595f)";
const LINE = "var(--line, #c9ced4)";
const ACCENT = "var(--accent, #14508c)";
const BAD = "var(--bad, #a3161c)";
const GOOD = "var(--good, #1b6b34)";
const WARNING = "#7a5200";
const PALE = "#f3f6fa";
const FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'Liberation Mono', monospace";

export const look = [
  EditorView.theme({
    "&": { color: INK, backgroundColor: "#fff", border: `1px solid ${QUIET}`, borderRadius: "4px", fontSize: ".9rem" },
    "&.cm-focused": { outline: "3px solid #e0a100", outlineOffset: "2px" },
    ".cm-scroller": { fontFamily: FONT, lineHeight: "1.5", minHeight: "16rem", maxHeight: "75vh", overflow: "auto" },
    ".cm-content": { caretColor: INK, paddingBottom: "2rem" },
    ".cm-content:focus-visible": { outline: "none" },
    ".cm-gutters": { backgroundColor: PALE, color: QUIET, borderRight: `1px solid ${LINE}` },
    ".cm-activeLine": { backgroundColor: "#14508c0d" },
    ".cm-activeLineGutter": { backgroundColor: "#14508c1f", color: INK },
    ".cm-selectionMatch": { backgroundColor: "#cfe0f3" },
    ".cm-foldPlaceholder": { backgroundColor: PALE, border: `1px solid ${QUIET}`, color: INK },
    ".cm-foldGutter .cm-gutterElement": { cursor: "pointer", minWidth: "1em" },
    "&.cm-focused .cm-matchingBracket": { backgroundColor: "#cfe0f3", outline: `1px solid ${ACCENT}` },
    "&.cm-focused .cm-nonmatchingBracket": { backgroundColor: "#fbe3e4", color: BAD },
    ".cm-tooltip": { backgroundColor: "#fff", color: INK, border: `1px solid ${QUIET}`, borderRadius: "4px", maxWidth: "min(30rem, 92vw)" },
    ".cm-tooltip.cm-tooltip-autocomplete > ul": { fontFamily: FONT, maxHeight: "14rem" },
    ".cm-tooltip.cm-tooltip-autocomplete > ul > li": { padding: ".15rem .5rem" },
    ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: ACCENT, color: "#fff" },
    ".cm-completionMatchedText": { fontWeight: "700", textDecoration: "none" },
    ".cm-completionDetail": { color: QUIET, fontStyle: "normal" },
    "li[aria-selected] .cm-completionDetail": { color: "#fff" },
    ".cm-tooltip.cm-completionInfo": { padding: "0" },
    // A narrow screen has no place beside the list, and what covers it helps nobody.
    "@media (max-width: 40rem)": { ".cm-tooltip.cm-completionInfo": { display: "none" } },
    ".cm-described": { font: "0.9rem/1.4 system-ui, sans-serif", padding: ".4rem .6rem", maxHeight: "14rem", overflow: "auto" },
    ".cm-described p": { margin: ".2rem 0" },
    ".cm-described small": { color: QUIET },
    ".cm-diagnostic": { font: "0.9rem/1.4 system-ui, sans-serif" },
    ".cm-diagnostic-error": { borderLeftColor: BAD },
    ".cm-diagnostic-warning": { borderLeftColor: WARNING },
    ".cm-panels": { backgroundColor: PALE, color: INK, borderBottom: `1px solid ${LINE}` },
    ".cm-panel.cm-search": { font: "0.9rem/1.4 system-ui, sans-serif", padding: ".4rem 2rem .4rem .5rem" },
    ".cm-panel.cm-search input[type=checkbox]": { width: "auto" },
    ".cm-panel.cm-search label": { display: "inline-block", fontWeight: "400", fontSize: ".85rem", margin: "0 .6rem 0 0" },
    ".cm-panel.cm-search .cm-textfield": {
      width: "min(14rem, 100%)", fontSize: ".9rem", padding: ".2rem .4rem", border: `1px solid ${QUIET}`, backgroundColor: "#fff",
    },
    ".cm-panel.cm-search .cm-button": {
      fontSize: ".85rem", padding: ".2rem .6rem", backgroundImage: "none", backgroundColor: "#fff", color: ACCENT, border: `1px solid ${ACCENT}`,
    },
    ".cm-panel.cm-search [name=close]": { color: INK, padding: "0 .5rem", fontSize: "1.2rem", right: "0" },
  }),
  syntaxHighlighting(
    HighlightStyle.define([
      { tag: tags.definition(tags.propertyName), color: ACCENT },
      { tag: tags.string, color: GOOD },
      { tag: tags.comment, color: QUIET, fontStyle: "italic" },
      { tag: [tags.labelName, tags.typeName, tags.meta], color: WARNING },
      { tag: [tags.separator, tags.punctuation, tags.squareBracket, tags.brace], color: QUIET },
    ]),
  ),
];

/** Style of what stands around the editor: the hint and the list of problems. */
export const AROUND = `
.editor-hint { color: ${QUIET}; font-size: .9rem; margin: .3rem 0 0; }
.editor-status { font-weight: 600; margin: .6rem 0 .3rem; }
.editor-problems { list-style: none; margin: 0; padding: 0; max-height: 20rem; overflow: auto; }
[aria-busy="true"] > .editor-problems { opacity: .75; }
.editor-problems li { border-top: 1px solid ${LINE}; }
.editor-problems li > * {
  display: block; width: 100%; padding: .35rem .4rem; border: 0; border-radius: 0; background: none;
  color: ${INK}; font: inherit; font-size: .9rem; font-weight: 400; text-align: left; overflow-wrap: anywhere;
}
.editor-problems button { cursor: pointer; }
.editor-problems button:hover { background: ${PALE}; text-decoration: underline; }
.editor-problems button:focus-visible { outline-offset: -3px; }
.editor-error { color: ${BAD}; font-weight: 600; }
.editor-warning { color: ${WARNING}; font-weight: 600; }
`;
