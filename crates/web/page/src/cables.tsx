// Nodes in columns by tier, the highest on the left, with the cables between them.
import { addressOf } from "./address";
import { type Layout, NO_PEER, NO_TIER } from "./fabric";
import { isWrong, kindOf, Shade } from "./kinds";
import { NodeName } from "./neighbours";
import { colorOf, css, isDark } from "./palette";
import { SaveDrawing } from "./saving";
import { scheme, shades, theme } from "./store";

/** Nodes that are drawn. */
const DRAWN_MAX = 200;
const [ROW, BOX, GAP] = [22, 170, 120];

interface Props {
  nodes: Layout;
  /** Cables, each by one of its ports; those that matter most first. */
  ports: number[];
  /** Cables that there are, where not all are known. */
  all?: number | undefined;
  /** Nodes that stand out, with what is said of all of them. */
  marked: Set<number>;
  marks: string;
  /** Of the file, and for who hears it. */
  name: string;
}

export function Cables({ nodes, ports, all, marked, marks, name }: Props) {
  scheme.value;
  const dark = isDark(theme.value);
  const { drawn, columns } = placed(nodes, ports);
  const left = (all ?? ports.length) - drawn.length;
  if (drawn.length === 0) return null;
  const rows = Math.max(...columns.map((column) => column.length));
  const [wide, high] = [columns.length * (BOX + GAP) - GAP, rows * ROW + 16];
  const at = new Map<number, { x: number; y: number }>();
  columns.forEach((column, place) => column.forEach((node, row) => at.set(node, { x: place * (BOX + GAP), y: 8 + ((row + 0.5) * (high - 16)) / column.length })));
  const lines = drawn.map((port) => {
    const [a, b] = [at.get(nodes.nodeOf[port]), at.get(nodes.nodeOf[nodes.peers[port]])];
    if (a === undefined || b === undefined) return null;
    const [from, to] = a.x <= b.x ? [a, b] : [b, a];
    const [start, end] = [from.x + BOX, from.x === to.x ? to.x + BOX : to.x];
    const bend = from.x === to.x ? start + GAP / 2 : (start + end) / 2;
    const shade = shades.value[port];
    return (
      <path
        key={port}
        d={`M${start} ${from.y.toFixed(1)}C${bend} ${from.y.toFixed(1)} ${bend} ${to.y.toFixed(1)} ${end} ${to.y.toFixed(1)}`}
        stroke={css(colorOf(shade === Shade.Empty ? Shade.Active : shade, dark))}
        stroke-width={isWrong(shade) ? 3 : 1.5}
        stroke-dasharray={shade === Shade.Lost || shade === Shade.Gone ? "5 4" : undefined}
        fill="none"
      >
        <title>{`port ${nodes.number(port)}: ${kindOf(shade).name}`}</title>
      </path>
    );
  });
  const boxes = columns.flat().map((node) => {
    const { x, y } = at.get(node) ?? { x: 0, y: 0 };
    const isMarked = marked.has(node);
    return (
      <a key={node} href={addressOf({ kind: "focus", guid: nodes.guids[node], port: 0 })} aria-label={`${nodes.names[node]}${isMarked ? `, ${marks}` : ""}`}>
        <rect x={x} y={y - 9} width={BOX} height={18} rx={4} class={isMarked ? "neighbour marked" : "neighbour"} />
        <NodeName x={x + 6} y={y + 4} anchor="start" name={nodes.names[node]} more={isMarked ? "●" : ""} room={BOX - 12} />
      </a>
    );
  });
  return (
    <div class="scroll tall neighbours" tabIndex={0} role="region" aria-label={name}>
      <svg viewBox={`-1 0 ${wide + 2} ${high}`} style={{ minWidth: `${wide * 0.7}px`, maxWidth: `${wide * 1.3}px` }} aria-label={name}>
        <g aria-hidden="true">{lines}</g>
        {boxes}
      </svg>
      <p class="quiet">● {marks}{left > 0 && `; ${left.toLocaleString("en")} more cables are not drawn`}</p>
      <SaveDrawing name={name} />
    </div>
  );
}

/** The cables that are drawn, and their nodes in columns, each in the order of the fabric. */
function placed(nodes: Layout, ports: number[]): { drawn: number[]; columns: number[][] } {
  const found = new Set<number>();
  const drawn = ports.filter((port) => {
    // The layout may be of another moment than what names the cables.
    if (nodes.peers[port] === NO_PEER) return false;
    const ends = [nodes.nodeOf[port], nodes.nodeOf[nodes.peers[port]]];
    const fresh = ends.filter((node) => !found.has(node));
    if (found.size + fresh.length > DRAWN_MAX) return false;
    fresh.forEach((node) => found.add(node));
    return true;
  });
  const byTier = new Map<number, number[]>();
  for (const node of [...found].sort((a, b) => a - b)) {
    const tier = nodes.tiers[node] === NO_TIER ? -1 : nodes.tiers[node];
    byTier.set(tier, [...(byTier.get(tier) ?? []), node]);
  }
  const columns = [...byTier].sort(([a], [b]) => b - a).map(([, column]) => column);
  return { drawn, columns };
}

/** Place of a port in the layout; none where it is not there. */
export function placeOf(nodes: Layout, guid: bigint, number: number): number | undefined {
  const node = nodes.find(guid);
  const port = node === undefined ? -1 : nodes.first[node] + number - 1;
  return node !== undefined && number > 0 && port < nodes.first[node + 1] ? port : undefined;
}
