// What is known of the fabric, and the loop that keeps it up to date.
import { Code, ConnectError } from "@connectrpc/connect";
import { batch, computed, effect, signal } from "@preact/signals";
import type { GetHealthResponse } from "../gen/weft/v1/health_pb";
import type { GetPageResponse } from "../gen/weft/v1/web_pb";
import { healthCalls, PATIENCE, watchCalls, web, whyOf } from "./api";
import { type Told, told } from "./events";
import { Columns, Kind, Layout, Mark, State } from "./fabric";
import { drainedRamp, errorsRamp, rampOf, Shade, shadeOf } from "./kinds";
import type { Paint } from "./address";
import { measured } from "./measure";
import { isPaper } from "./palette";
import { colorWords } from "./words";

/** Time from one question to the next, milliseconds. */
const PACE = 500;
/** Longest time between two questions while no daemon answers. */
const PACE_LOST = 3_000;
/** Time after which the page of health is read again though nothing is known to have changed. */
const HEALTH_MAX_AGE = 5_000;
/** Events that are shown. */
const EVENTS_MAX = 2_000;

/** The fabric as it is now. */
const now = {
  layout: signal<Layout | undefined>(undefined),
  columns: signal<Columns | undefined>(undefined),
  health: signal<GetHealthResponse | undefined>(undefined),
};
/** The fabric of a moment of the past, while one is looked at. */
export interface Past {
  layout: Layout;
  columns: Columns;
  health: GetHealthResponse | undefined;
}
export const past = signal<Past | undefined>(undefined);
/** The fabric that is looked at. */
export const layout = computed(() => (past.value ?? { layout: now.layout.value }).layout);
export const columns = computed(() => (past.value ?? { columns: now.columns.value }).columns);
export const health = computed(() => (past.value ?? { health: now.health.value }).health);
/** Goes up when columns change: they are changed in place. */
export const beat = signal(0);
/** Whose fabric it is. */
export const source = signal<GetPageResponse | undefined>(undefined);
export const events = signal<Told[]>([]);
/** Whether events are missing from the list. */
export const gap = signal(false);
/** Since when no daemon answers, why, and whether that is because nothing tells who asks; none while one does. */
export const lost = signal<{ since: Date; why: string; nobody: boolean } | undefined>(undefined);
/** Load of each link end in the last readings of the counters: number of the reading, and its column. */
export const readings = computed(() => (past.value === undefined ? read.value : []));
const read = signal<{ time: number; load: Uint8Array }[]>([]);
const READINGS_MAX = 60;

/** The kind of each port. */
export const shades = computed(() => {
  beat.value;
  const [nodes, all] = [layout.value, columns.value];
  if (nodes === undefined || all === undefined) {
    return new Uint8Array(0);
  }
  const [state, marks] = [all.get(Kind.State), all.get(Kind.Marks)];
  const out = new Uint8Array(nodes.ports);
  for (let port = 0; port < out.length; port++) {
    out[port] = shadeOf(state[port], marks[port]);
  }
  return out;
});

/** The column of what ports are coloured by. */
export const COLUMNS = { load: Kind.Load, wait: Kind.Wait, errors: Kind.Errors };

/** The kind of each port as it is painted: where a share or a rate is asked for, trouble keeps its own colour and mark. */
export function painted(paint: Exclude<Paint, "change">): Uint8Array {
  const own = shades.value;
  const all = columns.value;
  if (paint === "state" || all === undefined) {
    return own;
  }
  const value = all.get(COLUMNS[paint]);
  const rampOfPaint = paint === "errors" ? errorsRamp : rampOf;
  const out = own.slice();
  for (let port = 0; port < out.length; port++) {
    if (own[port] === Shade.Active) out[port] = rampOfPaint(value[port]);
    if (own[port] === Shade.Drained) out[port] = drainedRamp(rampOfPaint(value[port]));
    if (paint === "errors" && hasErrors(all, port)) out[port] = Shade.Errors;
  }
  return out;
}

/** Whether the page of health says of a link that is up that it has errors. */
export function hasErrors(all: Columns, port: number): boolean {
  const state = all.get(Kind.State)[port];
  const isUp = state === State.Active || state === State.Rising || state === State.Unused;
  return isUp && (all.get(Kind.Marks)[port] & Mark.Errors) !== 0;
}

/** Hosts, switches and links that are there, and those nodes that are missing. */
export const sums = computed(() => {
  const nodes = layout.value;
  let [hosts, switches, hostsMissing, switchesMissing, ends] = [0, 0, 0, 0, 0];
  if (nodes !== undefined) {
    for (let node = 0; node < nodes.nodes; node++) {
      const first = nodes.first[node];
      const isThere = first === nodes.first[node + 1] || shades.value[first] !== Shade.Gone;
      if (nodes.isSwitch(node)) isThere ? switches++ : switchesMissing++;
      else isThere ? hosts++ : hostsMissing++;
    }
    const state = columns.value?.get(Kind.State);
    state?.forEach((one) => {
      ends += one === State.Active || one === State.Rising ? 1 : 0;
    });
  }
  return { hosts, switches, hostsMissing, switchesMissing, links: ends / 2 };
});

/** Number of ports of each kind; an end of a link is one. */
export const counts = computed(() => {
  const out = new Map<number, number>();
  for (const shade of shades.value) {
    out.set(shade, (out.get(shade) ?? 0) + 1);
  }
  return out;
});

let version = "";
let token = "";
let image = 0n;
/** When the page of health that came last was asked for, by `performance.now()`. */
let healthAsked = -Infinity;

/** Follows the fabric for as long as the page is looked at. */
export async function follow(): Promise<void> {
  let pace = PACE;
  for (;;) {
    await looked();
    try {
      await ask();
      pace = PACE;
      lost.value = undefined;
    } catch (error) {
      const nobody = ConnectError.from(error).code === Code.Unauthenticated;
      lost.value = { since: lost.value?.since ?? new Date(), why: whyOf(error), nobody };
      pace = Math.min(pace * 1.5, PACE_LOST);
    }
    await new Promise((done) => setTimeout(done, pace));
  }
}

/** Reads anew who looks at the page. */
export function again(): void {
  web.getPage({}, { timeoutMs: PATIENCE }).then((page) => (source.value = page), () => undefined);
}

/** Ends when somebody looks at the page. */
function looked(): Promise<void> {
  if (!document.hidden) {
    return Promise.resolve();
  }
  return new Promise((done) => {
    document.addEventListener("visibilitychange", () => done(), { once: true });
  });
}

async function ask(): Promise<void> {
  const options = { timeoutMs: PATIENCE };
  const first = now.layout.value === undefined;
  const has = now.layout.value?.token;
  let answer = has === undefined ? undefined : await web.getColumns({ layout: has, version }, options);
  const isSame = answer !== undefined && answer.layout === has;
  if (answer === undefined || !isSame) {
    // All at once: what the page does with a large layout leaves no time for answers that come later.
    const [message, page, found] = await Promise.all([web.getLayout({}, options), web.getPage({}, options), readHealth(options)]);
    const next = new Layout(message);
    answer = await web.getColumns({ layout: next.token, version: "" }, options);
    if (answer.layout !== next.token) {
      // It has changed again meanwhile: the next question asks for it.
      return;
    }
    const fresh = new Columns(next.ports);
    answer.columns.forEach((column) => fresh.take(column));
    batch(() => {
      [source.value, read.value, now.columns.value, now.layout.value, now.health.value] = [page, [], fresh, next, found];
      beat.value++;
    });
  } else if (now.columns.value !== undefined && answer.columns.length > 0) {
    const start = performance.now();
    const old = now.columns.value;
    answer.columns.forEach((column) => old.take(column));
    beat.value++;
    measured("weft-refresh", start);
  }
  const all = now.columns.value;
  version = answer.version;
  if (all !== undefined && answer.image !== 0n && answer.image !== image) {
    image = answer.image;
    const reading = { time: Date.now() / 1000, load: all.get(Kind.Load).slice() };
    read.value = [...read.value, reading].slice(-READINGS_MAX);
  }
  await readEvents(first ? "" : token, answer.resumeToken);
  const age = performance.now() - healthAsked;
  if (age > HEALTH_MAX_AGE || (isSame && answer.columns.length > 0 && age > PACE)) now.health.value = await readHealth(options);
}

/** Reads the page of health; none before the first one. */
async function readHealth(options: { timeoutMs: number }): Promise<GetHealthResponse | undefined> {
  const asked = performance.now();
  try {
    const page = await healthCalls.getHealth({}, options);
    healthAsked = asked;
    return page;
  } catch (error) {
    if (ConnectError.from(error).code === Code.Unavailable) return undefined;
    throw error;
  }
}

/** Reads the events from one place up to another: a short stream, so that no connection is held for long. */
async function readEvents(from: string, to: string): Promise<void> {
  if (from === "" || from === to) {
    token = to;
    return;
  }
  const patience = AbortSignal.timeout(PATIENCE);
  const fresh: Told[] = [];
  try {
    for await (const message of watchCalls.watch({ resumeToken: from }, { signal: patience })) {
      if (message.content.case === "marker") {
        gap.value ||= message.content.value.gap;
        if (message.content.value.gap) {
          token = to;
          break;
        }
      } else {
        const line = told(message);
        if (line !== undefined) fresh.push(line);
      }
      // What comes after this is asked for again where the stream ends early.
      token = message.resumeToken;
      if (sequence(token) >= sequence(to)) break;
    }
  } finally {
    if (fresh.length > 0) {
      events.value = [...fresh.reverse(), ...events.value].slice(0, EVENTS_MAX);
      healthAsked = Math.min(healthAsked, performance.now() - HEALTH_MAX_AGE + PACE);
    }
  }
}

function sequence(token: string): number {
  return Number(token.split("-")[1] ?? 0);
}

effect(() => {
  const [name, page] = [source.value?.instance, now.health.value];
  const sign = page === undefined ? "" : `${colorWords(page.color).sign} `;
  document.title = lost.value !== undefined ? "no answer – Weft" : name === undefined ? "Weft" : `${sign}${name} – Weft`;
});

/** The theme that was chosen; none follows the system. */
export const theme = signal(localStorage.getItem("theme") ?? "");
/** Goes up when the system's theme changes, and when the page is printed. */
export const scheme = signal(0);
for (const media of ["(prefers-color-scheme: dark)", "print"]) matchMedia(media).addEventListener("change", () => scheme.value++);
effect(() => {
  scheme.value;
  document.documentElement.dataset["theme"] = isPaper() ? "light" : theme.value;
  localStorage.setItem("theme", theme.value);
});
