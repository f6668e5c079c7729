// What is said of a span.
import assert from "node:assert/strict";
import test from "node:test";
import { load } from "./load.mjs";

globalThis.location = { hash: "", origin: "http://localhost" };
globalThis.addEventListener = () => {};
globalThis.document = { documentElement: { dataset: {} }, hidden: true, addEventListener() {} };
globalThis.localStorage = { getItem: () => null, setItem() {} };
globalThis.matchMedia = () => ({ matches: true, addEventListener() {} });
const page = await load("tests/unit/span.ts");

const time = (text) => new Date(`2026-03-02T${text}Z`);
const event = (token, text) => ({ token, time: time(text), text: token, tone: "plain" });
const kept = (from, to, events, missing = "") => ({ from: time(from), to: time(to), events, missing, settled: true });
const tokens = () => page.looked.value.map(({ token }) => token);

test("a span outside the time that the timeline shows has what was kept of it", () => {
  page.kept.value = kept("11:00:00", "12:00:00", [event("late", "11:30:00")], "of the timeline");
  page.events.value = [event("heard", "11:59:00")];
  assert.deepEqual([tokens(), page.untold.value, page.missing.value], [["heard", "late"], "", "of the timeline"]);
  [page.start.value, page.moment.value] = [time("08:00:00"), time("09:00:00")];
  assert.deepEqual([tokens(), page.missing.value], [[], ""]);
  assert.equal(page.untold.value, "What happened in this span is read…");
  page.spanFailed.value = "no answer";
  assert.equal(page.untold.value, "What happened in this span is not known: no answer.");
  page.spanFailed.value = "";
  page.keptOfSpan.value = kept("08:00:00", "09:00:00", [event("second", "08:40:00"), event("first", "08:20:00")], "of the span");
  assert.deepEqual([tokens(), page.untold.value, page.missing.value], [["second", "first"], "", "of the span"]);
  // What was heard since belongs to it as well where it is of then, once.
  page.events.value = [event("heard", "08:50:00"), event("second", "08:40:00")];
  assert.deepEqual(tokens(), ["heard", "second", "first"]);
  // Another span is not that one.
  page.start.value = time("08:30:00");
  assert.equal(page.untold.value, "What happened in this span is read…");
  assert.deepEqual(tokens(), ["heard", "second"]);
  [page.start.value, page.moment.value] = [undefined, undefined];
  assert.deepEqual(tokens(), ["late", "heard", "second"]);
});

test("what was read before and what was added since are one, without what is out of the time that is shown", () => {
  const before = kept("11:00:00", "12:00:00", [event("c", "11:59:40"), event("asked", "11:59:20"), event("a", "11:00:10")], "Older ones are left out.");
  const later = kept("11:59:30", "12:00:30", [event("d", "12:00:05"), event("c", "11:59:40"), event("asked", "11:59:31")], "Older ones are left out.");
  const whole = page.joined(before, later, time("11:00:30"));
  assert.deepEqual(whole.events.map(({ token }) => token), ["d", "c", "asked"]);
  assert.deepEqual([whole.events.at(-1).time, whole.from, whole.to, whole.missing], [time("11:59:20"), time("11:00:30"), time("12:00:30"), "Older ones are left out."]);
});

test("a moment that the timeline does not show has what happened before it, as long as the timeline is", () => {
  const hour = (to) => [time(to).getTime() - 3_600_000, time(to).getTime()];
  [page.events.value, page.keptOfSpan.value] = [[], undefined];
  page.kept.value = kept("11:00:00", "12:00:00", [event("late", "11:30:00")], "of the timeline");
  const asked = () => page.spanAsked.value && [page.spanAsked.value.from.getTime(), page.spanAsked.value.to.getTime()];
  page.moment.value = time("11:10:00");
  assert.deepEqual([asked(), tokens()], [undefined, ["late"]]);
  page.moment.value = time("09:00:00");
  assert.deepEqual([asked(), tokens()], [hour("09:00:00"), []]);
  assert.equal(page.untold.value, "What happened then is read…");
  page.keptOfSpan.value = kept("08:00:00", "09:00:00", [event("before", "08:59:00")], "of then");
  assert.deepEqual([tokens(), page.untold.value, page.missing.value], [["before"], "", "of then"]);
  page.moment.value = undefined;
  assert.deepEqual([asked(), tokens(), page.missing.value], [undefined, ["late"], "of the timeline"]);
});

test("what a port counted in a span is known between two readings, not within one", () => {
  const reading = (seconds, nanos = 0) => ({ seconds: BigInt(seconds), nanos });
  assert.deepEqual(page.countedIn(reading(100), reading(160, 500_000_000)), [new Date(100_000), new Date(160_500)]);
  assert.deepEqual(page.countedIn(reading(100, 1_000_000), reading(100, 2_000_000)), [new Date(100_001), new Date(100_002)]);
  assert.equal(page.countedIn(reading(100, 5), reading(100, 5)), undefined);
  assert.equal(page.countedIn(undefined, reading(100)), undefined);
  assert.equal(page.countedIn(reading(100), undefined), undefined);
});

test("loads are means of a span where one is shown, with counters of both its ends", () => {
  const shown = { time: time("12:00:00"), from: time("11:00:00"), since: undefined, sweep: 0n, counted: time("11:59:59"), over: 3_599_000 };
  const isMean = (other) => {
    page.shown.value = other;
    return page.meansOfSpan.value;
  };
  assert.equal(isMean(shown), true);
  assert.equal(isMean({ ...shown, from: undefined }), false);
  assert.equal(isMean({ ...shown, counted: undefined, over: 0 }), false);
  assert.equal(isMean(undefined), false);
});
