// All virtual fabrics and multicast groups.
import { addressOf, moment } from "./address";
import { groupWords, known, readNamed } from "./named";
import { useEffect } from "preact/hooks";
import { SaveTable } from "./saving";
import { many } from "./words";

/** Time from one reading to the next, milliseconds. */
const PACE = 30_000;
/** Groups that are shown. */
const ROWS_MAX = 500;

export function Groups() {
  useEffect(() => {
    void readNamed();
    const timer = setInterval(() => document.hidden || void readNamed(), PACE);
    return () => clearInterval(timer);
  }, []);
  const { fabrics, groups, total, failed } = known.value;
  return (
    <section class="alone">
      <h1>Virtual fabrics and multicast groups</h1>
      <OfNow />
      {failed !== "" && <p class="bad" role="alert"><bdi>{failed}</bdi></p>}
      <h2>Virtual fabrics</h2>
      {fabrics.length === 0 ? <p class="quiet">None is known.</p> : (
        <div class="scroll" tabIndex={0} role="region" aria-label="Virtual fabrics">
          <table>
            <thead><tr><th scope="col">Name</th><th scope="col">P_Key</th><th scope="col" class="number">SL</th><th scope="col">Bandwidth</th><th scope="col" class="number">Full members</th><th scope="col" class="number">Limited</th></tr></thead>
            <tbody>
              {fabrics.map((one) => (
                <tr key={one.index} class={one.standby ? "quiet" : ""}>
                  <td><a href={addressOf({ kind: "fabric", name: one.name })}><bdi>{one.name}</bdi></a>{one.standby && " (on standby)"}</td>
                  <td><code>0x{one.pkey.toString(16).padStart(4, "0")}</code></td>
                  <td class="number">{one.sl}</td>
                  <td>{one.highPriority ? "before all others" : one.qos ? `${one.bandwidthPercent} %` : "shared"}</td>
                  <td class="number">{one.fullMembers.toLocaleString("en")}</td>
                  <td class="number">{one.limitedMembers.toLocaleString("en")}</td>
                </tr>
              ))}
            </tbody>
          </table>
          <SaveTable name="virtual fabrics" />
        </div>
      )}
      <h2>Multicast groups <span class="quiet">{total.toLocaleString("en")}</span></h2>
      {groups.length === 0 ? <p class="quiet">None is known.</p> : (
        <div class="scroll" tabIndex={0} role="region" aria-label="Multicast groups">
          <table>
            <thead><tr><th scope="col">MGID</th><th scope="col">MLID</th><th scope="col">P_Key</th><th scope="col" class="number">SL</th><th scope="col" class="number">Members</th></tr></thead>
            <tbody>
              {groups.slice(0, ROWS_MAX).map((one) => (
                <tr key={one.mgid}>
                  <td><a href={addressOf({ kind: "group", mgid: one.mgid })}><code>{one.mgid}</code></a>{groupWords(one.mgid) !== "" && <span class="quiet"> {groupWords(one.mgid)}</span>}</td>
                  <td><code>0x{one.mlid.toString(16)}</code></td>
                  <td><code>0x{one.pkey.toString(16).padStart(4, "0")}</code></td>
                  <td class="number">{one.sl}</td>
                  <td class="number">{one.members.toLocaleString("en")}{one.permanent && " (stays without members)"}</td>
                </tr>
              ))}
            </tbody>
          </table>
          <SaveTable name="multicast groups" />
          {total > Math.min(groups.length, ROWS_MAX) && <p class="quiet">{many(total - Math.min(groups.length, ROWS_MAX), "group")} more; the search finds those whose MGID or MLID is typed.</p>}
        </div>
      )}
    </section>
  );
}

/** That a view is of now, where a moment of the past is looked at. */
export function OfNow() {
  return moment.value === undefined ? null : <p class="quiet">Of the past these are not kept: what is shown here is of now.</p>;
}
