// The counters of a port, or of all ports of a node, and those of their lanes.
import { durationMs, type Timestamp, timestampDate } from "@bufbuild/protobuf/wkt";
import type { CounterImage, PortCounters } from "../gen/weft/v1/counters_pb";
import { moment, start } from "./address";
import { counterCalls } from "./calls";
import { Lanes } from "./lanes";
import { asked, at } from "./past";
import { type Options, usePolled } from "./poll";
import { SaveTable } from "./saving";
import { growthOf, lanesOf, totalsOf } from "./sums";
import { between, clock, pointOf } from "./words";

/** Counters that are always shown; of the others those that are not 0. */
const ALWAYS = ["xmitData", "rcvData", "xmitPkts", "rcvPkts", "xmitWait", "linkDowned"];
/** Time from one reading to the next, milliseconds: of a port, and of a node. */
const [PACE, PACE_NODE] = [2_000, 5_000];
/** Ports of an answer: the most that may be asked for with their lanes. */
const PORTS_MAX = 200;

/** When the readings were begun between which a span is counted; none where both its ends have the same, or one is not known. */
export function countedIn(first: Timestamp | undefined, last: Timestamp | undefined): [Date, Date] | undefined {
  if (first === undefined || last === undefined || (first.seconds === last.seconds && first.nanos === last.nanos)) return undefined;
  return [timestampDate(first), timestampDate(last)];
}

/** When the error counters were read that were read longest ago: devices are asked for them more seldom than for the load. */
function errorsRead(ports: PortCounters[]): Date | undefined {
  const times = ports.flatMap(({ errorsTime }) => (errorsTime === undefined ? [] : [timestampDate(errorsTime)]));
  return times.reduce<Date | undefined>((first, time) => (first === undefined || time < first ? time : first), undefined);
}

interface Read {
  ports: PortCounters[];
  image: CounterImage | undefined;
}

/** The counters of a port, of all ports of a node where it is 0, at a moment. */
async function read(guid: bigint, number: number, when: ReturnType<typeof at>, lanes: boolean, options: Options): Promise<Read> {
  if (number > 0) {
    const { port, image } = await counterCalls.getPortCounters({ port: { nodeGuid: guid, port: number }, selection: { lanes }, ...when }, options);
    return { ports: port === undefined ? [] : [port], image };
  }
  const request = { point: pointOf(guid, 0), selection: { lanes }, pageSize: PORTS_MAX, ...when };
  const { ports, image } = await counterCalls.listPortCounters(request, options);
  // Port 0 of a switch is the way to its own agent, and has no cable.
  return { ports: ports.filter(({ port }) => port?.port?.port !== 0), image };
}

export function Counters({ guid, number }: { guid: bigint; number: number }) {
  const pace = moment.value !== undefined ? 0 : number > 0 ? PACE : PACE_NODE;
  const { answer, failed } = usePolled((options) => read(guid, number, at(), moment.value === undefined, options), pace, [guid, number, moment.value]);
  const first = start.value;
  const before = usePolled(async (options) => (first === undefined ? undefined : await read(guid, number, { at: asked(first) }, false, options)), 0, [guid, number, first]);
  if (answer === undefined) {
    return failed === "" ? null : <p class="quiet">No counters: {failed}</p>;
  }
  const { ports, image } = answer;
  const errors = errorsRead(ports);
  const readings = countedIn(before.answer?.image?.time, image?.time);
  const growth = readings === undefined || before.answer === undefined ? undefined : growthOf(ports, before.answer.ports);
  const totals = Object.entries(totalsOf(ports));
  const shown = totals.filter(([name, value]) => ALWAYS.includes(name) || value > 0n);
  return (
    <>
      <h2>Counters</h2>
      <p class="quiet">
        {number === 0 ? "All ports together" : <Link port={ports[0]} />}{image?.time && `, read ${clock(timestampDate(image.time))}`}
        {image?.span && durationMs(image.span) > 0 && `, every ${(durationMs(image.span) / 1000).toFixed(0)} s`}
        {errors !== undefined && `; errors read ${clock(errors)}${number === 0 ? " or later" : ""}`}
      </p>
      <div class="scroll" tabIndex={0} role="region" aria-label="Counters">
        <table>
          <thead><tr><th scope="col">Counter</th>{growth !== undefined && <th scope="col" class="number">In the span</th>}<th scope="col" class="number">Total</th></tr></thead>
          <tbody>
            {shown.map(([name, value]) => (
              <tr key={name} class={value > 0n && /error|discard|downed|overrun/i.test(name) ? "wrong" : ""}>
                <td>{name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)}</td>
                {growth !== undefined && <td class="number">{growth[name]?.toLocaleString("en") ?? "not known"}</td>}
                <td class="number">{value.toLocaleString("en")}</td>
              </tr>
            ))}
          </tbody>
        </table>
        <SaveTable name="counters" />
      </div>
      {growth !== undefined && readings !== undefined && <p class="quiet">In the span: {between(...readings)}, when the counters were read.</p>}
      {before.answer !== undefined && readings === undefined && <p class="quiet">What was counted in the span is not known: the counters were not read within it.</p>}
      {first !== undefined && before.failed !== "" && <p class="quiet">What was counted in the span is not known: <bdi>{before.failed}</bdi></p>}
      <p class="quiet">Counters that are 0 and not shown: {totals.length - shown.length}. Data in flits of 8 bytes.</p>
      {moment.value === undefined && <Lanes lanes={lanesOf(ports)} />}
    </>
  );
}

/** Rate and quality of the link of a port. */
function Link({ port }: { port: PortCounters | undefined }) {
  if (port === undefined) return <>Nothing was read of this port</>;
  return <>{port.rateGbps > 0 && `${port.rateGbps} Gb/s, `}link quality {port.linkQuality} of 5</>;
}
