// A small live emulation: traffic, adaptive routing, and cables to cut, as the authors of experiment E1 saw it.
import { Code, ConnectError } from "@connectrpc/connect";
import { useComputed, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { ListTrafficResponse, TrafficStatus } from "../../gen/weft/emulator/v1/emulator_pb";
import { addressAt, moment } from "../address";
import { ORDER_PATIENCE, PLAN_PATIENCE, whyOf } from "../api";
import { emulatorCalls, routeCalls } from "../calls";
import { propose } from "../dialog";
import type { Layout } from "../fabric";
import { isDark } from "../palette";
import { usePolled } from "../poll";
import { saveCsv } from "../save";
import { layout, scheme, sums, theme } from "../store";
import { mayAdminister, mayOrder, WhyNot } from "../who";
import { DRAWING_MAX, useWidth } from "../width";
import { guidText, many, shortName } from "../words";
import { Lines } from "./drawing";
import { Links } from "./links";
import { findPairs } from "./pairs";
import type { Plot } from "./plots";
import { visible } from "./results";

/** Time from one question to the next, milliseconds, and answers that are kept for the curves. */
const PACE = 1_000;
const KEPT_MAX = 120;
/** Threshold that moves a route as soon as a buffer is full, as in E1. */
const THRESHOLD = 7;
const GIGA = 1e9;

export function Emulation() {
  const { answer, failed, again } = usePolled((options) => emulatorCalls.listTraffic({}, options), PACE, []);
  if (moment.value !== undefined) {
    return <p>A live emulation is about now. <a href={addressAt({ kind: "experiments", live: true }, undefined)}>Back to now</a></p>;
  }
  if (answer === undefined) {
    return failed === "" ? <p class="quiet">The emulator is asked…</p> : <p role="status">No emulation here: <bdi>{failed}</bdi>.</p>;
  }
  return (
    <>
      <p class="quiet">Experiment E1: two pairs of hosts whose routes share a link get together what one link carries, 12.4 GB/s, while other links idle. With adaptive routing a switch moves one of them, and they get 24.8 GB/s.</p>
      {failed !== "" && <p class="bad" role="alert"><bdi>{failed}</bdi></p>}
      {!mayOrder() && <WhyNot what="Changing the emulation" />}
      <div class="bench">
        <div>
          <h2>Traffic</h2>
          {mayOrder() && <Start jobs={answer.jobs} again={again} />}
          <Adaptive answer={answer} again={again} />
          <Traffic answer={answer} again={again} />
        </div>
        <div><Links /></div>
      </div>
    </>
  );
}

/** Words of a pattern, with names in place of GUIDs. */
function patternText(nodes: Layout | undefined, pattern: string): string {
  const named = pattern.replace(/0x([0-9a-f]{1,16})/gi, (text) => {
    const node = nodes?.find(BigInt(text));
    return node === undefined || nodes === undefined ? text : shortName(nodes, node);
  });
  return visible(named.replace(/^pairs /, "").replaceAll(":", " to "));
}

function gigabytes(rate: number): string {
  return (rate / GIGA).toFixed(2);
}

/** A name that no running job has. */
function freeName(jobs: TrafficStatus[], word: string, taken: string[] = []): string {
  const known = new Set([...jobs.map((one) => one.job?.name ?? ""), ...taken]);
  let number = 1;
  while (known.has(`${word} ${number}`)) number++;
  return `${word} ${number}`;
}

function Traffic({ answer, again }: { answer: ListTrafficResponse; again(): void }) {
  const nodes = layout.value;
  const { jobs } = answer;
  const total = jobs.reduce((sum, one) => sum + one.bytesPerSecond, 0);
  const stop = (name: string) =>
    propose({
      title: name === "" ? "Stop all traffic" : `Stop the traffic ${visible(name)}`,
      button: "Stop it",
      says: <p>Its hosts send nothing more. It can be started again.</p>,
      run: async ({ reason, author }) => {
        await emulatorCalls.stopTraffic({ name, reason, author }, { timeoutMs: ORDER_PATIENCE });
        again();
        return name === "" ? "All traffic is stopped." : `The traffic ${visible(name)} is stopped.`;
      },
    });
  return (
    <>
      <h2>Throughput</h2>
      <p class="sum">{jobs.length === 0 ? "No traffic." : <><b>{gigabytes(total)} GB/s</b> together. One link carries 12.5 GB/s, with headers.</>}</p>
      {jobs.length > 0 && (
        <>
          <Throughput answer={answer} />
          <div class="scroll" tabIndex={0} role="region" aria-label="Traffic">
            <table>
              <thead><tr><th scope="col">Name</th><th scope="col">Who sends to whom</th><th scope="col" class="number">GB/s</th><th scope="col" class="number">Slowest host</th><th scope="col" class="number">Fastest</th><th scope="col" class="number">Without a way</th>{mayOrder() && <th scope="col">End</th>}</tr></thead>
              <tbody>
                {jobs.map((one) => (
                  <tr key={one.job?.name} class={one.blocked > 0 ? "wrong" : ""}>
                    <td><bdi>{visible(one.job?.name ?? "")}</bdi></td>
                    <td><bdi>{patternText(nodes, one.job?.pattern ?? "").slice(0, 200)}</bdi></td>
                    <td class="number">{gigabytes(one.bytesPerSecond)}</td>
                    <td class="number">{gigabytes(one.slowest)}</td>
                    <td class="number">{gigabytes(one.fastest)}</td>
                    <td class="number">{one.blocked} of {one.senders}</td>
                    {mayOrder() && <td><button type="button" class="more" aria-label={`Stop ${visible(one.job?.name ?? "")}…`} onClick={() => stop(one.job?.name ?? "")}>Stop…</button></td>}
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
          <p class="buttons">
            {mayOrder() && <button type="button" onClick={() => stop("")}>Stop all traffic…</button>}
            <button type="button" onClick={() => saveCsv("traffic", [["name", "pattern", "GB/s", "slowest GB/s", "fastest GB/s", "without a way", "senders"], ...jobs.map((one) => [one.job?.name ?? "", one.job?.pattern ?? "", one.bytesPerSecond / GIGA, one.slowest / GIGA, one.fastest / GIGA, one.blocked, one.senders])])}>Save as CSV</button>
          </p>
        </>
      )}
    </>
  );
}

/** Patterns of all hosts, with what each host sends to. */
const PATTERNS = [
  { name: "two pairs whose routes share a link", word: "pair", pattern: () => "" },
  { name: "each host to the one half of all hosts further on", word: "shift", pattern: (hosts: number) => `shift by=${Math.max(1, Math.floor(hosts / 2))}` },
  { name: "each host to one other, drawn at random", word: "permutation", pattern: () => "permutation seed=1" },
  { name: "each host to all others", word: "uniform", pattern: () => "uniform" },
];

function Start({ jobs, again }: { jobs: TrafficStatus[]; again(): void }) {
  const chosen = useSignal(0);
  const rate = useSignal("100");
  const [busy, failed] = [useSignal(false), useSignal("")];
  const percent = Number(rate.value);
  const isRate = percent > 0 && percent <= 100;
  const asked = async () => {
    const { name, word, pattern } = PATTERNS[chosen.value];
    const nodes = layout.value;
    if (nodes === undefined) return;
    [busy.value, failed.value] = [true, ""];
    try {
      const found = chosen.value === 0 ? await findPairs(nodes) : undefined;
      if (chosen.value === 0 && found === undefined) {
        failed.value = "no two pairs share a link between switches here: that takes two switches with two hosts each and a link between switches that two routes have to share";
      } else {
        const named = (node: number) => shortName(nodes, node);
        const first = freeName(jobs, word);
        const each = found === undefined
          ? [{ name: first, pattern: pattern(sums.value.hosts) }]
          : found.pairs.map(([from, to], at) => ({ name: at === 0 ? first : freeName(jobs, word, [first]), pattern: `pairs ${guidText(nodes.guids[from])}:${guidText(nodes.guids[to])}` }));
        const speed = percent === 100 ? "as fast as it goes" : `at up to ${percent} % of a link's rate`;
        propose({
          title: "Start traffic",
          button: "Start it",
          says: found === undefined
            ? <p>In the emulated fabric {name}, {speed}, until you stop it.</p>
            : <p><bdi>{found.pairs.map(([from, to]) => `${named(from)} sends to ${named(to)}`).join(", and ")}</bdi>, each {speed}, until you stop it. Both routes take the link <bdi>{found.link}</bdi>.</p>,
          run: async ({ reason, author }) => {
            for (const job of each) await emulatorCalls.startTraffic({ job: { ...job, ratePercent: percent }, reason, author }, { timeoutMs: ORDER_PATIENCE });
            again();
            return `Traffic is started: ${each.map((job) => job.name).join(", ")}.`;
          },
        });
      }
    } catch (error) {
      failed.value = whyOf(error);
    }
    busy.value = false;
  };
  return (
    <>
      <div class="ends choices">
        <label class="field">Who sends
          <select value={chosen.value} onChange={(event) => (chosen.value = Number(event.currentTarget.value))}>
            {PATTERNS.map(({ name }, at) => <option key={at} value={at}>{name}</option>)}
          </select>
        </label>
        <label class="field">Most that each sends, % of a link
          <input type="number" min="1" max="100" value={rate.value} onInput={(event) => (rate.value = event.currentTarget.value)} />
        </label>
        <button type="button" class="more" disabled={busy.value || !isRate} onClick={() => void asked()}>{busy.value ? "Routes are asked for…" : "Start traffic…"}</button>
      </div>
      {!isRate && <p class="bad" role="alert">The rate is {rate.value === "" ? "missing" : rate.value}, allowed: over 0, up to 100 %.</p>}
      {failed.value !== "" && <p class="bad" role="alert">Not started: <bdi>{failed.value}</bdi>.</p>}
    </>
  );
}

/** Throughput of each flow over the last two minutes. */
function Throughput({ answer }: { answer: ListTrafficResponse }) {
  scheme.value;
  const [holder, wide] = useWidth(DRAWING_MAX);
  const kept = useSignal<{ time: number; rates: Map<string, number> }[]>([]);
  useEffect(() => {
    const rates = new Map(answer.jobs.map((one) => [visible(one.job?.name ?? ""), one.bytesPerSecond / GIGA]));
    kept.value = [...kept.value, { time: Date.now() / 1000, rates }].slice(-KEPT_MAX);
  }, [answer]);
  const plot = useComputed<Plot>(() => {
    const now = kept.value.at(-1)?.time ?? 0;
    const names = [...(kept.value.at(-1)?.rates.keys() ?? [])];
    const curve = (name: string, value: (rates: Map<string, number>) => number | undefined) => ({
      name,
      points: kept.value.map(({ time, rates }) => ({ name, at: Math.round(time - now), value: value(rates), spread: undefined, published: undefined, held: true, bound: undefined })),
    });
    const each = names.map((name) => curve(name, (rates) => rates.get(name)));
    const all = curve("together", (rates) => [...rates.values()].reduce((sum, rate) => sum + rate, 0));
    const series = names.length > 1 ? [all, ...each] : each;
    return { metric: "throughput", unit: "GB/s", over: "seconds before now", series };
  });
  const look = { wide: wide.value, dark: isDark(theme.value), logX: false, logY: false };
  return <figure class="plot" ref={holder}>{wide.value > 0 && kept.value.length > 1 && <Lines plot={plot.value} look={look} live={true} />}</figure>;
}

function Adaptive({ answer, again }: { answer: ListTrafficResponse; again(): void }) {
  const on = answer.adaptiveSwitches > 0;
  const asked = () =>
    propose({
      title: `Switch adaptive routing ${on ? "off" : "on"}`,
      button: `Switch it ${on ? "off" : "on"}`,
      says: on
        ? <p>A plan of the routes without it is made, with proof, and put in force: each packet takes the one route of the tables again.</p>
        : <p>A plan of the routes with it is made, with proof, and put in force: a switch moves a route to another port that leads there as well, as soon as a buffer is full (threshold {THRESHOLD}). It lasts until you switch it off, or the configuration is read again.</p>,
      run: async ({ reason, author }) => {
        const label = { reason, author };
        const planned = await routeCalls.planRoutes({ change: { case: "adaptive", value: { $typeName: "weft.v1.AdaptiveChange", enabled: !on, threshold: on ? 0 : THRESHOLD } }, label }, { timeoutMs: PLAN_PATIENCE });
        if (planned.planId === undefined) throw new Error("no plan was made");
        try {
          await routeCalls.applyRoutePlan({ planId: planned.planId, label }, { timeoutMs: ORDER_PATIENCE });
        } catch (error) {
          // The plan is there, and somebody else may apply it.
          if (ConnectError.from(error).code !== Code.PermissionDenied) throw error;
          location.hash = addressAt({ kind: "plan", id: planned.operationId }, undefined);
          return `The plan is made and not applied: ${whyOf(error)}`;
        }
        again();
        return `Adaptive routing is switched ${on ? "off" : "on"}; the switches are written now.`;
      },
    });
  return (
    <>
      <h2>Adaptive routing</h2>
      <p role="status">Adaptive routing is <b>{on ? `on, in ${many(answer.adaptiveSwitches, "switch", "switches")}` : "off"}</b>. {many(Number(answer.routesMoved), "route")} moved by it.</p>
      {mayAdminister() ? <p class="buttons"><button type="button" onClick={asked}>Switch it {on ? "off" : "on"}…</button></p> : mayOrder() && <p class="quiet">Switching it needs the role <b>administer</b>.</p>}
    </>
  );
}
