// Counters of all ports of a node together.
import assert from "node:assert/strict";
import test from "node:test";
import { load } from "./load.mjs";

const { growthOf, lanesOf, samplesOf, totalsOf } = await load("src/sums.ts");

const port = (number, totals, lanes = []) => ({ port: { port: { nodeGuid: 1n, port: number } }, totals: { $typeName: "weft.v1.PortCounts", ...totals }, lanes });

test("totals of ports are added, counter by counter", () => {
  assert.deepEqual(totalsOf([port(1, { xmitData: 5n, rcvData: 1n }), port(2, { xmitData: 7n, linkDowned: 2n })]), { xmitData: 12n, rcvData: 1n, linkDowned: 2n });
  assert.deepEqual(totalsOf([]), {});
});

test("what was counted meanwhile is told only where all ports tell it", () => {
  const before = [port(1, { xmitData: 5n, rcvData: 9n }), port(2, { xmitData: 7n, rcvData: 3n })];
  const after = [port(2, { xmitData: 17n, rcvData: 1n }), port(1, { xmitData: 6n, rcvData: 19n, xmitWait: 4n })];
  assert.deepEqual(growthOf(after, before), { xmitData: 11n });
  assert.deepEqual(growthOf([...after, port(3, { xmitData: 1n })], before), {});
});

test("lanes of ports are added, lane by lane, in their order", () => {
  const lane = (vl, xmitData, rate) => ({ vl, totals: { xmitData }, rates: rate === undefined ? undefined : { xmitData: rate } });
  assert.deepEqual(lanesOf([port(1, {}, [lane(15, 1n, 0.5), lane(0, 2n, 1)]), port(2, {}, [lane(0, 3n, 2), lane(15, 4n)])]), [
    { vl: 0, totals: { xmitData: 5n }, rates: { xmitData: 3 } },
    { vl: 15, totals: { xmitData: 5n }, rates: { xmitData: 0.5 } },
  ]);
});

test("rates of one reading are one sample, and a reading without any has none", () => {
  const sample = (seconds, rate) => ({ time: { seconds: BigInt(seconds), nanos: 500_000_000 }, rates: rate === undefined ? undefined : { xmitData: rate } });
  assert.deepEqual(samplesOf([sample(10), sample(20, 3), sample(10), sample(20, 4), sample(15, 1), sample(15)]), [
    { time: 10.5, rates: undefined },
    { time: 15.5, rates: { xmitData: 1 } },
    { time: 20.5, rates: { xmitData: 7 } },
  ]);
});
