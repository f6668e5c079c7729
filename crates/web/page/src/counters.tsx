// The counters of a port, and those of its lanes.
import { durationMs, timestampDate } from "@bufbuild/protobuf/wkt";
import type { PortCounts } from "../gen/weft/v1/counters_pb";
import { moment } from "./address";
import { counterCalls } from "./calls";
import { Lanes } from "./lanes";
import { at } from "./past";
import { usePolled } from "./poll";
import { SaveTable } from "./saving";
import { clock } from "./words";

/** Counters that are always shown; of the others those that are not 0. */
const ALWAYS = ["xmitData", "rcvData", "xmitPkts", "rcvPkts", "xmitWait", "linkDowned"];
/** Time from one reading to the next, milliseconds. */
const PACE = 2_000;

export function Counters({ guid, number }: { guid: bigint; number: number }) {
  const { answer, failed } = usePolled((options) => counterCalls.getPortCounters({ port: { nodeGuid: guid, port: number }, selection: { lanes: moment.value === undefined }, ...at() }, options), moment.value === undefined ? PACE : 0, [guid, number, moment.value]);
  const port = answer?.port;
  const image = answer?.image;
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
      </p>
      <div class="scroll" tabIndex={0} role="region" aria-label="Counters">
        <table>
          <thead><tr><th scope="col">Counter</th><th scope="col" class="number">Total</th></tr></thead>
          <tbody>
            {shown.map(([name, value]) => (
              <tr key={name} class={value > 0n && /error|discard|downed|overrun/i.test(name) ? "wrong" : ""}>
                <td>{name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)}</td>
                <td class="number">{value.toLocaleString("en")}</td>
              </tr>
            ))}
          </tbody>
        </table>
        <SaveTable name="counters" />
      </div>
      <p class="quiet">Counters that are 0 and not shown: {totals.length - shown.length}. Data in flits of 8 bytes.</p>
      {moment.value === undefined && <Lanes lanes={port.lanes} />}
    </>
  );
}
