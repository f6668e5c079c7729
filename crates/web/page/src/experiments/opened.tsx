// Results of experiments that somebody opens from his disk: nothing of them leaves the browser.
import { signal, useComputed, useSignal } from "@preact/signals";
import { isDark } from "../palette";
import { saveCsv, saveDrawing } from "../save";
import { scheme, theme } from "../store";
import { DRAWING_MAX, useWidth } from "../width";
import { many } from "../words";
import { Drawing } from "./drawing";
import { CURVES_MAX, digits, isMap, isWide, placesOf, type Plot, plotsOf, POINTS_MAX, valuesOf } from "./plots";
import { FILE_MAX, LINES_MAX, Refused, type Row, rowsOf, textOf, visible } from "./results";

/** Files that are taken at once, and rows of a table that are shown. */
const FILES_MAX = 16;
const SHOWN_MAX = 500;

/** What is open, for as long as the page is; and why a file is not. */
const opened = signal<{ names: string[]; rows: Row[] } | undefined>(undefined);
const refused = signal("");

async function open(files: File[]): Promise<void> {
  if (files.length === 0) return;
  try {
    if (files.length > FILES_MAX) throw new Refused(`${files.length} files, allowed: up to ${FILES_MAX} at once`);
    const rows: Row[] = [];
    for (const file of files) {
      // A large one is not even read.
      if (file.size > FILE_MAX) throw new Refused(`${visible(file.name)} has ${file.size.toLocaleString("en")} bytes, allowed: up to ${FILE_MAX.toLocaleString("en")}`);
      const found = rowsOf(file.name, textOf(file.name, await file.arrayBuffer()));
      if (found.length === 0) throw new Refused(`${visible(file.name)} has no measurement, allowed: one line or more below the first`);
      if (rows.length + found.length > LINES_MAX) throw new Refused(`the files have more than ${LINES_MAX.toLocaleString("en")} lines together, which is the most allowed`);
      found.forEach((row) => rows.push(row));
    }
    [opened.value, refused.value] = [{ names: files.map((file) => visible(file.name)), rows }, ""];
  } catch (error) {
    refused.value = error instanceof Refused ? error.message : `the file cannot be read: ${error instanceof Error ? error.message : "no reason is given"}`;
  }
}

export function Results() {
  const over = useSignal(false);
  const known = opened.value;
  return (
    <div
      class={over.value ? "drop on" : "drop"}
      onDragOver={(event) => {
        event.preventDefault();
        over.value = true;
      }}
      onDragLeave={() => (over.value = false)}
      onDrop={(event) => {
        event.preventDefault();
        over.value = false;
        void open([...(event.dataTransfer?.files ?? [])]);
      }}
    >
      <p class="openfile">
        <label class="more">Open results… <input type="file" multiple accept=".csv,text/csv" onChange={(event) => {
          const field = event.currentTarget;
          void open([...(field.files ?? [])]).then(() => (field.value = ""));
        }} /></label>
        <span class="quiet">or drop files here. They stay in this browser.</span>
      </p>
      {refused.value !== "" && <p class="bad" role="alert">Not opened: {refused.value}.</p>}
      {known === undefined ? <Empty /> : <Opened key={known.names.join("\n")} names={known.names} rows={known.rows} />}
    </div>
  );
}

function Empty() {
  return (
    <>
      <p>Nothing is open. What <code>weft-lab run --csv</code> prints is shown here as curves, bars and heat maps, beside what was published:</p>
      <p><code>weft-lab run --csv examples/e1-adaptive-routing.scenario &gt; e1.csv</code></p>
    </>
  );
}

function Opened({ names, rows }: { names: string[]; rows: Row[] }) {
  const experiments = useComputed(() => [...new Set(rows.map((row) => row.experiment))]);
  const experiment = useSignal(0);
  const own = useComputed(() => rows.filter((row) => row.experiment === experiments.value[experiment.value]));
  const plots = useComputed(() => plotsOf(own.value));
  const chosen = useSignal(0);
  const plot = plots.value[chosen.value] ?? plots.value[0];
  const wrong = own.value.filter((row) => row.verdict.includes("✗")).length;
  const given = own.value.filter((row) => row.verdict === "given").length;
  const figures = own.value.filter((row) => row.verdict !== "").length - given;
  const title = experiments.value[experiment.value] ?? "";
  return (
    <>
      <p class="quiet">Open: <bdi>{names.join(", ")}</bdi>, {many(rows.length, "measurement")}.</p>
      <div class="ends choices">
        {experiments.value.length > 1 && (
          <label class="field">Experiment
            <select value={experiment.value} onChange={(event) => ([experiment.value, chosen.value] = [Number(event.currentTarget.value), 0])}>
              {experiments.value.map((name, at) => <option key={name} value={at}>{name}</option>)}
            </select>
          </label>
        )}
        <label class="field">What
          <select value={chosen.value} onChange={(event) => (chosen.value = Number(event.currentTarget.value))}>
            {plots.value.map((one, at) => <option key={at} value={at}>{nameOf(one)}</option>)}
          </select>
        </label>
      </div>
      <h2><bdi>{title}</bdi></h2>
      <p class={wrong > 0 ? "bad" : figures > 0 ? "calm" : "quiet"}>{figures + given === 0 ? "Nothing was published about it." : figures === 0 ? "No published figure could have failed." : wrong === 0 ? `All ${figures} published figures came out.` : `${wrong} of ${many(figures, "published figure")} did not come out: ✗.`}{given > 0 && ` ${given} more follow from inputs (“given”) and show nothing.`}</p>
      {plot === undefined ? <p class="quiet">Nothing was measured that could be drawn; the table has all there is.</p> : <Chart key={`${experiment.value} ${chosen.value}`} plot={plot} title={title} />}
      <Table rows={own.value} title={title} />
    </>
  );
}

function nameOf(plot: Plot): string {
  const unit = plot.unit === "" ? "" : `, ${plot.unit}`;
  return `${plot.metric}${unit}${plot.over === "" ? "" : ` over ${plot.over}`}`;
}

function Chart({ plot, title }: { plot: Plot; title: string }) {
  scheme.value;
  const [holder, wide] = useWidth(DRAWING_MAX);
  const map = useSignal(false);
  const [logX, logY] = [useSignal<boolean | undefined>(undefined), useSignal<boolean | undefined>(undefined)];
  const [places, values] = [placesOf(plot), valuesOf(plot)];
  const look = { wide: wide.value, dark: isDark(theme.value), logX: logX.value, logY: logY.value };
  const check = (label: string, value: { value: boolean | undefined }, usual: boolean, possible: boolean) => possible && (
    <label><input type="checkbox" checked={value.value ?? usual} onChange={(event) => (value.value = event.currentTarget.checked)} /> {label}</label>
  );
  const positive = (all: number[]) => all.every((value) => value > 0);
  return (
    <>
      <p class="paints">
        {isMap(plot) && [false, true].map((to) => <button type="button" key={String(to)} class={map.value === to ? "chip on" : "chip"} aria-pressed={map.value === to} onClick={() => (map.value = to)}>{to ? "heat map" : "curves"}</button>)}
        {plot.over !== "" && !map.value && check(`${plot.over} in powers`, logX, isWide(places), positive(places))}
        {check("values in powers of ten", logY, plot.over !== "" && isWide(values), positive(values))}
        <button type="button" class="more" onClick={() => saveDrawing(`${title} ${plot.metric}`, holder.current)}>Save as SVG</button>
      </p>
      <figure class="plot" ref={holder}>{wide.value > 0 && <Drawing plot={plot} map={map.value && isMap(plot)} look={look} />}</figure>
      {plot.series.length > CURVES_MAX && <p class="quiet">Drawn are {CURVES_MAX} of {plot.series.length} curves; the table has all.</p>}
      {plot.over !== "" && plot.series.some((one) => one.points.length > POINTS_MAX) && <p class="quiet">Drawn are at most {POINTS_MAX} points of a curve, evenly; the file has all.</p>}
    </>
  );
}

const HEAD = ["case", "metric", "measured", "unit", "least", "most", "published from", "published to", "verdict"];

function cellsOf(row: Row): (string | number)[] {
  const { measured, least, most, published } = row;
  return [row.case, row.metric, measured ?? "", row.unit, least ?? "", most ?? "", published?.least ?? "", published?.most ?? "", row.verdict];
}

function Table({ rows, title }: { rows: Row[]; title: string }) {
  const number = (value: string | number) => (typeof value === "number" ? digits(value) : value);
  return (
    <details class="behind">
      <summary>The same as a table</summary>
      {rows.length > SHOWN_MAX && <p class="bad">Shown are the first {SHOWN_MAX} of {rows.length.toLocaleString("en")} rows; “Save all as CSV” below has every one.</p>}
      <div class="scroll tall" tabIndex={0} role="region" aria-label="Measurements">
        <table>
          <thead><tr>{HEAD.map((name, at) => <th key={name} scope="col" class={isNumber(at) ? "number" : ""}>{name}</th>)}</tr></thead>
          <tbody>
            {rows.slice(0, SHOWN_MAX).map((row, key) => (
              <tr key={key} class={row.verdict.includes("✗") ? "wrong" : ""}>{cellsOf(row).map((value, at) => <td key={at} class={isNumber(at) ? "number" : ""}><bdi>{number(value)}</bdi></td>)}</tr>
            ))}
          </tbody>
        </table>
      </div>
      <button type="button" class="more" onClick={() => saveCsv(title, [["experiment", ...HEAD], ...rows.map((row) => [row.experiment, ...cellsOf(row)])])}>Save all as CSV</button>
    </details>
  );
}

function isNumber(column: number): boolean {
  return column === 2 || (column >= 4 && column <= 7);
}
