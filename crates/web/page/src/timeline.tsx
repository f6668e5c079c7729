// Events since the page was opened, the newest first.
import { addressOf } from "./address";
import { clock } from "./health";
import { events, gap, layout } from "./store";
import type { Told } from "./events";

export function Events({ most, about }: { most: number; about?: bigint }) {
  const shown = events.value.filter((event) => about === undefined || event.guid === about).slice(0, most);
  if (shown.length === 0) {
    return <p class="quiet">Nothing has happened since this page was opened.</p>;
  }
  return (
    <ol class="events">
      {shown.map((event) => <Line key={event.token} event={event} />)}
    </ol>
  );
}

function Line({ event }: { event: Told }) {
  const known = event.guid !== undefined && layout.value?.find(event.guid) !== undefined;
  return (
    <li class={event.tone}>
      <time dateTime={event.time.toISOString()}>{clock(event.time)}</time>{" "}
      <span>
        {known && event.guid !== undefined ? <a href={addressOf({ kind: "focus", guid: event.guid, port: event.port ?? 0 })}><bdi>{event.text}</bdi></a> : <bdi>{event.text}</bdi>}
      </span>
    </li>
  );
}

export function EventsView() {
  return (
    <section class="alone">
      <h1>Events since this page was opened</h1>
      {gap.value && <p class="quiet">Some are missing: the daemon was started again, or they were too many.</p>}
      <div aria-live="polite"><Events most={500} /></div>
      <p class="quiet">Earlier ones: <code>weft log</code>, where the past is kept.</p>
    </section>
  );
}
