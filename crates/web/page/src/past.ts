// The fabric of a moment of the past, which the daemon keeps; of a span at its end, with what was counted over it.
import type { MessageInitShape } from "@bufbuild/protobuf";
import { durationMs, timestampDate, timestampFromDate } from "@bufbuild/protobuf/wkt";
import { batch, computed, effect, signal } from "@preact/signals";
import type { MomentSchema, MomentShown } from "../gen/weft/v1/moment_pb";
import { moment, start } from "./address";
import { healthCalls, PATIENCE, web, whyOf } from "./api";
import { Columns, Layout } from "./fabric";
import { type Past, past } from "./store";

/** Time for which a moment or a span has to be looked at before it is read, milliseconds: one moves over many. */
export const REST = 120;

/** Which moment is shown; none for now. */
export const shown = signal<Shown | undefined>(undefined);
export interface Shown {
  time: Date;
  /** The first moment of the span that is shown; none where it is a single moment. */
  from: Date | undefined;
  since: Date | undefined;
  sweep: bigint;
  /** When the counters were read that loads are of, and how long before that the time begins over which they are, milliseconds. */
  counted: Date | undefined;
  over: number;
  /** Why there are none; empty where there are. */
  uncounted: string;
}
/** Whether loads that are shown are means of a span. */
export const meansOfSpan = computed(() => shown.value?.from !== undefined && shown.value.over > 0);
/** Why the moment that was chosen cannot be shown; empty where it can. */
export const lacking = signal("");

/** The moment that is looked at, as a part of a request; nothing for now. */
export function at(): { at?: MessageInitShape<typeof MomentSchema> } {
  return moment.value === undefined ? {} : { at: asked(moment.value) };
}

/** A time as a moment of a request. */
export function asked(time: Date): MessageInitShape<typeof MomentSchema> {
  return { moment: { case: "time", value: timestampFromDate(time) } };
}

function show(fabric: Past | undefined, moment: Shown | undefined, why: string): void {
  batch(() => {
    [past.value, shown.value, lacking.value] = [fabric, moment, why];
  });
}

async function read(time: Date, first: Date | undefined, signal: AbortSignal): Promise<void> {
  const options = { timeoutMs: 3 * PATIENCE, signal };
  const at = asked(time);
  try {
    // A state may have been kept without the page of what was wrong.
    const [then, health] = await Promise.all([web.getPast({ at, ...(first === undefined ? {} : { from: timestampFromDate(first) }) }, options), healthCalls.getHealth({ at }, options).catch(() => undefined)]);
    if (signal.aborted || then.layout === undefined) return;
    const layout = new Layout(then.layout);
    const columns = new Columns(layout.ports);
    then.columns.forEach((column) => columns.take(column));
    const counted = then.countedTime && timestampDate(then.countedTime);
    const over = then.countedSpan === undefined ? 0 : durationMs(then.countedSpan);
    show({ layout, columns, health }, { ...shownOf(time, then.moment), from: first, counted, over, uncounted: then.uncountedReason }, "");
  } catch (error) {
    if (!signal.aborted) show(undefined, undefined, whyOf(error));
  }
}

function shownOf(time: Date, then: MomentShown | undefined) {
  return { time, since: then?.since && timestampDate(then.since), sweep: then?.sweep ?? 0n };
}

effect(() => {
  const [time, first] = [moment.value, start.value];
  if (time === undefined) {
    show(undefined, undefined, "");
    return undefined;
  }
  // Why another moment could not be shown says nothing of this one.
  if (lacking.peek() !== "") show(undefined, undefined, "");
  const ended = new AbortController();
  const timer = setTimeout(() => void read(time, first, ended.signal), REST);
  return () => {
    clearTimeout(timer);
    ended.abort();
  };
});
