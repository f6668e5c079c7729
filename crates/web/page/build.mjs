// Makes crates/web/assets/page.js, experiments.js, shared.js, page.css and licenses.txt: `npm ci --ignore-scripts && npm run build`.
// With the argument `--out DIR` they go there instead.
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import esbuild from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
process.chdir(here);
const at = process.argv.indexOf("--out");
const out = at < 0 ? "../assets" : process.argv[at + 1];
/** Most that the page may weigh when it is compressed, bytes. */
const GZIP_MAX = 120 * 1024;

rmSync("gen", { recursive: true, force: true });
execFileSync("node_modules/.bin/buf", ["generate", "../../../proto"], { stdio: "inherit" });
execFileSync("node_modules/.bin/tsc", ["--noEmit"], { stdio: "inherit" });
mkdirSync(out, { recursive: true });
const built = await esbuild.build({
  // What is loaded later has a file of its own, and so has what both need.
  entryPoints: { page: "src/main.tsx", experiments: "src/experiments/view.tsx" },
  splitting: true,
  chunkNames: "shared",
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
writeFileSync(join(out, "licenses.txt"), licenses(Object.keys(built.metafile.inputs)));
const files = ["page.js", "shared.js", "experiments.js", "page.css"];
const sizes = files.map((name) => gzipSync(readFileSync(join(out, name)), { level: 9 }).length);
const size = sizes.reduce((a, b) => a + b);
console.log(`compressed: ${files.map((name, at) => `${name} ${kib(sizes[at])}`).join(", ")}, allowed are ${kib(GZIP_MAX)} together`);
if (size > GZIP_MAX) {
  process.exit(1);
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
