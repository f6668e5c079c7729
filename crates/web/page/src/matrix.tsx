// Links between two tiers as a matrix: a row for each lower switch, a column for each upper one. Where the links of pods stay
// within them, each pod has a matrix of its own.
import { useComputed, useSignal, useSignalEffect } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { addressOf, go, MATRIX_PAINTS, type MatrixPaint, type View } from "./address";
import { Kind, type Layout, NO_TIER, UNKNOWN, WHOLE } from "./fabric";
import { ARROWS } from "./keys";
import { byShare, errorsOf, errorsRamp, errorsText, percent, rampOf, Shade } from "./kinds";
import { MatrixMarks, MatrixNames, NAMES_WIDE } from "./matrix_names";
import { hasGroups, type Pair, type Pairs, pairsOf } from "./matrix_pairs";
import { colorOf, css, ground, ink, isDark } from "./palette";
import { meansOfSpan } from "./past";
import { ErrorsRamp, Ramp } from "./ramp";
import { saveCsv, savePng } from "./save";
import { beat, columns, hasErrors, layout, scheme, shades, theme } from "./store";
import { many } from "./words";

/** Multiple of the mean that has the strongest colour, and from which on a pair is listed. */
const [TIMES_MAX, TIMES_LISTED] = [3, 1.25];
/** Side of a cell at most, pixels. */
const SIDE_MAX = 20;
/** Rows of a table. */
const ROWS_MAX = 200;
const NAMES: Record<MatrixPaint, string> = { load: "load", errors: "errors", imbalance: "imbalance" };

/** Links above a tier, of which `asked` is 0 for the lowest, by switches or by pods. */
export function Matrix({ by, asked, pods }: { by: MatrixPaint; asked: number; pods: boolean }) {
  const tiers = useComputed(() => {
    const nodes = layout.value;
    const found = new Set(nodes === undefined ? [] : nodes.tiers);
    return [...found].filter((tier) => tier !== 0 && tier !== NO_TIER && found.has(tier + 1)).sort((a, b) => a - b);
  });
  const tier = tiers.value.includes(asked) ? asked : (tiers.value[0] ?? 0);
  beat.value;
  const [nodes, now, own] = [layout.value, columns.value, shades.value];
  const canGroup = useMemo(() => nodes !== undefined && hasGroups(nodes, tier), [nodes, tier]);
  const grouped = canGroup && pods;
  const found = useMemo(() => (nodes === undefined || now === undefined ? undefined : pairsOf(nodes, tier, grouped, now.get(Kind.Load), now.get(Kind.Errors), own, (port) => hasErrors(now, port))), [nodes, now, own, tier, grouped]);
  return (
    <section class="alone">
      <h1>Links between tiers</h1>
      {tiers.value.length === 0 && <p class="quiet">This fabric has no two tiers of switches, one above the other.</p>}
      {tiers.value.length > 1 && (
        <p class="paints">
          {tiers.value.map((one) => <Chip key={one} on={one === tier} to={{ kind: "matrix", by, tier: one, pods }}>tier {one} × {one + 1}</Chip>)}
          {canGroup && <><Chip on={!grouped} to={{ kind: "matrix", by, tier, pods: false }}>by switches</Chip><Chip on={grouped} to={{ kind: "matrix", by, tier, pods: true }}>by pods</Chip></>}
        </p>
      )}
      {nodes !== undefined && found !== undefined && tiers.value.length > 0 && (
        <>
          <p class="quiet">
            {grouped ? `Rows: ${found.lowers} pods, with their switches of tier ${tier}. Columns: ${many(found.uppers, "group")} of switches of tier ${tier + 1} that are cabled to the same switches below.` : `Rows: ${found.lowers} switches of tier ${tier}. Columns: ${found.uppers} of tier ${tier + 1}.`} {found.matrices > 1 && `Each of ${found.matrices} pods is a matrix of its own. `}Most pairs have {many(found.usual, "link")}. Colour: {colourWords(by, grouped)}{meansOfSpan.value && ", all as means of the span"}; marked is where a link is missing or in trouble.
          </p>
          <div class="paints">
            <span class="quiet">Colour by </span>
            {MATRIX_PAINTS.map((one) => <Chip key={one} on={one === by} to={{ kind: "matrix", by: one, tier: asked, pods }}>{NAMES[one]}</Chip>)}
            <span class="legend">{by === "load" ? <Ramp /> : by === "errors" ? <ErrorsRamp /> : <Ramp from="even" to={`${TIMES_MAX} times the mean, or more`} />}</span>
          </div>
          <MatrixMarks />
          <Drawn key={`${tier} ${grouped}`} nodes={nodes} found={found} by={by} />
          <Odd nodes={nodes} found={found} />
          {by === "imbalance" && <Uneven nodes={nodes} found={found} />}
          <AllPairs key={by} nodes={nodes} found={found} by={by} />
        </>
      )}
    </section>
  );
}

/** What a pair is coloured by, in words. */
function colourWords(by: MatrixPaint, grouped: boolean): string {
  if (by === "load") return "the load of the busiest link";
  if (by === "errors") return "the errors of the link that has most";
  return `the load of the link that stands out most, as a multiple of the mean of all links between its ${grouped ? "pod" : "lower switch"} and the tier above, in the same direction`;
}

/** One of several ways to show the matrix. */
function Chip({ on, to, children }: { on: boolean; to: View; children: ComponentChildren }) {
  return <a class={on ? "chip on" : "chip"} href={addressOf(to)} aria-current={on ? "true" : undefined}>{children}</a>;
}

/** The place in the palette of a multiple of the mean. */
function timesRamp(times: number): number {
  return times === 0 ? Shade.Unknown : rampOf(Math.max(0, Math.min(1, (times - 1) / (TIMES_MAX - 1))) * WHOLE);
}

/** The place in the palette of what a pair is coloured by. */
function paintOf(pair: Pair, by: MatrixPaint): number {
  if (by === "imbalance") return timesRamp(pair.times);
  const [value, ramp] = by === "errors" ? ([pair.errors, errorsRamp] as const) : ([pair.load, rampOf] as const);
  return value === UNKNOWN ? Shade.Active : ramp(value);
}

function timesText(times: number): string {
  return times === 0 ? "unknown" : times.toFixed(2);
}

/** Whether a pair has errors of which the last reading counted no more: its colour would be that of none. */
function hasNoRate(pair: Pair): boolean {
  return pair.hasErrors && (pair.errors === 0 || pair.errors === UNKNOWN);
}

function Drawn({ nodes, found, by }: { nodes: Layout; found: Pairs; by: MatrixPaint }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const latest = useRef(found);
  latest.current = found;
  const tip = useSignal("");
  /** The cell that is chosen with keys, by its place. */
  const cell = useSignal(-1);
  const cellSide = useSignal(1);
  const draw = () => {
    const { current } = canvas;
    const context = current?.getContext("2d");
    if (!current || !context) return;
    const { w, h, pairs, usual } = latest.current;
    const dark = isDark(theme.value);
    const room = (current.parentElement?.clientWidth ?? 600) - NAMES_WIDE;
    const side = Math.max(1, Math.min(SIDE_MAX, Math.floor(room / w), Math.floor(6_000 / Math.max(1, h))));
    cellSide.value = side;
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
      const isOdd = pair.links < usual || (by === "errors" ? pair.broken || hasNoRate(pair) : pair.wrong);
      const shade = isOdd ? (pair.up === 0 ? Shade.Lost : Shade.Slow) : paintOf(pair, by);
      context.fillStyle = css(colorOf(shade, dark));
      // Trouble is larger than what is well, so that it is seen among thousands.
      const more = shade === Shade.Lost || shade === Shade.Slow ? Math.max(2, side / 5) : 0;
      (more > 0 ? later : now).push([pair.x * side - more, pair.y * side - more, side - gap + 2 * more, context.fillStyle]);
    });
    [...now, ...later].forEach(([x, y, size, color]) => {
      context.fillStyle = color;
      context.fillRect(x, y, size, size);
    });
    context.strokeStyle = css(colorOf(Shade.Drained, dark));
    context.lineWidth = 1;
    for (const pair of side > 3 ? pairs.values() : []) {
      if (pair.drained > 0) context.strokeRect(pair.x * side + 0.5, pair.y * side + 0.5, side - gap - 1, side - gap - 1);
    }
    const chosen = pairs.get(cell.value);
    if (chosen !== undefined) {
      context.strokeStyle = ink(dark);
      context.lineWidth = 2;
      // Around a cell that is too small for a frame within it.
      const inset = side > 6 ? 1 : -2;
      context.strokeRect(chosen.x * side + inset, chosen.y * side + inset, side - gap - 2 * inset, side - gap - 2 * inset);
    }
  };
  const words = (pair: Pair) => `${found.lowerName(pair.lower)} × ${found.upperName(pair.upper)}: ${pair.up} of ${pair.links} up${pair.drained > 0 ? `, ${pair.drained} of ${pair.links} drained` : ""}, busiest ${percent(pair.load)}, ${timesText(pair.times)} times the mean of its row, errors ${errorsText(pair.errors, pair.hasErrors)}`;
  const lead = (pair: Pair) => go({ kind: "focus", guid: nodes.guids[nodes.nodeOf[pair.port]], port: nodes.number(pair.port) });
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
        <div class="names" />
        <MatrixNames found={found} side={cellSide.value} which="columns" />
        <MatrixNames found={found} side={cellSide.value} which="rows" />
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
      <button type="button" class="more" onClick={() => saveCsv("matrix", [["lower", "upper", "links that are up", "links", "busiest", "times the mean of the row", "errors a minute"], ...[...found.pairs.values()].map((pair) => [found.lowerName(pair.lower), found.upperName(pair.upper), pair.up, pair.links, percent(pair.load), timesText(pair.times), errorsOf(pair.errors) ?? ""])])}>Save all pairs as CSV</button>
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
  const pairs = !open.value ? [] : by === "imbalance" ? [...found.pairs.values()].sort((a, b) => b.times - a.times) : byValue(found, by);
  return (
    <details class="table" onToggle={(event) => (open.value = event.currentTarget.open)}>
      <summary>The same as a table: all pairs by {NAMES[by]}</summary>
      {open.value && (
        <div class="scroll" tabIndex={0} role="region" aria-label={`All pairs by ${NAMES[by]}`}>
          <table>
            <thead><tr><th scope="col">Lower</th><th scope="col">Upper</th><th scope="col" class="number">Up</th><th scope="col" class="number">Links</th><th scope="col" class="number">Busiest</th><th scope="col" class="number">Times the mean</th><th scope="col" class="number">Errors</th></tr></thead>
            <tbody>
              {pairs.slice(0, ROWS_MAX).map((pair) => (
                <tr key={`${pair.lower}-${pair.upper}`}>
                  <PairNames nodes={nodes} found={found} pair={pair} />
                  <td class="number">{pair.up}</td>
                  <td class="number">{pair.links}</td>
                  <td class="number">{percent(pair.load)}</td>
                  <td class="number">{timesText(pair.times)}</td>
                  <td class="number">{errorsText(pair.errors, pair.hasErrors)}</td>
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

/** The pairs with the highest value first; of errors, those before them that the page of health says have some. */
function byValue(found: Pairs, by: "load" | "errors"): Pair[] {
  const pairs = [...found.pairs.values()];
  const ordered = byShare([...pairs.keys()], (at) => pairs[at][by]).map((at) => pairs[at]);
  return by === "load" ? ordered : [...ordered.filter((pair) => pair.hasErrors), ...ordered.filter((pair) => !pair.hasErrors)];
}

/** The switches of a pair, with the ways to them. */
function PairNames({ nodes, found, pair }: { nodes: Layout; found: Pairs; pair: Pair }) {
  const [link, upper] = [pair.port, nodes.nodeOf[nodes.peers[pair.port]]];
  const places = found.grouped ? [[nodes.nodeOf[link], nodes.number(link)], [upper, nodes.number(nodes.peers[link])]] : [[pair.lower, 0], [pair.upper, 0]];
  return (
    <>
      {[found.lowerName(pair.lower), found.upperName(pair.upper)].map((name, at) => (
        <td key={at}><a href={addressOf({ kind: "focus", guid: nodes.guids[places[at][0]], port: places[at][1] })}><bdi>{name}</bdi></a></td>
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
              <PairNames nodes={nodes} found={found} pair={pair} />
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
              <PairNames nodes={nodes} found={found} pair={pair} />
              <td class="number">{pair.up}</td>
              <td class="number">{pair.links}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
