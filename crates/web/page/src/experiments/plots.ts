// What can be drawn of results: for each metric a curve over what was swept, or a bar for each case.
import type { Row } from "./results";

export interface Point {
  /** The case, and its place along the axis. */
  name: string;
  at: number;
  /** None where it was not measured. */
  value: number | undefined;
  /** Least and most that was measured; none where that is not known. */
  spread: [number, number] | undefined;
  published: Row["published"];
  /** Whether what was published came out; true where nothing was. */
  held: boolean;
  /** The most that the links allow. */
  bound: number | undefined;
}

export interface Series {
  name: string;
  points: Point[];
}

export interface Plot {
  metric: string;
  unit: string;
  /** What was swept; empty for bars. */
  over: string;
  series: Series[];
}

/** Curves that are drawn, and points of each. */
export const CURVES_MAX = 42;
export const POINTS_MAX = 500;
/** Metrics that belong to another one: its least, its most, and what the links allow. */
const LEAST = "_min";
const MOST = "_max";
const BOUND = "_bound";

/** The plots of the rows of one experiment, in the order of the file. */
export function plotsOf(rows: Row[]): Plot[] {
  const byCase = new Map(rows.map((row) => [`${row.case}\n${row.metric}`, row]));
  const metrics = new Set(rows.map((row) => row.metric));
  const plots = new Map<string, { plot: Plot; series: Map<string, Series> }>();
  for (const row of rows) {
    const belongs = [LEAST, MOST, BOUND].some((end) => row.metric.endsWith(end) && metrics.has(row.metric.slice(0, -end.length)));
    if (belongs) continue;
    const key = `${row.metric}\n${row.over}`;
    const own = plots.get(key) ?? { plot: { metric: row.metric, unit: row.unit, over: row.over, series: [] }, series: new Map<string, Series>() };
    plots.set(key, own);
    own.plot.unit ||= row.unit;
    let series = own.series.get(row.curve);
    if (series === undefined) {
      series = { name: row.curve, points: [] };
      own.series.set(row.curve, series);
      own.plot.series.push(series);
    }
    const beside = (end: string) => byCase.get(`${row.case}\n${row.metric}${end}`)?.measured;
    const [least, most] = [row.least ?? beside(LEAST), row.most ?? beside(MOST)];
    series.points.push({
      name: row.case,
      at: row.at ?? series.points.length,
      value: row.measured,
      spread: least !== undefined && most !== undefined && least <= most ? [least, most] : undefined,
      published: row.published,
      held: !row.verdict.includes("✗"),
      bound: beside(BOUND),
    });
  }
  const found = [...plots.values()].map(({ plot }) => plot);
  found.forEach((plot) => plot.over !== "" && plot.series.forEach((one) => one.points.sort((a, b) => a.at - b.at)));
  return found.filter((plot) => plot.series.some((one) => one.points.some((point) => point.value !== undefined)));
}

/** Whether a plot has a heat map: two curves and two places along the axis. */
export function isMap(plot: Plot): boolean {
  return plot.over !== "" && plot.series.length > 1 && placesOf(plot).length > 1;
}

/** As much of a plot as is drawn: its first curves, and points of each, evenly. */
export function drawnOf(plot: Plot): Plot {
  return { ...plot, series: plot.series.slice(0, CURVES_MAX).map((one) => ({ ...one, points: thinned(one.points, POINTS_MAX) })) };
}

/** The places along the axis. */
export function placesOf(plot: Plot): number[] {
  const places = new Set(plot.series.flatMap((one) => one.points.map((point) => point.at)));
  return [...places].sort((a, b) => a - b);
}

/** All values that a plot has to have room for. */
export function valuesOf(plot: Plot): number[] {
  const points = plot.series.flatMap((one) => one.points);
  const all = points.flatMap((point) => [point.value, ...(point.spread ?? []), point.published?.least, point.published?.most, point.bound]);
  return all.filter((value) => value !== undefined);
}

/** Values that differ so much that those of an axis of equal steps would lie on each other. */
export function isWide(values: number[]): boolean {
  const [least, most] = ends(values);
  return least > 0 && most / least > 50;
}

/** The least and the most of values. */
export function ends(values: number[]): [number, number] {
  let [least, most] = [Infinity, -Infinity];
  for (const value of values) [least, most] = [Math.min(least, value), Math.max(most, value)];
  return [least, most];
}

/** A scale from values to pixels, with the values that its axis names. */
export interface Scale {
  place(value: number): number;
  ticks: number[];
}

export function scaleOf(values: number[], isLogarithmic: boolean, from: number, to: number, most: number, zero: boolean): Scale {
  let [low, high] = ends(values);
  if (values.length === 0) [low, high] = [0, 1];
  if (isLogarithmic && low > 0) {
    const [a, b] = [Math.log10(low), Math.log10(high)];
    const room = Math.max(0.05, (b - a) * 0.04);
    const place = (value: number) => from + ((Math.log10(Math.max(value, low / 10)) - a + room) / (b - a + 2 * room)) * (to - from);
    return { place, ticks: thinned(decades(low, high), most) };
  }
  if (zero) [low, high] = [Math.min(0, low), Math.max(0, high)];
  if (low === high) [low, high] = [low - 0.5, high + 0.5];
  const step = stepOf((high - low) / Math.max(2, most));
  const place = (value: number) => from + ((value - low) / (high - low)) * (to - from);
  const first = Math.ceil(low / step - 1e-9);
  const count = Math.max(0, Math.floor(high / step + 1e-9) - first + 1);
  return { place, ticks: Array.from({ length: Math.min(count, 50) }, (_, at) => Number(((first + at) * step).toPrecision(12))) };
}

/** 1, 2 or 5 times a power of ten, not below a value. */
function stepOf(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least));
  return power * ([1, 2, 5].find((step) => step * power >= least * (1 - 1e-9)) ?? 10);
}

function decades(low: number, high: number): number[] {
  const first = Math.floor(Math.log10(low));
  const last = Math.ceil(Math.log10(high));
  const steps = last - first > 3 ? [1] : [1, 2, 5];
  const all = Array.from({ length: last - first + 1 }, (_, at) => steps.map((step) => step * 10 ** (first + at))).flat();
  return all.filter((value) => value >= low * (1 - 1e-9) && value <= high * (1 + 1e-9));
}

/** At most so many of them, evenly. */
function thinned<T>(values: T[], most: number): T[] {
  const step = Math.max(1, Math.ceil(values.length / Math.max(1, most)));
  return values.filter((_, at) => at % step === 0);
}

/** A number in a few digits. */
export function digits(value: number): string {
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e7 || size < 1e-3)) return value.toExponential(2).replace(/\.?0+e/, "e").replace("e+", "e");
  return Number(value.toPrecision(4)).toLocaleString("en", { maximumFractionDigits: 6 });
}

/** A place along an axis: sizes in bytes as scenarios write them. */
export function placeText(over: string, at: number): string {
  if ((over === "bytes" || over === "buffer") && at >= 1_024 && at % 1_024 === 0) {
    return at % (1 << 20) === 0 ? `${at / (1 << 20)}M` : `${at / 1_024}K`;
  }
  return digits(at);
}
