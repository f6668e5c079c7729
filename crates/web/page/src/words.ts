// Numbers, times and colours of health as people read them.
import { HealthColor } from "../gen/weft/v1/health_pb";
import type { Layout } from "./fabric";

/** A GUID as the other tools write it. */
export function guidText(guid: bigint): string {
  return `0x${guid.toString(16).padStart(16, "0")}`;
}

/** A port, or a whole node where it is 0, as a point in the syntax of opareport. */
export function pointOf(guid: bigint, number: number): string {
  return `nodeguid:${guidText(guid)}${number > 0 ? `:port:${number}` : ""}`;
}

/** The name of a node; of a host, without that of its HFI. */
export function shortName(nodes: Layout, node: number): string {
  return nodes.isSwitch(node) ? nodes.names[node] : nodes.names[node].replace(/ hfi\d+_\d+$/, "");
}

/** As much of a text as has room, where a usual letter is so wide; letters of other scripts and signs may be twice as wide. */
export function fitting(text: string, room: number, letter: number): string {
  let [wide, kept] = [0, ""];
  for (const one of text) {
    wide += one < "\u1100" ? letter : 2 * letter;
    if (wide > room) return `${[...kept].slice(0, -1).join("")}…`;
    kept += one;
  }
  return text;
}

/** A number with what is counted. */
export function many(count: number, one: string, more = `${one}s`): string {
  return `${count.toLocaleString("en")} ${count === 1 ? one : more}`;
}

/** A time with its zone; with the date where it is not of today. */
export function clock(time: Date): string {
  const today = new Date().toDateString() === time.toDateString();
  const day = today ? {} : ({ year: "numeric", month: "short", day: "numeric" } as const);
  return time.toLocaleString("en-GB", { ...day, hour: "2-digit", minute: "2-digit", second: "2-digit", timeZoneName: "short" });
}

/** The zone of times here. */
export function zone(): string {
  return new Date().toLocaleTimeString("en-GB", { timeZoneName: "short" }).split(" ").at(-1) ?? "";
}

/** A span in words. */
export function between(from: Date, to: Date): string {
  return `from ${clock(from)} to ${clock(to)}`;
}

interface ColorWords {
  name: string;
  sign: string;
  /** What it says of one thing, and of the whole fabric. */
  word: string;
  whole: string;
}

const COLORS: Record<HealthColor, ColorWords> = {
  [HealthColor.RED]: { name: "red", sign: "✕", word: "bad", whole: "Something is badly wrong" },
  [HealthColor.YELLOW]: { name: "yellow", sign: "!", word: "look at it", whole: "Something should be looked at" },
  [HealthColor.GREEN]: { name: "green", sign: "✓", word: "well", whole: "All is well" },
  [HealthColor.UNSPECIFIED]: { name: "none", sign: "?", word: "not known", whole: "Not known" },
};

/** A colour of health in words; one of a newer daemon is not known. */
export function colorWords(color: HealthColor): ColorWords {
  return COLORS[color] ?? COLORS[HealthColor.UNSPECIFIED];
}

/** A text as a sentence of its own. */
export function sentence(text: string): string {
  const whole = text.charAt(0).toUpperCase() + text.slice(1);
  return whole === "" || /[.!?]$/.test(whole) ? whole : `${whole}.`;
}

/** A span of time in words. */
export function spanText(milliseconds: number): string {
  const seconds = Math.round(milliseconds / 1_000);
  const [minutes, hours] = [Math.round(seconds / 60), Math.round(seconds / 3_600)];
  return seconds < 120 ? many(seconds, "second") : minutes < 120 ? many(minutes, "minute") : hours < 48 ? many(hours, "hour") : many(Math.round(hours / 24), "day");
}
