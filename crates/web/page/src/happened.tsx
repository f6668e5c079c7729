// What happened, as a list.
import { addressAt, addressOf, view } from "./address";
import { isAbout, type Told } from "./events";
import { kept, looked, without } from "./history";
import { gap, layout } from "./store";
import { settled, Since } from "./timeline";
import { clock } from "./words";

/** Lines of the list. */
const LISTED_MAX = 500;

/** What happened, the newest first. */
export function Events({ most, about }: { most: number; about?: bigint }) {
  const list = looked.value.filter((event) => about === undefined || isAbout(event, about)).slice(0, most);
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

export function EventsView() {
  return (
    <section class="alone">
      <h1>Events <Since /></h1>
      {gap.value && kept.value === undefined && <p class="quiet">Some are missing: the daemon was started again, or they were too many.</p>}
      {kept.value !== undefined && <p class="quiet">A time leads to the fabric as it was then. {kept.value.missing}</p>}
      <div aria-live="polite"><Events most={LISTED_MAX} /></div>
      {without.value !== "" && <p class="quiet">Nothing is known of earlier times: <bdi>{without.value}</bdi>.</p>}
    </section>
  );
}
