// What people are told of a port: one kind, the worst that applies.
import { Mark, State, UNKNOWN, WHOLE } from "./fabric";

/** Places in the palette. */
export const Shade = {
  Empty: 0,
  Active: 1,
  Rising: 2,
  Lost: 3,
  Disabled: 4,
  OutOfUse: 5,
  Gone: 6,
  Slow: 7,
  Errors: 8,
  Flapping: 9,
  Drained: 10,
  Other: 11,
  Unknown: 31,
  /** The first of the steps of a share, and of those of a share where routes lead elsewhere. */
  Ramp: 32,
  DrainedRamp: 64,
  Pod: 250,
  Tile: 251,
} as const;
export const RAMP_STEPS = 32;

/** Kinds of ports by their place in the palette: a name, and what that means. */
export const KINDS: { shade: number; name: string; what: string; wrong: boolean }[] = [
  { shade: Shade.Gone, name: "missing node", what: "the node was there and is not any more", wrong: true },
  { shade: Shade.Lost, name: "missing link", what: "there was a link", wrong: true },
  { shade: Shade.Flapping, name: "flapping", what: "the link goes down again and again", wrong: true },
  { shade: Shade.OutOfUse, name: "out of use", what: "the link is up and kept from carrying data", wrong: true },
  { shade: Shade.Errors, name: "errors", what: "the link has errors", wrong: true },
  { shade: Shade.Slow, name: "slow", what: "the link is slower than it could be", wrong: true },
  { shade: Shade.Other, name: "other trouble", what: "see what is wrong", wrong: true },
  { shade: Shade.Disabled, name: "disabled", what: "switched off by a person", wrong: false },
  { shade: Shade.Rising, name: "coming up", what: "the link carries no data yet", wrong: false },
  { shade: Shade.Drained, name: "drained", what: "routes lead elsewhere", wrong: false },
  { shade: Shade.Active, name: "active", what: "the link carries data", wrong: false },
  { shade: Shade.Empty, name: "no cable", what: "nothing was ever seen in the port", wrong: false },
];

const BY_SHADE = new Map(KINDS.map((kind) => [kind.shade, kind]));
const WRONG = new Set<number>(KINDS.filter((kind) => kind.wrong).map((kind) => kind.shade));

/** The kind of a port, from its state and marks. */
export function shadeOf(state: number, marks: number): number {
  if (state === State.Gone) return Shade.Gone;
  if (state === State.Lost) return Shade.Lost;
  if (state === State.Disabled) return Shade.Disabled;
  if (marks !== 0) {
    if (marks & Mark.Flapping) return Shade.Flapping;
    if (marks & Mark.OutOfUse) return Shade.OutOfUse;
    if (marks & Mark.Errors) return Shade.Errors;
    if (marks & Mark.Slow) return Shade.Slow;
    if (marks & Mark.Other) return Shade.Other;
  }
  if (state === State.Unused) return Shade.OutOfUse;
  if (state === State.Rising) return Shade.Rising;
  if (marks & Mark.Drained) return Shade.Drained;
  return state === State.Active ? Shade.Active : Shade.Empty;
}

/** The place in the palette of a share. */
export function rampOf(share: number): number {
  if (share === UNKNOWN) return Shade.Unknown;
  return Shade.Ramp + Math.round((Math.min(share, WHOLE) / WHOLE) * (RAMP_STEPS - 1));
}

/** The same place for a port that is drained: its mark is around the colour. */
export function drainedRamp(place: number): number {
  return place === Shade.Unknown ? Shade.Drained : place - Shade.Ramp + Shade.DrainedRamp;
}

/** Units of a rate of errors for each doubling of it. */
const DOUBLING = 8;
/** Minutes of the day, of which the unit tells a rate. */
const DAY = 1440;
/** The rate of errors of the strongest colour: 1,000,000 a minute. The weakest stands out from that of no errors. */
export const ERRORS_MAX = 244;
const ERRORS_LEAST = 0.25;

/** The place in the palette of a rate of errors. */
export function errorsRamp(rate: number): number {
  if (rate === UNKNOWN || rate === 0) return rampOf(rate);
  return rampOf((ERRORS_LEAST + (1 - ERRORS_LEAST) * Math.min(1, rate / ERRORS_MAX)) * WHOLE);
}

/** Errors in so many minutes, two digits of them; none where it is not known. */
export function errorsOf(rate: number, minutes = 1): number | undefined {
  return rate === UNKNOWN ? undefined : Number((((2 ** (rate / DOUBLING) - 1) / DAY) * minutes).toPrecision(2));
}

/** A rate of errors in words; of a link that is said to have errors, though it had none between the last two readings, as well. */
export function errorsText(rate: number, hasErrors = false): string {
  const known = errorsOf(rate);
  if (known === undefined) return "unknown";
  if (known === 0) return hasErrors ? "before the last reading" : "none";
  if (known >= 1) return `${known.toLocaleString("en")} a minute`;
  return known * 60 >= 1 ? `${errorsOf(rate, 60)} an hour` : `${errorsOf(rate, DAY)} a day`;
}

export function isWrong(shade: number): boolean {
  return WRONG.has(shade);
}

export function kindOf(shade: number): { name: string; what: string } {
  return BY_SHADE.get(shade) ?? { name: "unknown", what: "" };
}

/** The greater of two shares or rates; one that is not known counts for nothing. */
export function busier(a: number, b: number): number {
  return a === UNKNOWN ? b : b === UNKNOWN ? a : Math.max(a, b);
}

/** Places by their shares or rates, the greatest first; those of which none is known come last. */
export function byShare(places: number[], shareOf: (place: number) => number): number[] {
  const buckets: number[][] = Array.from({ length: UNKNOWN }, () => []);
  const rest: number[] = [];
  for (const place of places) {
    const share = shareOf(place);
    (share === UNKNOWN ? rest : buckets[share]).push(place);
  }
  return [...buckets.reverse().flat(), ...rest];
}

/** A share in words. */
export function percent(share: number): string {
  if (share === UNKNOWN) return "unknown";
  // Anything above 0 is at least one unit.
  return share === 1 ? `< ${100 / WHOLE} %` : `${((share / WHOLE) * 100).toFixed(share < 20 && share > 0 ? 1 : 0)} %`;
}
