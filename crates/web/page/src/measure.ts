/** Measures of a name that the browser keeps at most: it would keep them for as long as the page is open. */
const KEPT = 1_000;

const counts = new Map<string, number>();

/** Notes how long something has taken that began at `start`, by `performance.now()`. */
export function measured(name: string, start: number): void {
  const count = counts.get(name) ?? 0;
  if (count === KEPT) performance.clearMeasures(name);
  counts.set(name, count === KEPT ? 1 : count + 1);
  performance.measure(name, { start });
}
