// Counters of a port, or of all ports of a node together.
import { timestampMs } from "@bufbuild/protobuf/wkt";
import type { PortCounters, PortCounts, PortRates } from "../gen/weft/v1/counters_pb";
import type { CounterSample } from "../gen/weft/v1/history_pb";

/** Totals and rates by the names of their counters; those that are not known are left out. */
export type Totals = Record<string, bigint>;
export type Rates = Record<string, number>;

/** Counters of a lane. */
export interface Lane {
  vl: number;
  totals: Totals;
  rates: Rates;
}

/** Rates at a time, seconds since 1970; none where they are not known. */
export interface Sample {
  time: number;
  rates: Rates | undefined;
}

function totals(counts: PortCounts | undefined): Totals {
  return Object.fromEntries(Object.entries(counts ?? {}).filter((pair): pair is [string, bigint] => typeof pair[1] === "bigint"));
}

function rates(rates: PortRates | undefined): Rates {
  return Object.fromEntries(Object.entries(rates ?? {}).filter((pair): pair is [string, number] => typeof pair[1] === "number"));
}

function plusTotals(sum: Totals, own: Totals): Totals {
  const out = { ...sum };
  for (const [name, value] of Object.entries(own)) out[name] = (out[name] ?? 0n) + value;
  return out;
}

function plusRates(sum: Rates, own: Rates): Rates {
  const out = { ...sum };
  for (const [name, value] of Object.entries(own)) out[name] = (out[name] ?? 0) + value;
  return out;
}

export function totalsOf(ports: PortCounters[]): Totals {
  return ports.map((port) => totals(port.totals)).reduce(plusTotals, {});
}

/** What was counted since an earlier reading; left out is what began again at a port meanwhile, or was not read of it. */
export function growthOf(ports: PortCounters[], before: PortCounters[]): Totals {
  const known = new Map(before.map((port) => [keyOf(port), totals(port.totals)]));
  const out: Totals = {};
  const unknown = new Set<string>();
  for (const port of ports) {
    const first = known.get(keyOf(port)) ?? {};
    for (const [name, value] of Object.entries(totals(port.totals))) {
      const from = first[name];
      if (from === undefined || from > value) unknown.add(name);
      else out[name] = (out[name] ?? 0n) + value - from;
    }
  }
  return Object.fromEntries(Object.entries(out).filter(([name]) => !unknown.has(name)));
}

function keyOf({ port }: PortCounters): string {
  return `${port?.port?.nodeGuid} ${port?.port?.port}`;
}

/** Counters lane by lane. */
export function lanesOf(ports: PortCounters[]): Lane[] {
  const found = new Map<number, Lane>();
  for (const lane of ports.flatMap((port) => port.lanes)) {
    const sum = found.get(lane.vl);
    found.set(lane.vl, { vl: lane.vl, totals: plusTotals(sum?.totals ?? {}, totals(lane.totals)), rates: plusRates(sum?.rates ?? {}, rates(lane.rates)) });
  }
  return [...found.values()].sort((a, b) => a.vl - b.vl);
}

/** Rates over time: those of one reading are one sample. */
export function samplesOf(samples: CounterSample[]): Sample[] {
  const found = new Map<number, Rates | undefined>();
  for (const sample of samples) {
    if (sample.time === undefined) continue;
    const time = timestampMs(sample.time) / 1_000;
    const sum = found.get(time);
    found.set(time, sample.rates === undefined ? sum : plusRates(sum ?? {}, rates(sample.rates)));
  }
  return [...found].map(([time, rates]) => ({ time, rates })).sort((a, b) => a.time - b.time);
}
