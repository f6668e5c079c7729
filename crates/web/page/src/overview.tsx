// The whole fabric in one picture, with what is wrong beside it.
import { useComputed, useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { aged, changed } from "./ages";
import { addressOf, go, PAINTS, type Paint, view } from "./address";
import { Canvas, type Hovered } from "./canvas";
import { Kind, type Layout, State } from "./fabric";
import { Figures, Findings, Verdict } from "./health";
import { errorsText, isWrong, KINDS, kindOf, percent, Shade, shadeOf } from "./kinds";
import { measured } from "./measure";
import { colorOf, css, isDark } from "./palette";
import { ErrorsRamp, Ramp } from "./ramp";
import { missing, untold } from "./history";
import { beat, columns, counts, hasErrors, layout, painted, scheme, shades, theme } from "./store";
import { PortsTable } from "./tables";
import { Since } from "./timeline";
import { clock, many } from "./words";

const PAINT_NAMES: Record<Paint, string> = { state: "state", load: "load", wait: "waiting for credits", errors: "errors", change: "last change" };
/** What is counted as an error. */
const ERRORS_COUNTED = "What the port has counted of its link since the reading before: LocalLinkIntegrityErrors, RcvErrors, ExcessiveBufferOverruns, LinkErrorRecovery, LinkDowned, UncorrectableErrors and FMConfigErrors; each colour is 19 times the one before";
/** What the colour of a port means, as its two directions have colours of their own. */
const MEANT = {
  load: "of the link's rate, which the port sends",
  wait: "of the time, in which the port has data to send and no credits",
};

export function Overview({ paint }: { paint: Paint }) {
  return (
    <div class="overview">
      <section class="side" aria-label="Health">
        <Verdict />
        <Findings />
        <Figures />
      </section>
      <section class="main" aria-label="Fabric">
        <PictureView paint={paint} />
        <PortsTable paint={paint} />
      </section>
    </div>
  );
}

function Paints({ paint }: { paint: Paint }) {
  return (
    <fieldset class="paints">
      <legend class="quiet">Colour by</legend>
      {PAINTS.map((one) => (
        <a key={one} class={one === paint ? "chip on" : "chip"} href={addressOf({ kind: "overview", paint: one })} aria-current={one === paint ? "true" : undefined}>
          {PAINT_NAMES[one]}
        </a>
      ))}
    </fieldset>
  );
}

/** What the colours mean, with how many there are. */
function Legend({ paint }: { paint: Paint }) {
  scheme.value;
  const dark = isDark(theme.value);
  const shown = KINDS.filter(({ shade, wrong }) => counts.value.has(shade) && (paint === "state" || wrong || shade === Shade.Disabled || shade === Shade.Drained));
  return (
    <ul class="legend">
      {(paint === "load" || paint === "wait") && <li><Ramp /> {MEANT[paint]}</li>}
      {paint === "errors" && <li title={ERRORS_COUNTED}><ErrorsRamp /></li>}
      {paint === "change" && <li><Ramp from={missing.value || untold.value ? "not known" : <>not <Since /></>} to="just now" /></li>}
      {shown.map(({ shade, name, what }) => (
        <li key={shade} title={what}>
          <i class={`swatch shape${shade}`} style={{ background: css(colorOf(shade, dark)) }} />
          {name} <b>{(counts.value.get(shade) ?? 0).toLocaleString("en")}</b>
        </li>
      ))}
    </ul>
  );
}

/** The picture, with what is chosen about it above: beside it there is no room, and over it a switch would be below. */
function PictureView({ paint }: { paint: Paint }) {
  const holder = useRef<HTMLDivElement>(null);
  const canvas = useRef<Canvas | undefined>(undefined);
  const hovered = useSignal<Hovered | undefined>(undefined);
  const failed = useSignal("");
  const chosen = useSignal<Paint>(paint);
  chosen.value = paint;
  useEffect(() => {
    if (holder.current === null) return undefined;
    try {
      canvas.current = new Canvas(holder.current, {
        hover: (found) => (hovered.value = found),
        choose: (guid, port) => go({ kind: "focus", guid, port }),
      });
    } catch (error) {
      failed.value = String(error instanceof Error ? error.message : error);
    }
    return () => canvas.current?.end();
  }, []);
  useSignalEffect(() => {
    const nodes = layout.value;
    if (nodes !== undefined) canvas.current?.show(nodes);
  });
  useSignalEffect(() => {
    layout.value;
    scheme.value;
    const dark = isDark(theme.value);
    canvas.current?.dress(dark);
  });
  useSignalEffect(() => {
    const start = performance.now();
    canvas.current?.paint(chosen.value === "change" ? aged() : painted(chosen.value));
    measured("weft-paint", start);
  });
  const summary = useComputed(() => {
    const nodes = layout.value;
    if (nodes === undefined) return "The fabric is being read";
    const said = KINDS.filter((kind) => counts.value.has(kind.shade)).map((kind) => `${counts.value.get(kind.shade)} ports ${kind.name}`);
    return `Picture of ${nodes.nodes} nodes by tier: ${said.join(", ")}. The table below has the same. Shift and an arrow key choose a node, Enter leads to it.`;
  });
  const spoken = useComputed(() => {
    const [nodes, found] = [layout.value, hovered.value];
    return nodes === undefined || found === undefined || found.port >= 0 ? "" : nodeWords(nodes, found.node);
  });
  return (
    <>
      <div class="bar">
        <Paints paint={paint} />
        <Legend paint={paint} />
        <div class="zoom">
          <button type="button" title="Zoom in (+)" onClick={() => canvas.current?.zoomBy(1.6)}>+</button>
          <button type="button" title="Zoom out (−)" onClick={() => canvas.current?.zoomBy(1 / 1.6)}>−</button>
          <button type="button" title="Show all (0)" onClick={() => canvas.current?.fit()}>all</button>
          <button type="button" title="Save the picture as PNG" onClick={() => canvas.current?.save()}>PNG</button>
          <button type="button" title="Save the whole fabric as a drawing (SVG)" onClick={() => canvas.current?.saveDrawing()}>SVG</button>
        </div>
      </div>
      <div class="picture">
        <div class="canvas" ref={holder} tabIndex={0} role="application" aria-label={summary.value} />
        <p class="spoken" aria-live="polite">{spoken.value}</p>
        {failed.value !== "" && <p class="notice">{failed.value}</p>}
        {layout.value === undefined && <p class="notice">reading the fabric…</p>}
        {layout.value !== undefined && layout.value.nodes === 0 && <p class="notice">No node is known yet: the first sweep has not ended.</p>}
        {hovered.value !== undefined && <Tip hovered={hovered.value} />}
      </div>
    </>
  );
}

/** A node that is chosen, in words. */
function nodeWords(nodes: Layout, node: number): string {
  const own = shades.value.subarray(nodes.first[node], nodes.first[node + 1]);
  const wrong = own.filter(isWrong).length;
  return `${nodes.names[node]}, ${nodes.isSwitch(node) ? "switch" : "host"}, ${many(own.length, "port")}${wrong > 0 ? `, ${wrong} in trouble` : ""}`;
}

/** What is under the pointer. */
function Tip({ hovered }: { hovered: Hovered }) {
  beat.value;
  const [nodes, now] = [layout.value, columns.value];
  if (nodes === undefined || now === undefined || hovered.node >= nodes.nodes) return null;
  const { node, port } = hovered;
  const peer = port < 0 ? undefined : nodes.peers[port];
  const shade = port < 0 ? 0 : shadeOf(now.get(Kind.State)[port], now.get(Kind.Marks)[port]);
  const far = peer === undefined || peer >= nodes.ports ? undefined : nodes.nodeOf[peer];
  const since = changed.value.get(port);
  const right = hovered.x > hovered.width / 2;
  return (
    <div class="tip" style={{ left: right ? "auto" : `${hovered.x + 14}px`, right: right ? `${hovered.width - hovered.x + 14}px` : "auto", top: `${Math.max(4, hovered.y - 20)}px` }}>
      <b><bdi>{nodes.names[node]}</bdi></b> {nodes.isSwitch(node) ? "switch" : "host"}
      {port >= 0 && (
        <>
          <br />
          port {nodes.number(port)}: {kindOf(shade).name}
          {far !== undefined && peer !== undefined && <>, to <bdi>{nodes.names[far]}</bdi> port {nodes.number(peer)}</>}
          {now.get(Kind.State)[port] === State.Active && <><br />sends {percent(now.get(Kind.Load)[port])}, waiting {percent(now.get(Kind.Wait)[port])}, errors {errorsText(now.get(Kind.Errors)[port], hasErrors(now, port))}</>}
          {since !== undefined && <><br />last change {clock(since)}</>}
        </>
      )}
    </div>
  );
}

addEventListener("keydown", (event) => {
  const inField = event.target instanceof HTMLElement && /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
  if (!inField && !event.ctrlKey && !event.metaKey && !event.altKey && event.key === "Escape" && view.value.kind !== "overview") {
    go({ kind: "overview", paint: "state" });
  }
});
