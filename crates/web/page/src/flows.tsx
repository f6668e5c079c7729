// What links carry before and after a plan: those that get fuller, and those that get emptier.
import type { PlannedFlow, PlannedFlows } from "../gen/weft/v1/route_pb";
import type { NamedPort } from "../gen/weft/v1/types_pb";
import { addressOf } from "./address";
import { layout } from "./store";
import { saveCsv } from "./save";
import { guidText, many } from "./words";

/** Places after the point of flows in a file. */
const FINE = 6;

export function Flows({ flows }: { flows: PlannedFlows }) {
  const { fuller, emptier, fullerLinks, emptierLinks, sameLinks } = flows;
  return (
    <>
      <h2>Links before and after</h2>
      <p class="quiet">
        Flows on the links between switches when every host sends to every other one; each direction of a link counts for itself. {many(fullerLinks, "gets", "get")} fuller, {many(emptierLinks, "gets", "get")} emptier, {many(sameLinks, "stays as it is", "stay as they are")}.
      </p>
      <div class="sides">
        <Listed title="Fuller" flows={fuller} all={fullerLinks} />
        <Listed title="Emptier" flows={emptier} all={emptierLinks} />
      </div>
    </>
  );
}

function Listed({ title, flows, all }: { title: string; flows: PlannedFlow[]; all: number }) {
  if (all === 0) return null;
  return (
    <div class="side-of-route">
      <h3>{title} <span class="quiet">{all.toLocaleString("en")}</span></h3>
      <div class="scroll tall" tabIndex={0} role="region" aria-label={`${title} links`}>
        <table>
          <thead><tr><th scope="col">From</th><th scope="col">To</th><th scope="col" class="number">before</th><th scope="col" class="number">after</th><th scope="col" class="number">change</th></tr></thead>
          <tbody>
            {flows.map((flow, key) => (
              <tr key={key}>
                <td><End port={flow.from} /></td>
                <td><End port={flow.to} /></td>
                <td class="number">{number(flow.before)}</td>
                <td class="number">{number(flow.after)}</td>
                <td class="number">{flow.after > flow.before && "+"}{number(flow.after - flow.before)}</td>
              </tr>
            ))}
          </tbody>
        </table>
        <button type="button" class="more" onClick={() => saveCsv(`${title.toLowerCase()} links`, rowsOf(flows))}>Save as CSV</button>
        {all > flows.length && <p class="quiet">{many(all - flows.length, "more link changes", "more links change")} less.</p>}
      </div>
    </div>
  );
}

/** The table as a file has it. */
export function rowsOf(flows: PlannedFlow[]): (string | number)[][] {
  const end = (port: NamedPort | undefined) => [port?.nodeName ?? "", guidText(port?.port?.nodeGuid ?? 0n), port?.port?.port ?? 0];
  const row = ({ from, to, before, after }: PlannedFlow) => [...end(from), ...end(to), ...[before, after, after - before].map((flows) => Number(flows.toFixed(FINE)))];
  return [["from", "GUID", "port", "to", "GUID", "port", "before", "after", "change"], ...flows.map(row)];
}

/** A port, with the way to it where it is in the fabric. */
function End({ port }: { port: NamedPort | undefined }) {
  const [guid, number] = [port?.port?.nodeGuid ?? 0n, port?.port?.port ?? 0];
  const text = <><bdi>{port?.nodeName}</bdi> port {number}</>;
  return layout.value?.find(guid) === undefined ? text : <a href={addressOf({ kind: "focus", guid, port: number })}>{text}</a>;
}

/** Flows: parts of one where hosts have several LIDs. */
function number(flows: number): string {
  return flows.toLocaleString("en", { maximumFractionDigits: 2 });
}
