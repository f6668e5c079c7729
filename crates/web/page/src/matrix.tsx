// Links between two tiers as a matrix: a row for each lower switch, a column for each upper one. Where the links of pods stay
// within them, each pod has a matrix of its own.
import { useComputed, useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { addressOf, go, type MatrixPaint } from "./address";
import { Kind, type Layout, NO_PEER, NO_TIER, UNKNOWN, WHOLE } from "./fabric";
import { ARROWS } from "./keys";
import { busier, byShare, isWrong, percent, rampOf, Shade } from "./kinds";
import { colorOf, css, ground, ink, isDark } from "./palette";
import { Ramp } from "./ramp";
import { saveCsv, savePng } from "./save";
import { beat, columns, layout, scheme, shades, theme } from "./store";
import { many } from "./words";

/** Links of a pair of switches, at a place in the picture. */
interface Pair {
  lower: number;
  upper: number;
  x: number;
  y: number;
  links: number;
  up: number;
  /** Highest share of a link's rate in either direction; UNKNOWN where it is not known. */
  load: number;
  /** Highest load of a link as a multiple of the mean of its row in the same direction; 0 where no load is known. */
  times: number;
  wrong: boolean;
  port: number;
}

interface Pairs {
  /** Number of switches. */
  lowers: number;
  uppers: number;
  /** By place: `y * w + x`. */
  pairs: Map<number, Pair>;
  w: number;
  h: number;
  usual: number;
  pods: number;
}

/** Between the matrices of two pods, cells. */
const POD_GAP = 2;

/** Multiple of the mean that has the strongest colour, and from which on a pair is listed. */
const [TIMES_MAX, TIMES_LISTED] = [3, 1.25];
/** Mean load of a row below which a multiple of it tells nothing, in the units of loads: 1 %. */
const MEAN_MIN = WHOLE / 100;
/** Rows of a table. */
const ROWS_MAX = 200;
const NAMES: Record<MatrixPaint, string> = { load: "load", imbalance: "imbalance" };

export function Matrix({ by }: { by: MatrixPaint }) {
  const chosen = useSignal(1);
  const tiers = useComputed(() => {
    const nodes = layout.value;
    const found = new Set(nodes === undefined ? [] : nodes.tiers);
    return [...found].filter((tier) => tier !== 0 && tier !== NO_TIER && found.has(tier + 1)).sort((a, b) => a - b);
  });
  const shown = useComputed(() => (tiers.value.includes(chosen.value) ? chosen.value : (tiers.value[0] ?? 0)));
  const tier = shown.value;
  const found = useComputed(() => {
    beat.value;
    const nodes = layout.value;
    return nodes === undefined || columns.value === undefined ? undefined : pairsOf(nodes, shown.value);
  });
  const nodes = layout.value;
  return (
    <section class="alone">
      <h1>Links between tiers</h1>
      {tiers.value.length === 0 && <p class="quiet">This fabric has no two tiers of switches, one above the other.</p>}
      {tiers.value.length > 1 && (
        <p class="paints">
          {tiers.value.map((one) => (
            <button type="button" key={one} class={one === tier ? "chip on" : "chip"} aria-pressed={one === tier} onClick={() => (chosen.value = one)}>tier {one} × {one + 1}</button>
          ))}
        </p>
      )}
      {nodes !== undefined && found.value !== undefined && tiers.value.length > 0 && (
        <>
          <p class="quiet">
            Rows: {found.value.lowers} switches of tier {tier}. Columns: {found.value.uppers} of tier {tier + 1}. {found.value.pods > 1 && `Each of ${found.value.pods} pods is a matrix of its own. `}Most pairs have {many(found.value.usual, "link")}. {by === "load" ? "Colour: the load of the busiest link" : "Colour: the load of the link that stands out most, as a multiple of the mean of all links between its lower switch and the tier above, in the same direction"}; marked is where a link is missing or in trouble.
          </p>
          <div class="paints">
            <span class="quiet">Colour by </span>
            {(["load", "imbalance"] as const).map((one) => <a key={one} class={one === by ? "chip on" : "chip"} href={addressOf({ kind: "matrix", by: one })} aria-current={one === by ? "true" : undefined}>{NAMES[one]}</a>)}
            <span class="legend">{by === "load" ? <Ramp /> : <Ramp from="even" to={`${TIMES_MAX} times the mean, or more`} />}</span>
          </div>
          <Drawn nodes={nodes} found={found.value} by={by} />
          <Odd nodes={nodes} found={found.value} />
          {by === "imbalance" && <Uneven nodes={nodes} found={found.value} />}
          <AllPairs key={by} nodes={nodes} found={found.value} by={by} />
        </>
      )}
    </section>
  );
}

/** A link of a row, with the loads of both directions. */
interface RowLink {
  pair: Pair;
  up: number;
  down: number;
}

/** Compares the links of a row with their mean, each direction for itself. */
function addTimes(row: RowLink[]): void {
  for (const way of ["up", "down"] as const) {
    const known = row.filter((link) => link[way] !== UNKNOWN);
    const mean = known.reduce((sum, link) => sum + link[way], 0) / Math.max(1, known.length);
    // A row that carries next to nothing is even.
    for (const { pair, [way]: load } of known) pair.times = Math.max(pair.times, mean < MEAN_MIN ? 1 : load / mean);
  }
}

/** The place in the palette of a multiple of the mean. */
function timesRamp(times: number): number {
  return times === 0 ? Shade.Unknown : rampOf(Math.max(0, Math.min(1, (times - 1) / (TIMES_MAX - 1))) * WHOLE);
}

function timesText(times: number): string {
  return times === 0 ? "unknown" : times.toFixed(2);
}

function pairsOf(nodes: Layout, tier: number): Pairs {
  const load = columns.value?.get(Kind.Load) ?? new Uint8Array(nodes.ports);
  const { x, y, w, h, lowers, uppers, pods } = placesOf(nodes, tier);
  const pairs = new Map<number, Pair>();
  for (let node = 0; node < nodes.nodes; node++) {
    if (nodes.tiers[node] !== tier) continue;
    const row: RowLink[] = [];
    for (let port = nodes.first[node]; port < nodes.first[node + 1]; port++) {
      const peer = nodes.peers[port];
      const other = peer === NO_PEER ? -1 : nodes.nodeOf[peer];
      if (other < 0 || nodes.tiers[other] !== tier + 1) continue;
      const key = y[node] * w + x[other];
      const pair = pairs.get(key) ?? { lower: node, upper: other, x: x[other], y: y[node], links: 0, up: 0, load: UNKNOWN, times: 0, wrong: false, port };
      pairs.set(key, pair);
      const ends = [shades.value[port], shades.value[peer]];
      const down = ends.some((shade) => shade === Shade.Lost || shade === Shade.Gone || shade === Shade.Disabled || shade === Shade.OutOfUse);
      pair.links++;
      pair.up += down ? 0 : 1;
      pair.wrong ||= down || ends.some(isWrong);
      pair.load = busier(pair.load, busier(load[port], load[peer]));
      ends.every((shade) => shade !== Shade.Gone) && row.push({ pair, up: load[port], down: load[peer] });
    }
    addTimes(row);
  }
  const counts = new Map<number, number>();
  pairs.forEach((pair) => counts.set(pair.links, (counts.get(pair.links) ?? 0) + 1));
  const usual = [...counts].sort((a, b) => b[1] - a[1])[0]?.[0] ?? 0;
  return { lowers, uppers, pairs, w, h, usual, pods };
}

/** Row of each lower switch and column of each upper one. */
function placesOf(nodes: Layout, tier: number) {
  const [x, y] = [new Int32Array(nodes.nodes), new Int32Array(nodes.nodes)];
  const pods = new Map<number, { lower: number[]; upper: number[] }>();
  const stays = nodes.tiers.every((of, node) => of !== tier + 1 || nodes.pods[node] !== 0);
  for (let node = 0; node < nodes.nodes; node++) {
    const side = nodes.tiers[node] === tier ? "lower" : nodes.tiers[node] === tier + 1 ? "upper" : undefined;
    if (side === undefined) continue;
    const pod = stays ? nodes.pods[node] : 0;
    const own = pods.get(pod) ?? { lower: [], upper: [] };
    pods.set(pod, own);
    own[side].push(node);
  }
  const across = Math.ceil(Math.sqrt(pods.size * 1.6));
  let [left, top, high, column, w, lowers, uppers] = [0, 0, 0, 0, 1, 0, 0];
  for (const { lower, upper } of pods.values()) {
    if (column === across) [left, top, high, column] = [0, top + high + POD_GAP, 0, 0];
    lower.forEach((node, at) => (y[node] = top + at));
    upper.forEach((node, at) => (x[node] = left + at));
    [lowers, uppers, w] = [lowers + lower.length, uppers + upper.length, Math.max(w, left + upper.length)];
    [left, high, column] = [left + upper.length + POD_GAP, Math.max(high, lower.length), column + 1];
  }
  return { x, y, w, h: top + high, lowers, uppers, pods: pods.size };
}

function Drawn({ nodes, found, by }: { nodes: Layout; found: Pairs; by: MatrixPaint }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const latest = useRef(found);
  latest.current = found;
  const tip = useSignal("");
  /** The cell that is chosen with keys, by its place. */
  const cell = useSignal(-1);
  const draw = () => {
    const { current } = canvas;
    const context = current?.getContext("2d");
    if (!current || !context) return;
    const { w, h, pairs, usual } = latest.current;
    const dark = isDark(theme.value);
    const room = current.parentElement?.clientWidth ?? 600;
    const side = Math.max(1, Math.min(14, Math.floor(room / w), Math.floor(6_000 / Math.max(1, h))));
    const ratio = devicePixelRatio;
    current.style.width = `${w * side}px`;
    current.style.height = `${h * side}px`;
    current.width = w * side * ratio;
    current.height = h * side * ratio;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = css(ground(dark));
    context.fillRect(0, 0, w * side, h * side);
    const gap = side > 3 ? 1 : 0;
    const [now, later]: [number, number, number, string][][] = [[], []];
    pairs.forEach((pair) => {
      const shade = pair.wrong || pair.links < usual ? (pair.up === 0 ? Shade.Lost : Shade.Slow) : by === "imbalance" ? timesRamp(pair.times) : pair.load === UNKNOWN ? Shade.Active : rampOf(pair.load);
      context.fillStyle = css(colorOf(shade, dark));
      // Trouble is larger than what is well, so that it is seen among thousands.
      const more = shade === Shade.Lost || shade === Shade.Slow ? Math.max(2, side / 5) : 0;
      (more > 0 ? later : now).push([pair.x * side - more, pair.y * side - more, side - gap + 2 * more, context.fillStyle]);
    });
    [...now, ...later].forEach(([x, y, size, color]) => {
      context.fillStyle = color;
      context.fillRect(x, y, size, size);
    });
    const chosen = pairs.get(cell.value);
    if (chosen !== undefined) {
      context.strokeStyle = ink(dark);
      context.lineWidth = 2;
      context.strokeRect(chosen.x * side - 1, chosen.y * side - 1, side - gap + 2, side - gap + 2);
    }
  };
  const words = (pair: Pair) => `${nodes.names[pair.lower]} × ${nodes.names[pair.upper]}: ${pair.up} of ${pair.links} up, busiest ${percent(pair.load)}, ${timesText(pair.times)} times the mean of its row`;
  const lead = (pair: Pair) => go({ kind: "focus", guid: nodes.guids[pair.lower], port: nodes.number(pair.port) });
  const key = (event: KeyboardEvent) => {
    const [move, chosen] = [ARROWS[event.key], found.pairs.get(cell.value)];
    if (move !== undefined && event.shiftKey) {
      const next = cellBeside(found, chosen, move);
      if (next !== undefined) [cell.value, tip.value] = [next.y * found.w + next.x, words(next)];
    } else if (event.key === "Enter" && chosen !== undefined) {
      lead(chosen);
    } else {
      return;
    }
    event.preventDefault();
  };
  useEffect(draw, [found, by]);
  useSignalEffect(() => {
    scheme.value;
    theme.value;
    draw();
  });
  const at = (event: PointerEvent) => {
    const { current } = canvas;
    if (!current) return undefined;
    const box = current.getBoundingClientRect();
    const [x, y] = [Math.floor(((event.clientX - box.x) / box.width) * found.w), Math.floor(((event.clientY - box.y) / box.height) * found.h)];
    return found.pairs.get(y * found.w + x);
  };
  return (
    <>
      <div class="scroll matrix" tabIndex={0} role="application" aria-label="Matrix of links; the tables below have the same. Shift and an arrow key choose a pair, Enter leads to its link" onKeyDown={key}>
        <canvas
          ref={canvas}
          aria-hidden="true"
          onPointerMove={(event) => {
            const pair = at(event);
            tip.value = pair === undefined ? "no link" : words(pair);
          }}
          onPointerLeave={() => (tip.value = "")}
          onClick={(event) => {
            const pair = at(event as unknown as PointerEvent);
            if (pair !== undefined) lead(pair);
          }}
        />
      </div>
      <p class="quiet status" aria-live="polite"><bdi>{tip.value || "Point at a cell to name it."}</bdi></p>
      <button type="button" class="more" onClick={() => canvas.current !== null && savePng("matrix", [canvas.current])}>Save as PNG</button>{" "}
      <button type="button" class="more" onClick={() => saveCsv("matrix", [["lower", "upper", "links that are up", "links", "busiest", "times the mean of the row"], ...[...found.pairs.values()].map((pair) => [nodes.names[pair.lower], nodes.names[pair.upper], pair.up, pair.links, percent(pair.load), timesText(pair.times)])])}>Save all pairs as CSV</button>
    </>
  );
}

/** The pair next to one in a direction, at first the first of all; none at the edge. */
function cellBeside({ pairs, w, h }: Pairs, from: Pair | undefined, [right, down]: [number, number]): Pair | undefined {
  if (from === undefined) return [...pairs.values()].reduce<Pair | undefined>((first, pair) => (first === undefined || pair.y * w + pair.x < first.y * w + first.x ? pair : first), undefined);
  for (let [x, y] = [from.x + right, from.y + down]; x >= 0 && x < w && y >= 0 && y < h; [x, y] = [x + right, y + down]) {
    const pair = pairs.get(y * w + x);
    if (pair !== undefined) return pair;
  }
  return undefined;
}

/** All pairs, by what they are coloured by. */
function AllPairs({ nodes, found, by }: { nodes: Layout; found: Pairs; by: MatrixPaint }) {
  const open = useSignal(false);
  const pairs = !open.value ? [] : by === "load" ? byLoad(found) : [...found.pairs.values()].sort((a, b) => b.times - a.times);
  return (
    <details class="table" onToggle={(event) => (open.value = event.currentTarget.open)}>
      <summary>The same as a table: all pairs by {NAMES[by]}</summary>
      {open.value && (
        <div class="scroll" tabIndex={0} role="region" aria-label={`All pairs by ${NAMES[by]}`}>
          <table>
            <thead><tr><th scope="col">Lower</th><th scope="col">Upper</th><th scope="col" class="number">Up</th><th scope="col" class="number">Links</th><th scope="col" class="number">Busiest</th><th scope="col" class="number">Times the mean</th></tr></thead>
            <tbody>
              {pairs.slice(0, ROWS_MAX).map((pair) => (
                <tr key={`${pair.lower}-${pair.upper}`}>
                  <PairNames nodes={nodes} pair={pair} />
                  <td class="number">{pair.up}</td>
                  <td class="number">{pair.links}</td>
                  <td class="number">{percent(pair.load)}</td>
                  <td class="number">{timesText(pair.times)}</td>
                </tr>
              ))}
            </tbody>
          </table>
          {pairs.length > ROWS_MAX && <p class="quiet">{many(pairs.length - ROWS_MAX, "more pair")}; the file of all pairs has them.</p>}
        </div>
      )}
    </details>
  );
}

function byLoad(found: Pairs): Pair[] {
  const pairs = [...found.pairs.values()];
  return byShare([...pairs.keys()], (at) => pairs[at].load).map((at) => pairs[at]);
}

/** The switches of a pair, with the ways to them. */
function PairNames({ nodes, pair }: { nodes: Layout; pair: Pair }) {
  return (
    <>
      {[pair.lower, pair.upper].map((node) => (
        <td key={node}><a href={addressOf({ kind: "focus", guid: nodes.guids[node], port: 0 })}><bdi>{nodes.names[node]}</bdi></a></td>
      ))}
    </>
  );
}

/** The pairs whose links stand out most. */
function Uneven({ nodes, found }: { nodes: Layout; found: Pairs }) {
  const uneven = [...found.pairs.values()].filter((pair) => pair.times >= TIMES_LISTED).sort((a, b) => b.times - a.times);
  if (uneven.length === 0) return <p class="calm">No link has much more load than the others of its row.</p>;
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Pairs with more load than their row">
      <h2>More load than the row <span class="quiet">{uneven.length}</span></h2>
      <table>
        <thead><tr><th scope="col">Lower</th><th scope="col">Upper</th><th scope="col" class="number">Times the mean</th><th scope="col" class="number">Busiest</th></tr></thead>
        <tbody>
          {uneven.slice(0, 50).map((pair) => (
            <tr key={`${pair.lower}-${pair.upper}`}>
              <PairNames nodes={nodes} pair={pair} />
              <td class="number">{timesText(pair.times)}</td>
              <td class="number">{percent(pair.load)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Odd({ nodes, found }: { nodes: Layout; found: Pairs }) {
  const odd = [...found.pairs.values()].filter((pair) => pair.wrong || pair.links < found.usual);
  if (odd.length === 0) return <p class="calm">Every pair has its links, and all are up.</p>;
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Pairs with trouble">
      <table>
        <thead><tr><th scope="col">Lower</th><th scope="col">Upper</th><th scope="col" class="number">Up</th><th scope="col" class="number">Links</th></tr></thead>
        <tbody>
          {odd.slice(0, ROWS_MAX).map((pair) => (
            <tr key={`${pair.lower}-${pair.upper}`}>
              <PairNames nodes={nodes} pair={pair} />
              <td class="number">{pair.up}</td>
              <td class="number">{pair.links}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
