// Lines over time, with their legend in the drawing, so that a file of it has one as well.
import { UNKNOWN, WHOLE } from "./fabric";
import { SaveDrawing } from "./saving";
import { readings } from "./store";
import { useWidth } from "./width";
import { fitting, zone } from "./words";

const HIGH = 150;
/** Room for the labels, pixels: left of the lines, and below. */
const [LEFT, BELOW] = [64, 22];
/** Height of a line of the legend, and width of a letter of it, pixels. */
const [LEGEND, LETTER] = [16, 6.4];
/** Least room for a time of the axis, pixels. */
const TIME_ROOM = 90;
/** Most steps of the axis of values. */
const STEPS_MAX = 4;
/** Most steps of the axis of times. */
const TIMES_MAX = 20;
/** Steps of the axis of times, seconds; beyond a week each is twice the one before. */
const TIMES = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1_800, 3_600, 7_200, 21_600, 43_200, 86_400];
const WEEK = 604_800;
/** From these spans on times of the axis have their day, and their year without the time of day, seconds. */
const [WITH_DAY, WITH_YEAR] = [86_400, 300 * 86_400];

/** A line: times in seconds since 1970, and values; none where one is not known. */
export interface Series {
  name: string;
  points: [number, number | null][];
}

/** A time of the axis, seconds since 1970. */
function clockOf(time: number, span: number): string {
  const date = new Date(time * 1000);
  if (span < WITH_DAY) return date.toLocaleTimeString("en-GB", span < 3_600 ? {} : { hour: "2-digit", minute: "2-digit" });
  if (span >= WITH_YEAR) return date.toLocaleDateString("en-GB", { day: "numeric", month: "short", year: "numeric" });
  return date.toLocaleString("en-GB", { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });
}

/** Multiples of a step within bounds. */
function ticks(from: number, to: number, step: number): number[] {
  const first = Math.ceil(from / step);
  return Array.from({ length: Math.max(0, Math.floor(to / step) - first + 1) }, (_, at) => (first + at) * step);
}

/** The least step of 1, 2 or 5 and zeros by which an axis has few. */
export function stepOf(most: number): number {
  const power = 10 ** Math.floor(Math.log10(most / STEPS_MAX));
  return power * ([1, 2, 5, 10].find((step) => most / (step * power) <= STEPS_MAX) ?? 10);
}

/** The least step of the axis of times by which a span has no more of them than there is room for, seconds. */
export function timeStep(span: number, room: number): number {
  const most = Math.max(1, Math.min(TIMES_MAX, Math.floor(room / TIME_ROOM)));
  return TIMES.find((step) => span / step <= most) ?? WEEK * 2 ** Math.max(0, Math.ceil(Math.log2(span / WEEK / most)));
}

/** The path of a line, in parts where values are not known between. */
export function pathOf(points: [number, number | null][]): string {
  let pen = "M";
  return points
    .map(([x, y]) => {
      if (y === null) {
        pen = "M";
        return "";
      }
      const part = `${pen}${x.toFixed(1)} ${y.toFixed(1)}`;
      pen = "L";
      return part;
    })
    .join("");
}

interface AxisProps {
  /** Seconds since 1970. */
  from: number;
  to: number;
  /** Where the time begins, and where the drawing ends, pixels. */
  left: number;
  wide: number;
  top: number;
  high: number;
  /** Room for the times. */
  below: number;
}

/** Where a time is in a drawing. */
function placeOf(time: number, { from, to, left, wide }: AxisProps): number {
  return left + ((time - from) / (to - from)) * (wide - left - 8);
}

/** Lines at whole times, with the times below. */
export function TimeAxis(axis: AxisProps) {
  const { from, to, left, wide, top, high, below } = axis;
  return (
    <>
      {ticks(from, to, timeStep(to - from, wide - left)).map((time) => (
        <g key={time}>
          <path class="grid" d={`M${placeOf(time, axis)} ${top}V${high - below}`} />
          <text x={Math.max(left, Math.min(placeOf(time, axis), wide - 34))} y={high - 6} text-anchor="middle">{clockOf(time, to - from)}</text>
        </g>
      ))}
    </>
  );
}

interface PlotProps {
  /** Of the file. */
  name: string;
  /** What the values are; none where that stands above. */
  title?: string;
  /** What somebody hears who does not see it. */
  label: string;
  lines: Series[];
  /** Seconds since 1970. */
  from: number;
  to: number;
  /** Least value at the top of the axis. */
  least: number;
  /** A value of the axis in words. */
  text(value: number): string;
}

/** Lines over time. */
export function Plot(props: PlotProps) {
  const [holder, wide] = useWidth<HTMLDivElement>();
  return (
    <figure class="chart">
      {props.title !== undefined && <p class="title">{props.title}</p>}
      <div ref={holder} role="img" aria-label={props.label}>
        {wide.value > 0 && <Lines {...props} wide={wide.value} />}
      </div>
      <figcaption class="quiet">Times in {zone()}.</figcaption>
      <SaveDrawing name={props.name} />
    </figure>
  );
}

function Lines({ lines, from, to, least, text, wide }: PlotProps & { wide: number }) {
  const most = lines.reduce((most, { points }) => points.reduce((most, [, value]) => Math.max(most, (value ?? 0) * 1.1), most), least);
  const top = lines.length * LEGEND + 6;
  const high = HIGH + top;
  const axis = { from, to, left: LEFT, wide, top, high, below: BELOW };
  const y = (value: number) => top + (1 - value / most) * (HIGH - BELOW);
  return (
    <svg width={wide} height={high}>
      {ticks(0, most, stepOf(most)).map((value) => (
        <g key={value}>
          <path class="grid" d={`M${LEFT} ${y(value)}H${wide}`} />
          <text x={LEFT - 6} y={y(value) + 4} text-anchor="end">{text(value)}</text>
        </g>
      ))}
      <TimeAxis {...axis} />
      {lines.map(({ name, points }, at) => {
        const placed = points.map(([time, value]): [number, number | null] => [placeOf(time, axis), value === null ? null : y(value)]);
        const last = placed.at(-1);
        return (
          <g key={at} class={`line${at}`}>
            <path d={`M${LEFT} ${at * LEGEND + 8}h16`} fill="none" />
            <text x={LEFT + 22} y={at * LEGEND + 12} unicode-bidi="isolate">{fitting(name, wide - LEFT - 22, LETTER)}</text>
            <path d={pathOf(placed)} fill="none" />
            {last !== undefined && last[1] !== null && <circle cx={last[0]} cy={last[1]} r={2.5} />}
          </g>
        );
      })}
    </svg>
  );
}

/** Load over the readings since the page was opened, of two ports: both ends of a cable, or of one. */
export function LoadChart({ ports, names }: { ports: number[]; names: string[] }) {
  const shown = readings.value;
  const share = (load: number) => (load === UNKNOWN ? null : (load / WHOLE) * 100);
  const lines = ports.map((port, at): Series => ({ name: names[at], points: shown.map((one) => [one.time, share(one.load[port])]) }));
  const first = shown[0]?.time ?? 0;
  return <Plot name={`load of ${names[0] ?? ""}`} title="Load: what each end sends, as a share of the link's rate" label={`Load of ${names.join(" and ")}; the table has the last values`} lines={lines} from={first} to={Math.max(shown.at(-1)?.time ?? 0, first + 10)} least={1} text={(value) => `${Number(value.toPrecision(3))} %`} />;
}
