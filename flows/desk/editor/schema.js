// What a JSON Schema says of a place: the keys and values that can stand there, and what they mean.
//
// Followed are $ref into the schema itself, anyOf, oneOf, allOf, properties, additionalProperties and items, which
// is all that the schema of release specs uses to describe where keys are.

const ALTERNATIVES = ["anyOf", "oneOf", "allOf"];

/** Schemas without $ref and alternatives; a description outside counts before one inside. */
function leaves(root, schema, within = {}, depth = 0) {
  if (schema === null || typeof schema !== "object" || depth > 20) return [];
  const own = { ...schema };
  for (const key of ["description", "default"]) if (key in within) own[key] = within[key];
  if (own.$ref) {
    const target = own.$ref.slice(2).split("/").reduce((value, key) => value?.[key], root);
    return leaves(root, target, own, depth + 1);
  }
  const inner = ALTERNATIVES.flatMap((kind) => own[kind] ?? []);
  return inner.length ? inner.flatMap((each) => leaves(root, each, own, depth + 1)) : [own];
}

/** The alternatives that the pairs of a mapping leave open: `type: numeric` excludes other types of columns. */
function left(alternatives, pairs) {
  const open = alternatives.filter((schema) =>
    Object.entries(schema.properties ?? {}).every(
      ([key, value]) => value.const === undefined || !pairs.get(key) || String(value.const) === pairs.get(key),
    ),
  );
  return open.length ? open : alternatives;
}

/** Schemas of what a path leads to; empty where the schema says nothing. */
export function schemasAt(root, path) {
  let current = leaves(root, root);
  path.forEach(({ step, pairs }, i) => {
    const next = (schema) => {
      if (typeof step === "number") return schema.items;
      return schema.properties?.[step] ?? schema.additionalProperties;
    };
    const open = typeof step === "number" ? current : left(current, pairs(i === path.length - 1));
    current = open.flatMap((schema) => leaves(root, next(schema)));
  });
  return current;
}

/** Keys that can stand in a mapping with these pairs, by name: their schemas, and whether one is required. */
export function keysOf(root, schemas, pairs) {
  const keys = new Map();
  for (const schema of left(schemas, pairs)) {
    for (const [name, property] of Object.entries(schema.properties ?? {})) {
      if (pairs.has(name)) continue;
      const key = keys.get(name) ?? { schemas: [], required: false };
      key.schemas.push(...leaves(root, property));
      key.required ||= schema.required?.includes(name) ?? false;
      keys.set(name, key);
    }
  }
  return keys;
}

/** Values that the schemas list, as text, with what the description says of each. */
export function valuesOf(schemas) {
  const values = new Map();
  for (const schema of schemas) {
    const listed = schema.enum ?? ("const" in schema ? [schema.const] : schema.type === "boolean" ? [true, false] : []);
    const items = itemsOf(schema.description);
    for (const value of listed) if (!values.has(String(value))) values.set(String(value), items.get(String(value)) ?? "");
  }
  return values;
}

// Lines `- value: what it means` of a description.
function itemsOf(description = "") {
  return new Map([...description.matchAll(/^- ([^\s:]+): (.*)$/gm)].map(([, value, meaning]) => [value, meaning]));
}

/** What a key means, in lines: its description, and then what can stand there. */
export function documentation({ schemas, required }) {
  const descriptions = [...new Set(schemas.map((schema) => schema.description).filter(Boolean))];
  const lines = descriptions.slice(0, 3).flatMap((text) => text.replace(/\n(?!- )/g, " ").split("\n"));
  const values = [...valuesOf(schemas).keys()];
  const listed = lines.some((line) => line.startsWith("- "));
  const facts = [];
  if (required) facts.push("required");
  if (values.length && !listed) facts.push(`one of ${values.join(", ")}`);
  const fallback = schemas.map((schema) => schema.default).find((value) => value !== undefined);
  if (["string", "number", "boolean"].includes(typeof fallback) && fallback !== "" && !/defaults? to/.test(lines.join(" ")))
    facts.push(`defaults to ${fallback}`);
  return { lines, facts: facts.join("; ") };
}

/** Whether only a mapping, or only a list, can stand there. */
export function holdsOnly(schemas, type) {
  const known = schemas.filter((schema) => schema.type !== "null");
  return known.length > 0 && known.every((schema) => schema.type === type);
}
