// The fabric as a picture of nodes and lines, drawn by cytoscape and by sigma, beside the page: why the page has none.
//
//   npm install --prefix /tmp/libraries --ignore-scripts cytoscape@3.35.0 sigma@4.0.4 graphology@0.26.0
//   node bench/node_link.mjs /tmp/libraries [FOLDER FOR PICTURES]
//
// Places of nodes are given, in tiers, so that no time goes into finding them. Prints the rows of docs/research/benchmarks.md.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { chromium } from "@playwright/test";
import esbuild from "esbuild";

const [libraries, pictures] = process.argv.slice(2);
if (libraries === undefined) {
  console.error("usage: node bench/node_link.mjs LIBRARIES [FOLDER FOR PICTURES]");
  process.exit(2);
}
/** Longest wait for a picture, milliseconds. */
const PATIENCE = 300_000;
const REFRESHES = 5;
/** The browser as playwright.config.ts has it for the page. */
const VIEWPORT = { width: 1440, height: 900 };
const BROWSER = {
  executablePath: process.env["WEFT_CHROMIUM"] ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist", "--enable-precise-memory-info"],
};

/** A fat tree of 48-port switches: nodes with a tier and a place in it, and links. Runs in the browser. */
const FABRIC = `
function fabric(hosts) {
  const half = 24, nodes = [], links = [];
  const add = (tier, of, at) => nodes.push({ id: String(nodes.length), tier, x: (at + 0.5) / of }) - 1;
  const edges = hosts / half;
  const edge = Array.from({ length: edges }, (_, at) => add(1, edges, at));
  if (hosts <= 1152) {
    const core = Array.from({ length: half }, (_, at) => add(2, half, at));
    for (const from of edge) for (const to of core) links.push([from, to]);
  } else {
    const above = Array.from({ length: edges }, (_, at) => add(2, edges, at));
    const core = Array.from({ length: half * half }, (_, at) => add(3, half * half, at));
    edge.forEach((from, at) => {
      const pod = Math.floor(at / half) * half;
      for (let up = 0; up < half; up++) links.push([from, above[pod + up]]);
    });
    above.forEach((from, at) => {
      for (let up = 0; up < half; up++) links.push([from, core[(at % half) * half + up]]);
    });
  }
  for (let at = 0; at < hosts; at++) links.push([add(0, hosts, at), edge[Math.floor(at / half)]]);
  return { nodes, links };
}
const LINE = (seed) => ["#3b7dd8", "#f2b134", "#c8380a", "#9aa7b4"][seed % 4];
const drawn = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(undefined))));
`;

const DRAW = {
  cytoscape: `
import cytoscape from "cytoscape";
${FABRIC}
window.start = async (hosts) => {
  const { nodes, links } = fabric(hosts);
  const view = cytoscape({
    container: document.body,
    elements: [
      ...nodes.map(({ id, tier, x }) => ({ data: { id }, position: { x: 20000 * x, y: 3000 * (3 - tier) } })),
      ...links.map(([source, target], at) => ({ data: { id: "l" + at, source: String(source), target: String(target), color: LINE(at) } })),
    ],
    style: [
      { selector: "node", style: { width: 4, height: 4 } },
      { selector: "edge", style: { width: 1, "line-color": "data(color)", "curve-style": "haystack" } },
    ],
    layout: { name: "preset" },
    renderer: { name: "canvas", webgl: true },
  });
  await drawn();
  let turn = 0;
  return async () => {
    turn++;
    view.batch(() => view.edges().forEach((edge, at) => edge.data("color", LINE(at + turn))));
    await drawn();
  };
};`,
  sigma: `
import Graph from "graphology";
import Sigma from "sigma";
${FABRIC}
window.start = async (hosts) => {
  const { nodes, links } = fabric(hosts);
  const graph = new Graph({ multi: true });
  nodes.forEach(({ id, tier, x }) => graph.addNode(id, { x: 20000 * x, y: 3000 * tier, size: 2, color: "#555" }));
  links.forEach(([source, target], at) => graph.addEdgeWithKey("l" + at, String(source), String(target), { size: 1, color: LINE(at) }));
  const view = new Sigma(graph, document.body, { renderLabels: false });
  await drawn();
  let turn = 0;
  return async () => {
    turn++;
    graph.updateEachEdgeAttributes((edge, attributes) => ({ ...attributes, color: LINE(Number(edge.slice(1)) + turn) }), { attributes: ["color"] });
    await drawn();
  };
};`,
};

const built = mkdtempSync(join(tmpdir(), "weft-node-link-"));
try {
  const modules = join(resolve(libraries), "node_modules");
  for (const name of Object.keys(DRAW)) {
    await esbuild.build({ stdin: { contents: DRAW[name], resolveDir: resolve(libraries) }, nodePaths: [modules], bundle: true, minify: true, format: "iife", outfile: join(built, `${name}.js`), logLevel: "error" });
  }
  for (const hosts of [1_152, 27_648]) {
    for (const name of Object.keys(DRAW)) {
      const browser = await chromium.launch(BROWSER);
      const page = await browser.newPage({ viewport: VIEWPORT });
      page.setDefaultTimeout(PATIENCE);
      page.on("pageerror", (error) => console.error(`${name}: ${error}`));
      await page.setContent(`<!DOCTYPE html><style>html, body { margin: 0; height: 100%; }</style>`);
      await page.addScriptTag({ path: join(built, `${name}.js`) });
      const times = await page.evaluate(
        async ([hosts, refreshes]) => {
          const begun = performance.now();
          const refresh = await window.start(hosts);
          const first = performance.now() - begun;
          const each = [];
          for (let turn = 0; turn < refreshes; turn++) {
            const begun = performance.now();
            await refresh();
            each.push(performance.now() - begun);
          }
          each.sort((a, b) => a - b);
          return { first, refresh: each[Math.floor(each.length / 2)], memory: performance.memory.usedJSHeapSize / 2 ** 20 };
        },
        [hosts, REFRESHES],
      );
      if (pictures !== undefined) await page.screenshot({ path: join(pictures, `${name}-${hosts}.png`) });
      console.log(`| ${name}, ${hosts.toLocaleString("en")} hosts | ${times.first.toFixed(0)} ms | ${times.refresh.toFixed(0)} ms | ${times.memory.toFixed(0)} MB |`);
      await browser.close();
    }
  }
} finally {
  rmSync(built, { recursive: true });
}
