// Counters of a port, or of all ports of a node, over the time that the timeline shows, up to the moment that is looked at.
import { durationFromMs, timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { PortRates } from "../gen/weft/v1/counters_pb";
import type { CounterSample } from "../gen/weft/v1/history_pb";
import { go, moment, range, start, view } from "./address";
import { historyCalls } from "./api";
import { Plot, type Series } from "./chart";
import { RANGES } from "./history";
import { byteRate, FLIT } from "./lanes";
import { type Options, usePolled } from "./poll";
import { saveCsv } from "./save";
import { type Sample, samplesOf } from "./sums";
import { between, clock, pointOf } from "./words";

/** Least time from one reading to the next, milliseconds; it is at least that from one point to the next. */
const PACE = 10_000;
/** Points of a line: of a port, and of a node, which takes as many answers as it has ports. */
const [POINTS, POINTS_NODE] = [400, 100];
/** Least time from one point to the next, seconds: where readings are finer, each is one. */
const STEP_MIN = 10;
/** Rows of the table. */
const ROWS_MAX = 50;

type Field = Exclude<keyof PortRates, "$typeName" | "$unknown">;

interface Kind {
  name: string;
  /** Counters with their names. */
  lines: [Field, string][];
  /** Fields of the request. */
  paths: string[];
  /** What a unit of the counters is of that of the lines. */
  scale: number;
  text(value: number): string;
}

const count = (value: number) => `${Number(value.toPrecision(3)).toLocaleString("en")}/s`;
const KINDS: Kind[] = [
  { name: "data", lines: [["xmitData", "sent"], ["rcvData", "received"]], paths: ["xmit_data", "rcv_data"], scale: FLIT, text: byteRate },
  { name: "packets", lines: [["xmitPkts", "sent"], ["rcvPkts", "received"]], paths: ["xmit_pkts", "rcv_pkts"], scale: 1, text: count },
  { name: "waiting", lines: [["xmitWait", "waited for credits"], ["swPortCongestion", "dropped by congestion"], ["xmitDiscards", "discarded"]], paths: ["xmit_wait", "sw_port_congestion", "xmit_discards"], scale: 1, text: count },
  { name: "errors", lines: [["localLinkIntegrityErrors", "link retries"], ["rcvErrors", "received with errors"], ["linkDowned", "links lost"]], paths: ["local_link_integrity_errors", "rcv_errors", "link_downed"], scale: 1, text: count },
];

export function HistoryLines({ guid, number, title }: { guid: bigint; number: number; title: string }) {
  const asked = view.value.kind === "focus" ? view.value.lines : undefined;
  const kind = KINDS.find(({ name }) => name === asked) ?? KINDS[0];
  const choose = ({ name }: Kind) => view.value.kind === "focus" && go({ kind: "focus", guid, port: view.value.port, ...(name === KINDS[0].name ? {} : { lines: name }) });
  const to = moment.value;
  const first = start.value;
  const span = first === undefined || to === undefined ? range.value : (to.getTime() - first.getTime()) / 1_000;
  const points = number > 0 ? POINTS : POINTS_NODE;
  const ask = async (options: Options) => {
    const end = to ?? new Date();
    const from = new Date(end.getTime() - span * 1_000);
    const step = span / points;
    const request = { ...(number > 0 ? { ports: [{ nodeGuid: guid, port: number }] } : { point: pointOf(guid, 0) }), from: timestampFromDate(from), to: timestampFromDate(end), counters: { paths: kind.paths }, ...(step > STEP_MIN ? { step: durationFromMs(step * 1_000) } : {}) };
    const samples: CounterSample[] = [];
    for await (const message of historyCalls.listCounterSamples(request, options)) {
      // Port 0 of a switch is the way to its own agent, and has no cable.
      if (message.port?.port !== 0) samples.push(...message.samples);
    }
    return { samples: samplesOf(samples), from: from.getTime() / 1_000, to: end.getTime() / 1_000 };
  };
  const { answer, failed } = usePolled(ask, to === undefined ? Math.max(PACE, (span / points) * 1_000) : 0, [guid, number, to, span, kind]);
  const last = `over the last ${RANGES.find(([seconds]) => seconds === span)?.[1] ?? "hour"}`;
  const words = first === undefined || to === undefined ? `${last}${to === undefined ? "" : ` before ${clock(to)}`}` : between(first, to);
  return (
    <>
      <h2 class="sentence">{words}</h2>
      <p class="paints">{KINDS.map((one) => <button type="button" key={one.name} class={one === kind ? "chip on" : "chip"} aria-pressed={one === kind} onClick={() => choose(one)}>{one.name}</button>)}</p>
      {answer === undefined && <p class="quiet"><bdi>{failed}</bdi></p>}
      {answer !== undefined && answer.samples.length === 0 && <p class="quiet">No reading of it is kept of that time.</p>}
      {answer !== undefined && answer.samples.length > 0 && (
        <>
          <Plot name={`${kind.name} of ${title}`} label={`${kind.name} of ${title} ${words}; the table has the values`} lines={seriesOf(kind, answer.samples)} from={answer.from} to={answer.to} least={1} text={kind.text} />
          <Table kind={kind} samples={answer.samples} title={title} />
        </>
      )}
    </>
  );
}

/** Lines, with gaps where totals have begun again: each rate is over the time since the sample before. */
function seriesOf(kind: Kind, samples: Sample[]): Series[] {
  return kind.lines.map(([field, name]) => ({
    name,
    points: samples.map(({ time, rates }) => [time, rates?.[field] === undefined ? null : rates[field] * kind.scale]),
  }));
}

function Table({ kind, samples, title }: { kind: Kind; samples: Sample[]; title: string }) {
  const known = samples.filter((sample) => sample.rates !== undefined).reverse();
  const time = (sample: Sample) => new Date(sample.time * 1_000);
  const rows = () => known.map((sample) => [time(sample).toISOString(), ...kind.lines.map(([field]) => sample.rates?.[field] ?? "")]);
  return (
    <details>
      <summary>The same as a table</summary>
      <div class="scroll tall" tabIndex={0} role="region" aria-label={`${kind.name} over time`}>
        <table>
          <thead><tr><th scope="col">Time</th>{kind.lines.map(([field, name]) => <th key={field} scope="col" class="number">{name}</th>)}</tr></thead>
          <tbody>
            {known.slice(0, ROWS_MAX).map((sample, key) => (
              <tr key={key}><td>{clock(time(sample))}</td>{kind.lines.map(([field]) => <td key={field} class="number">{kind.text((sample.rates?.[field] ?? 0) * kind.scale)}</td>)}</tr>
            ))}
          </tbody>
        </table>
        <button type="button" class="more" onClick={() => saveCsv(`${kind.name} of ${title}`, [["time", ...kind.lines.map(([field, name]) => `${name} (${field} a second)`)], ...rows()])}>Save all as CSV</button>
        {known.length > ROWS_MAX && <p class="quiet">{known.length - ROWS_MAX} older values</p>}
      </div>
    </details>
  );
}
