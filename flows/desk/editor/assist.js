// Help from the JSON Schema while typing: completion of keys and values, and what a key means.

import { autocompletion, startCompletion } from "@codemirror/autocomplete";
import { StateEffect, StateField } from "@codemirror/state";
import { EditorView, hoverTooltip, keymap, showTooltip } from "@codemirror/view";

import { placeAt, scalar } from "./place.js";
import { documentation, holdsOnly, keysOf, schemasAt, valuesOf } from "./schema.js";

const PLAIN = /^[\p{L}\p{N}_.+-][\p{L}\p{N}_ .+/-]*$/u; // a value that needs no quotes

/** Completion and documentation from a schema. */
export function assistance(schema) {
  return [
    autocompletion({ override: [(context) => completions(schema, context)], icons: false, aboveCursor: false }),
    hoverTooltip((view, position) => tooltipAt(schema, view.state, position)),
    explained,
    keymap.of([
      { key: "F1", run: (view) => explain(schema, view) },
      { key: "Escape", run: (view) => view.state.field(explained) !== null && close(view) },
    ]),
  ];
}

function completions(schema, context) {
  const place = placeAt(context.state.doc.toString(), context.pos);
  if (place === null || (!context.explicit && !place.typed && !justAfterKey(context))) return null;
  const schemas = schemasAt(schema, place.path);
  const options = [
    ...(place.kind === "value" ? [] : keyOptions(schema, schemas, place)),
    ...(place.kind === "key" ? [] : valueOptions(schemas)),
  ];
  const whole = options.length === 0 || (!context.explicit && options.some(({ label }) => label === place.typed));
  return whole ? null : { from: place.from, options, validFor: /^[\w-]*$/ };
}

const justAfterKey = (context) => context.matchBefore(/:\s+$/) !== null;

function keyOptions(schema, schemas, place) {
  return [...keysOf(schema, schemas, place.pairs)].map(([label, key], i) => ({
    label,
    detail: key.required ? "required" : "",
    boost: (key.required ? 50 : 0) - i / 10, // in the order of the schema, what is required first
    info: () => described(label, documentation(key)),
    apply: (view, completion, from, to) => insertKey(view, completion, from, to, key, place),
  }));
}

function valueOptions(schemas) {
  return [...valuesOf(schemas)].map(([label, meaning], i) => ({
    label,
    boost: -i / 10,
    info: meaning ? () => described(label, { lines: [meaning], facts: "" }) : undefined,
    apply: PLAIN.test(label) ? label : JSON.stringify(label),
  }));
}

/** Insert a key with its colon, and the indentation of a mapping or a list that must follow. */
function insertKey(view, { label }, from, to, key, place) {
  const { doc } = view.state;
  const rest = doc.sliceString(to, doc.lineAt(to).to);
  let insert = label;
  if (!/^\s*:/.test(rest)) {
    const below = `\n${" ".repeat((place.column ?? 0) + 2)}`;
    const block = place.column !== null && !rest.trim();
    if (block && holdsOnly(key.schemas, "object")) insert += `:${below}`;
    else if (block && holdsOnly(key.schemas, "array")) insert += `:${below}- `;
    else insert += ": ";
  }
  view.dispatch({
    changes: { from, to, insert },
    selection: { anchor: from + insert.length },
    userEvent: "input.complete",
    scrollIntoView: true,
  });
  if (insert !== label) startCompletion(view);
}

// What a key means, under the pointer or, on F1, at the cursor

const explainedSet = StateEffect.define();
const explained = StateField.define({
  create: () => null,
  update(tooltip, transaction) {
    for (const effect of transaction.effects) if (effect.is(explainedSet)) return effect.value;
    return transaction.docChanged || transaction.selection ? null : tooltip;
  },
  provide: (field) => showTooltip.from(field),
});

function explain(schema, view) {
  const { head } = view.state.selection.main;
  const line = view.state.doc.lineAt(head);
  const tooltip = tooltipAt(schema, view.state, Math.max(head, line.from + line.text.search(/\S|$/)));
  const said = tooltip ? tooltip.text : "There is nothing to explain here.";
  view.dispatch({ effects: [explainedSet.of(tooltip), EditorView.announce.of(said)] });
  return true;
}

function close(view) {
  view.dispatch({ effects: explainedSet.of(null) });
  return true;
}

function tooltipAt(schema, state, position) {
  const line = state.doc.lineAt(position);
  const word = /^[\w-]*/.exec(line.text.slice(position - line.from))[0];
  const place = placeAt(state.doc.toString(), position + word.length);
  if (place === null) return null;
  const path = [...place.path];
  let name = null;
  let pairs = place.pairs;
  if (place.kind !== "value" && place.typed) {
    name = scalar(place.typed);
  } else {
    while (typeof path.at(-1)?.step === "number") path.pop();
    const own = path.pop();
    if (!own) return null;
    name = own.step;
    pairs = own.pairs(true);
  }
  const others = new Map([...pairs].filter(([key]) => key !== name));
  const key = keysOf(schema, schemasAt(schema, path), others).get(name);
  if (!key) return null;
  const said = documentation(key);
  return {
    pos: place.typed ? place.from : position,
    end: position + word.length,
    above: true,
    text: [name, ...said.lines, said.facts].filter(Boolean).join(". "),
    create: () => ({ dom: described(name, said) }),
  };
}

function described(name, { lines, facts }) {
  const box = document.createElement("div");
  box.className = "cm-described";
  const add = (tag, text) => {
    const element = document.createElement(tag);
    element.textContent = text;
    box.append(element);
  };
  add("strong", name);
  for (const line of lines) add("p", line);
  if (facts) add("small", facts);
  return box;
}
