// The pairs of the matrix: of switches, and of pods with the groups of switches above them.
import assert from "node:assert/strict";
import test from "node:test";
import { load } from "./load.mjs";

const { Layout, NO_PEER, UNKNOWN } = await load("src/fabric.ts");
const { hasGroups, pairsOf } = await load("src/matrix_pairs.ts");
const { Shade } = await load("src/kinds.ts");

const PORTS = 4;
/** No port has errors. */
const none = () => false;

/**
 * Nodes by tier and pod, four ports each, and cables between them by name. In pods `a` and `b` two edge switches and two above
 * them, each of these cabled to two of four cores.
 */
function fabric() {
  const nodes = [];
  const ports = new Map();
  const add = (name, tier, pod) => {
    ports.set(name, PORTS * nodes.length);
    nodes.push({ name, tier, pod });
  };
  for (let core = 1; core <= 4; core++) add(`core${core}`, 3, 0);
  for (const [pod, letter] of [[1, "a"], [2, "b"]]) {
    for (const at of [1, 2]) [add(`edge-${letter}${at}`, 1, pod), add(`upper-${letter}${at}`, 2, pod)];
  }
  const peers = new Uint32Array(PORTS * nodes.length).fill(NO_PEER);
  const plug = (a, b) => {
    const [one, other] = [ports.get(a), ports.get(b)];
    ports.set(a, one + 1).set(b, other + 1);
    [peers[one], peers[other]] = [other, one];
  };
  for (const letter of ["a", "b"]) {
    for (const at of [1, 2]) {
      for (const other of [1, 2]) plug(`edge-${letter}${at}`, `upper-${letter}${other}`);
      for (const core of [2 * at - 1, 2 * at]) plug(`upper-${letter}${at}`, `core${core}`);
    }
  }
  const bytes = (array) => new Uint8Array(array.buffer);
  const layout = new Layout({
    layout: "1-1",
    guids: bytes(BigUint64Array.from(nodes, (_, at) => BigInt(at + 1))),
    lids: bytes(Uint32Array.from(nodes, (_, at) => at + 1)),
    tiers: Uint8Array.from(nodes, ({ tier }) => tier),
    pods: bytes(Uint16Array.from(nodes, ({ pod }) => pod)),
    ports: Uint8Array.from(nodes, () => PORTS),
    peers: bytes(peers),
    names: nodes.map(({ name }) => name),
  });
  const shades = Uint8Array.from(peers, (peer) => (peer === NO_PEER ? Shade.Empty : Shade.Active));
  const unknown = () => new Uint8Array(peers.length).fill(UNKNOWN);
  return { layout, shades, load: unknown(), errors: unknown() };
}

/** Pairs by their names: links that are up of all, and whether something is wrong. */
function told({ pairs, lowerName, upperName }) {
  return Object.fromEntries([...pairs.values()].map((pair) => [`${lowerName(pair.lower)} × ${upperName(pair.upper)}`, `${pair.up}/${pair.links}${pair.wrong ? " wrong" : ""}`]));
}

/** The lower end of the link between two nodes. */
function portOf(layout, lower, upper) {
  const node = layout.names.indexOf(lower);
  for (let port = layout.first[node]; port < layout.first[node + 1]; port++) {
    if (layout.peers[port] !== NO_PEER && layout.names[layout.nodeOf[layout.peers[port]]] === upper) return port;
  }
  throw new Error(`${lower} has no cable to ${upper}`);
}

test("links above the pods are those of switches, or of pods and groups of cores", () => {
  const { layout, shades, load, errors } = fabric();
  const single = pairsOf(layout, 2, false, load, errors, shades, none);
  assert.deepEqual([single.lowers, single.uppers, single.w, single.h, single.usual, single.pairs.size], [4, 4, 4, 4, 1, 8]);
  const grouped = pairsOf(layout, 2, true, load, errors, shades, none);
  assert.deepEqual([grouped.lowers, grouped.uppers, grouped.w, grouped.h, grouped.usual], [2, 2, 2, 2, 2]);
  assert.deepEqual(told(grouped), {
    "Pod 1 × core1 … core2 (2)": "2/2",
    "Pod 1 × core3 … core4 (2)": "2/2",
    "Pod 2 × core1 … core2 (2)": "2/2",
    "Pod 2 × core3 … core4 (2)": "2/2",
  });
});

test("a group is marked by its link that is in trouble, and leads to it", () => {
  const { layout, shades, load, errors } = fabric();
  const lost = portOf(layout, "upper-b2", "core4");
  shades[lost] = Shade.Lost;
  const { pairs, w } = pairsOf(layout, 2, true, load, errors, shades, none);
  const pair = pairs.get(1 * w + 1);
  assert.deepEqual([pair.up, pair.links, pair.wrong, pair.port], [1, 2, true, lost]);
  assert.deepEqual([...pairs.values()].filter((one) => one.wrong), [pair]);
});

test("the imbalance of a pair of groups is that among the links of its pod", () => {
  const { layout, shades, load, errors } = fabric();
  for (const [upper, core, share] of [["upper-a1", "core1", 100], ["upper-a1", "core2", 20], ["upper-a2", "core3", 20], ["upper-a2", "core4", 20]]) load[portOf(layout, upper, core)] = share;
  const { pairs, w } = pairsOf(layout, 2, true, load, errors, shades, none);
  const of = (row, column) => pairs.get(row * w + column);
  assert.deepEqual([of(0, 0).load, of(0, 0).times], [100, 2.5]);
  assert.deepEqual([of(0, 1).load, of(0, 1).times], [20, 0.5]);
  assert.deepEqual([of(1, 0).load, of(1, 0).times], [UNKNOWN, 0]);
  // By switches each row has two links alone.
  const single = pairsOf(layout, 2, false, load, errors, shades, none);
  assert.equal(Math.max(...[...single.pairs.values()].map((pair) => pair.times)), 100 / 60);
});

test("a pair has the errors of its worst link, and errors alone are not what breaks it", () => {
  const { layout, shades, load, errors } = fabric();
  const lower = portOf(layout, "upper-a1", "core1");
  const [peer, other] = [layout.peers[lower], portOf(layout, "upper-a1", "core2")];
  [errors[lower], errors[peer], errors[other]] = [3, 40, 7];
  [shades[lower], shades[other]] = [Shade.Errors, Shade.Slow];
  const { pairs, w } = pairsOf(layout, 2, false, load, errors, shades, none);
  const of = (column) => pairs.get(column);
  assert.ok(w > 1);
  assert.deepEqual([of(0).errors, of(0).wrong, of(0).broken], [40, true, false]);
  assert.deepEqual([of(1).errors, of(1).wrong, of(1).broken], [7, true, true]);
  assert.equal(pairs.get(w + 2).errors, UNKNOWN);
});

test("a pair has errors where one of its links is said to, whatever else is in trouble and whatever is counted", () => {
  const { layout, shades, load, errors } = fabric();
  const [lower, slow, off] = [portOf(layout, "upper-a1", "core1"), portOf(layout, "upper-a1", "core2"), portOf(layout, "upper-a2", "core3")];
  errors.fill(0);
  [shades[lower], shades[slow], shades[off]] = [Shade.Errors, Shade.Slow, Shade.Disabled];
  for (const end of [lower, layout.peers[lower]]) {
    const { pairs } = pairsOf(layout, 2, false, load, errors, shades, (port) => port === end);
    assert.deepEqual([...pairs.values()].filter((pair) => pair.hasErrors).map((pair) => pair.port), [lower]);
    assert.deepEqual([...pairs.values()].filter((pair) => pair.wrong).map((pair) => pair.port), [lower, slow, off]);
  }
});

test("a pair counts its links that are drained at either end, also those that are not the first", () => {
  const { layout, shades, load, errors } = fabric();
  const [first, second] = [portOf(layout, "upper-a1", "core1"), portOf(layout, "upper-a1", "core2")];
  const drained = () => [...pairsOf(layout, 2, true, load, errors, shades, none).pairs.values()].map((pair) => pair.drained);
  assert.deepEqual(drained(), [0, 0, 0, 0]);
  shades[layout.peers[second]] = Shade.Drained;
  assert.deepEqual(drained(), [1, 0, 0, 0]);
  shades[second] = Shade.Drained;
  assert.deepEqual(drained(), [1, 0, 0, 0]);
  shades[first] = Shade.Drained;
  assert.deepEqual(drained(), [2, 0, 0, 0]);
});

test("there are groups where links lead out of pods", () => {
  const { layout } = fabric();
  assert.equal(hasGroups(layout, 2), true);
  // Between these tiers links stay within the pods, each of which has a matrix of its own.
  assert.equal(hasGroups(layout, 1), false);
  const { matrices, pairs } = pairsOf(layout, 1, false, new Uint8Array(layout.ports), new Uint8Array(layout.ports), new Uint8Array(layout.ports), none);
  assert.deepEqual([matrices, pairs.size], [2, 8]);
  assert.equal(hasGroups(new Layout({ layout: "1-1", guids: new Uint8Array(), lids: new Uint8Array(), tiers: new Uint8Array(), pods: new Uint8Array(), ports: new Uint8Array(), peers: new Uint8Array(), names: [] }), 1), false);
});
