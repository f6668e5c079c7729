// The load of a port over the readings since the page was opened.
import { UNKNOWN, WHOLE } from "./fabric";
import { SaveDrawing } from "./saving";
import { readings } from "./store";
import { useWidth } from "./width";

const HIGH = 150;
/** Room for the labels, pixels: left of the lines, and below. */
const [LEFT, BELOW] = [48, 22];
/** Least room for a time of the axis, pixels. */
const TIME_ROOM = 90;
/** Steps of the axes: percent, and seconds. */
const SHARES = [0.25, 0.5, 1, 2, 5, 10, 20, 25, 50];
const TIMES = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1_800, 3_600];

/** A time of the axis, seconds since 1970. */
function clockOf(time: number): string {
  return new Date(time * 1000).toLocaleTimeString("en-GB");
}

/** The zone of times here. */
function zone(): string {
  return new Date().toLocaleTimeString("en-GB", { timeZoneName: "short" }).split(" ").at(-1) ?? "";
}

/** Multiples of a step within bounds. */
function ticks(from: number, to: number, step: number): number[] {
  const first = Math.ceil(from / step);
  return Array.from({ length: Math.max(0, Math.floor(to / step) - first + 1) }, (_, at) => (first + at) * step);
}

/** The points of a line, in parts where values are not known between. */
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

/** Of two ports: both ends of a cable, or of one. */
export function LoadChart({ ports, names }: { ports: number[]; names: string[] }) {
  const [holder, wide] = useWidth<HTMLDivElement>();
  return (
    <figure class="chart">
      <figcaption>{names.map((name, at) => <span key={at} class={`line${at}`}><bdi>{name}</bdi></span>)}<small class="quiet">times in {zone()}</small></figcaption>
      <div ref={holder} role="img" aria-label={`Load of ${names.join(" and ")}; the table has the last values`}>
        {wide.value > 0 && <Lines ports={ports} wide={wide.value} />}
      </div>
      <SaveDrawing name={`load of ${names[0] ?? ""}`} />
    </figure>
  );
}

function Lines({ ports, wide }: { ports: number[]; wide: number }) {
  const shown = readings.value;
  const shares = ports.map((port) => shown.map((one) => (one.load[port] === UNKNOWN ? null : (one.load[port] / WHOLE) * 100)));
  const most = Math.max(1, ...shares.flat().map((share) => (share ?? 0) * 1.1));
  const [from, to] = [shown[0]?.time ?? 0, Math.max(shown.at(-1)?.time ?? 0, (shown[0]?.time ?? 0) + 10)];
  const x = (time: number) => LEFT + ((time - from) / (to - from)) * (wide - LEFT - 8);
  const y = (share: number) => 6 + (1 - share / most) * (HIGH - BELOW - 6);
  const shareStep = SHARES.find((step) => most / step <= 4) ?? 50;
  const timeStep = TIMES.find((step) => (wide - LEFT) / ((to - from) / step) >= TIME_ROOM) ?? 3_600;
  return (
    <svg width={wide} height={HIGH}>
      {ticks(0, most, shareStep).map((share) => (
        <g key={share}>
          <path class="grid" d={`M${LEFT} ${y(share)}H${wide}`} />
          <text x={LEFT - 6} y={y(share) + 4} text-anchor="end">{share} %</text>
        </g>
      ))}
      {ticks(from, to, timeStep).map((time) => (
        <g key={time}>
          <path class="grid" d={`M${x(time)} 6V${HIGH - BELOW}`} />
          <text x={Math.min(x(time), wide - 28)} y={HIGH - 6} text-anchor="middle">{clockOf(time)}</text>
        </g>
      ))}
      {shares.map((line, at) => {
        const points = line.map((share, place): [number, number | null] => [x(shown[place].time), share === null ? null : y(share)]);
        const last = points.at(-1);
        return (
          <g key={at} class={`line${at}`}>
            <path d={pathOf(points)} fill="none" />
            {last !== undefined && last[1] !== null && <circle cx={last[0]} cy={last[1]} r={2.5} />}
          </g>
        );
      })}
    </svg>
  );
}
