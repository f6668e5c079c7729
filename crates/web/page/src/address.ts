// The address of a view: everything after `#`, so that it can be sent to somebody else. After an `@` is the moment of the past
// that it is about, where it is not about now.
import { batch, signal } from "@preact/signals";
import { guidText } from "./words";

/** What ports are coloured by. */
export type Paint = "state" | "load" | "wait" | "change";
export const PAINTS: Paint[] = ["state", "load", "wait", "change"];

/** What pairs of switches are coloured by. */
export type MatrixPaint = "load" | "imbalance";

export type View =
  | { kind: "overview"; paint: Paint }
  | { kind: "focus"; guid: bigint; port: number }
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

/** The address of a view, of the moment that is looked at. */
export function addressOf(view: View): string {
  return addressAt(view, moment.value);
}

/** The address of a view, of a moment; of now without one. */
export function addressAt(view: View, moment: Date | undefined): string {
  return nameOf(view) + (moment === undefined ? "" : `@${moment.toISOString().replace(".000Z", "Z")}`);
}

function nameOf(view: View): string {
  switch (view.kind) {
    case "overview":
      return view.paint === "state" ? "#/" : `#/by/${view.paint}`;
    case "focus":
      return `#/node/${placeText(view)}`;
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
  const [name, what, more, last, number] = hash.replace(/^#?\/?/, "").replace(/@.*$/, "").split("/");
  if (name === "events" || name === "groups") {
    return { kind: name };
  }
  if (name === "matrix") {
    const path = /^#?\/?matrix(\/imbalance)?(?:\/tier\/(\d{1,3}))?(\/pods)?(?:@|$)/.exec(hash);
    return { kind: name, by: path?.[1] === undefined ? "load" : "imbalance", tier: Number(path?.[2] ?? 0), pods: path?.[3] !== undefined };
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
    return { kind: "focus", ...place(what, more, last) };
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

/** The moment of an address; none where it has none, or one that has not come yet. */
export function momentOf(hash: string): Date | undefined {
  const time = Date.parse(/@(.+)$/.exec(hash)?.[1] ?? "");
  return time <= Date.now() ? new Date(time) : undefined;
}

export const view = signal<View>(viewOf(location.hash));
/** The moment that is looked at; none for now. */
export const moment = signal<Date | undefined>(momentOf(location.hash));
addEventListener("hashchange", () => {
  batch(() => {
    view.value = viewOf(location.hash);
    const next = momentOf(location.hash);
    if (next?.getTime() !== moment.value?.getTime()) moment.value = next;
  });
});

export function go(to: View): void {
  location.hash = addressOf(to);
}

/** Looks at another moment, in the same view; a moment that is chosen by moving over others leaves no trace of these. */
export function goTo(moment: Date | undefined): void {
  location.replace(addressAt(view.value, moment));
}
