// The links of an emulated fabric: drawn with their loads as heat, and as a table from which each can be cut and mended.
import { useComputed } from "@preact/signals";
import { ORDER_PATIENCE } from "../api";
import { emulatorCalls } from "../calls";
import { propose } from "../dialog";
import { Kind, type Layout, NO_PEER, UNKNOWN, WHOLE } from "../fabric";
import { busier, isWrong, kindOf, percent, rampOf, Shade } from "../kinds";
import { colorOf, css, ink, isDark, panel, quiet } from "../palette";
import { Ramp } from "../ramp";
import { saveCsv, saveDrawing } from "../save";
import { beat, columns, layout, readings, scheme, shades, theme } from "../store";
import { PortName } from "../tables";
import { mayOrder } from "../who";
import { DRAWING_MAX, useWidth } from "../width";
import { fitting, many, shortName } from "../words";

/** Nodes and links that are drawn with lines, and links of the table. */
const NODES_MAX = 200;
const LINKS_MAX = 600;
const ROWS_MAX = 50;
/** Height of a tier, pixels, least room for a node, and the most for the name of one. */
const TIER = 104;
const ROOM = 26;
const NAME = 84;
const LETTER = 6.2;

interface Link {
  /** The lower end, and the other one. */
  port: number;
  peer: number;
  shade: number;
  /** What the ends send, shares; UNKNOWN where that is not known. */
  out: number;
  back: number;
}

/** The first port of each link. */
function* firstEnds(nodes: Layout): Generator<number> {
  for (let port = 0; port < nodes.ports; port++) {
    if (nodes.peers[port] !== NO_PEER && nodes.peers[port] > port) yield port;
  }
}

function linkOf(nodes: Layout, first: number): Link {
  // The order has upper switches first.
  const [port, peer] = [nodes.peers[first], first];
  const load = columns.value?.get(Kind.Load);
  const shade = [shades.value[port], shades.value[peer]].find(isWrong) ?? shades.value[port];
  return { port, peer, shade, out: load?.[port] ?? UNKNOWN, back: load?.[peer] ?? UNKNOWN };
}

/** The links that are looked at first: those that are cut, then the busiest. */
function firstLinks(nodes: Layout): Link[] {
  const order = (link: Link) => {
    const load = busier(link.out, link.back);
    return isCut(link) ? WHOLE + 1 : load === UNKNOWN ? -1 : load;
  };
  const found: { link: Link; order: number }[] = [];
  for (const end of firstEnds(nodes)) {
    const link = linkOf(nodes, end);
    const own = { link, order: order(link) };
    if (found.length === ROWS_MAX && own.order <= found[ROWS_MAX - 1].order) continue;
    const at = found.findIndex((other) => other.order < own.order);
    found.splice(at < 0 ? found.length : at, 0, own);
    found.length = Math.min(found.length, ROWS_MAX);
  }
  return found.map(({ link }) => link);
}

/** Whether its cable is cut, as far as the manager sees. */
function isCut(link: Link): boolean {
  return link.shade === Shade.Lost || link.shade === Shade.Gone;
}

function nameOf(nodes: Layout, port: number): string {
  return `${nodes.names[nodes.nodeOf[port]]}:${nodes.number(port)}`;
}

/** Asks whether the cable is to be cut, or mended. */
function ask(nodes: Layout, link: Link): void {
  const cut = !isCut(link);
  const name = `${nameOf(nodes, link.port)} – ${nameOf(nodes, link.peer)}`;
  propose({
    title: `${cut ? "Cut" : "Mend"} the cable ${name}`,
    button: cut ? "Cut the cable" : "Mend the cable",
    says: cut ? <p>The emulator takes the link down at once, as if the cable were pulled. The manager finds out by a trap and makes other routes. It stays cut until you mend it.</p> : <p>The emulator lets the link come up again, and the manager uses it.</p>,
    run: async ({ reason, author }) => {
      await emulatorCalls.setCable({ nodeGuid: nodes.guids[nodes.nodeOf[link.port]], port: nodes.number(link.port), cut, reason, author }, { timeoutMs: ORDER_PATIENCE });
      return `The cable ${name} is ${cut ? "cut" : "mended"}.`;
    },
  });
}

export function Links() {
  beat.value;
  scheme.value;
  const count = useComputed(() => (layout.value === undefined ? 0 : [...firstEnds(layout.value)].length));
  const nodes = layout.value;
  if (nodes === undefined) return null;
  const isSmall = nodes.nodes <= NODES_MAX && count.value <= LINKS_MAX;
  const read = readings.value.at(-1);
  return (
    <>
      <h2>Links</h2>
      <p class="quiet">
        The colour is the load of the busier direction, as the performance manager read it{read === undefined ? "" : ` at ${new Date(read.time * 1000).toLocaleTimeString("en-GB")}`}: <span class="time"><Ramp /></span>.
        {mayOrder() && isSmall && " A click on a line asks whether to cut its cable."}
      </p>
      {isSmall ? <Drawn nodes={nodes} links={[...firstEnds(nodes)].map((end) => linkOf(nodes, end))} /> : <p class="quiet">Lines are drawn of up to {NODES_MAX} nodes and {LINKS_MAX} links; this fabric has {nodes.nodes.toLocaleString("en")} and {count.value.toLocaleString("en")}. A small one: <code>weftd --emulate 'pgft:2;4,2;1,2;1,1'</code></p>}
      <Table nodes={nodes} links={firstLinks(nodes)} count={count.value} />
    </>
  );
}

/** Tiers as rows, the highest on top, with a line for each link. */
function Drawn({ nodes, links }: { nodes: Layout; links: Link[] }) {
  const [holder, wide] = useWidth<HTMLDivElement>(DRAWING_MAX);
  const dark = isDark(theme.value);
  const rows = rowsOf(nodes);
  const room = Math.max(wide.value, ...rows.map((row) => row.length * ROOM));
  const place = new Map<number, [number, number]>();
  rows.forEach((row, tier) => row.forEach((node, at) => place.set(node, [((at + 0.5) * room) / row.length, 22 + tier * TIER])));
  const beside = new Map<string, number>();
  const [letters, box, edge] = [ink(dark), panel(dark), quiet(dark)];
  const high = 22 + (rows.length - 1) * TIER + 40;
  return (
    <>
      <div class="scroll" ref={holder} tabIndex={0} role="region" aria-label="Picture of the links; the table below has the same">
        {wide.value > 0 && (
          <svg xmlns="http://www.w3.org/2000/svg" width={room} height={high} viewBox={`0 0 ${room} ${high}`} font-family="system-ui, sans-serif" font-size="11" aria-hidden="true" class="cables">
            {links.map((link) => {
              const ends = [nodes.nodeOf[link.port], nodes.nodeOf[link.peer]];
              const [from, to] = [place.get(ends[0]), place.get(ends[1])];
              if (from === undefined || to === undefined) return null;
              const key = ends.join("-");
              const number = beside.get(key) ?? 0;
              beside.set(key, number + 1);
              // Links of the same two nodes lie side by side.
              const aside = (number % 2 === 0 ? 1 : -1) * Math.ceil(number / 2) * 7;
              const d = `M${from[0] + aside} ${from[1]}L${to[0] + aside} ${to[1]}`;
              const load = busier(link.out, link.back);
              const color = css(colorOf(isWrong(link.shade) ? link.shade : rampOf(load), dark));
              const words = `${nameOf(nodes, link.port)} – ${nameOf(nodes, link.peer)}: ${isWrong(link.shade) ? kindOf(link.shade).name : `${percent(link.out)} up, ${percent(link.back)} down`}`;
              return (
                <g key={link.port} class={mayOrder() ? "cable" : ""} data-link={`${nameOf(nodes, link.port)} ${nameOf(nodes, link.peer)}`} onClick={() => mayOrder() && ask(nodes, link)}>
                  <path d={d} stroke={color} stroke-width={load === UNKNOWN ? 2 : 2 + (4 * Math.min(load, WHOLE)) / WHOLE} stroke-dasharray={isCut(link) ? "5 5" : undefined} fill="none" />
                  <path d={d} stroke="transparent" stroke-width="12" fill="none"><title>{words}</title></path>
                </g>
              );
            })}
            {rows.flatMap((row) => row.map((node) => {
              const [x, y] = place.get(node) ?? [0, 0];
              const isSwitch = nodes.isSwitch(node);
              const half = Math.min(NAME, room / row.length - 4) / 2;
              const name = shortName(nodes, node);
              const short = fitting(name, 2 * half - 6, LETTER);
              return (
                <g key={node}>
                  {isSwitch ? <rect x={x - half} y={y - 12} width={2 * half} height={24} rx={5} fill={box} stroke={edge} /> : <circle cx={x} cy={y} r={5} fill={box} stroke={edge} />}
                  <text x={x} y={isSwitch ? y + 4 : y + 20} text-anchor="middle" fill={letters} direction="ltr" unicode-bidi="isolate">{short !== name && short.length < 3 ? "" : short}</text>
                  <title>{nodes.names[node]}</title>
                </g>
              );
            }))}
          </svg>
        )}
      </div>
      <button type="button" class="more" onClick={() => saveDrawing("links", holder.current)}>Save as SVG</button>
    </>
  );
}

function rowsOf(nodes: Layout): number[][] {
  const tiers = new Map<number, number[]>();
  for (let node = 0; node < nodes.nodes; node++) {
    const tier = nodes.tiers[node];
    tiers.set(tier, [...(tiers.get(tier) ?? []), node]);
  }
  return [...tiers].sort(([a], [b]) => b - a).map(([, row]) => row);
}

function Table({ nodes, links, count }: { nodes: Layout; links: Link[]; count: number }) {
  const end = (port: number): (string | number)[] => [nodes.names[nodes.nodeOf[port]], nodes.number(port)];
  const row = (link: Link) => [...end(link.port), ...end(link.peer), kindOf(link.shade).name, percent(link.out), percent(link.back)];
  const save = () => saveCsv("links", [["node", "port", "node", "port", "state", "load", "back"], ...[...firstEnds(nodes)].map((end) => row(linkOf(nodes, end)))]);
  return (
    <>
      <div class="scroll" tabIndex={0} role="region" aria-label="Links">
        <table>
          <thead><tr><th scope="col">From</th><th scope="col">To</th><th scope="col">State</th><th scope="col" class="number">Load</th><th scope="col" class="number">Back</th>{mayOrder() && <th scope="col">Cable</th>}</tr></thead>
          <tbody>
            {links.map((link) => (
              <tr key={link.port} class={isWrong(link.shade) ? "wrong" : ""}>
                <td><PortName nodes={nodes} port={link.port} /></td>
                <td><PortName nodes={nodes} port={link.peer} /></td>
                <td>{kindOf(link.shade).name}</td>
                <td class="number">{isCut(link) ? "" : percent(link.out)}</td>
                <td class="number">{isCut(link) ? "" : percent(link.back)}</td>
                {mayOrder() && <td><button type="button" class="more" aria-label={`${isCut(link) ? "Mend" : "Cut"} ${nameOf(nodes, link.port)} – ${nameOf(nodes, link.peer)}…`} onClick={() => ask(nodes, link)}>{isCut(link) ? "Mend…" : "Cut…"}</button></td>}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <p class="quiet">{count > links.length && `Shown are ${links.length} of ${many(count, "link")}: cut ones, then the busiest. `}Load is what the first end sends.</p>
      <button type="button" class="more" onClick={save}>Save all as CSV</button>
    </>
  );
}
