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
  | { kind: "events" };

/** The address of a view. */
export function addressOf(view: View): string {
  switch (view.kind) {
    case "overview":
      return view.paint === "state" ? "#/" : `#/by/${view.paint}`;
    case "focus":
      return `#/node/${guidText(view.guid)}${view.port > 0 ? `/port/${view.port}` : ""}`;
    case "route":
      return view.from === 0n ? "#/route" : view.to === 0n ? `#/route/${guidText(view.from)}` : `#/route/${guidText(view.from)}/${guidText(view.to)}`;
    case "matrix":
      return "#/matrix";
    case "events":
      return "#/events";
  }
}

/** The view of an address; of one that is none, the overview. */
export function viewOf(hash: string): View {
  const [name, what, more, last] = hash.replace(/^#?\/?/, "").split("/");
  if (name === "matrix" || name === "events") {
    return { kind: name };
  }
  if (name === "route") {
    const guid = (text: string | undefined) => (isGuid(text) ? BigInt(text) : 0n);
    return { kind: "route", from: guid(what), to: isGuid(what) ? guid(more) : 0n };
  }
  if (name === "node" && isGuid(what)) {
    const port = more === "port" && /^[0-9]{1,3}$/.test(last ?? "") ? Number(last) : 0;
    return { kind: "focus", guid: BigInt(what), port };
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
