// Where things are in the picture: nothing covers anything else, and what is pointed at is found.
import assert from "node:assert/strict";
import test from "node:test";
import { load, random } from "./load.mjs";

const { Layout, NO_PEER } = await load("src/fabric.ts");
const { Picture } = await load("src/picture.ts");
const { svgOf } = await load("src/svg.ts");

/** A fat tree of pods, switches of each tier in one, hosts at each switch of the lowest one. */
function tree(pods, switches, hosts, tops) {
  const [tiers, podOf, ports] = [[], [], []];
  const add = (count, tier, pod, many) => {
    const first = tiers.length;
    for (let at = 0; at < count; at++) [tiers[first + at], podOf[first + at], ports[first + at]] = [tier, pod, many];
    return first;
  };
  add(tops, 3, 0, pods);
  const uppers = Array.from({ length: pods }, (_, pod) => add(switches, 2, pod + 1, switches + tops / switches));
  const lowers = Array.from({ length: pods }, (_, pod) => add(switches, 1, pod + 1, switches + hosts));
  const ends = lowers.map((_, pod) => add(switches * hosts, 0, pod + 1, 1));
  const first = [0];
  ports.forEach((many) => first.push(first.at(-1) + many));
  const peers = new Uint32Array(first.at(-1)).fill(NO_PEER);
  const plug = (a, b) => ([peers[a], peers[b]] = [b, a]);
  lowers.forEach((lower, pod) => {
    for (let one = 0; one < switches; one++) {
      for (let host = 0; host < hosts; host++) plug(first[lower + one] + host, first[ends[pod] + one * hosts + host]);
      for (let other = 0; other < switches; other++) plug(first[lower + one] + hosts + other, first[uppers[pod] + other] + one);
    }
  });
  const bytes = (array) => new Uint8Array(array.buffer);
  return new Layout({
    layout: "1-1",
    guids: bytes(BigUint64Array.from(tiers, (_, at) => BigInt(at + 1))),
    lids: bytes(Uint32Array.from(tiers, (_, at) => at + 1)),
    tiers: Uint8Array.from(tiers),
    pods: bytes(Uint16Array.from(podOf)),
    ports: Uint8Array.from(ports),
    peers: bytes(peers),
    names: tiers.map((tier, at) => `t${tier}-${at}`),
  });
}

for (const [name, layout] of [["three tiers", tree(6, 4, 5, 8)], ["one pod", tree(1, 3, 2, 3)], ["none", tree(0, 1, 1, 0)]]) {
  test(`${name}: every node has its own place in a picture of any form`, () => {
    for (const aspect of [0.4, 1, 1.8, 3.5]) {
      const picture = new Picture(layout, aspect);
      const taken = new Set();
      for (let port = 0; port < layout.ports; port++) {
        const cell = picture.cell(port);
        assert.ok(cell.x >= -0.01 && cell.y >= 0 && cell.x + 1 <= picture.w + 0.01 && cell.y + 1 <= picture.h + 0.01, `${name} ${port}`);
        assert.ok(Number.isInteger(cell.x) && Number.isInteger(cell.y), `${name} ${port}: not a whole cell`);
        const key = `${cell.x} ${cell.y}`;
        assert.ok(!taken.has(key), `${name}: two ports at ${key}`);
        taken.add(key);
        const found = picture.at(cell.x + 0.5, cell.y + 0.5, 1);
        assert.equal(found.node, layout.nodeOf[port]);
        assert.equal(found.port, port);
      }
    }
  });
}

test("far from everything nothing is found", () => {
  const picture = new Picture(tree(2, 2, 2, 2), 1);
  assert.equal(picture.at(-500, -500, 3), undefined);
  const next = random(7);
  for (let step = 0; step < 500; step++) picture.at(next(400) - 100, next(400) - 100, 2);
});

test("a drawing has every port in the path of its kind, and names as text", () => {
  const layout = tree(2, 2, 2, 2);
  // Two letters fit above such a tile.
  [layout.names[0], layout.names[1]] = ["<&", "\u0001>"];
  const shades = new Uint8Array(layout.ports).fill(1);
  shades[0] = 3;
  const drawing = svgOf(new Picture(layout, 1.5), shades, true);
  assert.match(drawing, /<title>missing link: 1<\/title>/);
  assert.match(drawing, new RegExp(`<title>active: ${layout.ports - 1}</title>`));
  assert.ok(drawing.includes(">&lt;&amp;</text>") && drawing.includes(">\uFFFD&gt;</text>"), drawing);
  assert.ok(drawing.indexOf("active:") < drawing.indexOf("missing link:"), "what is wrong is before what is well");
  assert.doesNotMatch(drawing, /NaN|undefined/);
});

test("arrow keys lead from node to node, in their direction, and to every one", () => {
  for (const [pods, switches, hosts, tops] of [[1, 3, 5, 3], [4, 4, 8, 8], [9, 6, 12, 12]]) {
    const nodes = tree(pods, switches, hosts, tops);
    const picture = new Picture(nodes, 1.6);
    const seen = new Set([picture.nearest(picture.w / 2, picture.h / 2)]);
    for (const node of seen) {
      for (const [right, down] of [[1, 0], [-1, 0], [0, 1], [0, -1]]) {
        const next = picture.beside(node, right, down);
        if (next === undefined) continue;
        const [from, to] = [picture.boxes[node], picture.boxes[next]];
        assert.ok((to.x + to.w / 2 - from.x - from.w / 2) * right + (to.y + to.h / 2 - from.y - from.h / 2) * down > 0);
        seen.add(next);
      }
    }
    assert.equal(seen.size, nodes.nodes);
  }
});
