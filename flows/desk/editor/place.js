// The place of a position in a YAML text: the keys that lead to it, and whether a key or a value stands there.
//
// Somebody who asks for help is in the middle of typing, so the text is seldom valid YAML. Block style is read
// off the indentation, flow style ({...}, [...]) off the brackets.

// A key with its colon, plain or quoted.
const KEY = /^("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s"'[\]{}#&*!|>%@`,](?:(?!\s#).)*?)\s*:(?=\s|$)/;
const PROPERTIES = /^(?:[&!][^\s,[\]{}]*\s+)+/; // anchors and tags before a value

/**
 * The place at `position`, or null where no help is possible: in a comment or a block of text.
 *
 * path: steps from the root, {step, pairs}: a key or 0 for any item of a list, and the pairs next to it
 * kind: "key", "value", or "either" on a line on which no colon decides yet
 * from, typed: where the word at the position starts, and its text up to the position
 * pairs: for keys, the pairs that the mapping has already, without the one at the position
 * column: of the key in block style; null in flow style
 */
export function placeAt(text, position) {
  const lines = text.split("\n");
  let row = 0;
  let start = 0;
  while (start + lines[row].length < position) start += lines[row++].length + 1;
  const column = position - start;
  const opening = flowAround(lines, row, column);
  const place = opening ? flowPlace(lines, opening, position) : blockPlace(lines, row, column, start);
  return place && !/(^|\s)#/.test(place.typed) ? place : null;
}

/** The text of a scalar without quotes, anchors and comment. */
export function scalar(written) {
  const text = written.trim().replace(PROPERTIES, "");
  const quoted = /^"((?:[^"\\]|\\.)*)"|^'((?:[^']|'')*)'/.exec(text);
  if (quoted) return quoted[1] ?? quoted[2].replaceAll("''", "'");
  return text.replace(/(^|\s)#.*$/, "").trim();
}

// Block style

/** Dashes and the key at the start of a line, and the column at which its text begins. */
function structure(line) {
  const steps = [];
  let at = line.search(/\S|$/);
  while (line[at] === "-" && (at + 1 === line.length || line[at + 1] === " ")) {
    steps.push({ column: at, dash: true, end: at + 1 });
    at += 1;
    while (line[at] === " ") at += 1;
  }
  const key = KEY.exec(line.slice(at));
  if (key) {
    const end = at + key[0].length;
    const value = end + line.slice(end).search(/\S|$/);
    steps.push({ column: at, key: scalar(key[1]), end, value });
  }
  return { steps, begin: at };
}

const saysNothing = (line) => /^\s*(#|$)/.test(line);

/** Pairs of the block mapping whose keys are at `column`, around a row. */
function blockPairs(lines, row, column, except = null) {
  const pairs = new Map();
  const collect = (r) => {
    const { steps, begin } = structure(lines[r]);
    const step = steps.find((s) => s.key !== undefined && s.column === column);
    if (step && r !== except && !pairs.has(step.key)) pairs.set(step.key, scalar(lines[r].slice(step.value)));
    return Math.min(begin, ...steps.map((s) => s.column));
  };
  for (let r = row; r >= 0; r--) {
    if (saysNothing(lines[r]) && r !== row) continue;
    if (collect(r) < column && (r !== row || !saysNothing(lines[r]))) break;
  }
  for (let r = row + 1; r < lines.length; r++) {
    if (!saysNothing(lines[r]) && collect(r) < column) break;
  }
  return pairs;
}

/** Steps from the root to what stands at `column` of a row, given its own dashes and key before that. */
function blockPath(lines, row, own, column) {
  const found = own.map((step) => ({ ...step, row }));
  let limit = own.length ? own[0].column : column;
  let dash = own.length > 0 && own[0].dash === true;
  for (let r = row - 1; r >= 0 && (limit > 0 || dash); r--) {
    if (saysNothing(lines[r])) continue;
    for (const step of structure(lines[r]).steps.toReversed()) {
      if (step.column >= limit && !(dash && !step.dash && step.column === limit)) continue;
      found.unshift({ ...step, row: r });
      limit = step.column;
      dash = step.dash === true;
    }
  }
  const parent = found.findLast((step) => step.row !== row);
  if (parent?.key !== undefined && /^[|>]/.test(lines[parent.row].slice(parent.value))) return null;
  return found.map((step) => ({
    step: step.dash ? 0 : step.key,
    pairs: (except) => (step.dash ? new Map() : blockPairs(lines, step.row, step.column, except ? step.row : null)),
  }));
}

function blockPlace(lines, row, column, start) {
  const line = lines[row];
  const { steps, begin } = structure(line);
  const key = steps.find((step) => step.key !== undefined);
  const dashes = steps.filter((step) => step.dash && step.end <= column);
  if (key && column > key.end) {
    const path = blockPath(lines, row, steps, key.column);
    const from = Math.min(key.value, column);
    return path && { path, kind: "value", from: start + from, typed: line.slice(from, column), column: null };
  }
  const from = Math.min(begin, column);
  const path = blockPath(lines, row, dashes, from);
  return path && {
    path,
    kind: key ? "key" : "either",
    from: start + from,
    typed: line.slice(from, column),
    pairs: blockPairs(lines, row, from, row),
    column: from,
  };
}

// Flow style

/** Where the outermost open bracket around a position is, or null. Its lines are indented further than the first. */
function flowAround(lines, row, column) {
  let least = Infinity;
  let found = null;
  for (let r = row; r >= 0 && least > 0; r--) {
    if (saysNothing(lines[r]) && r !== row) continue;
    const { steps, begin } = structure(lines[r]);
    const indentation = Math.min(begin, ...steps.map((step) => step.column));
    if (indentation >= least) continue;
    if (!saysNothing(lines[r])) least = indentation;
    const last = steps.at(-1);
    const value = last?.value ?? begin;
    const at = value + (PROPERTIES.exec(lines[r].slice(value))?.[0].length ?? 0);
    if (!"{[".includes(lines[r][at] ?? " ") || (r === row && at >= column)) continue;
    const opening = { row: r, column: at, steps };
    if (readFlow(lines, opening, offset(lines, row) + column)) found = opening;
  }
  return found;
}

const offset = (lines, row) => lines.slice(0, row).reduce((sum, line) => sum + line.length + 1, 0);

/** Open brackets at a position from the outermost inwards, with what is typed there; null if all are closed. */
function readFlow(lines, opening, position) {
  const indentation = lines[opening.row].search(/\S|$/);
  let last = opening.row;
  while (last + 1 < lines.length) {
    const next = lines[last + 1];
    if (!/^\s*$/.test(next) && next.search(/\S/) <= indentation) break;
    last += 1;
  }
  const text = lines.join("\n");
  const end = Math.max(offset(lines, last) + lines[last].length, position);
  const open = [];
  let seen = null;
  const look = (at) => {
    if (seen === null && at >= position) seen = { frames: open.map((f) => ({ ...f })), typedFrom: open.at(-1)?.token };
  };
  const settle = (frame, at) => {
    const written = scalar(text.slice(frame.token, at));
    if (frame.key !== null) frame.pairs.push({ key: frame.key, value: written, at: frame.at });
    Object.assign(frame, { key: null, token: at + 1 });
  };
  for (let i = offset(lines, opening.row) + opening.column; i < end; i++) {
    look(i);
    const frame = open.at(-1);
    const c = text[i];
    if (seen && !open.length) break;
    if (c === "{" || c === "[") {
      open.push({ bracket: c, pairs: [], key: null, at: 0, token: i + 1 });
    } else if (c === "}" || c === "]") {
      settle(frame, i);
      open.pop();
      if (!open.length) break;
    } else if (c === ",") {
      settle(frame, i);
    } else if (c === ":" && frame.bracket === "{" && frame.key === null && /[\s,}\]]|^$/.test(text[i + 1] ?? "")) {
      Object.assign(frame, { key: scalar(text.slice(frame.token, i)), at: frame.token, token: i + 1 });
    } else if ((c === '"' || c === "'") && !text.slice(frame.token, i).trim()) {
      const close = text.indexOf(c, i + 1);
      if (close < 0 || close >= end) break;
      if (close >= position) look(position);
      i = close;
    } else if (c === "#" && /\s/.test(text[i - 1])) {
      const close = text.indexOf("\n", i);
      if (close < 0 || close >= position) return null;
      i = close;
    }
  }
  if (open.length) look(Math.max(position, 0));
  for (const frame of open) if (frame.key !== null) settle(frame, end);
  return seen?.frames.length ? seen : null;
}

function flowPlace(lines, opening, position) {
  const { frames, typedFrom } = readFlow(lines, opening, position);
  const path = blockPath(lines, opening.row, opening.steps, opening.column);
  if (path === null) return null;
  const text = lines.join("\n");
  const typed = text.slice(typedFrom, position).trimStart();
  const pairsOf = (frame, at) => new Map(frame.pairs.filter((p) => p.at !== at).map((p) => [p.key, p.value]));
  for (const frame of frames) {
    if (frame.bracket === "[") path.push({ step: 0, pairs: () => new Map() });
    else if (frame.key !== null) path.push({ step: frame.key, pairs: (except) => pairsOf(frame, except ? frame.at : -1) });
  }
  const inner = frames.at(-1);
  const kind = inner.bracket === "{" && inner.key === null ? "key" : "value";
  return { path, kind, from: position - typed.length, typed, pairs: pairsOf(inner, typedFrom), column: null };
}
