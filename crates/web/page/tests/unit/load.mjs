// Sources of the page as modules for Node.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import esbuild from "esbuild";

export async function load(source) {
  const dir = mkdtempSync(join(tmpdir(), "weft-page-"));
  const outfile = join(dir, "module.mjs");
  await esbuild.build({ entryPoints: [source], bundle: true, format: "esm", platform: "neutral", mainFields: ["module", "main"], outfile, logLevel: "error", jsx: "automatic", jsxImportSource: "preact" });
  const module = await import(pathToFileURL(outfile).href);
  rmSync(dir, { recursive: true });
  return module;
}

/** Numbers below a bound, the same for the same seed. */
export function random(seed) {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}
