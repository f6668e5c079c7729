// The counters of virtual lanes, of a port or of all ports of a node.
import { SaveTable } from "./saving";
import type { Lane } from "./sums";

/** Bytes of a flit. */
export const FLIT = 8;

/** Flits a second as data. */
export function flitRate(flits: number | undefined): string {
  return flits === undefined ? "" : byteRate(flits * FLIT);
}

/** Bytes a second. */
export function byteRate(bytes: number): string {
  return bytes >= 1e9 ? `${(bytes / 1e9).toFixed(2)} GB/s` : bytes >= 1e6 ? `${(bytes / 1e6).toFixed(1)} MB/s` : bytes >= 1e3 ? `${(bytes / 1e3).toFixed(1)} kB/s` : `${bytes.toFixed(0)} B/s`;
}

function number(value: bigint | undefined): string {
  return value === undefined ? "" : value.toLocaleString("en");
}

export function Lanes({ lanes }: { lanes: Lane[] }) {
  return (
    <>
      <h2>Virtual lanes</h2>
      {lanes.length === 0 ? <p class="quiet">Virtual lanes are not read: &lt;ProcessVLCounters&gt; of the configuration decides.</p> : (
        <div class="scroll" tabIndex={0} role="region" aria-label="Virtual lanes">
          <table>
            <thead>
              <tr><th scope="col" class="number">VL</th><th scope="col" class="number">Sends</th><th scope="col" class="number">Receives</th><th scope="col" class="number">Flits sent</th><th scope="col" class="number">Flits received</th><th scope="col" class="number">Waited</th><th scope="col" class="number">Congestion</th><th scope="col" class="number">Discards</th></tr>
            </thead>
            <tbody>
              {lanes.map(({ vl, totals, rates }) => (
                <tr key={vl} class={(totals["xmitDiscards"] ?? 0n) > 0n ? "wrong" : ""}>
                  <td class="number">{vl}</td>
                  <td class="number">{flitRate(rates["xmitData"])}</td>
                  <td class="number">{flitRate(rates["rcvData"])}</td>
                  <td class="number">{number(totals["xmitData"])}</td>
                  <td class="number">{number(totals["rcvData"])}</td>
                  <td class="number">{number(totals["xmitWait"])}</td>
                  <td class="number">{number(totals["swPortCongestion"])}</td>
                  <td class="number">{number(totals["xmitDiscards"])}</td>
                </tr>
              ))}
            </tbody>
          </table>
          <SaveTable name="lanes" />
        </div>
      )}
    </>
  );
}
