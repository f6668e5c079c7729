// The address of a view: everything after `#`, so that it can be sent to somebody else.
import { signal } from "@preact/signals";

/** What ports are coloured by. */
export type Paint = "state" | "load" | "wait";
export const PAINTS: Paint[] = ["state", "load", "wait"];

export type View =
  | { kind: "overview"; paint: Paint }
  | { kind: "focus"; guid: bigint; port: number }
  | { kind: "route"; from: bigint; to: bigint }
  | { kind: "matrix" }
  /** All plans, with what may be drained: GUID 0 for nothing, port 0 for a whole switch. */
  | { kind: "plans"; guid: bigint; port: number }
  | { kind: "plan"; id: string }
  | { kind: "events" };

/** The address of a view. */
export function addressOf(view: View): string {
  switch (view.kind) {
    case "overview":
      return view.paint === "state" ? "#/" : `#/by/${view.paint}`;
    case "focus":
      return `#/node/${placeText(view)}`;
    case "route":
      return view.from === 0n ? "#/route" : view.to === 0n ? `#/route/${guidText(view.from)}` : `#/route/${guidText(view.from)}/${guidText(view.to)}`;
    case "plans":
      return view.guid === 0n ? "#/plans" : `#/plans/drain/${placeText(view)}`;
    case "plan":
      return `#/plan/${view.id}`;
    case "matrix":
      return "#/matrix";
    case "events":
      return "#/events";
  }
}

function placeText({ guid, port }: { guid: bigint; port: number }): string {
  return `${guidText(guid)}${port > 0 ? `/port/${port}` : ""}`;
}

/** The view of an address; of one that is none, the overview. */
export function viewOf(hash: string): View {
  const [name, what, more, last, number] = hash.replace(/^#?\/?/, "").split("/");
  if (name === "matrix" || name === "events") {
    return { kind: name };
  }
  if (name === "route") {
    const guid = (text: string | undefined) => (isGuid(text) ? BigInt(text) : 0n);
    return { kind: "route", from: guid(what), to: isGuid(what) ? guid(more) : 0n };
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

function isGuid(text: string | undefined): text is string {
  return /^0x[0-9a-f]{1,16}$/i.test(text ?? "");
}

/** A GUID as the other tools write it. */
export function guidText(guid: bigint): string {
  return `0x${guid.toString(16).padStart(16, "0")}`;
}

export const view = signal<View>(viewOf(location.hash));
addEventListener("hashchange", () => {
  view.value = viewOf(location.hash);
});

export function go(to: View): void {
  location.hash = addressOf(to);
}
