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
/** From this time on sweeps are too many to be shown, seconds. */
const WITHOUT_SWEEPS = 21_600;
/** Events that are read at most, and those that are shown. */
const [READ_MAX, SHOWN_MAX] = [50_000, 5_000];
/** Changes that are read at most. */
const CHANGES_MAX = 1_000;
/** Time after which what happened has been written by the daemon, milliseconds. */
const SETTLES = 30_000;
/** Kinds of events that nobody is told. */
const UNTOLD = ["marker", "sweep_started", "phase_entered", "operation_progress"];

export interface Kept {
  from: Date;
  to: Date;
  /** The newest first. */
  events: Told[];
  /** What is missing, in words; empty where nothing is. */
  missing: string;
  /** Whether nothing can be added to it any more. */
  settled: boolean;
}
/** What was kept when it was last read; none where nothing is kept at all, or nobody has asked yet. */
export const kept = signal<Kept | undefined>(undefined);
/** Why nothing of the past can be shown; empty where it can, or nobody has asked yet. */
export const without = signal("");

/** What was kept of the span that is looked at, when it was last read. */
export const keptOfSpan = signal<Kept | undefined>(undefined);
/** Why that cannot be read; empty where it can, or is not read yet. */
export const spanFailed = signal("");

/** All that is told of the time that the timeline shows, the newest first. */
export const all = computed(() => withHeard(kept.value?.events ?? []));

/** What is told of the span that is looked at; without one all. */
export const looked = computed(() => {
  const span = spanAsked();
  if (span === undefined) return all.value;
  const before = isRead(span) ? (keptOfSpan.value?.events ?? []) : [];
  return withHeard(before).filter(({ time }) => time >= span.from && time <= span.to);
});

/** Why what happened in the span that is looked at cannot be told, in words; empty where it can, and without a span. */
export const untold = computed(() => {
  const span = spanAsked();
  if (span === undefined || isRead(span)) return "";
  return spanFailed.value === "" ? "What happened in this span is read…" : `What happened in this span is not known: ${spanFailed.value}.`;
});

/** What is missing of what is looked at, in words; empty where nothing is. */
export const missing = computed(() => (spanAsked() === undefined ? kept.value : keptOfSpan.value)?.missing ?? "");

/** What was kept and what was heard since, the newest first. */
function withHeard(before: Told[]): Told[] {
  const known = new Set(before.map((event) => event.token));
  const fresh = events.value.filter((event) => !known.has(event.token));
  return newestFirst([...fresh, ...before]);
}

function newestFirst(events: Told[]): Told[] {
  return events.sort((a, b) => b.time.getTime() - a.time.getTime());
}

interface Span {
  from: Date;
  to: Date;
}

/** The span that is looked at. */
function spanAsked(): Span | undefined {
  const [from, to] = [start.value, moment.value];
  return from === undefined || to === undefined ? undefined : { from, to };
}

function isRead({ from, to }: Span): boolean {
  const read = keptOfSpan.value;
  return read !== undefined && read.from.getTime() === from.getTime() && read.to.getTime() === to.getTime();
}

/** Reads what was kept of a time; a reading that is under way when the next begins is given up, and tells nothing. */
class Reader {
  private asking: AbortController | undefined;

  end(): void {
    this.asking?.abort();
  }

  async read(span: Span): Promise<{ kept: Kept } | { error: unknown } | undefined> {
    this.end();
    const own = (this.asking = new AbortController());
    try {
      const kept = await readKept(span, AbortSignal.any([own.signal, AbortSignal.timeout(3 * PATIENCE)]));
      return own.signal.aborted ? undefined : { kept };
    } catch (error) {
      return own.signal.aborted ? undefined : { error };
    }
  }
}

const [strip, ofSpan] = [new Reader(), new Reader()];

/** Reads the time anew that the timeline shows. */
export async function readPast(): Promise<void> {
  const to = new Date();
  const found = await strip.read({ from: new Date(to.getTime() - range.value * 1_000), to });
  if (found === undefined) return;
  if ("kept" in found) [kept.value, without.value] = [found.kept, ""];
  else if (ConnectError.from(found.error).code === Code.FailedPrecondition) [kept.value, without.value] = [undefined, whyOf(found.error)];
}

/** Reads the span anew that is looked at, where something can have been added to it. */
export async function readSpan(): Promise<void> {
  const span = spanAsked();
  if (span === undefined) {
    ofSpan.end();
    [keptOfSpan.value, spanFailed.value] = [undefined, ""];
    return;
  }
  if (isRead(span) && keptOfSpan.value?.settled) return;
  if (!isRead(span)) spanFailed.value = "";
  const found = await ofSpan.read(span);
  if (found === undefined) return;
  if ("kept" in found) [keptOfSpan.value, spanFailed.value] = [found.kept, ""];
  else spanFailed.value = whyOf(found.error);
}

async function readKept({ from, to }: Span, signal: AbortSignal): Promise<Kept> {
  const settled = Date.now() - to.getTime() > SETTLES;
  const [happened, changed] = await Promise.all([readEvents(from, to, signal), readChanges(from, to, signal)]);
  const asked = new Set(changed.events.map((change) => change.token));
  // What somebody asked for and the event that tells of it are one.
  const unasked = happened.events.filter((event) => !asked.has(event.token));
  const events = newestFirst([...unasked, ...changed.events]).slice(0, SHOWN_MAX);
  return { from, to, events, settled, missing: [happened.missing, changed.missing].filter(Boolean).join(" ") };
}

async function readEvents(from: Date, to: Date, signal: AbortSignal): Promise<{ events: Told[]; missing: string }> {
  const kinds = WatchResponseSchema.oneofs.flatMap((one) => one.fields.map((field) => field.name));
  const wanted = kinds.filter((kind) => !UNTOLD.includes(kind) && (to.getTime() - from.getTime() < WITHOUT_SWEEPS * 1_000 || kind !== "sweep_ended"));
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
