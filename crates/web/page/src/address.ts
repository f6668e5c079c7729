// The address of a view: everything after `#`, so that it can be sent to somebody else. After `?last=` is the time that the
// timeline shows, where it is not an hour; after an `@` the moment of the past that it is about, where it is not about now, or
// the first and the last moment of a span, with `..` between them.
import { batch, signal } from "@preact/signals";
import { guidText } from "./words";

/** What ports are coloured by. */
export type Paint = "state" | "load" | "wait" | "errors" | "change";
export const PAINTS: Paint[] = ["state", "load", "wait", "errors", "change"];

/** What pairs of switches are coloured by. */
export type MatrixPaint = "load" | "errors" | "imbalance";
export const MATRIX_PAINTS: MatrixPaint[] = ["load", "errors", "imbalance"];

/** Times that the timeline can show, as an address has them: seconds. */
const SPANS: [string, number][] = [["15m", 900], ["1h", 3_600], ["6h", 21_600], ["1d", 86_400], ["1w", 604_800]];
/** What it shows where the address says nothing. */
const HOUR = 3_600;

export type View =
  | { kind: "overview"; paint: Paint }
  /** `lines`: the counters that are drawn over time, where they are not those of data. */
  | { kind: "focus"; guid: bigint; port: number; lines?: string }
  /** `beside`: the engine whose route is shown beside it, empty for none. */
  | { kind: "route"; from: bigint; to: bigint; beside: string }
  /** Links above a tier, 0 for the lowest, by switches or by pods. */
  | { kind: "matrix"; by: MatrixPaint; tier: number; pods: boolean }
  /** All virtual fabrics and multicast groups. */
  | { kind: "groups" }
  | { kind: "fabric"; name: string }
  | { kind: "group"; mgid: string }
  /** All plans, with what may be drained: GUID 0 for nothing, port 0 for a whole switch. */
  | { kind: "plans"; guid: bigint; port: number }
  | { kind: "plan"; id: string }
  | { kind: "events" }
  /** Results from a file, or the live emulation. */
  | { kind: "experiments"; live: boolean };

/** The address of a view, of the moment or the span that is looked at. */
export function addressOf(view: View): string {
  return addressAt(view, moment.value, start.value);
}

/** The address of a view, of a moment, of now without one; of the span up to it, where that has a start. */
export function addressAt(view: View, moment: Date | undefined, start?: Date): string {
  const [last] = SPANS.find(([, seconds]) => seconds === range.value && seconds !== HOUR) ?? [""];
  const text = (time: Date) => time.toISOString().replace(".000Z", "Z");
  const span = start === undefined ? "" : `${text(start)}..`;
  return nameOf(view) + (last && `?last=${last}`) + (moment === undefined ? "" : `@${span}${text(moment)}`);
}

function nameOf(view: View): string {
  switch (view.kind) {
    case "overview":
      return view.paint === "state" ? "#/" : `#/by/${view.paint}`;
    case "focus":
      return `#/node/${placeText(view)}${view.lines === undefined ? "" : `/lines/${view.lines}`}`;
    case "route":
      return view.from === 0n ? "#/route" : view.to === 0n ? `#/route/${guidText(view.from)}` : `#/route/${guidText(view.from)}/${guidText(view.to)}${view.beside && `/beside/${view.beside}`}`;
    case "plans":
      return view.guid === 0n ? "#/plans" : `#/plans/drain/${placeText(view)}`;
    case "plan":
      return `#/plan/${view.id}`;
    case "matrix":
      return `#/matrix${view.by === "load" ? "" : `/${view.by}`}${view.tier === 0 ? "" : `/tier/${view.tier}`}${view.pods ? "/pods" : ""}`;
    case "groups":
      return "#/groups";
    case "fabric":
      return `#/fabric/${encodeURIComponent(view.name)}`;
    case "group":
      return `#/group/${view.mgid}`;
    case "events":
      return "#/events";
    case "experiments":
      return view.live ? "#/experiments/live" : "#/experiments";
  }
}

function placeText({ guid, port }: { guid: bigint; port: number }): string {
  return `${guidText(guid)}${port > 0 ? `/port/${port}` : ""}`;
}

/** The view of an address; of one that is none, the overview. */
export function viewOf(hash: string): View {
  const path = hash.replace(/^#?\/?/, "").replace(/[?@].*$/, "");
  const [name, what, more, last, number] = path.split("/");
  if (name === "events" || name === "groups") {
    return { kind: name };
  }
  if (name === "matrix") {
    const [, by, tier = 0, pods] = /^matrix(?:\/(errors|imbalance))?(?:\/tier\/(\d{1,3}))?(\/pods)?$/.exec(path) ?? [];
    return { kind: name, by: MATRIX_PAINTS.find((one) => one === by) ?? "load", tier: Number(tier), pods: pods !== undefined };
  }
  if (name === "fabric" && what !== undefined) {
    return { kind: name, name: decoded(what) };
  }
  if (name === "group" && /^0x[0-9a-f]{16}:0x[0-9a-f]{16}$/.test(what ?? "")) {
    return { kind: name, mgid: what };
  }
  if (name === "experiments") {
    return { kind: name, live: what === "live" };
  }
  if (name === "route") {
    const guid = (text: string | undefined) => (isGuid(text) ? BigInt(text) : 0n);
    const beside = last === "beside" && /^[a-z-]{1,32}$/.test(number ?? "") ? number : "";
    return { kind: "route", from: guid(what), to: isGuid(what) ? guid(more) : 0n, beside };
  }
  const place = (guid: string, word: string | undefined, number: string | undefined) => {
    const port = word === "port" && /^[0-9]{1,3}$/.test(number ?? "") ? Number(number) : 0;
    return { guid: BigInt(guid), port };
  };
  if (name === "node" && isGuid(what)) {
    const lines = /\/lines\/([a-z]{1,16})$/.exec(path)?.[1];
    return { kind: "focus", ...place(what, more, last), ...(lines === undefined ? {} : { lines }) };
  }
  if (name === "plans") {
    return { kind: "plans", ...(what === "drain" && isGuid(more) ? place(more, last, number) : { guid: 0n, port: 0 }) };
  }
  if (name === "plan" && /^[a-z0-9._-]{1,64}$/.test(what ?? "")) {
    return { kind: "plan", id: what };
  }
  const paint = PAINTS.find((paint) => name === "by" && paint === what);
  return { kind: "overview", paint: paint ?? "state" };
}

/** A name as an address has it; of one that is none, as it is. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function isGuid(text: string | undefined): text is string {
  return /^0x[0-9a-f]{1,16}$/i.test(text ?? "");
}

/** A time of an address: by ISO 8601, with seconds or their parts and the zone or without; from 1970 on. */
const TIME = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)?)?$/;

/** A time of an address, milliseconds since 1970; NaN where it is none. */
function timeOf(text: string | undefined): number {
  const time = text !== undefined && TIME.test(text) ? Date.parse(text) : NaN;
  return time >= 0 ? time : NaN;
}

/** The moment of an address, of a span the last; none where it has none, or one that has not come yet. */
export function momentOf(hash: string): Date | undefined {
  const time = timeOf(/@(?:.*\.\.)?(.+)$/.exec(hash)?.[1]);
  return time <= Date.now() ? new Date(time) : undefined;
}

/** The first moment of the span of an address; none where it has none, or one that is not before its last. */
export function startOf(hash: string): Date | undefined {
  const time = timeOf(/@(.+)\.\./.exec(hash)?.[1]);
  const end = momentOf(hash);
  return end !== undefined && time < end.getTime() ? new Date(time) : undefined;
}

/** Seconds that the timeline of an address shows. */
export function rangeOf(hash: string): number {
  const last = /\?last=([^@]*)/.exec(hash)?.[1];
  return SPANS.find(([name]) => name === last)?.[1] ?? HOUR;
}

export const view = signal<View>(viewOf(location.hash));
/** The moment that is looked at, of a span its last; none for now. */
export const moment = signal<Date | undefined>(momentOf(location.hash));
/** The first moment of the span that is looked at; none where it is a single moment, or now. */
export const start = signal<Date | undefined>(startOf(location.hash));
/** Seconds that the timeline shows. */
export const range = signal<number>(rangeOf(location.hash));
addEventListener("hashchange", () => {
  batch(() => {
    range.value = rangeOf(location.hash);
    view.value = viewOf(location.hash);
    for (const [own, next] of [[moment, momentOf(location.hash)], [start, startOf(location.hash)]] as const) {
      if (next?.getTime() !== own.value?.getTime()) own.value = next;
    }
  });
});

export function go(to: View): void {
  location.hash = addressOf(to);
}

/** Has the timeline show another time, in the same view. */
export function showLast(seconds: number): void {
  range.value = seconds;
  location.replace(addressOf(view.value));
}

/**
 * Looks at another moment, or at the span up to it, in the same view; a moment that is chosen by moving over others leaves no
 * trace of these.
 */
export function goTo(moment: Date | undefined, start?: Date): void {
  location.replace(addressAt(view.value, moment, start));
}
