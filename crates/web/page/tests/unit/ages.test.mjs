// Which ports a change colours.
import assert from "node:assert/strict";
import test from "node:test";
import { load } from "./load.mjs";

globalThis.location = { hash: "", origin: "http://localhost" };
globalThis.addEventListener = () => {};
globalThis.document = { documentElement: { dataset: {} }, hidden: true, addEventListener() {} };
globalThis.localStorage = { getItem: () => null, setItem() {} };
globalThis.matchMedia = () => ({ matches: true, addEventListener() {} });
const { changed, changeLine, Columns, events, Layout, past, told } = await load("tests/unit/ages.ts");

/** Two switches of four ports, whose first ports have a cable, and so have the second ones. */
function fabric() {
  const none = 0xffffffff;
  const bytes = (array) => new Uint8Array(array.buffer);
  const peers = Uint32Array.from([4, 5, none, none, 0, 1, none, none]);
  const layout = new Layout({ layout: "", guids: bytes(BigUint64Array.from([1n, 2n])), lids: bytes(Uint32Array.from([1, 2])), tiers: Uint8Array.from([1, 1]), pods: bytes(new Uint16Array(2)), ports: Uint8Array.from([4, 4]), peers: bytes(peers), names: ["a", "b"] });
  return { layout, columns: new Columns(layout.ports), health: undefined };
}

const coloured = () => [...changed.value.keys()].sort((a, b) => a - b);

test("an order for several ports colours all of them, with the other ends of their cables", () => {
  past.value = fabric();
  const ports = [1, 3].map((port) => ({ port: { nodeGuid: 1n, port }, nodeName: "a" }));
  events.value = [changeLine({ author: "", peer: "", what: "", reason: "", result: "ok", ports, eventId: "1", record: 0n })];
  assert.deepEqual(coloured(), [0, 2, 4]);
});

test("a cable that has gone colours both of its ends, wherever their cables lead now", () => {
  past.value = fabric();
  const content = { case: "linkVanished", value: { a: { nodeGuid: 1n, port: 3 }, b: { nodeGuid: 2n, port: 4 }, aName: "a", bName: "b" } };
  events.value = [told({ resumeToken: "2", content })];
  assert.deepEqual(coloured(), [2, 7]);
});

test("what is refused colours nothing", () => {
  past.value = fabric();
  events.value = [changeLine({ author: "", peer: "", what: "", reason: "", result: "permission_denied", ports: [{ port: { nodeGuid: 1n, port: 1 }, nodeName: "a" }], eventId: "3", record: 0n })];
  assert.deepEqual(coloured(), []);
});
