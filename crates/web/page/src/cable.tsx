// What the memories of cables say of themselves, and what the modules in the ports measure.
import { Code, ConnectError } from "@connectrpc/connect";
import { useSignal } from "@preact/signals";
import type { GetCableResponse } from "../gen/weft/v1/cable_pb";
import { addressOf } from "./address";
import { cableCalls } from "./calls";
import { type Layout, NO_PEER } from "./fabric";
import { type Options, usePolled } from "./poll";
import { SaveTable } from "./saving";
import { health } from "./store";

/** Time from one reading to the next, milliseconds: modules are measured rarely. */
const PACE = 10_000;

/** What a cable's memory says; empty where that is not known. */
function memoryText({ vendor, partNumber, serialNumber }: GetCableResponse): string {
  return [vendor, partNumber, serialNumber && `serial number ${serialNumber}`].filter(Boolean).join(", ");
}

/** The serial number of the cable that a finding tells of a port; empty where none does. */
function lastSerial(guid: bigint, number: number): string {
  const ends = health.value?.findings.flatMap(({ a, b }) => [a, b]);
  return ends?.find((end) => end?.nodeGuid === guid && end.port === number && end.cableSerial !== "")?.cableSerial ?? "";
}

export function Cable({ guid, number }: { guid: bigint; number: number }) {
  const { answer, failed } = usePolled((options) => cableCalls.getCable({ port: { nodeGuid: guid, port: number } }, options), PACE, [guid, number]);
  if (answer === undefined) {
    if (failed === "") return null;
    const serial = lastSerial(guid, number);
    return <><h2>Cable</h2>{serial === "" ? <p class="quiet">{failed}</p> : <p>The cable that was last in it has the serial number <bdi>{serial}</bdi>. Nothing is read of it now.</p>}</>;
  }
  const { module } = answer;
  const text = memoryText(answer);
  const lanes = (name: string, values: number[], unit: string) => (values.length === 0 ? "" : `${name} ${values.map((value) => value.toFixed(2)).join(", ")} ${unit}`);
  const measured = module && [`${module.temperatureCelsius.toFixed(1)} °C`, `${module.volts.toFixed(2)} V`, lanes("receives", module.receiveMilliwatts, "mW"), lanes("sends", module.transmitMilliwatts, "mW"), lanes("bias", module.biasMilliamperes, "mA")];
  return (
    <>
      <h2>Cable</h2>
      <p>{text === "" ? "Its memory is not known." : <bdi>{text}</bdi>}</p>
      {measured !== undefined && <p class="quiet">The module: {measured.filter(Boolean).join("; ")}.</p>}
      {module?.faults.map((fault, key) => <p key={key} class="bad"><bdi>{fault}</bdi></p>)}
    </>
  );
}

interface Known {
  number: number;
  cable: GetCableResponse;
}

/** The cables of a node, which are read one after the other when they are asked for. */
export function NodeCables({ nodes, node }: { nodes: Layout; node: number }) {
  const open = useSignal(false);
  const guid = nodes.guids[node];
  const read = async (options: Options): Promise<Known[]> => {
    const found: Known[] = [];
    for (let port = nodes.first[node]; open.value && port < nodes.first[node + 1]; port++) {
      const number = nodes.number(port);
      if (nodes.peers[port] !== NO_PEER) found.push(...(await known(guid, number, options)).map((cable) => ({ number, cable })));
    }
    return found;
  };
  const { answer, failed } = usePolled(read, 0, [guid, open.value]);
  return (
    <details class="table" onToggle={(event) => (open.value = event.currentTarget.open)}>
      <summary>Cables</summary>
      {failed !== "" && <p class="quiet"><bdi>{failed}</bdi></p>}
      {open.value && answer !== undefined && (answer.length === 0 ? <p class="quiet">Nothing is known of them.</p> : <CableTable guid={guid} name={nodes.names[node]} cables={answer} />)}
    </details>
  );
}

/** What is known of the cable in a port: nothing, or one. */
async function known(guid: bigint, number: number, options: Options): Promise<GetCableResponse[]> {
  try {
    return [await cableCalls.getCable({ port: { nodeGuid: guid, port: number } }, options)];
  } catch (error) {
    if (ConnectError.from(error).code === Code.NotFound) return [];
    throw error;
  }
}

function CableTable({ guid, name, cables }: { guid: bigint; name: string; cables: Known[] }) {
  return (
    <div class="scroll tall" tabIndex={0} role="region" aria-label="Cables">
      <table>
        <thead><tr><th scope="col" class="number">Port</th><th scope="col">Cable</th><th scope="col" class="number">Module, °C</th><th scope="col">Beyond its thresholds</th></tr></thead>
        <tbody>
          {cables.map(({ number, cable }) => (
            <tr key={number} class={cable.module?.faults.length ? "wrong" : ""}>
              <td class="number"><a href={addressOf({ kind: "focus", guid, port: number })}>{number}</a></td>
              <td><bdi>{memoryText(cable) || "not known"}</bdi></td>
              <td class="number">{cable.module?.temperatureCelsius.toFixed(1)}</td>
              <td><bdi>{cable.module?.faults.join("; ")}</bdi></td>
            </tr>
          ))}
        </tbody>
      </table>
      <SaveTable name={`cables of ${name}`} />
    </div>
  );
}
