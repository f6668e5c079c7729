// When the node or the cable of each port changed last, as far back as events are known.
import { computed } from "@preact/signals";
import { moment, range, start } from "./address";
import { type Layout, NO_PEER, WHOLE } from "./fabric";
import { kept, looked } from "./history";
import { rampOf, Shade } from "./kinds";
import { layout, shades } from "./store";

/** Age that stands out nearly as much as none, milliseconds. */
const FRESH = 10_000;

/** Of ports with a change that is known: when the last one was. */
export const changed = computed(() => {
  const out = new Map<number, Date>();
  const nodes = layout.value;
  for (const event of nodes === undefined ? [] : looked.value) {
    const isLater = moment.value !== undefined && event.time > moment.value;
    if (nodes === undefined || !event.changes || event.guid === undefined || isLater) continue;
    for (const place of [{ guid: event.guid, port: event.port ?? 0 }, ...(event.also ?? [])]) {
      for (const port of portsOf(nodes, place.guid, place.port)) {
        if (!out.has(port)) out.set(port, event.time);
      }
    }
  }
  return out;
});

/** The port and the other end of its cable; all ports of a node where it is 0. */
function portsOf(nodes: Layout, guid: bigint, number: number): number[] {
  const node = nodes.find(guid);
  if (node === undefined) return [];
  const [first, end] = [nodes.first[node], nodes.first[node + 1]];
  if (number === 0) return Array.from({ length: end - first }, (_, at) => first + at);
  const port = first + number - 1;
  return port >= end ? [] : nodes.peers[port] === NO_PEER ? [port] : [port, nodes.peers[port]];
}

/** The kind of each port as it is painted by age: what changed last stands out most, and trouble keeps its own colour. */
export function aged(): Uint8Array {
  const out = shades.value.slice();
  const now = (moment.value ?? new Date()).getTime();
  const first = start.value?.getTime();
  const known = first !== undefined ? now - first : kept.value === undefined ? performance.now() : range.value * 1_000;
  const longest = Math.log1p(known / FRESH);
  out.forEach((shade, port) => {
    if (shade === Shade.Active) out[port] = rampOf(0);
  });
  for (const [port, time] of changed.value) {
    const share = 1 - Math.log1p(Math.max(0, now - time.getTime()) / FRESH) / longest;
    if (shades.value[port] === Shade.Active) out[port] = rampOf(Math.max(0, share) * WHOLE);
  }
  return out;
}
