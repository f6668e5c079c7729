// The load of a port over the readings since the page was opened.
import { useSignalEffect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { UNKNOWN, WHOLE } from "./fabric";
import { isDark } from "./palette";
import { readings, scheme, theme } from "./store";

const HIGH = 150;

/** A time of the axis, seconds since 1970. */
function clockOf(time: number): string {
  return new Date(time * 1000).toLocaleTimeString("en-GB");
}

/** Of two ports: both ends of a cable, or of one. */
export function LoadChart({ ports, names }: { ports: number[]; names: string[] }) {
  const holder = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const key = ports.join();
  const data = (): uPlot.AlignedData => {
    const share = (value: number) => (value === UNKNOWN ? null : (value / WHOLE) * 100);
    return [readings.value.map((one) => one.time), ...ports.map((port) => readings.value.map((one) => share(one.load[port])))];
  };
  const make = () => {
    plot.current?.destroy();
    if (holder.current === null) return;
    const dark = isDark(theme.value);
    const [ink, grid, colors] = dark ? ["#93a3b1", "#22303c", ["#7fd0ff", "#f2b134"]] : ["#5a6875", "#e3e9ee", ["#0067a3", "#a35a00"]];
    const axis = { stroke: ink, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid, width: 1 }, font: "11px system-ui, sans-serif" };
    const options: uPlot.Options = {
      width: Math.max(260, holder.current.clientWidth),
      height: HIGH,
      scales: { y: { range: (_, __, most) => [0, Math.max(1, most * 1.1)] } },
      axes: [{ ...axis, space: 80, values: (_, ticks) => ticks.map(clockOf) }, { ...axis, size: 48, values: (_, ticks) => ticks.map((tick) => `${tick} %`) }],
      series: [{}, ...ports.map((_, at) => ({ label: names[at] ?? "", stroke: colors[at % 2], width: 2, points: { show: readings.value.length < 3 } }))],
      legend: { show: false },
      cursor: { drag: { x: false, y: false } },
    };
    plot.current = new uPlot(options, data(), holder.current);
  };
  useEffect(() => {
    make();
    const size = new ResizeObserver(() => plot.current?.setSize({ width: Math.max(260, holder.current?.clientWidth ?? 0), height: HIGH }));
    if (holder.current !== null) size.observe(holder.current);
    return () => {
      size.disconnect();
      plot.current?.destroy();
      plot.current = undefined;
    };
  }, [key, theme.value, scheme.value]);
  useSignalEffect(() => {
    readings.value;
    plot.current?.setData(data());
  });
  return (
    <figure class="chart">
      <figcaption>{names.map((name, at) => <span key={at} class={`line${at}`}><bdi>{name}</bdi></span>)}</figcaption>
      <div ref={holder} role="img" aria-label={`Load of ${names.join(" and ")}; the table has the last values`} />
    </figure>
  );
}
