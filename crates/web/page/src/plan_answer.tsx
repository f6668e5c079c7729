// What a plan means in plain words: whether it is safe, who feels it and for how long, and what was left undone.
import { type Operation, OperationKind, OperationState } from "../gen/weft/v1/operation_pb";
import type { RoutePlan, TrafficPattern } from "../gen/weft/v1/route_pb";
import { Kind, type Layout, NO_PEER, UNKNOWN } from "./fabric";
import { percent } from "./kinds";
import { isOnlySlow, isRefused, refusedText, type Undone, undone } from "./operation_words";
import { plainly } from "./plainly";
import { columns, layout } from "./store";
import { many, shortName } from "./words";

/** Hosts and devices that are named before one asks for more. */
const NAMED_MAX = 8;

/** The sentence that a plan begins with. */
export function Answer({ one }: { one: Operation }) {
  const { plan, state } = one;
  const nodes = layout.value;
  const node = nodes === undefined ? undefined : switchOf(nodes, one);
  if (isRefused(one)) {
    const [lead, rest] = refusedText(one);
    return <div class="answer"><p><b class="bad">{lead}</b> {rest}</p>{nodes !== undefined && node !== undefined && <HostsAt nodes={nodes} node={node} />}</div>;
  }
  if (plan === undefined || state !== OperationState.PLANNED) return null;
  const cut = plan.certificate?.disconnected;
  return (
    <div class="answer">
      {cut === undefined ? (
        <p><b class="bad">It is not proved that everything is still reached.</b> {feltText(plan)}</p>
      ) : (
        <p><b class="calm">Nobody loses a connection:</b> {cut === 0n ? "every host still reaches every other one." : "all that cables connect is still reached."} {feltText(plan)}</p>
      )}
      {cut !== undefined && cut > 0n && <p>{uncabledText(cut)}, with or without this plan.</p>}
      <p>{afterText(plan)} {nodes !== undefined && node !== undefined && loadText(nodes, node)}</p>
    </div>
  );
}

/** What packets feel while tables are written. */
function feltText({ dropping, changedLevels }: RoutePlan): string {
  const levels = changedLevels > 0 ? " Connections that are open to some hosts keep a service level that the proof does not cover." : "";
  if (dropping === 0n) return `No packet is dropped while it is written.${levels}`;
  return `While its sweep writes the tables, ${droppingText(dropping)}; reliable connections send them again.${levels}`;
}

/** Entries that drop packets while tables are written. */
export function droppingText(entries: bigint): string {
  return many(Number(entries), "entry of a forwarding table drops packets until its switch is written", "entries of forwarding tables drop packets until their switch is written");
}

/** What no routes can connect. */
export function uncabledText(pairs: bigint): string {
  return `${many(Number(pairs), "pair of a switch and a LID is", "pairs of a switch and a LID are")} not connected by any cable`;
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

/** What the daemon has against a change, or what its sweep left undone. */
export function Errors({ text }: { text: string }) {
  return <div class={isOnlySlow(text) ? "" : "bad"} role="alert"><Left undone={undone(text, layout.value)} /></div>;
}

/** What sweeps before the last one have left undone. */
export function Note({ text }: { text: string }) {
  const left = undone(text, layout.value);
  if (left.slow.length === 0 && left.rest.length <= NAMED_MAX) return <p class="quiet"><bdi>{plainly(text, layout.value)}</bdi></p>;
  return <div class="quiet"><Left undone={left} /></div>;
}

/** Many devices that were slow are one line, and so is what is left of a long rest. */
function Left({ undone: { slow, rest, more } }: { undone: Undone }) {
  const lines = (parts: string[]) => parts.map((part, key) => <p key={key}><bdi>{part}</bdi></p>);
  return (
    <>
      {slow.length > 0 && <Named title={`${many(slow.length, "device was", "devices were")} slow, and the next sweep asks again`} names={slow} />}
      {lines(rest.slice(0, NAMED_MAX))}
      {rest.length > NAMED_MAX && <details><summary>and {rest.length - NAMED_MAX} more</summary>{lines(rest.slice(NAMED_MAX))}</details>}
      {more > 0 && <p>and {more} more that the daemon does not list</p>}
    </>
  );
}
