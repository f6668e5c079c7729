// What happened, and who changed what, in the time that the timeline shows: from what the daemon keeps, and what is heard since.
import { Code, ConnectError } from "@connectrpc/connect";
import { timestampDate, timestampFromDate } from "@bufbuild/protobuf/wkt";
import { computed, signal } from "@preact/signals";
import { type Change, ChangeOrigin } from "../gen/weft/v1/change_pb";
import type { ListPastEventsResponse } from "../gen/weft/v1/history_pb";
import { WatchResponseSchema } from "../gen/weft/v1/watch_pb";
import { moment, range, start } from "./address";
import { changeCalls, historyCalls, PATIENCE, whyOf } from "./api";
import { placesOf, type Told, told } from "./events";
import { events } from "./store";

/** Times that the timeline can show: seconds up to now, and what they are called. */
export const RANGES = [[900, "15 minutes"], [3_600, "hour"], [21_600, "6 hours"], [86_400, "day"], [604_800, "week"]] as const;
/** From this range on sweeps are too many to be shown. */
const WITHOUT_SWEEPS = 21_600;
/** Events that are read at most, and those that are shown. */
const [READ_MAX, SHOWN_MAX] = [50_000, 5_000];
/** Changes that are read at most. */
const CHANGES_MAX = 1_000;
/** Kinds of events that nobody is told. */
const UNTOLD = ["marker", "sweep_started", "phase_entered", "operation_progress"];

export interface Kept {
  from: Date;
  to: Date;
  /** The newest first. */
  events: Told[];
  /** What is missing, in words; empty where nothing is. */
  missing: string;
}
/** What was kept when it was last read; none where nothing is kept at all, or nobody has asked yet. */
export const kept = signal<Kept | undefined>(undefined);
/** Why nothing of the past can be shown; empty where it can, or nobody has asked yet. */
export const without = signal("");

/** All that is told, the newest first: what was kept, and what was heard since. */
export const all = computed(() => {
  const before = kept.value?.events ?? [];
  const known = new Set(before.map((event) => event.token));
  const fresh = events.value.filter((event) => !known.has(event.token));
  return [...fresh, ...before].sort((a, b) => b.time.getTime() - a.time.getTime());
});

/** What is told of the span that is looked at; without one all. */
export const looked = computed(() => {
  const [first, last] = [start.value, moment.value];
  return first === undefined || last === undefined ? all.value : all.value.filter(({ time }) => time >= first && time <= last);
});

/** The reading that is under way. */
let asking: AbortController | undefined;

/** Reads the past anew; a reading that is under way is given up. */
export async function readPast(): Promise<void> {
  asking?.abort();
  const own = (asking = new AbortController());
  const to = new Date();
  const from = new Date(to.getTime() - range.value * 1_000);
  const signal = AbortSignal.any([own.signal, AbortSignal.timeout(3 * PATIENCE)]);
  try {
    const [happened, changed] = await Promise.all([readEvents(from, to, signal), readChanges(from, to, signal)]);
    if (own.signal.aborted) return;
    const asked = new Set(changed.events.map((change) => change.token));
    // What somebody asked for and the event that tells of it are one.
    const unasked = happened.events.filter((event) => !asked.has(event.token));
    const events = [...unasked, ...changed.events].sort((a, b) => b.time.getTime() - a.time.getTime()).slice(0, SHOWN_MAX);
    const missing = [happened.missing, changed.missing].filter(Boolean).join(" ");
    [kept.value, without.value] = [{ from, to, events, missing }, ""];
  } catch (error) {
    if (own.signal.aborted) return;
    if (ConnectError.from(error).code === Code.FailedPrecondition) [kept.value, without.value] = [undefined, whyOf(error)];
  }
}

async function readEvents(from: Date, to: Date, signal: AbortSignal): Promise<{ events: Told[]; missing: string }> {
  const kinds = WatchResponseSchema.oneofs.flatMap((one) => one.fields.map((field) => field.name));
  const wanted = kinds.filter((kind) => !UNTOLD.includes(kind) && (range.value < WITHOUT_SWEEPS || kind !== "sweep_ended"));
  let events: Told[] = [];
  let read = 0;
  const request = { from: timestampFromDate(from), to: timestampFromDate(to), kinds: wanted };
  for await (const message of historyCalls.listPastEvents(request, { signal })) {
    const line = lineOf(message);
    if (line !== undefined) events.push(line);
    if (events.length >= 2 * SHOWN_MAX) events = events.slice(-SHOWN_MAX);
    if (++read === READ_MAX) break;
  }
  const missing = read === READ_MAX ? `More than ${READ_MAX.toLocaleString("en")} events: choose a shorter time.` : read > SHOWN_MAX ? "Older events are left out: choose a shorter time." : "";
  return { events, missing };
}

function lineOf(message: ListPastEventsResponse): Told | undefined {
  if (message.time === undefined) return undefined;
  // As Watch has it.
  const own = { token: `${message.run.toString(16).padStart(16, "0")}-${message.sequence}`, time: timestampDate(message.time) };
  if (message.event?.content.case !== undefined) {
    const line = told(message.event);
    return line && { ...line, ...own };
  }
  // Of another version of the daemon: its words.
  const about = message.nodeGuid === 0n ? {} : { guid: message.nodeGuid, port: message.port };
  return { ...own, text: message.message, tone: message.severity === "info" ? "plain" : "bad", ...about };
}

async function readChanges(from: Date, to: Date, signal: AbortSignal): Promise<{ events: Told[]; missing: string }> {
  try {
    const answer = await changeCalls.listChanges({ from: timestampFromDate(from), to: timestampFromDate(to), limit: CHANGES_MAX }, { signal });
    const people = answer.changes.filter((change) => change.origin === ChangeOrigin.PERSON);
    return { events: people.map(changeLine), missing: answer.more ? "Older changes are left out." : "" };
  } catch (error) {
    // Without a record there are no changes to tell of.
    return { events: [], missing: `Changes are not shown: ${whyOf(error)}.` };
  }
}

export function changeLine(change: Change): Told {
  const by = change.author || change.peer || "somebody";
  const refused = change.result === "" || change.result === "ok" ? "" : ` (${change.result.replaceAll("_", " ")})`;
  const text = `${by}: ${change.what}${refused}${change.reason && `: ${change.reason}`}`;
  const [first, ...also] = placesOf(change.ports.map((one) => one.port));
  const about = first === undefined ? {} : { ...first, also, changes: change.result === "ok" };
  const time = change.time === undefined ? new Date() : timestampDate(change.time);
  return { token: change.eventId || `record-${change.record}`, time, text, tone: "person", ...about };
}
