// A plot as a drawing that is whole in itself: colours and letters are in it, so that it can be kept as a file.
import { rampOf } from "../kinds";
import { colorOf, css, ground, ink, line, quiet } from "../palette";
import { WHOLE } from "../fabric";
import { fitting, many } from "../words";
import { digits, drawnOf, ends, isWide, placesOf, placeText, type Plot, type Point, scaleOf, type Series, valuesOf } from "./plots";

export interface Look {
  wide: number;
  dark: boolean;
  /** Axes in powers of ten; none for what the values suggest. */
  logX: boolean | undefined;
  logY: boolean | undefined;
}

/** Colours of curves, after Okabe and Ito; beyond them lines are broken. */
const LIGHT = ["#0067a3", "#b84f00", "#00795a", "#a83c7f", "#8a6100", "#3d4fd6", "#14202b"];
const DARK = ["#7fd0ff", "#ff8a64", "#5fd6a4", "#e08cc0", "#f2b134", "#a9b4ff", "#e8eef3"];
const DASHES = [undefined, "6 4", "2 3"];

/** Height of the plane, of one that is live, and of a line of the legend, pixels. */
const HIGH = 280;
const LOW = 150;
const LINE = 18;
const [LEFT, RIGHT, TOP, BELOW] = [64, 14, 26, 40];
/** Bars that are drawn, and the height of a bar with its name. */
const BARS_MAX = 100;
const BAR = 38;
/** Most width of a usual letter, pixels. */
const LETTER = 7;

interface Inks {
  letters: string;
  quiet: string;
  grid: string;
  ground: string;
  bad: string;
  lines: string[];
}

function inks(dark: boolean): Inks {
  return { letters: ink(dark), quiet: quiet(dark), grid: line(dark), bad: dark ? "#ff8a64" : "#a82d06", ground: css(ground(dark)), lines: dark ? DARK : LIGHT };
}

function Frame({ wide, high, look, name, children }: { wide: number; high: number; look: Look; name: string; children: preact.ComponentChildren }) {
  const colors = inks(look.dark);
  return (
    <svg xmlns="http://www.w3.org/2000/svg" width={wide} height={high} viewBox={`0 0 ${wide} ${high}`} font-family="system-ui, sans-serif" font-size="11" fill={colors.quiet} role="img" aria-label={name}>
      <rect width={wide} height={high} fill={colors.ground} />
      {children}
    </svg>
  );
}

/** A text that fits; the whole of it where one points at it. */
function Words({ x, y, room, anchor, fill, children }: { x: number; y: number; room: number; anchor?: "start" | "middle" | "end"; fill?: string; children: string }) {
  const short = fitting(children, room, LETTER);
  return <text x={x} y={y} text-anchor={anchor} fill={fill}>{short}{short !== children && <title>{children}</title>}</text>;
}

function unitOf(plot: Plot): string {
  return plot.unit === "" ? plot.metric : `${plot.metric}, ${plot.unit}`;
}

/** A drawing of a plot, and what it is called. */
export function Drawing({ plot, map, look }: { plot: Plot; map: boolean; look: Look }) {
  return map ? <HeatMap plot={plot} look={look} /> : plot.over === "" ? <Bars plot={plot} look={look} /> : <Lines plot={plot} look={look} />;
}

/** Curves over what was swept, with what was measured least and most, and what was published; those of now are low, and begin at zero. */
export function Lines({ plot, look, live = false }: { plot: Plot; look: Look; live?: boolean }) {
  const { wide } = look;
  const colors = inks(look.dark);
  const drawn = drawnOf(plot);
  const shown = drawn.series;
  const [places, values] = [placesOf(drawn), valuesOf(drawn)];
  const x = scaleOf(places, look.logX ?? isWide(places), LEFT + 8, wide - RIGHT - 8, 8, false);
  const bottom = TOP + (live ? LOW : HIGH);
  const y = scaleOf(values, look.logY ?? isWide(values), bottom, TOP + 6, live ? 4 : 6, live);
  const named = withRoom(live || places.length > 12 ? x.ticks : places, x.place, plot.over);
  const bounded = shown.some((one) => one.points.some((point) => point.bound !== undefined));
  const isPublished = shown.some((one) => one.points.some((point) => point.published !== undefined));
  const isSpread = shown.some((one) => one.points.some((point) => point.spread !== undefined));
  const keys = shown.length > 1 || shown[0]?.name !== "" ? shown.map((one) => one.name) : [];
  const notes = [isSpread && "bars: the least and the most of the measurements", isPublished && "grey brackets: what was published; a hollow point is outside", bounded && "dotted: what the links allow"].filter((note) => note !== false);
  const across = wide >= 640 && keys.length > 3 ? 2 : 1;
  const rows = Math.ceil(keys.length / across);
  const high = bottom + BELOW + (rows + notes.length) * LINE + 4;
  return (
    <Frame wide={wide} high={high} look={look} name={`${unitOf(plot)} over ${plot.over}; the table has the values`}>
      <text x={LEFT} y={14} fill={colors.letters}>{unitOf(plot)}</text>
      {y.ticks.map((value) => (
        <g key={value}>
          <path d={`M${LEFT} ${y.place(value)}H${wide - RIGHT}`} stroke={colors.grid} />
          <text x={LEFT - 6} y={y.place(value) + 4} text-anchor="end">{digits(value)}</text>
        </g>
      ))}
      {named.map((value) => (
        <g key={value}>
          <path d={`M${x.place(value)} ${TOP + 6}V${bottom}`} stroke={colors.grid} />
          <text x={x.place(value)} y={bottom + 15} text-anchor="middle">{placeText(plot.over, value)}</text>
        </g>
      ))}
      <text x={(LEFT + wide - RIGHT) / 2} y={bottom + 31} text-anchor="middle" fill={colors.letters}>{plot.over}</text>
      {shown.map((one, at) => <Curve key={one.name} series={one} color={colors.lines[at % colors.lines.length]} dash={DASHES[Math.floor(at / colors.lines.length) % DASHES.length]} colors={colors} x={x.place} y={y.place} bottom={bottom} dots={!live} />)}
      {keys.map((name, at) => {
        const [left, top] = [LEFT + Math.floor(at / rows) * ((wide - LEFT) / across), bottom + BELOW + (at % rows) * LINE + 12];
        const dash = DASHES[Math.floor(at / colors.lines.length) % DASHES.length];
        return (
          <g key={name}>
            <path d={`M${left} ${top - 4}h20`} stroke={colors.lines[at % colors.lines.length]} stroke-width="3" stroke-dasharray={dash} />
            <Words x={left + 26} y={top} room={(wide - LEFT) / across - 32} fill={colors.letters}>{name}</Words>
          </g>
        );
      })}
      {notes.map((note, at) => <Words key={note} x={LEFT} y={bottom + BELOW + (rows + at) * LINE + 12} room={wide - LEFT - 4}>{note}</Words>)}
    </Frame>
  );
}

/** Those of the values along the axis that have room for their names. */
function withRoom(values: number[], place: (value: number) => number, over: string): number[] {
  let free = -Infinity;
  return values.filter((value) => {
    const half = (placeText(over, value).length * LETTER) / 2 + 4;
    if (place(value) - half < free) return false;
    free = place(value) + half;
    return true;
  });
}

function Curve({ series, color, dash, colors, x, y, bottom, dots }: { series: Series; color: string; dash: string | undefined; colors: Inks; x(value: number): number; y(value: number): number; bottom: number; dots: boolean }) {
  const measured = series.points.filter((point): point is Point & { value: number } => point.value !== undefined);
  const bounds = series.points.filter((point): point is Point & { bound: number } => point.bound !== undefined);
  const path = (points: [number, number][]) => points.map(([left, top], at) => `${at === 0 ? "M" : "L"}${left.toFixed(1)} ${top.toFixed(1)}`).join("");
  const clamped = (value: number) => Math.min(bottom, Math.max(TOP + 2, y(value)));
  return (
    <g>
      {bounds.length > 1 && <path d={path(bounds.map((point) => [x(point.at), y(point.bound)]))} fill="none" stroke={colors.quiet} stroke-width="2" stroke-dasharray="1 4" stroke-linecap="round" />}
      {series.points.map((point) => point.published !== undefined && <Bracket key={point.at} at={x(point.at)} least={point.published.least === undefined ? undefined : clamped(point.published.least)} most={point.published.most === undefined ? undefined : clamped(point.published.most)} color={colors.quiet} />)}
      <path d={path(measured.map((point) => [x(point.at), y(point.value)]))} fill="none" stroke={color} stroke-width="2" stroke-dasharray={dash} />
      {dots && measured.map((point) => (
        <g key={point.at}>
          {point.spread !== undefined && <path d={`M${x(point.at)} ${y(point.spread[0])}V${y(point.spread[1])}m-4 0h8M${x(point.at) - 4} ${y(point.spread[0])}h8`} fill="none" stroke={color} stroke-width="1.5" />}
          <circle cx={x(point.at)} cy={y(point.value)} r={point.held ? 2.5 : 3.5} fill={point.held ? color : colors.ground} stroke={color} stroke-width="1.5"><title>{`${point.name}: ${digits(point.value)}${point.held ? "" : ", not as published"}`}</title></circle>
        </g>
      ))}
    </g>
  );
}

/** What was published, as a bracket along the axis of values; open where it has no bound. */
function Bracket({ at, least, most, color }: { at: number; least: number | undefined; most: number | undefined; color: string }) {
  const [low, high] = [least ?? most ?? 0, most ?? least ?? 0];
  const cap = (y: number) => `M${at - 6} ${y}h12`;
  return <path d={`${least === undefined ? "" : cap(low)}${most === undefined ? "" : cap(high)}M${at + 6} ${least === undefined ? high + 14 : low}V${most === undefined ? low - 14 : high}`} fill="none" stroke={color} stroke-width="1.5" stroke-dasharray="3 2" />;
}

/** A bar for each case. */
function Bars({ plot, look }: { plot: Plot; look: Look }) {
  const { wide } = look;
  const colors = inks(look.dark);
  const all = plot.series.flatMap((one) => one.points);
  const points = all.slice(0, BARS_MAX);
  const values = valuesOf({ ...plot, series: [{ name: "", points }] });
  const logarithmic = look.logY ?? false;
  const [left, right] = [10, wide - 84];
  const x = scaleOf(values, logarithmic, left, right, wide > 520 ? 6 : 4, true);
  const zero = logarithmic ? left : x.place(0);
  const bottom = TOP + points.length * BAR;
  const isPublished = points.some((point) => point.published !== undefined);
  const notes = [
    isPublished && "dashed: what was published, or its bounds; hollow and ✗: outside",
    all.length > BARS_MAX && `${many(all.length - BARS_MAX, "more case is", "more cases are")} not drawn; the file has all`,
  ].filter((note) => note !== false);
  return (
    <Frame wide={wide} high={bottom + 24 + notes.length * LINE} look={look} name={`${unitOf(plot)} of each case; the table has the values`}>
      <Words x={left} y={14} room={wide - 20} fill={colors.letters}>{unitOf(plot)}</Words>
      {x.ticks.map((value) => (
        <g key={value}>
          <path d={`M${x.place(value)} ${TOP}V${bottom}`} stroke={colors.grid} />
          <text x={x.place(value)} y={bottom + 14} text-anchor={x.place(value) < 24 ? "start" : "middle"}>{digits(value)}</text>
        </g>
      ))}
      {points.map((point, at) => {
        const top = TOP + at * BAR;
        const end = point.value === undefined ? zero : x.place(point.value);
        const [low, high] = [point.published?.least, point.published?.most];
        const published = [low, high].filter((value) => value !== undefined).map((value) => Math.min(right, Math.max(left, x.place(value))));
        return (
          <g key={at}>
            <Words x={left} y={top + 12} room={wide - 20} fill={colors.letters}>{point.name}</Words>
            <rect x={Math.min(zero, end)} y={top + 17} width={Math.max(1, Math.abs(end - zero))} height={14} fill={point.held ? colors.lines[0] : colors.ground} stroke={colors.lines[0]} />
            {point.spread !== undefined && <path d={`M${x.place(point.spread[0])} ${top + 24}H${x.place(point.spread[1])}M${x.place(point.spread[0])} ${top + 20}v8M${x.place(point.spread[1])} ${top + 20}v8`} stroke={colors.letters} stroke-width="1.5" fill="none" />}
            {published.map((place, which) => <path key={which} d={`M${place} ${top + 14}v20`} stroke={colors.quiet} stroke-width="2" stroke-dasharray="3 2" />)}
            <text x={Math.max(zero, end, ...published) + 5} y={top + 28} fill={point.held ? colors.letters : colors.bad}>{point.value === undefined ? "not measured" : `${digits(point.value)}${point.held ? "" : " ✗"}`}</text>
          </g>
        );
      })}
      {notes.map((note, at) => <Words key={note} x={left} y={bottom + 32 + at * LINE} room={wide - 20}>{note}</Words>)}
    </Frame>
  );
}

/** A cell for each curve and each value that was swept. */
function HeatMap({ plot, look }: { plot: Plot; look: Look }) {
  const { wide, dark } = look;
  const colors = inks(dark);
  const drawn = drawnOf(plot);
  const rows = drawn.series;
  const places = placesOf(drawn);
  const columns = new Map(places.map((value, at) => [value, at]));
  const [least, most] = ends(rows.flatMap((one) => one.points.flatMap((point) => (point.value === undefined ? [] : [point.value]))));
  const logarithmic = look.logY ?? isWide([least, most]);
  const share = (value: number) => {
    if (most === least) return 0.5;
    return logarithmic && least > 0 ? Math.log(value / least) / Math.log(most / least) : (value - least) / (most - least);
  };
  const shade = (value: number) => colorOf(rampOf(Math.round(Math.min(1, Math.max(0, share(value))) * WHOLE)), dark);
  const left = Math.min(wide * 0.4, 14 + Math.max(...rows.map((one) => one.name.length)) * LETTER);
  const cell = (wide - left - RIGHT) / places.length;
  const columnAt = (value: number) => left + (columns.get(value) ?? 0) * cell;
  const row = 26;
  const bottom = TOP + 20 + rows.length * row;
  const steps = 24;
  const isMarked = rows.some((one) => one.points.some((point) => !point.held && point.value !== undefined));
  const named = withRoom(places, (value) => columnAt(value) + cell / 2, plot.over);
  return (
    <Frame wide={wide} high={bottom + 50 + (isMarked ? LINE : 0)} look={look} name={`${unitOf(plot)} as a heat map; the table has the values`}>
      <Words x={4} y={14} room={wide - 8} fill={colors.letters}>{`${unitOf(plot)}, over ${plot.over}`}</Words>
      {named.map((value) => <text key={value} x={columnAt(value) + cell / 2} y={TOP + 12} text-anchor="middle">{placeText(plot.over, value)}</text>)}
      {rows.map((one, at) => (
        <g key={one.name}>
          <Words x={left - 8} y={TOP + 37 + at * row} room={left - 12} anchor="end" fill={colors.letters}>{one.name}</Words>
          {one.points.map((point) => {
            if (point.value === undefined) return null;
            const color = shade(point.value);
            const text = `${digits(point.value)}${point.held ? "" : " ✗"}`;
            const [x, y] = [columnAt(point.at), TOP + 20 + at * row];
            return (
              <g key={point.at}>
                <rect x={x + 0.5} y={y + 0.5} width={Math.max(1, cell - 1)} height={row - 1} fill={css(color)}><title>{`${point.name}: ${text}`}</title></rect>
                {text.length * LETTER < cell - 4 && <text x={x + cell / 2} y={y + 17} text-anchor="middle" fill={isBright(color) ? ink(false) : "#ffffff"}>{text}</text>}
              </g>
            );
          })}
        </g>
      ))}
      {Array.from({ length: steps }, (_, at) => <rect key={at} x={left + at * 8} y={bottom + 16} width={8} height={10} fill={css(colorOf(rampOf(Math.round((at / (steps - 1)) * WHOLE)), dark))} />)}
      <text x={left} y={bottom + 40}>{digits(least)}</text>
      <text x={left + steps * 8} y={bottom + 40} text-anchor="end">{digits(most)}</text>
      {logarithmic && <text x={left + steps * 4} y={bottom + 40} text-anchor="middle">powers of ten</text>}
      {isMarked && <text x={left} y={bottom + 40 + LINE}>✗: not as published</text>}
    </Frame>
  );
}

function isBright([r, g, b]: readonly [number, number, number]): boolean {
  const part = (value: number) => (value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4);
  const light = 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
  // Where dark letters have more contrast than white ones.
  return (light + 0.05) ** 2 > 1.05 * 0.0625;
}
