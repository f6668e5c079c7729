// The timeline under everything: what happened, and the moment that is looked at. And the events as a list.
import { useSignalEffect } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { addressAt, addressOf, goTo, moment, range, showLast, view } from "./address";
import { isAbout, type Told } from "./events";
import { all, kept, RANGES, readPast, without } from "./history";
import { lacking, shown } from "./past";
import { events, gap, layout } from "./store";
import { clock } from "./words";

/** Time from one reading of the past to the next, and after an event, milliseconds. */
const [PACE, PACE_FRESH] = [30_000, 2_000];
/** Places of the strip: marks that fall on one are one. */
const PLACES = 1_000;

/** The past as a strip of marks, with the moment that is chosen. */
export function Timeline() {
  useSignalEffect(() => {
    range.value;
    void readPast();
  });
  useEffect(() => {
    const timer = setInterval(() => document.hidden || void readPast(), PACE);
    return () => clearInterval(timer);
  }, []);
  useSignalEffect(() => {
    if (events.value.length === 0) return;
    const soon = setTimeout(() => void readPast(), PACE_FRESH);
    return () => clearTimeout(soon);
  });
  const now = kept.value;
  useEffect(() => {
    document.documentElement.classList.toggle("timed", now !== undefined);
  }, [now !== undefined]);
  if (now === undefined) return null;
  const [from, to] = [now.from.getTime() / 1_000, now.to.getTime() / 1_000];
  const chosen = moment.value === undefined ? to : Math.min(to, Math.max(from, moment.value.getTime() / 1_000));
  const words = moment.value === undefined ? "now" : clock(moment.value);
  const [before, after] = beside(moment.value);
  return (
    <section class="timeline" aria-label="Timeline">
      <select aria-label="Time that is shown" value={range.value} onChange={(event) => showLast(Number(event.currentTarget.value))}>
        {RANGES.map(([seconds, name]) => <option key={seconds} value={seconds}>last {name}</option>)}
      </select>
      <button type="button" title="What happened before" aria-label="What happened before" disabled={before === undefined} onClick={() => goTo(before)}>◀</button>
      <div class="strip">
        <Marks from={from} to={to} told={now.events} />
        <input
          type="range"
          min={Math.floor(from)}
          max={Math.ceil(to)}
          step={Math.max(1, range.value / 3_600)}
          value={chosen}
          aria-label="Moment"
          aria-valuetext={words}
          onInput={(event) => choose(Number(event.currentTarget.value), to)}
        />
      </div>
      <button type="button" title="What happened next" aria-label="What happened next" disabled={moment.value === undefined} onClick={() => goTo(after)}>▶</button>
      <span class="moment">{words}</span>
      <button type="button" class="more" disabled={moment.value === undefined} onClick={() => goTo(undefined)}>Now</button>
    </section>
  );
}

function choose(seconds: number, to: number): void {
  goTo(seconds >= Math.floor(to) ? undefined : new Date(seconds * 1_000));
}

/** When the fabric had taken up an event: the next whole second. */
function settled(event: Told): Date {
  return new Date(Math.ceil(event.time.getTime() / 1_000) * 1_000);
}

/** The moments of what happened before and after a moment. */
function beside(moment: Date | undefined): [Date | undefined, Date | undefined] {
  const here = moment?.getTime() ?? Date.now();
  const times = all.value.map((event) => settled(event));
  return [times.find((time) => time.getTime() < here), times.findLast((time) => time.getTime() > here && time.getTime() <= Date.now())];
}

function Marks({ from, to, told }: { from: number; to: number; told: Told[] }) {
  const places: Record<Told["tone"], Set<number>> = { plain: new Set(), good: new Set(), bad: new Set(), person: new Set(), role: new Set() };
  for (const { time, tone } of told) {
    const place = Math.round(((time.getTime() / 1_000 - from) / (to - from)) * PLACES);
    if (place >= 0 && place <= PLACES) places[tone].add(place);
  }
  const tops: Record<Told["tone"], number> = { plain: 12, good: 6, bad: 0, person: 0, role: 0 };
  return (
    <svg viewBox={`0 0 ${PLACES} 18`} preserveAspectRatio="none" aria-hidden="true">
      {(["plain", "good", "bad", "person", "role"] as const).map((tone) => <path key={tone} class={tone} d={[...places[tone]].map((place) => `M${place} ${tops[tone]}V18`).join("")} />)}
    </svg>
  );
}

/** Which moment is shown, and the way back to now. */
export function AsOf() {
  const [asked, now] = [moment.value, shown.value];
  return (
    <div role="status">
      {asked !== undefined && (
        <p class="asof">
          {lacking.value !== "" ? <span><b>Nothing of {clock(asked)} can be shown</b>: <bdi>{lacking.value}</bdi>. What is shown is of now. </span>
            : now === undefined ? <span>The fabric of {clock(asked)} is read… </span>
            : <span><b>As of {clock(now.time)}</b>{now.since && `, so since ${clock(now.since)}`}{now.sweep > 0n && `, sweep ${now.sweep}`}; {now.counted === undefined ? "no loads are kept of then" : `loads of ${clock(now.counted)}`}. </span>}
          {lacking.value === "" && view.value.kind !== "plans" && <><a href={addressOf({ kind: "plans", guid: 0n, port: 0 })}>Plan the way back to it</a> </>}
          <button type="button" onClick={() => goTo(undefined)}>Back to now</button>
        </p>
      )}
    </div>
  );
}

/** What happened, the newest first. */
export function Events({ most, about }: { most: number; about?: bigint }) {
  const list = all.value.filter((event) => about === undefined || isAbout(event, about)).slice(0, most);
  if (list.length === 0) {
    return <p class="quiet">Nothing has happened.</p>;
  }
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

/** Since when events are known, in words. */
export function Since() {
  const name = RANGES.find(([seconds]) => seconds === range.value)?.[1];
  return <>{kept.value === undefined ? "since this page was opened" : `in the last ${name}`}</>;
}

export function EventsView() {
  return (
    <section class="alone">
      <h1>Events <Since /></h1>
      {gap.value && kept.value === undefined && <p class="quiet">Some are missing: the daemon was started again, or they were too many.</p>}
      {kept.value !== undefined && <p class="quiet">A time leads to the fabric as it was then. {kept.value.missing}</p>}
      <div aria-live="polite"><Events most={500} /></div>
      {without.value !== "" && <p class="quiet">Nothing is known of earlier times: <bdi>{without.value}</bdi>.</p>}
    </section>
  );
}
