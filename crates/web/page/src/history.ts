// What happened, and who changed what, in the time that the timeline shows: from what the daemon keeps, and what is heard since.
import { Code, ConnectError } from "@connectrpc/connect";
import { timestampDate, timestampFromDate } from "@bufbuild/protobuf/wkt";
import { computed, effect, signal } from "@preact/signals";
import { type Change, ChangeOrigin } from "../gen/weft/v1/change_pb";
import type { ListPastEventsResponse } from "../gen/weft/v1/history_pb";
import { WatchResponseSchema } from "../gen/weft/v1/watch_pb";
import { moment, range, start } from "./address";
import { changeCalls, historyCalls, PATIENCE, whyOf } from "./api";
import { placesOf, type Told, told } from "./events";
import { REST } from "./past";
import { events } from "./store";
import { sentence } from "./words";

/** Times that the timeline can show: seconds up to now, and what they are called. */
export const RANGES = [[900, "15 minutes"], [3_600, "hour"], [21_600, "6 hours"], [86_400, "day"], [604_800, "week"]] as const;
/** From this time on sweeps are too many to be shown, seconds. */
const WITHOUT_SWEEPS = 21_600;
/** Time from one reading of the past to the next, and after an event, milliseconds. */
const [PACE, PACE_FRESH] = [30_000, 2_000];
/** Events that are read at most, and those that are shown. */
const [READ_MAX, SHOWN_MAX] = [50_000, 5_000];
/** Changes that are read at most. */
const CHANGES_MAX = 1_000;
/** Time after which what happened has been written by the daemon, milliseconds. */
const SETTLES = 30_000;
/** Time after which all is read anew that the timeline shows, milliseconds. */
const WHOLE = 600_000;
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

interface Span {
  from: Date;
  to: Date;
}

/**
 * The span of which events are told: the one that is looked at; of a moment that the timeline does not show, as much time
 * before it as the timeline shows. None where that shows what is looked at.
 */
export const spanAsked = computed<Span | undefined>(() => {
  const [from, to] = [start.value, moment.value];
  if (to === undefined) return undefined;
  if (from !== undefined) return { from, to };
  const isShown = kept.value === undefined || to >= kept.value.from;
  return isShown ? undefined : { from: new Date(to.getTime() - range.value * 1_000), to };
});

/** What was kept of that span, when it was last read. */
export const keptOfSpan = signal<Kept | undefined>(undefined);
/** Why that cannot be read; empty where it can, or is not read yet. */
export const spanFailed = signal("");

/** All that is told of the time that the timeline shows, the newest first. */
export const all = computed(() => withHeard(kept.value?.events ?? []));

/** What is told of the span that is asked for; without one all. */
export const looked = computed(() => {
  const span = spanAsked.value;
  if (span === undefined) return all.value;
  const before = isRead(span) ? (keptOfSpan.value?.events ?? []) : [];
  return withHeard(before).filter(({ time }) => time >= span.from && time <= span.to);
});

/** Why what happened in the span that is asked for cannot be told, in words; empty where it can, and without a span. */
export const untold = computed(() => {
  const span = spanAsked.value;
  if (span === undefined || isRead(span)) return "";
  const what = `What happened ${start.value === undefined ? "then" : "in this span"}`;
  return spanFailed.value === "" ? `${what} is read…` : `${what} is not known: ${spanFailed.value}.`;
});

/** What is missing of what is looked at, in words; empty where nothing is. */
export const missing = computed(() => (spanAsked.value === undefined ? kept.value : keptOfSpan.value)?.missing ?? "");

/** What was kept and what was heard since, the newest first. */
function withHeard(before: Told[]): Told[] {
  const known = new Set(before.map((event) => event.token));
  const fresh = events.value.filter((event) => !known.has(event.token));
  return newestFirst([...fresh, ...before]);
}

function newestFirst(events: Told[]): Told[] {
  return events.sort((a, b) => b.time.getTime() - a.time.getTime());
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

/** The last reading of all that the timeline shows: when that was, and how long the time was, seconds. */
let whole = { read: -Infinity, range: 0 };

/** Reads the time anew that the timeline shows: mostly only what can have been added since the last reading. */
async function readPast(): Promise<void> {
  const to = new Date();
  const from = new Date(to.getTime() - range.value * 1_000);
  const before = to.getTime() - whole.read < WHOLE && whole.range === range.value ? kept.peek() : undefined;
  const since = before === undefined ? from : new Date(Math.max(from.getTime(), before.to.getTime() - SETTLES));
  const asked = range.value;
  const found = await strip.read({ from: since, to });
  if (found === undefined) return;
  if ("kept" in found && before === undefined) whole = { read: to.getTime(), range: asked };
  if ("kept" in found) [kept.value, without.value] = [before === undefined ? found.kept : joined(before, found.kept, from), ""];
  else if (ConnectError.from(found.error).code === Code.FailedPrecondition) [kept.value, without.value] = [undefined, whyOf(found.error)];
}

/** Keeps what is told of the past up to date, until the function is called that it gives. */
export function followPast(): () => void {
  const readAll = () => void Promise.all([readPast(), readSpan()]);
  const after = (time: number, read: () => void) => {
    const soon = setTimeout(read, time);
    return () => clearTimeout(soon);
  };
  const followed = [
    effect(() => {
      range.value;
      void readPast();
    }),
    effect(() => {
      spanAsked.value;
      return after(REST, () => void readSpan());
    }),
    effect(() => (events.value.length === 0 ? undefined : after(PACE_FRESH, readAll))),
  ];
  const timer = setInterval(() => document.hidden || readAll(), PACE);
  return () => {
    clearInterval(timer);
    followed.forEach((end) => end());
  };
}

/** Reads the span anew that is asked for, where something can have been added to it. */
async function readSpan(): Promise<void> {
  const span = spanAsked.value;
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

/** What was kept from a moment on: of two readings, of which the later one has all from its start on. */
export function joined(before: Kept, later: Kept, from: Date): Kept {
  const earlier = before.events.filter(({ time }) => time >= from && time < later.from);
  // What somebody asked for may be earlier than the event that tells of it.
  const known = new Set(earlier.map(({ token }) => token));
  const events = newestFirst([...later.events.filter(({ token }) => !known.has(token)), ...earlier]).slice(0, SHOWN_MAX);
  return { ...later, from, events, missing: sentences([before.missing, later.missing]) };
}

async function readKept({ from, to }: Span, signal: AbortSignal): Promise<Kept> {
  const settled = Date.now() - to.getTime() > SETTLES;
  const [happened, changed] = await Promise.all([readEvents(from, to, signal), readChanges(from, to, signal)]);
  const asked = new Set(changed.events.map((change) => change.token));
  // What somebody asked for and the event that tells of it are one.
  const unasked = happened.events.filter((event) => !asked.has(event.token));
  const events = newestFirst([...unasked, ...changed.events]).slice(0, SHOWN_MAX);
  return { from, to, events, settled, missing: sentences([happened.missing, changed.missing]) };
}

async function readEvents(from: Date, to: Date, signal: AbortSignal): Promise<{ events: Told[]; missing: string }> {
  const kinds = WatchResponseSchema.oneofs.flatMap((one) => one.fields.map((field) => field.name));
  const wanted = kinds.filter((kind) => !UNTOLD.includes(kind) && (to.getTime() - from.getTime() < WITHOUT_SWEEPS * 1_000 || kind !== "sweep_ended"));
  let events: Told[] = [];
  let read = 0;
  const warnings = new Set<string>();
  const request = { from: timestampFromDate(from), to: timestampFromDate(to), kinds: wanted };
  for await (const message of historyCalls.listPastEvents(request, { signal })) {
    const line = lineOf(message);
    if (line !== undefined) events.push(line);
    message.warnings.forEach((warning) => warnings.add(warning));
    if (events.length >= 2 * SHOWN_MAX) events = events.slice(-SHOWN_MAX);
    if (++read === READ_MAX) break;
  }
  const many = read === READ_MAX ? `More than ${READ_MAX.toLocaleString("en")} events: choose a shorter time.` : read > SHOWN_MAX ? "Older events are left out: choose a shorter time." : "";
  return { events, missing: sentences([many, ...warnings]) };
}

/** What there is to say, each as a sentence of its own, once. */
function sentences(said: string[]): string {
  return [...new Set(said.filter(Boolean).map(sentence))].join(" ");
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
    return { events: people.map(changeLine), missing: sentences([answer.more ? "older changes are left out" : "", ...answer.warnings]) };
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
