// Addresses of views, and what a search finds.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { load } from "./load.mjs";

globalThis.location = { hash: "", origin: "http://localhost" };
globalThis.addEventListener = () => {};
globalThis.document = { documentElement: { dataset: {} }, hidden: true, addEventListener() {} };
globalThis.localStorage = { getItem: () => null, setItem() {} };
globalThis.matchMedia = () => ({ matches: true, addEventListener() {} });
const { addressAt, addressOf, momentOf, range, rangeOf, startOf, viewOf } = await load("src/address.ts");
const { pathOf, timeStep } = await load("src/chart.tsx");
const { busier, byShare, errorsOf, errorsRamp, errorsText, kindOf, KINDS, percent, rampOf, Shade, shadeOf } = await load("src/kinds.ts");
const { shapeOf } = await load("src/draw.ts");
const { plainly } = await load("src/plainly.ts");
const { isOnlySlow, refusedText, stateText, undone, undoneText } = await load("src/operation_words.ts");
const { OperationKind, OperationState } = await load("gen/weft/v1/operation_pb.ts");
const palette = await load("src/palette.ts");
const { fitting, shortName } = await load("src/words.ts");
const { csv, ungrouped } = await load("src/save.ts");
const { rowsOf } = await load("src/flows.tsx");
const { askedOf, search } = await load("src/search.tsx");

test("every view has an address that leads to it", () => {
  const views = [
    { kind: "overview", paint: "state" },
    { kind: "overview", paint: "load" },
    { kind: "overview", paint: "wait" },
    { kind: "overview", paint: "errors" },
    { kind: "matrix", by: "load", tier: 0, pods: false },
    { kind: "matrix", by: "imbalance", tier: 0, pods: false },
    { kind: "matrix", by: "errors", tier: 0, pods: false },
    { kind: "matrix", by: "load", tier: 2, pods: false },
    { kind: "matrix", by: "imbalance", tier: 2, pods: true },
    { kind: "matrix", by: "load", tier: 0, pods: true },
    { kind: "groups" },
    { kind: "fabric", name: "Default" },
    { kind: "fabric", name: "a/b@<i> %2f שלום" },
    { kind: "group", mgid: "0xff12401b80010000:0x00000000ffffffff" },
    { kind: "route", from: 0n, to: 0n, beside: "" },
    { kind: "route", from: 0x00117501020b0001n, to: 0n, beside: "" },
    { kind: "route", from: 0x00117501020b0001n, to: 7n, beside: "" },
    { kind: "route", from: 0x00117501020b0001n, to: 7n, beside: "opa-shortestpath" },
    { kind: "events" },
    { kind: "plans", guid: 0n, port: 0 },
    { kind: "plans", guid: 0x00117501020b0001n, port: 0 },
    { kind: "plans", guid: 0x00117501020b0001n, port: 31 },
    { kind: "plan", id: "op-17" },
    { kind: "plan", id: "night.shift_2" },
    { kind: "focus", guid: 0x00117501020b0001n, port: 0 },
    { kind: "focus", guid: 0xffffffffffffffffn, port: 48 },
    { kind: "focus", guid: 7n, port: 48, lines: "waiting" },
    { kind: "focus", guid: 7n, port: 0, lines: "errors" },
    { kind: "fabric", name: "really?last=1w" },
  ];
  const time = new Date("2026-11-23T03:12:07Z");
  for (const view of views) {
    assert.deepEqual(viewOf(addressOf(view)), view);
    assert.equal(momentOf(addressOf(view)), undefined);
    const then = addressAt(view, time);
    assert.deepEqual(viewOf(then), view);
    assert.deepEqual(momentOf(then), time);
    for (const seconds of [900, 3_600, 21_600, 86_400, 604_800]) {
      range.value = seconds;
      for (const address of [addressOf(view), addressAt(view, time)]) {
        assert.equal(rangeOf(address), seconds);
        assert.deepEqual(viewOf(address), view);
      }
      assert.deepEqual(momentOf(addressAt(view, time)), time);
    }
    range.value = 3_600;
  }
  for (const hash of ["#/", "#/?last=", "#/?last=2y", "#/?last=__proto__", "#/@2026-11-23T03:12:07Z"]) assert.equal(rangeOf(hash), 3_600, hash);
});

test("a moment is one of the past", () => {
  for (const hash of ["#/@", "#/@now", "#/@2999-01-01T00:00:00Z", "#/@<b>", "#/"]) assert.equal(momentOf(hash), undefined, hash);
  assert.deepEqual(momentOf("#/node/0x1@2026-11-23T03:12:07.250Z"), new Date("2026-11-23T03:12:07.250Z"));
});

test("what health has to say of a port is seen also where its link is active", () => {
  const [active, empty, lost, other, slow] = [1, 0, 3, 32, 1];
  assert.equal(kindOf(shadeOf(active, 0)).name, "active");
  assert.equal(kindOf(shadeOf(active, other)).name, "other trouble");
  assert.equal(kindOf(shadeOf(empty, other)).name, "other trouble");
  assert.equal(kindOf(shadeOf(active, other | slow)).name, "slow");
  assert.equal(kindOf(shadeOf(lost, other)).name, "missing link");
});

test("each kind of port that has a shape has one of its own", () => {
  const shapes = KINDS.map(({ shade }) => shapeOf(shade)).filter((shape) => shape !== 0);
  assert.equal(new Set(shapes).size, shapes.length);
  for (const { shade, name, wrong } of KINDS) assert.ok(!wrong || shapeOf(shade) !== 0, name);
  assert.equal(shapeOf(Shade.Ramp), 0);
  assert.ok(![0, ...shapes].includes(shapeOf(Shade.DrainedRamp)), "what is drained has a frame around its colour");
});

test("a share that is next to nothing is said to be less than the least that is told apart", () => {
  assert.deepEqual([0, 1, 2, 100, 200, 255].map(percent), ["0 %", "< 0.5 %", "1.0 %", "50 %", "100 %", "unknown"]);
});

test("a link that has errors by the page of health is not said to have none", () => {
  assert.equal(errorsText(0), "none");
  assert.equal(errorsText(0, true), "before the last reading");
  assert.equal(errorsText(255, true), "unknown");
});

test("what the daemon says of a node has its name, and many slow devices are one line", () => {
  const nodes = someNodes();
  const guid = (node) => `0x${nodes.guids[node].toString(16).padStart(16, "0")}`;
  assert.equal(plainly(`port: the cable in port 44 of node ${guid(0)} has not been read`, nodes), "the cable in port 44 of edge1 has not been read");
  assert.equal(plainly("no node 0x00000000000000ff in the fabric", nodes), "no node 0x00000000000000ff in the fabric");
  assert.equal(plainly(`node ${guid(0)} is silent`, undefined), `node ${guid(0)} is silent`);
  assert.equal(plainly(`core1 (${guid(2)}) answers`, nodes), "core1 answers");
  assert.equal(plainly(`nothing is known of the cable in ${guid(2)} port 3: the node is not in the fabric`, nodes), "nothing is known of the cable in core1 port 3: the node is not in the fabric");
  const slow = (node) => `${node === 0 ? `node ${guid(node)}` : `core1 (${guid(node)})`} did not take all of its settings`;
  const left = `sweep 9: ${slow(0)}; ${slow(2)}; and 7 more`;
  assert.deepEqual(undone(left, nodes), { slow: ["edge1", "core1"], rest: [], more: 7 });
  assert.deepEqual(undone(`the next sweep tries again: ${left}`, nodes), { slow: ["edge1", "core1"], rest: [], more: 7 });
  assert.deepEqual(undone("the fabric has changed since", nodes), { slow: [], rest: ["the fabric has changed since"], more: 0 });
  const silent = Array.from({ length: 5 }, (_, at) => `core${at} does not answer`);
  assert.deepEqual([left, `${slow(0)}; ${silent[0]}`, silent.join("; "), ""].map(isOnlySlow), [true, false, false, false]);
  assert.equal(undoneText(`the next sweep tries again: ${left}`), "2 devices were slow; and 7 more");
  assert.equal(undoneText([slow(2), ...silent, "and 9 more"].join("; ")), "1 device was slow; core0 does not answer; core1 does not answer; core2 does not answer; and 11 more");
  assert.equal(undoneText("in force after 3 sweeps; 2 devices were slow and asked again"), "in force after 3 sweeps; 2 devices were slow and asked again");
});

test("what is refused is a drain only where it is one", () => {
  for (const kind of Object.values(OperationKind).filter(Number.isInteger)) {
    assert.deepEqual(refusedText({ kind }), [kind === OperationKind.DRAIN ? "The drain is refused:" : "It is refused:", "nothing was changed."]);
    assert.equal(stateText({ kind, state: OperationState.REFUSED, sweep: 0n, error: "hosts would be cut off" }), "refused");
  }
});

test("a change that failed is in force where it lacks nothing but what slow devices have not confirmed", () => {
  const slow = "sweep 9: node 0x0011750100000001 did not take all of its settings; and 2 more";
  const texts = { PLANNING: "routes are computed", PLANNED: "can be applied", APPLYING: "is being written", DONE: "done", CANCELLED: "given up", REFUSED: "refused", UNSPECIFIED: "not known" };
  for (const kind of Object.values(OperationKind).filter(Number.isInteger)) {
    for (const [state, text] of Object.entries(texts)) assert.equal(stateText({ kind, state: OperationState[state], sweep: 9n, error: slow }), text);
    const failed = (sweep, error) => stateText({ kind, state: OperationState.FAILED, sweep, error });
    assert.equal(failed(9n, slow), kind === OperationKind.SWEEP ? "failed" : "in force, with something left undone");
    assert.equal(failed(9n, `${slow}; core1 does not answer`), "failed");
    assert.equal(failed(9n, ""), "failed");
    assert.equal(failed(0n, slow), "failed");
  }
  assert.equal(stateText({ kind: OperationKind.DRAIN, state: 99, sweep: 0n, error: "" }), "not known");
});

test("a line has a gap where nothing is known", () => {
  assert.equal(pathOf([[0, 1], [2, 3], [4, null], [6, 7]]), "M0.0 1.0L2.0 3.0M6.0 7.0");
  assert.equal(pathOf([]), "");
});

test("an address that is none leads to the overview", () => {
  for (const hash of ["", "#", "#/", "#/node", "#/node/x", "#/node/0x12345678901234567", "#/by/none", "#/<script>", "#//", "#/%00"]) {
    assert.equal(viewOf(hash).kind, "overview", hash);
  }
  assert.deepEqual(viewOf("#/node/0x1/port/9999"), { kind: "focus", guid: 1n, port: 0 });
  assert.deepEqual(viewOf("#/node/0x1/port/-1"), { kind: "focus", guid: 1n, port: 0 });
});

test("a table is a file that spreadsheets read and do not run", () => {
  const rows = [["name", "port"], ['a "b", c', 1], ["=cmd()", -2], ["+1+2", 3], ["@x\n", 4], ["+2", "-0.5"], ["-1,234", "+1e9"]];
  assert.equal(csv(rows), 'name,port\r\n"a ""b"", c",1\r\n\'=cmd(),-2\r\n\'+1+2,3\r\n"\'@x\n",4\r\n+2,-0.5\r\n"\'-1,234",\'+1e9\r\n');
});

test("numbers of a table are saved without commas, and what else is in a cell as it is", () => {
  assert.deepEqual(["1,234", "12,345,678", "-1,234.5", "999", "1,234 (stays without)", "1, 2, 13", "12,34", "1,2345"].map(ungrouped), ["1234", "12345678", "-1234.5", "999", "1234 (stays without)", "1, 2, 13", "12,34", "1,2345"]);
});

test("flows of links are saved as numbers, with the ports of both ends", () => {
  const port = (nodeName, nodeGuid, port) => ({ nodeName, port: { nodeGuid, port } });
  const flows = [
    { from: port("core1", 0x0011750102000001n, 7), to: port("edge, 1", 0x11n, 12), before: 1_234, after: 1_236.5 },
    { from: port("core2", 2n, 1), to: port("edge2", 3n, 2), before: 0.3, after: 0.1 },
  ];
  const text = csv(rowsOf(flows));
  assert.deepEqual(text.split("\r\n"), [
    "from,GUID,port,to,GUID,port,before,after,change",
    'core1,0x0011750102000001,7,"edge, 1",0x0000000000000011,12,1234,1236.5,2.5',
    "core2,0x0000000000000002,1,edge2,0x0000000000000003,2,0.3,0.1,-0.2",
    "",
  ]);
});

/** Some nodes with their ports. */
function someNodes() {
  const names = ["edge1", "edge10", "core1", "<b>x</b>", "rack 7:3", ""];
  const nodes = {
    nodes: names.length,
    names,
    lids: Uint32Array.from([1, 2, 3, 40_000, 5, 0]),
    guids: BigUint64Array.from([0x0011750100000001n, 2n, 3n, 4n, 5n, 6n]),
    first: Uint32Array.from([0, 48, 96, 144, 145, 146, 146]),
    find: (guid) => ([...nodes.guids].includes(guid) ? [...nodes.guids].indexOf(guid) : undefined),
  };
  return nodes;
}

/** What a text finds, as `NAME:PORT`. */
function foundBy(text) {
  const nodes = someNodes();
  return search(nodes, text).map((one) => (one.port ? `${nodes.names[one.node]}:${one.port}` : nodes.names[one.node]));
}

test("nodes are found by name, GUID and LID, and ports by name and number", () => {
  const found = foundBy;
  assert.deepEqual(found("edge1"), ["edge1", "edge10"]);
  assert.deepEqual(found("EDGE10 "), ["edge10"]);
  assert.deepEqual(found("0x0011750100000001"), ["edge1"]);
  assert.deepEqual(found("40000"), ["<b>x</b>"]);
  assert.deepEqual(found("lid 3"), ["core1"]);
  assert.deepEqual(found("core1:7"), ["core1:7"]);
  assert.deepEqual(found("core1 port 7"), ["core1:7"]);
  assert.deepEqual(found("core1:99"), []);
  assert.deepEqual(found("rack 7:3"), ["rack 7:3"]);
  assert.deepEqual(found("<b>"), ["<b>x</b>"]);
  assert.deepEqual(found("   "), []);
});

test("points that findings name are found", () => {
  assert.deepEqual(foundBy("nodeguid:0x0011750100000001:port:9"), ["edge1:9"]);
  assert.deepEqual(foundBy("nodeguid:0x0011750100000001"), ["edge1"]);
  assert.deepEqual(foundBy("nodeguid:2"), ["edge10"]);
  assert.deepEqual(foundBy("nodeguid:0x7"), []);
  assert.deepEqual(foundBy("nodeguid:x:port:3"), []);
  assert.deepEqual(foundBy("0x0011750100000001:3"), ["edge1:3"]);
  assert.deepEqual(foundBy("0x0011750100000001:49"), []);
  assert.deepEqual(foundBy("node:edge10:port:3"), ["edge10:3"]);
  assert.deepEqual(foundBy("node:Core1"), ["core1"]);
  assert.deepEqual(foundBy('node:"rack 7:3":port:1'), ["rack 7:3:1"]);
  assert.deepEqual(foundBy("node:rack 7\\:3"), ["rack 7:3"]);
  assert.deepEqual(foundBy("lid:3"), ["core1"]);
  assert.deepEqual(foundBy("lid:0x3:port:7"), ["core1:7"]);
  assert.deepEqual(foundBy("lid:3:node"), ["core1"]);
  assert.deepEqual(foundBy("lid:3:port:49"), []);
});

test("the daemon is asked for what the layout does not tell", () => {
  const asked = (text) => {
    const found = askedOf(someNodes(), text);
    return found && [found.focus, found.port];
  };
  // LIDs that are no base LIDs.
  assert.deepEqual(asked("lid:40001"), ["lid:40001", 0]);
  assert.deepEqual(asked("LID 40001"), ["lid:40001", 0]);
  assert.deepEqual(asked("0x9c41"), ["lid:40001", 0]);
  assert.deepEqual(asked("lid:40001:port:3"), ["lid:40001", 3]);
  assert.deepEqual(asked("portguid:0x0011750101000001"), ["portguid:0x0011750101000001", 0]);
  assert.deepEqual(asked("nodepat:edge*:port:3"), ["nodepat:edge*", 3]);
  assert.deepEqual(asked("nodetype:SW"), ["nodetype:SW", 0]);
  assert.deepEqual(asked("sm"), ["sm", 0]);
  for (const text of ["lid:3", "3", "0", "lid:0", "edge1", "core1:7", "node:edge1", "nodeguid:0x1", "smart", "sm:3", "", "gidx"]) assert.equal(asked(text), undefined, text);
});

test("drawings have the colours of the page", () => {
  const css = readFileSync("src/page.css", "utf8");
  for (const name of ["ink", "quiet", "panel", "line"]) {
    const [light, ...dark] = [...css.matchAll(new RegExp(`--${name}: (#[0-9a-f]{6});`, "g"))].map((found) => found[1]);
    assert.equal(dark.length, 2, name);
    assert.equal(palette[name](false), light, name);
    for (const own of dark) assert.equal(palette[name](true), own, name);
  }
});

test("a text is cut to the room that it has", () => {
  assert.equal(fitting("core12", 60, 10), "core12");
  assert.equal(fitting("core12", 59, 10), "core…");
  // Letters of other scripts are wider, and none is cut in two.
  assert.equal(fitting("核心核心", 60, 10), "核心…");
  assert.equal(fitting("😀😀😀", 40, 10), "😀…");
});

test("a host is named without its HFI, and a switch as it is", () => {
  const nodes = { names: ["node1 hfi1_0", "edge1 hfi1_0", "node2"], isSwitch: (node) => node === 1 };
  assert.deepEqual([0, 1, 2].map((node) => shortName(nodes, node)), ["node1", "edge1 hfi1_0", "node2"]);
});

test("what is busiest comes first, and what is not known last", () => {
  const shares = [255, 0, 200, 7, 255, 7, 230];
  assert.deepEqual(byShare([...shares.keys()], (place) => shares[place]), [6, 2, 3, 5, 1, 0, 4]);
  assert.deepEqual(byShare([5, 3], () => 255), [5, 3]);
  assert.deepEqual(byShare([], () => 0), []);
});

test("of two loads the one that is known counts, or the greater", () => {
  assert.deepEqual([busier(255, 255), busier(255, 0), busier(0, 255), busier(3, 7)], [255, 0, 0, 7]);
});

test("rates of errors are words with their unit, and colours that stand out from that of none", () => {
  assert.deepEqual([0, 1, 8, 40, 84, 164, 244, 255].map(errorsText), ["none", "0.091 a day", "1 a day", "1.3 an hour", "1 a minute", "1,000 a minute", "1,100,000 a minute", "unknown"]);
  assert.deepEqual([0, 84, 255].map(errorsOf), [0, 1, undefined]);
  const ramps = [0, 1, 8, 84, 244, 254].map(errorsRamp);
  assert.equal(ramps[0], rampOf(0));
  assert.ok(ramps[1] - ramps[0] >= 7, "one error is seen");
  assert.deepEqual(ramps, [...ramps].sort((a, b) => a - b));
  assert.equal(ramps[4], rampOf(200));
  assert.equal(ramps[5], rampOf(200));
  assert.equal(errorsRamp(255), rampOf(255));
});

test("the address of a span has both its ends", () => {
  const [from, to] = [new Date("2026-03-02T12:00:00.250Z"), new Date("2026-03-02T12:10:00Z")];
  const address = addressAt({ kind: "events" }, to, from);
  assert.equal(address, "#/events@2026-03-02T12:00:00.250Z..2026-03-02T12:10:00Z");
  assert.deepEqual([startOf(address), momentOf(address)], [from, to]);
  assert.deepEqual(viewOf(address), { kind: "events" });
  // One that ends before it begins, one that never ended, and what is no time are none.
  assert.equal(startOf("#/@2026-03-02T12:00:00Z..2026-03-01T12:00:00Z"), undefined);
  assert.equal(startOf("#/@2026-03-02T12:00:00Z..2999-03-01T12:00:00Z"), undefined);
  assert.equal(startOf("#/@yesterday..2026-03-01T12:00:00Z"), undefined);
  assert.equal(startOf("#/@2026-03-02T12:00:00Z"), undefined);
});

test("a time of an address is one of ISO 8601, from 1970 on", () => {
  const time = (text) => momentOf(`#/events@${text}`)?.toISOString();
  assert.equal(time("2026-03-01"), "2026-03-01T00:00:00.000Z");
  assert.equal(time("2026-03-01T12:00Z"), "2026-03-01T12:00:00.000Z");
  assert.equal(time("2026-03-01T12:00:00.25+01:00"), "2026-03-01T11:00:00.250Z");
  assert.equal(time("1970-01-01T00:00:00Z"), "1970-01-01T00:00:00.000Z");
  for (const text of ["1", "2026", "2026-03", "March 1 2026", "1969-12-31T23:59:59Z", "-271821-04-20T00:00:00Z", "+002026-03-01T00:00:00Z", "2026-13-01", "2026-03-01T12:00:00Zz"]) assert.equal(time(text), undefined, text);
  for (const from of ["-271821-04-20T00:00:00Z", "1969-12-31T23:59:59Z", "1", "2025"]) assert.equal(startOf(`#/events@${from}..2026-01-01T00:00:00Z`), undefined, from);
});

test("an axis of times has as many of them as there is room for, at most 20", () => {
  assert.deepEqual([timeStep(60, 900), timeStep(3_600, 900), timeStep(86_400, 900), timeStep(7 * 86_400, 900)], [10, 600, 21_600, 86_400]);
  for (const span of [1, 900, 86_400, 604_800, 3e7, 1.8e9, 8.64e12]) {
    for (const room of [0, 50, 300, 1_400, 8_000]) {
      const [steps, most] = [span / timeStep(span, room), Math.max(1, Math.min(20, Math.floor(room / 90)))];
      assert.ok(steps <= most, `${steps} steps of ${span} s in ${room} pixels`);
      // No step is more than seven times what it has to be.
      if (span > 7 * most) assert.ok(steps * 7 >= most, `${steps} steps of ${span} s in ${room} pixels`);
    }
  }
});
