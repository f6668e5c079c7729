// Tables with what the pictures show, for who does not see them, and to copy from.
import { useComputed, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { addressOf, type Paint } from "./address";
import { changed } from "./ages";
import { type Columns, Kind, type Layout, NO_PEER, State, UNKNOWN } from "./fabric";
import { byShare, errorsOf, errorsText, isWrong, kindOf, percent, Shade } from "./kinds";
import { saveCsv } from "./save";
import { beat, COLUMNS, columns, hasErrors, layout, shades } from "./store";
import { clock, many } from "./words";

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

/** What the picture shows: ports that are not as they should be, or all by what they are coloured by. */
export function PortsTable({ paint }: { paint: Paint }) {
  return paint === "state" ? <OddPorts /> : <PaintedPorts key={paint} paint={paint} />;
}

/** Ports that are not as they should be. */
function OddPorts() {
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

const ORDERS: Record<Exclude<Paint, "state">, string> = { load: "the busiest first", wait: "those that wait longest first", errors: "those with most errors first", change: "those that changed last first" };

/** Ports with cables by what they are coloured by, with load, wait, errors and last change. */
function PaintedPorts({ paint }: { paint: Exclude<Paint, "state"> }) {
  const open = useSignal(false);
  const ordered = useComputed(() => {
    beat.value;
    const now = columns.value;
    return open.value && now !== undefined ? portsBy(paint, now) : [];
  });
  const [nodes, now, ports] = [layout.value, columns.value, ordered.value];
  const isUp = (port: number) => now !== undefined && now.get(Kind.State)[port] === State.Active;
  const share = (kind: number, port: number) => (now !== undefined && isUp(port) ? percent(now.get(kind)[port]) : "");
  const errors = (port: number) => (now !== undefined && isUp(port) ? now.get(Kind.Errors)[port] : UNKNOWN);
  const when = (port: number) => changed.value.get(port);
  const csvRow = (nodes: Layout, port: number) => [...row(nodes, port), share(Kind.Load, port), share(Kind.Wait, port), errorsOf(errors(port)) ?? "", when(port)?.toISOString() ?? ""];
  return (
    <details class="table" onToggle={(event) => (open.value = event.currentTarget.open)}>
      <summary>The same as a table: ports with cables, {ORDERS[paint]}</summary>
      {nodes !== undefined && open.value && (
        <div class="scroll" tabIndex={0} role="region" aria-label={`Ports with cables, ${ORDERS[paint]}`}>
          <table>
            <thead><tr><th scope="col">Port</th><th scope="col">State</th><th scope="col" class="number">Load</th><th scope="col" class="number">Waiting</th><th scope="col" class="number">Errors</th><th scope="col">Last change</th><th scope="col">Cable to</th></tr></thead>
            <tbody>
              {ports.slice(0, ROWS_MAX).map((port) => {
                const [peer, since] = [nodes.peers[port], when(port)];
                return (
                  <tr key={port} class={isWrong(shades.value[port]) ? "wrong" : ""}>
                    <td><PortName nodes={nodes} port={port} /></td>
                    <td>{kindOf(shades.value[port]).name}</td>
                    <td class="number">{share(Kind.Load, port)}</td>
                    <td class="number">{share(Kind.Wait, port)}</td>
                    <td class="number">{isUp(port) && errorsText(errors(port), now !== undefined && hasErrors(now, port))}</td>
                    <td>{since === undefined ? "" : clock(since)}</td>
                    <td>{peer === NO_PEER ? "" : <PortName nodes={nodes} port={peer} />}</td>
                  </tr>
                );
              })}
            </tbody>
          </table>
          <button type="button" class="more" onClick={() => saveCsv(`ports by ${paint}`, [["node", "port", "state", "cable to", "its port", "load", "waiting", "errors a minute", "last change"], ...ports.map((port) => csvRow(nodes, port))])}>Save all as CSV</button>
          {ports.length > ROWS_MAX && <p class="quiet">{many(ports.length - ROWS_MAX, "more port")}; the file has all.</p>}
        </div>
      )}
    </details>
  );
}

/** Ports with cables in the order of what they are coloured by; where nothing is known of that, last. */
function portsBy(paint: Exclude<Paint, "state">, now: Columns): number[] {
  const ports: number[] = [];
  shades.value.forEach((shade, port) => {
    if (shade !== Shade.Empty) ports.push(port);
  });
  if (paint === "change") {
    const when = changed.value;
    const known = ports.filter((port) => when.has(port)).sort((a, b) => (when.get(b)?.getTime() ?? 0) - (when.get(a)?.getTime() ?? 0));
    return [...known, ...ports.filter((port) => !when.has(port))];
  }
  const [value, state] = [now.get(COLUMNS[paint]), now.get(Kind.State)];
  const ordered = byShare(ports, (port) => (state[port] === State.Active ? value[port] : UNKNOWN));
  if (paint !== "errors") return ordered;
  // Errors are counted rarely: a link that is said to have them may have had none between the last two readings.
  return [...ordered.filter((port) => hasErrors(now, port)), ...ordered.filter((port) => !hasErrors(now, port))];
}

/** A port as a row of a file. */
function row(nodes: Layout, port: number): (string | number)[] {
  const peer = nodes.peers[port];
  const far = peer === NO_PEER ? ["", ""] : [nodes.names[nodes.nodeOf[peer]], nodes.number(peer)];
  return [nodes.names[nodes.nodeOf[port]], nodes.number(port), kindOf(shades.value[port]).name, ...far];
}

/** All ports of a node. */
export function NodePorts({ nodes, node, chosen }: { nodes: Layout; node: number; chosen: number }) {
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const { current } = list;
    const row = current?.querySelector<HTMLElement>("tr.on");
    // The list is scrolled, and the page is not.
    if (current && row) current.scrollTop = row.offsetTop - current.clientHeight / 2;
  }, [node, chosen]);
  beat.value;
  const now = columns.value;
  if (now === undefined) return null;
  const ports = Array.from({ length: nodes.first[node + 1] - nodes.first[node] }, (_, at) => nodes.first[node] + at);
  return (
    <div ref={list} class="scroll tall" tabIndex={0} role="region" aria-label="Ports">
      <table>
        <thead>
          <tr><th scope="col" class="number">Port</th><th scope="col">State</th><th scope="col">Cable to</th><th scope="col" class="number">Load</th><th scope="col" class="number">Waiting</th><th scope="col" class="number">Errors</th></tr>
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
                <td class="number">{up ? errorsText(now.get(Kind.Errors)[port], hasErrors(now, port)) : ""}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
      <button type="button" class="more" onClick={() => saveCsv(`ports of ${nodes.names[node]}`, [["node", "port", "state", "cable to", "its port"], ...ports.map((port) => row(nodes, port))])}>Save as CSV</button>
    </div>
  );
}
