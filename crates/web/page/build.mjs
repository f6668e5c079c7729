// Makes what is in crates/web/assets, icon.svg apart: `npm ci --ignore-scripts && npm run build`.
// With the argument `--out DIR` they go there instead.
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import esbuild from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
process.chdir(here);
const at = process.argv.indexOf("--out");
const out = at < 0 ? "../assets" : process.argv[at + 1];
/** Most that what is loaded first may weigh when it is compressed, and everything that is loaded later together, bytes. */
const [FIRST_MAX, LATER_MAX] = [120 * 1024, 120 * 1024];

rmSync("gen", { recursive: true, force: true });
execFileSync("node_modules/.bin/buf", ["generate", "../../../proto"], { stdio: "inherit" });
execFileSync("node_modules/.bin/tsc", ["--noEmit"], { stdio: "inherit" });
mkdirSync(out, { recursive: true });
// Names of scripts change with what is in them.
for (const name of at < 0 ? readdirSync(out) : []) {
  if (/\.js$/.test(name)) rmSync(join(out, name));
}
const { metafile } = await esbuild.build({
  // What is loaded later has files of its own, and so has what several parts need.
  entryPoints: { page: "src/main.tsx" },
  splitting: true,
  chunkNames: "[name]-[hash]",
  bundle: true,
  minify: true,
  format: "esm",
  target: ["es2022", "chrome110", "firefox115", "safari16"],
  charset: "utf8",
  legalComments: "none",
  jsx: "automatic",
  jsxImportSource: "preact",
  outdir: out,
  metafile: true,
});
writeFileSync(join(out, "licenses.txt"), licenses(Object.keys(metafile.inputs)));

const scripts = new Map(Object.entries(metafile.outputs).filter(([path]) => path.endsWith(".js")).map(([path, made]) => [basename(path), made]));
const first = withImports("page.js", new Set());
const later = [...scripts.keys()].filter((name) => !first.has(name));
const [firstSize, laterSize] = [sizeOf([...first, "page.css"]), sizeOf(later)];
console.log(`compressed: ${kib(firstSize)} are loaded first, allowed are ${kib(FIRST_MAX)}: ${listed([...first, "page.css"])}`);
console.log(`compressed: ${kib(laterSize)} are loaded later, allowed are ${kib(LATER_MAX)}: ${listed(later)}`);
if (firstSize > FIRST_MAX || laterSize > LATER_MAX) {
  process.exit(1);
}
const preloaded = [...first].filter((name) => name !== "page.js").sort();
const links = preloaded.map((name) => `<link rel="modulepreload" href="/${name}">\n`).join("");
writeFileSync(join(out, "index.html"), readFileSync("src/index.html", "utf8").replace("<!-- preloaded -->\n", links));
writeFileSync(join(out, "scripts.rs"), table([...scripts.keys()].sort()));

/** A script, and those that it cannot do without. */
function withImports(name, found) {
  found.add(name);
  for (const { path, kind } of scripts.get(name).imports) {
    if (kind === "import-statement" && !found.has(basename(path))) withImports(basename(path), found);
  }
  return found;
}

/** The scripts as `assets.rs` includes them. */
function table(names) {
  const rows = names.map((name) => `    ("/${name}", include_bytes!("${name}")),\n`);
  return `// Made by crates/web/page/build.mjs.\n[\n${rows.join("")}]\n`;
}

function sizeOf(names) {
  return names.reduce((sum, name) => sum + weight(name), 0);
}

function weight(name) {
  return gzipSync(readFileSync(join(out, name)), { level: 9 }).length;
}

function listed(names) {
  return names.map((name) => `${name} ${kib(weight(name))}`).join(", ");
}

function kib(bytes) {
  return `${(bytes / 1024).toFixed(1)} KiB`;
}

/** The licences of all packages of which a part is in the bundle. */
function licenses(inputs) {
  const packages = new Set();
  for (const input of inputs) {
    const found = /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(input);
    if (found) {
      packages.add(found[1]);
    }
  }
  const parts = [...packages].sort().map((name) => {
    const about = JSON.parse(readFileSync(`node_modules/${name}/package.json`, "utf8"));
    const file = readdirSync(`node_modules/${name}`).find((one) => /^licen[cs]e/i.test(one));
    const own = inputs.filter((input) => input.includes(`node_modules/${name}/`));
    const text = file ? readFileSync(`node_modules/${name}/${file}`, "utf8").trim() : notices(name, own);
    return `${name} ${about.version}, ${about.license}\n\n${text}\n`;
  });
  const line = "-".repeat(72);
  return `The page of Weft has parts of these packages.\n\n${line}\n${parts.join(`\n${line}\n`)}`;
}

/** What the files of a package say of their licence, where it has no file for that. */
function notices(name, inputs) {
  const blocks = inputs.flatMap((input) => readFileSync(input, "utf8").match(/(?:^[ \t]*\/\/.*\n)+/gm) ?? []);
  const found = new Set(blocks.filter((block) => /Copyright/.test(block)).map((block) => block.replace(/^[ \t]*\/\/ ?/gm, "").trim()));
  if (found.size === 0) {
    throw new Error(`${name}: neither a file nor a notice tells its licence`);
  }
  return [...found].join("\n\n");
}
