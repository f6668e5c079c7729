// Tables with what the pictures show, for who does not see them, and to copy from.
import { useComputed, useSignal } from "@preact/signals";
import { addressOf } from "./address";
import { Kind, type Layout, NO_PEER } from "./fabric";
import { isWrong, kindOf, percent, Shade } from "./kinds";
import { saveCsv } from "./save";
import { beat, columns, layout, shades } from "./store";

/** Rows that are shown. */
const ROWS_MAX = 200;

/** A port, with the way to it. */
export function PortName({ nodes, port }: { nodes: Layout; port: number }) {
  const node = nodes.nodeOf[port];
  const number = nodes.number(port);
  const shown = nodes.isSwitch(node) || nodes.first[node + 1] - nodes.first[node] > 1 ? number : 0;
  return (
    <a href={addressOf({ kind: "focus", guid: nodes.guids[node], port: shown })}>
      <bdi>{nodes.names[node]}</bdi>{shown > 0 && ` port ${shown}`}
    </a>
  );
}

/** Ports that are not as they should be. */
export function PortsTable() {
  const open = useSignal(false);
  const wrong = useComputed(() => {
    if (!open.value) return [];
    const found: number[] = [];
    shades.value.forEach((shade, port) => {
      if (isWrong(shade) || shade === Shade.Disabled || shade === Shade.Rising || shade === Shade.Drained) found.push(port);
    });
    return found;
  });
  const nodes = layout.value;
  return (
    <details class="table" onToggle={(event) => (open.value = event.currentTarget.open)}>
      <summary>The same as a table: ports that are not simply active</summary>
      {nodes !== undefined && wrong.value.length === 0 && <p class="quiet">Every port with a cable is active.</p>}
      {nodes !== undefined && wrong.value.length > 0 && (
        <div class="scroll" tabIndex={0} role="region" aria-label="Ports that are not simply active">
          <table>
            <thead><tr><th scope="col">Port</th><th scope="col">State</th><th scope="col">Cable to</th></tr></thead>
            <tbody>
              {wrong.value.slice(0, ROWS_MAX).map((port) => (
                <tr key={port}>
                  <td><PortName nodes={nodes} port={port} /></td>
                  <td>{kindOf(shades.value[port]).name}</td>
                  <td>{nodes.peers[port] === NO_PEER ? "" : <PortName nodes={nodes} port={nodes.peers[port]} />}</td>
                </tr>
              ))}
            </tbody>
          </table>
          <button type="button" class="more" onClick={() => saveCsv("ports", [["node", "port", "state", "cable to", "its port"], ...wrong.value.map((port) => row(nodes, port))])}>Save all as CSV</button>
          {wrong.value.length > ROWS_MAX && <p class="quiet">{wrong.value.length - ROWS_MAX} more</p>}
        </div>
      )}
    </details>
  );
}

/** A port as a row of a file. */
function row(nodes: Layout, port: number): (string | number)[] {
  const peer = nodes.peers[port];
  const far = peer === NO_PEER ? ["", ""] : [nodes.names[nodes.nodeOf[peer]], nodes.number(peer)];
  return [nodes.names[nodes.nodeOf[port]], nodes.number(port), kindOf(shades.value[port]).name, ...far];
}

/** All ports of a node. */
export function NodePorts({ nodes, node, chosen }: { nodes: Layout; node: number; chosen: number }) {
  beat.value;
  const now = columns.value;
  if (now === undefined) return null;
  const ports = Array.from({ length: nodes.first[node + 1] - nodes.first[node] }, (_, at) => nodes.first[node] + at);
  return (
    <div class="scroll tall" tabIndex={0} role="region" aria-label="Ports">
      <table>
        <thead>
          <tr><th scope="col" class="number">Port</th><th scope="col">State</th><th scope="col">Cable to</th><th scope="col" class="number">Load</th><th scope="col" class="number">Waiting</th></tr>
        </thead>
        <tbody>
          {ports.map((port) => {
            const [shade, number, peer] = [shades.value[port], nodes.number(port), nodes.peers[port]];
            const up = shade !== Shade.Empty && peer !== NO_PEER;
            return (
              <tr key={port} class={number === chosen ? "on" : isWrong(shade) ? "wrong" : shade === Shade.Empty ? "quiet" : ""}>
                <td class="number"><a href={addressOf({ kind: "focus", guid: nodes.guids[node], port: number })}>{number}</a></td>
                <td>{kindOf(shade).name}</td>
                <td>{peer === NO_PEER ? "" : <PortName nodes={nodes} port={peer} />}</td>
                <td class="number">{up ? percent(now.get(Kind.Load)[port]) : ""}</td>
                <td class="number">{up ? percent(now.get(Kind.Wait)[port]) : ""}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
      <button type="button" class="more" onClick={() => saveCsv(`ports of ${nodes.names[node]}`, [["node", "port", "state", "cable to", "its port"], ...ports.map((port) => row(nodes, port))])}>Save as CSV</button>
    </div>
  );
}
