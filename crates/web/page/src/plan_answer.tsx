// What a plan means in plain words: whether it is safe, who feels it and for how long, and what was left undone.
import { type Operation, OperationKind, OperationState } from "../gen/weft/v1/operation_pb";
import type { RoutePlan, TrafficPattern } from "../gen/weft/v1/route_pb";
import { Kind, type Layout, NO_PEER, UNKNOWN } from "./fabric";
import { percent } from "./kinds";
import { plainly } from "./plainly";
import { columns, layout } from "./store";
import { isRefused, many, shortName } from "./words";

/** Hosts and devices that are named before one asks for more. */
const NAMED_MAX = 8;

/** What a sweep says of a device that has not confirmed everything. */
const SLOW = /(0x[0-9a-f]{16})\)? did not take all of its settings$/;

/** The sentence that a plan begins with. */
export function Answer({ one }: { one: Operation }) {
  const { plan, state } = one;
  const nodes = layout.value;
  const node = nodes === undefined ? undefined : switchOf(nodes, one);
  if (isRefused(one)) {
    return <div class="answer"><p><b class="bad">The drain is refused:</b> nothing was changed.</p>{nodes !== undefined && node !== undefined && <HostsAt nodes={nodes} node={node} />}</div>;
  }
  if (plan === undefined || state !== OperationState.PLANNED) return null;
  const cut = plan.certificate?.disconnected;
  return (
    <div class="answer">
      {cut === 0n ? <p><b class="calm">Nobody loses a connection:</b> every host still reaches every other one. {feltText(plan)}</p> : <p><b class="bad">{cut === undefined ? "It is not proved that everything is still reached." : `With these routes ${many(Number(cut), "pair of a switch and a host has", "pairs of a switch and a host have")} no way to each other.`}</b> {feltText(plan)}</p>}
      <p>{afterText(plan)} {nodes !== undefined && node !== undefined && loadText(nodes, node)}</p>
    </div>
  );
}

/** What packets feel while tables are written. */
function feltText({ dropping, changedLevels }: RoutePlan): string {
  const levels = changedLevels > 0 ? " Connections that are open to some hosts keep a service level that the proof does not cover." : "";
  if (dropping === 0n) return `No packet is dropped while it is written.${levels}`;
  return `While its sweep writes the tables, packets on ${many(Number(dropping), "route")} are dropped until their switch is written; reliable connections send them again.${levels}`;
}

/** What is left of the bandwidth of hosts, in the pattern that loses most. */
function afterText({ before, after }: RoutePlan): string {
  if (before === undefined || after === undefined) return "";
  const share = (now: TrafficPattern | undefined, then: TrafficPattern | undefined) => (now === undefined || then === undefined || now.bandwidth === 0 ? 1 : then.bandwidth / now.bandwidth);
  const least = Math.min(share(before.shifts, after.shifts), share(before.permutations, after.permutations), share(before.bisection, after.bisection));
  return least > 0.9995 ? "Afterwards hosts have the bandwidth that they have now." : `Afterwards hosts have ${(least * 100).toFixed(1)} % of the bandwidth that they have now, in the worst of three patterns of traffic.`;
}

/** What the switch carries now. */
function loadText(nodes: Layout, node: number): string {
  const load = columns.value?.get(Kind.Load).subarray(nodes.first[node], nodes.first[node + 1]);
  const busiest = load?.reduce((most, one) => (one === UNKNOWN ? most : Math.max(most, one)), -1) ?? -1;
  return busiest < 0 ? "" : `Its busiest port sends ${percent(busiest)} now: that goes over other links then.`;
}

/** The switch that is to be drained, by the GUID that its description ends with. */
function switchOf(nodes: Layout, { kind, what }: Operation): number | undefined {
  const guid = /^drain switch .*\((0x[0-9a-f]{16})\)$/.exec(what)?.[1];
  return kind !== OperationKind.DRAIN || guid === undefined ? undefined : nodes.find(BigInt(guid));
}

/** The hosts at a switch, by name. */
export function HostsAt({ nodes, node }: { nodes: Layout; node: number }) {
  const peers = [...nodes.peers.subarray(nodes.first[node], nodes.first[node + 1])].filter((peer) => peer !== NO_PEER);
  const hosts = peers.map((peer) => nodes.nodeOf[peer]).filter((other) => !nodes.isSwitch(other));
  if (hosts.length === 0) return null;
  return <Named title={`${many(hosts.length, "host")} at it`} names={hosts.map((host) => shortName(nodes, host))} />;
}

/** Names, most of them folded where there are many. */
function Named({ title, names }: { title: string; names: string[] }) {
  if (names.length <= NAMED_MAX) return <p>{title}: <bdi>{names.join(", ")}</bdi></p>;
  return <details><summary>{title}: <bdi>{names.slice(0, NAMED_MAX).join(", ")}</bdi> and {names.length - NAMED_MAX} more</summary><p><bdi>{names.slice(NAMED_MAX).join(", ")}</bdi></p></details>;
}

/** What was left undone: names of devices that were slow, and the rest in the words of the daemon. */
export function undone(text: string, nodes: Layout | undefined): { slow: string[]; rest: string[] } {
  const [slow, rest]: [string[], string[]] = [[], []];
  for (const part of text.split("; ")) {
    const guid = SLOW.exec(part)?.[1];
    guid === undefined ? rest.push(plainly(part, nodes)) : slow.push(plainly(guid, nodes));
  }
  return { slow, rest };
}

/** What the daemon has against a change, or what its sweep left undone: many devices that were slow are one line. */
export function Errors({ text, inForce }: { text: string; inForce: boolean }) {
  const { slow, rest } = undone(text, layout.value);
  return (
    <div class={inForce ? "" : "bad"} role="alert">
      {slow.length > 0 && <Named title={`${many(slow.length, "device was", "devices were")} slow, and the next sweep asks again`} names={slow} />}
      {rest.map((part, key) => <p key={key}><bdi>{part}</bdi></p>)}
    </div>
  );
}
