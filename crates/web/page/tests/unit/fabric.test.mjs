// The decoder of layout and columns: what fits is read as it was meant, what does not is refused with a reason, and
// nothing else happens.
import assert from "node:assert/strict";
import test from "node:test";
import { load, random } from "./load.mjs";

const { Layout, Columns, Kind, NO_PEER } = await load("src/fabric.ts");

/** A layout of random nodes and cables. */
function layoutOf(random) {
  const nodes = random(40);
  const ports = Uint8Array.from({ length: nodes }, () => random(5));
  const count = ports.reduce((a, b) => a + b, 0);
  const peers = new Uint32Array(count).fill(NO_PEER);
  for (let port = 0; port < count; port++) {
    const other = random(count);
    if (other !== port && peers[port] === NO_PEER && peers[other] === NO_PEER) [peers[port], peers[other]] = [other, port];
  }
  const bytes = (array) => new Uint8Array(array.buffer);
  return {
    layout: "1-1",
    guids: bytes(BigUint64Array.from({ length: nodes }, (_, node) => 0x00117501_00000000n + BigInt(node))),
    lids: bytes(Uint32Array.from({ length: nodes }, () => random(49_152))),
    tiers: Uint8Array.from({ length: nodes }, () => random(4)),
    pods: bytes(Uint16Array.from({ length: nodes }, () => random(9))),
    ports,
    peers: bytes(peers),
    names: Array.from({ length: nodes }, (_, node) => `node${node}`),
  };
}

test("what fits together is read", () => {
  for (let seed = 1; seed <= 300; seed++) {
    const message = layoutOf(random(seed));
    const layout = new Layout(message);
    assert.equal(layout.nodes, message.names.length);
    assert.equal(layout.ports, message.ports.reduce((a, b) => a + b, 0));
    for (let port = 0; port < layout.ports; port++) {
      const node = layout.nodeOf[port];
      assert.equal(layout.first[node] + layout.number(port) - 1, port);
      assert.ok(layout.number(port) >= 1 && layout.number(port) <= message.ports[node]);
    }
    for (let node = 0; node < layout.nodes; node++) assert.equal(layout.find(layout.guids[node]), node);
  }
});

test("bytes that were changed are refused with a reason, or read as something that holds together", () => {
  let refused = 0;
  for (let seed = 1; seed <= 2_000; seed++) {
    const next = random(seed);
    const message = layoutOf(next);
    const parts = ["guids", "lids", "tiers", "pods", "ports", "peers"];
    const part = parts[next(parts.length)];
    const bytes = message[part];
    if (next(2) === 0 || bytes.length === 0) {
      message[part] = Uint8Array.from([...bytes, next(256)]).subarray(next(3));
    } else {
      bytes[next(bytes.length)] ^= 1 + next(255);
    }
    try {
      const layout = new Layout(message);
      for (let port = 0; port < layout.ports; port++) {
        assert.ok(layout.nodeOf[port] < layout.nodes);
        const peer = layout.peers[port];
        assert.ok(peer === NO_PEER || layout.peers[peer] === port);
      }
    } catch (error) {
      assert.match(error.message, /bytes, expected|names of|has one end/);
      refused++;
    }
  }
  assert.ok(refused > 500, `${refused} were refused`);
});

test("columns follow changes whatever they are, and a wrong one changes nothing", () => {
  for (let seed = 1; seed <= 1_000; seed++) {
    const next = random(seed);
    const ports = 1 + next(60);
    const columns = new Columns(ports);
    const own = columns.get(Kind.State);
    const expected = new Uint8Array(ports);
    for (let step = 0; step < 8; step++) {
      const none = new Uint8Array();
      if (next(3) === 0) {
        const values = Uint8Array.from({ length: ports }, () => next(7));
        columns.take({ kind: Kind.State, values, places: none, changed: none });
        expected.set(values);
      } else {
        const some = Uint32Array.from({ length: next(6) }, () => next(ports + (next(4) === 0 ? 3 : 0)));
        const changed = Uint8Array.from(some, () => next(256));
        const isWrong = some.some((place) => place >= ports);
        const places = new Uint8Array(some.buffer);
        const take = () => columns.take({ kind: Kind.State, values: none, places, changed });
        if (isWrong) {
          assert.throws(take, /port \d+ of/);
        } else {
          take();
          some.forEach((place, at) => (expected[place] = changed[at]));
        }
      }
      assert.deepEqual(own, expected);
    }
    assert.throws(() => columns.take({ kind: Kind.Load, values: new Uint8Array(ports + 1), places: new Uint8Array(), changed: new Uint8Array() }), /expected/);
    assert.throws(() => columns.take({ kind: Kind.Load, values: new Uint8Array(), places: new Uint8Array(3), changed: new Uint8Array(1) }), /expected 4/);
    columns.take({ kind: 99, values: new Uint8Array(7), places: new Uint8Array(), changed: new Uint8Array() });
  }
});
