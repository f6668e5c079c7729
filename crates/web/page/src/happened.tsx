// What happened, as a list and as a drawing.
import { addressAt, addressOf, view } from "./address";
import { TimeAxis } from "./chart";
import { isAbout, type Told } from "./events";
import { kept, looked, missing, spanAsked, untold, without } from "./history";
import { lacking } from "./past";
import { saveCsv } from "./save";
import { SaveDrawing } from "./saving";
import { gap, layout } from "./store";
import { settled, Since } from "./timeline";
import { useWidth } from "./width";
import { clock, guidText, zone } from "./words";

/** Lines of the list. */
const LISTED_MAX = 500;
/** Kinds of events, as the drawing has them from above, and what they are called. */
const TONES: [Told["tone"], string][] = [["bad", "trouble"], ["good", "well again"], ["person", "by people"], ["role", "role of this manager"], ["plain", "other"]];
/** Height of a row of the drawing, room for the names of rows, and below for the times, pixels. */
const [ROW, LEFT, BELOW] = [24, 150, 22];

/** What happened, the newest first. */
export function Events({ most, about }: { most: number; about?: bigint }) {
  const list = looked.value.filter((event) => about === undefined || isAbout(event, about)).slice(0, most);
  if (untold.value !== "") return <p class="quiet"><bdi>{untold.value}</bdi></p>;
  if (list.length === 0) return <p class="quiet">{lacking.value === "" ? "Nothing has happened." : "No events are kept of then."}</p>;
  return (
    <ol class="events">
      {list.map((event) => <Line key={event.token} event={event} />)}
    </ol>
  );
}

function Line({ event }: { event: Told }) {
  const known = event.guid !== undefined && layout.value?.find(event.guid) !== undefined;
  const time = <time dateTime={event.time.toISOString()}>{clock(event.time)}</time>;
  return (
    <li class={event.tone}>
      {kept.value === undefined ? time : <a class="then" href={addressAt(view.value, settled(event))} title="Show the fabric as it was then">{time}</a>}{" "}
      <span>
        {known && event.guid !== undefined ? <a href={addressOf({ kind: "focus", guid: event.guid, port: event.port ?? 0 })}><bdi>{event.text}</bdi></a> : <bdi>{event.text}</bdi>}
      </span>
    </li>
  );
}

export function EventsView() {
  return (
    <section class="alone">
      <h1>Events <Since /></h1>
      {gap.value && kept.value === undefined && <p class="quiet">Some are missing: the daemon was started again, or they were too many.</p>}
      {kept.value !== undefined && <p class="quiet">A time leads to the fabric as it was then. <bdi>{missing.value}</bdi></p>}
      {untold.value === "" && <Drawing />}
      <div aria-live="polite"><Events most={LISTED_MAX} /></div>
      <Kept />
      {without.value !== "" && <p class="quiet">Nothing is known of earlier times: <bdi>{without.value}</bdi>.</p>}
    </section>
  );
}

/** The list as a file: with all that the timeline has. */
function Kept() {
  const list = looked.value;
  if (list.length === 0 || untold.value !== "") return null;
  const names = new Map(TONES);
  const row = ({ time, tone, text, guid, port }: Told) => [time.toISOString(), names.get(tone) ?? tone, text, guid === undefined ? "" : guidText(guid), guid === undefined || port === 0 ? "" : port ?? ""];
  return (
    <>
      {list.length > LISTED_MAX && <p class="quiet">{(list.length - LISTED_MAX).toLocaleString("en")} older ones; the file has them.</p>}
      <button type="button" class="more" onClick={() => saveCsv("events", [["time", "kind", "what happened", "node", "port"], ...list.map(row)])}>Save all as CSV</button>
    </>
  );
}

/** The timeline as a drawing: a row for each kind of event. */
function Drawing() {
  const [holder, wide] = useWidth<HTMLDivElement>();
  const span = spanAsked.value ?? kept.value ?? { from: new Date(performance.timeOrigin), to: new Date() };
  const [from, to] = [span.from.getTime() / 1_000, span.to.getTime() / 1_000];
  const high = TONES.length * ROW + BELOW;
  return (
    <figure class="chart">
      <div ref={holder} role="img" aria-label="Events over time by their kind; the list below has them">
        {wide.value > 0 && (
          <svg class="happened" width={wide.value} height={high}>
            <TimeAxis from={from} to={to} left={LEFT} wide={wide.value} top={0} high={high} below={BELOW} />
            {TONES.map(([tone, name], row) => <Row key={tone} tone={tone} name={name} y={row * ROW} from={from} to={to} wide={wide.value} />)}
          </svg>
        )}
      </div>
      <figcaption class="quiet">Times in {zone()}.</figcaption>
      <SaveDrawing name="timeline" />
    </figure>
  );
}

function Row({ tone, name, y, from, to, wide }: { tone: Told["tone"]; name: string; y: number; from: number; to: number; wide: number }) {
  const places = new Set<number>();
  let count = 0;
  for (const event of looked.value) {
    const share = (event.time.getTime() / 1_000 - from) / (to - from);
    if (event.tone !== tone || share < 0 || share > 1) continue;
    places.add(Math.round(LEFT + share * (wide - LEFT - 8)));
    count++;
  }
  return (
    <g>
      <text x={LEFT - 8} y={y + ROW / 2 + 4} text-anchor="end">{name} {count.toLocaleString("en")}</text>
      <path class="grid" d={`M${LEFT} ${y + ROW - 2}H${wide - 8}`} />
      <path class={tone} d={[...places].map((x) => `M${x} ${y + 4}V${y + ROW - 2}`).join("")} />
    </g>
  );
}
