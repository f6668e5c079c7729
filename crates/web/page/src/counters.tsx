// The counters of a port, and those of its lanes.
import { durationMs, type Timestamp, timestampDate } from "@bufbuild/protobuf/wkt";
import type { PortCounts } from "../gen/weft/v1/counters_pb";
import { moment, start } from "./address";
import { counterCalls } from "./calls";
import { Lanes } from "./lanes";
import { asked, at } from "./past";
import { usePolled } from "./poll";
import { SaveTable } from "./saving";
import { between, clock } from "./words";

/** Counters that are always shown; of the others those that are not 0. */
const ALWAYS = ["xmitData", "rcvData", "xmitPkts", "rcvPkts", "xmitWait", "linkDowned"];
/** Time from one reading to the next, milliseconds. */
const PACE = 2_000;

/** When the readings were begun between which a span is counted; none where both its ends have the same, or one is not known. */
export function countedIn(first: Timestamp | undefined, last: Timestamp | undefined): [Date, Date] | undefined {
  if (first === undefined || last === undefined || (first.seconds === last.seconds && first.nanos === last.nanos)) return undefined;
  return [timestampDate(first), timestampDate(last)];
}

/** What a total has grown by. */
function moreText(now: bigint, before: unknown): string {
  return typeof before !== "bigint" ? "" : now < before ? "began again" : (now - before).toLocaleString("en");
}

export function Counters({ guid, number }: { guid: bigint; number: number }) {
  const { answer, failed } = usePolled((options) => counterCalls.getPortCounters({ port: { nodeGuid: guid, port: number }, selection: { lanes: moment.value === undefined }, ...at() }, options), moment.value === undefined ? PACE : 0, [guid, number, moment.value]);
  const first = start.value;
  const before = usePolled(async (options) => (first === undefined ? undefined : await counterCalls.getPortCounters({ port: { nodeGuid: guid, port: number }, at: asked(first) }, options)), 0, [guid, number, first]);
  const port = answer?.port;
  const image = answer?.image;
  const readings = countedIn(before.answer?.image?.time, image?.time);
  const counted = readings === undefined ? undefined : before.answer?.port?.totals;
  if (port === undefined) {
    return failed === "" ? null : <p class="quiet">No counters: {failed}</p>;
  }
  const totals = Object.entries(port.totals ?? {}).filter((pair): pair is [keyof PortCounts & string, bigint] => typeof pair[1] === "bigint");
  const shown = totals.filter(([name, value]) => ALWAYS.includes(name) || value > 0n);
  return (
    <>
      <h2>Counters</h2>
      <p class="quiet">
        {port.rateGbps > 0 && `${port.rateGbps} Gb/s, `}link quality {port.linkQuality} of 5{image?.time && `, read ${clock(timestampDate(image.time))}`}
        {image?.span && durationMs(image.span) > 0 && `, every ${(durationMs(image.span) / 1000).toFixed(0)} s`}
        {port.errorsTime && `; errors read ${clock(timestampDate(port.errorsTime))}`}
      </p>
      <div class="scroll" tabIndex={0} role="region" aria-label="Counters">
        <table>
          <thead><tr><th scope="col">Counter</th>{counted !== undefined && <th scope="col" class="number">In the span</th>}<th scope="col" class="number">Total</th></tr></thead>
          <tbody>
            {shown.map(([name, value]) => (
              <tr key={name} class={value > 0n && /error|discard|downed|overrun/i.test(name) ? "wrong" : ""}>
                <td>{name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)}</td>
                {counted !== undefined && <td class="number">{moreText(value, counted[name])}</td>}
                <td class="number">{value.toLocaleString("en")}</td>
              </tr>
            ))}
          </tbody>
        </table>
        <SaveTable name="counters" />
      </div>
      {counted !== undefined && readings !== undefined && <p class="quiet">In the span: {between(...readings)}, when the counters were read.</p>}
      {before.answer !== undefined && readings === undefined && <p class="quiet">What was counted in the span is not known: the counters were not read within it.</p>}
      {first !== undefined && before.failed !== "" && <p class="quiet">What was counted in the span is not known: <bdi>{before.failed}</bdi></p>}
      <p class="quiet">Counters that are 0 and not shown: {totals.length - shown.length}. Data in flits of 8 bytes.</p>
      {moment.value === undefined && <Lanes lanes={port.lanes} />}
    </>
  );
}
