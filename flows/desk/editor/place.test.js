import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { placeAt } from "./place.js";
import { keysOf, schemasAt, valuesOf } from "./schema.js";

const SCHEMA = JSON.parse(readFileSync(new URL("../../../schemas/release-spec.schema.json", import.meta.url)));

/** What stands at the bar in a text, with the path in dots. */
function at(marked) {
  const place = placeAt(marked.replace("|", ""), marked.indexOf("|"));
  return place && { ...place, dotted: place.path.map(({ step }) => step).join(".") };
}

function keys(marked) {
  const { path, pairs } = at(marked);
  return [...keysOf(SCHEMA, schemasAt(SCHEMA, path), pairs).keys()];
}

function values(marked) {
  return [...valuesOf(schemasAt(SCHEMA, at(marked).path)).keys()];
}

for (const [marked, kind, dotted, typed] of [
  ["|", "either", "", ""],
  ["pri|", "either", "", "pri"],
  ["hallmark: 1\npri|vacy:\n", "key", "", "pri"],
  ["privacy:\n  ep|", "either", "privacy", "ep"],
  ["privacy:\n  |\nmechanism:\n", "either", "privacy", ""],
  ["privacy:\n\n  # a comment: here\n  unit: |", "value", "privacy.unit", ""],
  ["privacy:\n  unit: record\n|", "either", "", ""],
  ["a:\n  b:\n    c: 1\n  d: x|", "value", "a.d", "x"],
  ["rules:\n  - rule: x\n    so|", "either", "rules.0", "so"],
  ["rules:\n- rule: x\n  so|", "either", "rules.0", "so"],
  ["rules:\n- |", "either", "rules.0", ""],
  ["rules:\n- rule: |", "value", "rules.0.rule", ""],
  ["rules:\n  - rule: x\n  - so|", "either", "rules.0", "so"],
  ["a: {b: {c: 1}, d: x|", "value", "a.d", "x"],
  ["a: {b: {c|", "key", "a.b", "c"],
  ["a: {b: 1, |}", "key", "a", ""],
  ["a: {b: 1, |\nnext: 2", "key", "a", ""],
  ["a: [x, y|]", "value", "a.0", "y"],
  ["a: &name [x, y|]", "value", "a.0", "y"],
  ["a:\n  - {b: 1,\n     c: x|}", "value", "a.0.c", "x"],
  ["a: [x]\nb: |", "value", "b", ""],
  ["a: [x\nb: |", "value", "b", ""],
  ['a: {"b, c": 1, d: |}', "value", "a.d", ""],
  ['"a key": |', "value", "a key", ""],
]) {
  test(`${JSON.stringify(marked)} is at ${dotted || "the root"}`, () => {
    const place = at(marked);
    assert.deepEqual([place.kind, place.dotted, place.typed], [kind, dotted, typed]);
  });
}

for (const marked of ["# pri|", "a: 1 # com|", "a: [x, # com|", "a: >-\n  te|"]) {
  test(`${JSON.stringify(marked)} is no place for help`, () => assert.equal(at(marked), null));
}

test("keys that a mapping has already are not offered", () => {
  assert.deepEqual(keys("privacy:\n  unit: record\n  |\n  delta: 0\n"), ["neighbours", "epsilon", "large_delta"]);
  assert.deepEqual(keys("privacy: {unit: record, |, delta: 0}"), ["neighbours", "epsilon", "large_delta"]);
});

test("the key that is being typed is offered", () => {
  assert.ok(keys("privacy:\n  eps|ilon: 1\n").includes("epsilon"));
});

test("the type of a column decides on its keys, wherever it stands", () => {
  for (const marked of ["columns:\n  x:\n    |\n    type: boolean\n", "columns:\n  x:\n    type: boolean\n    |", "columns: {x: {type: boolean, |}}"]) {
    assert.ok(keys(marked).includes("values"));
    assert.ok(!keys(marked).includes("minimum"));
  }
});

test("every type of column is offered, also where one was written", () => {
  for (const marked of ["columns:\n  x:\n    type: |", "columns:\n  x:\n    type: numeric|", "columns: {x: {type: date|}}"]) {
    assert.deepEqual(values(marked).sort(), ["boolean", "date", "nominal", "numeric", "ordinal", "places"]);
  }
});

test("values are those of the schema behind references and alternatives", () => {
  assert.deepEqual(values("output:\n  formats: [csv, |]"), ["csv", "parquet", "dta", "sav"]);
  assert.deepEqual(values("output:\n  formats:\n    - |"), ["csv", "parquet", "dta", "sav"]);
  assert.deepEqual(values("columns:\n  x:\n    bound_source: {kind: |}"), ["law", "public", "private_estimate"]);
  assert.deepEqual(values("columns:\n  x:\n    nulls: |"), ["true", "false"]);
  assert.deepEqual(values("title: |"), []);
});

test("a list of mappings offers the keys of its items", () => {
  assert.deepEqual(keys("constraints:\n  - |"), ["rule", "source", "if_broken"]);
  assert.deepEqual(keys("constraints:\n  - rule: x\n    |"), ["source", "if_broken"]);
  assert.deepEqual(keys("constraints:\n  - rule: x\n    source: y\n  - |"), ["rule", "source", "if_broken"]);
});

test("what the schema does not know has no keys", () => {
  assert.deepEqual(keys("no_such_section:\n  |"), []);
  assert.deepEqual(keys("title:\n  |"), []);
});
