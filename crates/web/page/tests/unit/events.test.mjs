// Events as lines for people.
import assert from "node:assert/strict";
import test from "node:test";
import { load } from "./load.mjs";

const { told } = await load("src/events.ts");

/** The line of an event with this content. */
function line(name, value) {
  const { text, tone } = told({ content: { case: name, value }, resumeToken: "1-1", time: undefined });
  return [tone, text];
}

test("a new role of the manager is said in words, with the master that it waits for", () => {
  const role = (role, master, why) => line("roleChanged", { role, master, why });
  assert.deepEqual(role("Master", 0n, "the master does not answer"), ["role", "this manager is master now: the master does not answer"]);
  assert.deepEqual(role("Standby", 0x0011750102000001n, "a manager has a higher priority"), [
    "role",
    "this manager is standby now, the master is the one on port 0x0011750102000001: a manager has a higher priority",
  ]);
  assert.deepEqual(role("Standby", 0n, ""), ["role", "this manager is standby now"]);
  assert.deepEqual(role("Discovering", 0n, "the fabric is back"), ["role", "this manager looks for other managers now: the fabric is back"]);
  assert.deepEqual(role("Inactive", 0n, "its configuration differs"), ["role", "this manager is inactive now: its configuration differs"]);
});

test("an event without words of its own is told by its name", () => {
  assert.deepEqual(line("historyUnwritten", { why: "no space" }), ["plain", "history unwritten: no space"]);
});

test("an operation names how many devices were slow, and not each of them", () => {
  const slow = Array.from({ length: 64 }, (_, at) => `node 0x00117501000000${(at + 16).toString(16)} did not take all of its settings`).join("; ");
  const one = { id: "op-3", what: "drain switch core2 (0x001175010200000e)", kind: 2, state: 3, sweep: 5n, note: `the next sweep tries again: sweep 5: ${slow}; and 6 more`, error: "" };
  assert.deepEqual(line("operationChanged", one), ["plain", "drain switch core2 (0x001175010200000e): is being written: 64 devices were slow; and 6 more"]);
  assert.deepEqual(line("operationChanged", { ...one, state: 5, note: "", error: "the manager is standby now" }), ["bad", "drain switch core2 (0x001175010200000e): failed: the manager is standby now"]);
});
