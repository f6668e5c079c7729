// One node with its ports, and its neighbours with the cables to them.
import { addressOf } from "./address";
import { type Layout, NO_PEER } from "./fabric";
import { isWrong, kindOf, Shade } from "./kinds";
import { colorOf, css, isDark } from "./palette";
import { SaveDrawing } from "./saving";
import { scheme, shades, theme } from "./store";
import { fitting } from "./words";

/** Neighbours that are drawn. */
const DRAWN_MAX = 200;
const ROW = 22;
const WIDE = 640;
const BOX = 190;
const MIDDLE = 160;
/** Room for the numbers of its own ports at each side of it. */
const NUMBERS = 30;

/** Width of a letter of a name, pixels. */
const LETTER = 6;

/** The name of a node within its box, with what is said beside it; both have so much room. */
export function NodeName({ x, y, anchor, name, more, room }: { x: number; y: number; anchor: "start" | "end"; name: string; more: string; room: number }) {
  const beside = fitting(more, room / 2, LETTER);
  const own = fitting(name, room - (beside.length + 1) * LETTER, LETTER);
  return (
    <text class="neighbourName" x={x} y={y} text-anchor={anchor}>
      <tspan unicode-bidi="isolate">{own}</tspan>{more !== "" && <tspan class="quiet"> {beside}</tspan>}
    </text>
  );
}

interface Neighbour {
  node: number;
  ports: number[];
}

/** Lower neighbours on the left, upper ones on the right. */
export function Neighbours({ nodes, node, chosen }: { nodes: Layout; node: number; chosen: number }) {
  scheme.value;
  const dark = isDark(theme.value);
  const { lower, upper, more } = sides(nodes, node);
  if (lower.length + upper.length === 0) {
    return <p class="quiet">No cable of it is known.</p>;
  }
  const rows = Math.max(lower.length, upper.length, 2);
  const high = rows * ROW + 16;
  const place = (at: number, of: number) => 8 + ((at + 0.5) * (high - 16)) / of;
  const numbersOf = (ports: number[]) => ports.map((port) => nodes.number(port)).join(", ");
  const lines = [lower, upper].flatMap((side, which) =>
    side.flatMap((one, at) =>
      one.ports.map((port, number) => {
        const y = place(at, side.length) + (number - (one.ports.length - 1) / 2) * Math.min(4, (ROW - 6) / one.ports.length);
        const inner = 8 + ((at + 0.5 + (number - (one.ports.length - 1) / 2) / (one.ports.length + 1)) * (high - 16)) / side.length;
        const [from, to] = which === 0 ? [BOX, (WIDE - MIDDLE) / 2] : [WIDE - BOX, (WIDE + MIDDLE) / 2];
        const shade = shades.value[port];
        const bend = (from + to) / 2;
        return (
          <path
            key={port}
            d={`M${from} ${y}C${bend} ${y} ${bend} ${inner} ${to} ${inner}`}
            stroke={css(colorOf(shade === Shade.Empty ? Shade.Active : shade, dark))}
            stroke-width={nodes.number(port) === chosen ? 4 : isWrong(shade) ? 3 : 1.5}
            stroke-dasharray={shade === Shade.Lost || shade === Shade.Gone ? "5 4" : shade === Shade.Disabled ? "2 3" : undefined}
            fill="none"
          >
            <title>{`port ${nodes.number(port)} to ${nodes.names[one.node]} port ${nodes.number(nodes.peers[port])}: ${kindOf(shade).name}`}</title>
          </path>
        );
      }),
    ),
  );
  const boxes = [lower, upper].flatMap((side, which) =>
    side.map((one, at) => {
      const [x, y] = [which === 0 ? 0 : WIDE - BOX, place(at, side.length)];
      const wrong = one.ports.some((port) => isWrong(shades.value[port]));
      const far = numbersOf(one.ports.map((port) => nodes.peers[port]));
      return (
        <a key={one.node} href={addressOf({ kind: "focus", guid: nodes.guids[one.node], port: 0 })} aria-label={`${nodes.names[one.node]} port ${far}, at port ${numbersOf(one.ports)}`}>
          <rect x={x} y={y - 9} width={BOX} height={18} rx={4} class={wrong ? "neighbour wrong" : "neighbour"} />
          <NodeName x={which === 0 ? x + BOX - 6 : x + 6} y={y + 4} anchor={which === 0 ? "end" : "start"} name={nodes.names[one.node]} more={far} room={BOX - 12} />
        </a>
      );
    }),
  );
  const numbers = [lower, upper].flatMap((side, which) =>
    side.map((one, at) => {
      const [x, anchor] = which === 0 ? [(WIDE - MIDDLE) / 2 + 5, "start"] as const : [(WIDE + MIDDLE) / 2 - 5, "end"] as const;
      const isChosen = one.ports.some((port) => nodes.number(port) === chosen);
      return <text key={one.node} class={isChosen ? "ownPort chosen" : "ownPort"} x={x} y={place(at, side.length) + 4} text-anchor={anchor}>{fitting(numbersOf(one.ports), NUMBERS, LETTER)}</text>;
    }),
  );
  return (
    <div class="scroll neighbours" tabIndex={0} role="region" aria-label="Neighbours and cables">
      <svg viewBox={`0 0 ${WIDE} ${high}`} style={{ minWidth: "520px", maxHeight: `${high * 1.4}px` }} aria-label={`Neighbours of ${nodes.names[node]}`}>
        <g aria-hidden="true">{lines}</g>
        {boxes}
        <rect x={(WIDE - MIDDLE) / 2} y={4} width={MIDDLE} height={high - 8} rx={8} class="own" />
        {numbers}
        <text class="ownName" x={WIDE / 2} y={high / 2 + 4} text-anchor="middle" unicode-bidi="isolate">{fitting(nodes.names[node], MIDDLE - 2 * NUMBERS, 7)}</text>
      </svg>
      {more > 0 && <p class="quiet">and {more} more</p>}
      <SaveDrawing name={`neighbours of ${nodes.names[node]}`} />
    </div>
  );
}

function sides(nodes: Layout, node: number): { lower: Neighbour[]; upper: Neighbour[]; more: number } {
  const found = new Map<number, Neighbour>();
  for (let port = nodes.first[node]; port < nodes.first[node + 1]; port++) {
    const peer = nodes.peers[port];
    if (peer === NO_PEER) continue;
    const other = nodes.nodeOf[peer];
    const own = found.get(other);
    own === undefined ? found.set(other, { node: other, ports: [port] }) : own.ports.push(port);
  }
  const all = [...found.values()];
  const drawn = all.slice(0, DRAWN_MAX);
  const [lower, upper] = [drawn.filter((one) => nodes.tiers[one.node] < nodes.tiers[node]), drawn.filter((one) => nodes.tiers[one.node] >= nodes.tiers[node])];
  if (lower.length === 0 || upper.length > 0 || lower.length < 24) {
    return { lower, upper, more: all.length - drawn.length };
  }
  // With neighbours on one side alone they are divided, so that the picture stays low.
  const half = Math.ceil(lower.length / 2);
  return { lower: lower.slice(0, half), upper: lower.slice(half), more: all.length - drawn.length };
}
