// Bundle the editor into ../static/editor.js, and list the licences of what is in it. The same sources give the
// same bytes: versions are those of package-lock.json, and neither a time nor a path gets into the bundle.

import { createHash } from "node:crypto";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";

import { build } from "esbuild";

process.chdir(import.meta.dirname ?? new URL(".", import.meta.url).pathname);

/** SHA-256 of what decides on the bundle, so that a test can tell without Node.js whether it is up to date. */
function digest() {
  const names = readdirSync(".").filter((name) => /\.(js|json)$/.test(name) && !name.endsWith(".test.js"));
  const hash = createHash("sha256");
  for (const name of names.sort()) hash.update(`${name}\0`).update(readFileSync(name)).update("\0");
  return hash.digest("hex");
}

const { metafile } = await build({
  entryPoints: ["editor.js"],
  outfile: "../static/editor.js",
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
  metafile: true,
  banner: { js: `/*! Built by make editor; sources ${digest()}. Licences of bundled packages: editor.LICENSES.txt */` },
});

const packages = new Set();
for (const input of Object.keys(metafile.inputs)) {
  const name = /^node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input)?.[1];
  if (name) packages.add(name);
}
const texts = [...packages].sort().map((name) => {
  const { version, license } = JSON.parse(readFileSync(`node_modules/${name}/package.json`, "utf8"));
  return `${name} ${version} (${license})\n\n${readFileSync(`node_modules/${name}/LICENSE`, "utf8").trim()}\n`;
});
const rule = `\n${"-".repeat(78)}\n\n`;
writeFileSync("../static/editor.LICENSES.txt", ["Packages in editor.js, with their licences.\n", ...texts].join(rule));
