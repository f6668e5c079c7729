// The timeline under everything: what happened, and the moment or the span that is looked at.
import { useSignal } from "@preact/signals";
import type { TargetedPointerEvent } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { addressOf, goTo, moment, range, showLast, start, view } from "./address";
import type { Told } from "./events";
import { all, followPast, kept, RANGES, spanAsked } from "./history";
import { lacking, type Shown, shown } from "./past";
import { between, clock, sentence, spanText } from "./words";

/** Places of the strip: marks that fall on one are one. */
const PLACES = 1_000;
/** What a span that nobody has drawn yet is of the time that is shown. */
const PART = 1 / 6;
/** Way of the pointer from which on it draws a span, pixels. */
const DRAWN = 4;

/** The past as a strip of marks, with the moment that is chosen. */
export function Timeline() {
  useEffect(() => followPast(), []);
  const now = kept.value;
  const isSpan = start.value !== undefined;
  useEffect(() => {
    document.documentElement.classList.toggle("timed", now !== undefined);
    document.documentElement.classList.toggle("spanned", isSpan);
  }, [now !== undefined, isSpan]);
  if (now === undefined) return null;
  const [from, to] = [now.from.getTime() / 1_000, now.to.getTime() / 1_000];
  const chosen = moment.value === undefined ? to : Math.min(to, Math.max(from, moment.value.getTime() / 1_000));
  const words = moment.value === undefined ? "now" : clock(moment.value);
  const [before, after] = beside(moment.value);
  const first = start.value === undefined ? undefined : Math.min(chosen, Math.max(from, start.value.getTime() / 1_000));
  const end = moment.value ?? date(to);
  return (
    <section class="timeline" aria-label="Timeline">
      <select aria-label="Time that is shown" value={range.value} onChange={(event) => showLast(Number(event.currentTarget.value))}>
        {RANGES.map(([seconds, name]) => <option key={seconds} value={seconds}>last {name}</option>)}
      </select>
      <button type="button" title="What happened before" aria-label="What happened before" disabled={before === undefined} onClick={() => goTo(before)}>◀</button>
      <div class="strip" title="Drag over the marks to choose a span">
        <Strip from={from} to={to} told={now.events} span={first === undefined ? undefined : [first, chosen]} />
        {first !== undefined && start.value !== undefined && <Slider bounds={[from, to]} value={first} label="Start of the span" words={clock(start.value)} choose={chooseStart} />}
        <Slider bounds={[from, to]} value={chosen} label={first === undefined ? "Moment" : "End of the span"} words={words} choose={(slider) => choose(slider, to)} />
      </div>
      <button type="button" title="What happened next" aria-label="What happened next" disabled={moment.value === undefined} onClick={() => goTo(after)}>▶</button>
      <span class="moment">{start.value !== undefined && <>{clock(start.value)} –<br /></>}{words}</span>
      <button type="button" title="A span instead of a moment" aria-label="Span" aria-pressed={first !== undefined} onClick={() => goTo(end, first === undefined ? new Date(Math.max(0, end.getTime() - range.value * PART * 1_000)) : undefined)}>↔</button>
      <button type="button" class="more" disabled={moment.value === undefined} onClick={() => goTo(undefined)}>Now</button>
    </section>
  );
}

interface SliderProps {
  /** The time that is shown, and the moment that is chosen, seconds since 1970. */
  bounds: [number, number];
  value: number;
  label: string;
  /** The moment in words. */
  words: string;
  choose(slider: HTMLInputElement): void;
}

/** Chooses a moment of the time that is shown. */
function Slider({ bounds: [from, to], value, label, words, choose }: SliderProps) {
  const step = Math.max(1, range.value / 3_600);
  return <input type="range" min={Math.floor(from)} max={Math.ceil(to)} step={step} value={value} aria-label={label} aria-valuetext={words} onInput={(event) => choose(event.currentTarget)} />;
}

/** A time in seconds since 1970; none later than now. */
function date(seconds: number): Date {
  return new Date(Math.min(Date.now(), Math.round(seconds) * 1_000));
}

/** Looks at the moment of a slider, or has the span end there; one without a moment ends where it began. */
function choose(slider: HTMLInputElement, to: number): void {
  const [end, first] = [date(Number(slider.value)), start.value];
  if (first === undefined) goTo(Number(slider.value) >= Math.floor(to) ? undefined : end);
  else if (end > first) goTo(end, first);
  else slider.value = String((moment.value ?? end).getTime() / 1_000);
}

/** Has the span begin at the moment of a slider, where that is before its end. */
function chooseStart(slider: HTMLInputElement): void {
  const first = date(Number(slider.value));
  if (moment.value !== undefined && first < moment.value) goTo(moment.value, first);
  else if (start.value !== undefined) slider.value = String(start.value.getTime() / 1_000);
}

/** The marks, over which the pointer draws a span; a click chooses a moment. */
function Strip({ from, to, told, span }: { from: number; to: number; told: Told[]; span: [number, number] | undefined }) {
  /** Where the pointer went down and is now, seconds since 1970. */
  const drawn = useSignal<[number, number] | undefined>(undefined);
  const down = useRef(0);
  const at = ({ clientX, currentTarget }: TargetedPointerEvent<SVGSVGElement>) => {
    const box = currentTarget.getBoundingClientRect();
    return from + Math.min(1, Math.max(0, (clientX - box.x) / box.width)) * (to - from);
  };
  const begin = (event: TargetedPointerEvent<SVGSVGElement>) => {
    if (event.button !== 0) return;
    event.currentTarget.setPointerCapture(event.pointerId);
    down.current = event.clientX;
    drawn.value = [at(event), at(event)];
  };
  const end = (event: TargetedPointerEvent<SVGSVGElement>) => {
    if (drawn.value === undefined) return;
    const [first, last] = [...drawn.value].sort((a, b) => a - b);
    drawn.value = undefined;
    if (Math.abs(event.clientX - down.current) < DRAWN || last - first < 1) goTo(date(last));
    else goTo(date(last), date(first));
  };
  return (
    <Marks
      from={from} to={to} told={told} span={drawn.value ?? span}
      begin={begin} end={end} cancel={() => (drawn.value = undefined)}
      move={(event) => {
        if (drawn.value !== undefined) drawn.value = [drawn.value[0], at(event)];
      }}
    />
  );
}

/** When the fabric had taken up an event: the next whole second. */
export function settled(event: Told): Date {
  return new Date(Math.ceil(event.time.getTime() / 1_000) * 1_000);
}

/** The moments of what happened before and after a moment. */
function beside(moment: Date | undefined): [Date | undefined, Date | undefined] {
  const here = moment?.getTime() ?? Date.now();
  const times = all.value.map((event) => settled(event));
  return [times.find((time) => time.getTime() < here), times.findLast((time) => time.getTime() > here && time.getTime() <= Date.now())];
}

type OnPointer = (event: TargetedPointerEvent<SVGSVGElement>) => void;

interface MarksProps {
  from: number;
  to: number;
  told: Told[];
  span: [number, number] | undefined;
  begin: OnPointer;
  move: OnPointer;
  end: OnPointer;
  cancel: OnPointer;
}

function Marks({ from, to, told, span, begin, move, end, cancel }: MarksProps) {
  const places: Record<Told["tone"], Set<number>> = { plain: new Set(), good: new Set(), bad: new Set(), person: new Set(), role: new Set() };
  for (const { time, tone } of told) {
    const place = Math.round(((time.getTime() / 1_000 - from) / (to - from)) * PLACES);
    if (place >= 0 && place <= PLACES) places[tone].add(place);
  }
  const tops: Record<Told["tone"], number> = { plain: 12, good: 6, bad: 0, person: 0, role: 0 };
  return (
    <svg viewBox={`0 0 ${PLACES} 18`} preserveAspectRatio="none" aria-hidden="true" onPointerDown={begin} onPointerMove={move} onPointerUp={end} onPointerCancel={cancel}>
      {span !== undefined && <Band from={(span[0] - from) / (to - from)} to={(span[1] - from) / (to - from)} />}
      {(["plain", "good", "bad", "person", "role"] as const).map((tone) => <path key={tone} class={tone} d={[...places[tone]].map((place) => `M${place} ${tops[tone]}V18`).join("")} />)}
    </svg>
  );
}

/** The span that is looked at, by its shares of the strip. */
function Band({ from, to }: { from: number; to: number }) {
  const [left, right] = [Math.min(from, to), Math.max(from, to)].map((share) => Math.min(1, Math.max(0, share)) * PLACES);
  return <rect class="span" x={left} y={0} width={Math.max(2, right - left)} height={18} />;
}

/** Views that are of now whatever moment is looked at, and do not say so themselves. */
const OF_NOW = ["plans", "plan", "experiments"];

/** Which moment or span is shown, and the way back to now. */
export function AsOf() {
  const [asked, first, now] = [moment.value, start.value, shown.value];
  return (
    <div role="status">
      {asked !== undefined && (
        <p class="asof">
          {lacking.value !== "" ? <span><b>Nothing of {clock(asked)} can be shown</b>: <bdi>{lacking.value}</bdi>. What is shown is of now. </span>
            : now === undefined ? <span>The fabric of {clock(asked)} is read… </span>
            : OF_NOW.includes(view.value.kind) ? <span><b>{first === undefined ? `As of ${clock(asked)}` : sentence(between(first, asked))}</b> This view is of now. </span>
            : now.from === undefined ? <span><b>As of {clock(now.time)}</b>{now.since && `, so since ${clock(now.since)}`}{now.sweep > 0n && `, sweep ${now.sweep}`}; {now.counted === undefined ? <>no loads are known of then: <bdi>{now.uncounted}</bdi></> : `loads of ${clock(now.counted)}`}. </span>
            : <span><b>{sentence(between(now.from, now.time))}</b> <Counted by={now} /> What happened and lines over time are of this span; states, cables, routes and what is wrong are as of its end. </span>}
          {lacking.value === "" && now !== undefined && <Coming after={now} />}
          {lacking.value === "" && view.value.kind !== "plans" && <><a href={addressOf({ kind: "plans", guid: 0n, port: 0 })}>Plan the way back to it</a> </>}
          <button type="button" onClick={() => goTo(undefined)}>Back to now</button>
        </p>
      )}
    </div>
  );
}

/** That another moment or span is read, while the one before it is shown. */
function Coming({ after: { time, from } }: { after: Shown }) {
  const [asked, first] = [moment.value, start.value];
  if (asked === undefined || (asked.getTime() === time.getTime() && first?.getTime() === from?.getTime())) return null;
  return <span>{first === undefined ? `The fabric of ${clock(asked)}` : `What was counted ${between(first, asked)}`} is read… </span>;
}

/** What loads of a span are of. */
function Counted({ by: { counted, over, uncounted } }: { by: Shown }) {
  if (counted === undefined) return <>Loads, waiting and errors are not known: <bdi>{sentence(uncounted)}</bdi></>;
  return <>Loads, waiting and errors are means of {spanText(over)}, up to the reading of {clock(counted)}.</>;
}

/** Since when events are known, in words. */
export function Since() {
  const name = RANGES.find(([seconds]) => seconds === range.value)?.[1];
  const span = spanAsked.value;
  if (span !== undefined && start.value === undefined) return <>in the {name} before {clock(span.to)}</>;
  if (span !== undefined) return <>{between(span.from, span.to)}</>;
  return <>{kept.value === undefined ? "since this page was opened" : `in the last ${name}`}</>;
}
