// A host that is missing: what the switch at the other end of its cable tells, where that is still there.
import { moment } from "./address";
import { Cable } from "./cable";
import { Counters } from "./counters";
import { type Layout, NO_PEER } from "./fabric";
import { kindOf, Shade } from "./kinds";
import { Quarantine } from "./quarantine";
import { shades } from "./store";
import { PortName } from "./tables";

/** The port at the other end of the cable of a missing host, which may be missing too; none of a node that is there, or whose cable is not known. */
export function otherEnd(nodes: Layout, node: number): number | undefined {
  const [first, end] = [nodes.first[node], nodes.first[node + 1]];
  if (nodes.isSwitch(node) || first === end || shades.value[first] !== Shade.Gone) return undefined;
  return nodes.peers.subarray(first, end).find((peer) => peer !== NO_PEER);
}

/** What is known of the other end. */
export function OtherEnd({ nodes, port }: { nodes: Layout; port: number }) {
  const [guid, number] = [nodes.guids[nodes.nodeOf[port]], nodes.number(port)];
  if (shades.value[port] === Shade.Gone) {
    return (
      <>
        <h2>The other end of its cable</h2>
        <p>The host is missing, and so is the switch to which its cable led: <PortName nodes={nodes} port={port} />. Look for what is wrong with that switch first.</p>
      </>
    );
  }
  return (
    <>
      <h2>The other end of its cable</h2>
      <p>The host is missing, so nothing is read from it. Its cable led to <PortName nodes={nodes} port={port} />: <b class="bad">{kindOf(shades.value[port]).name}</b>. This is what the switch tells of that port:</p>
      <Counters guid={guid} number={number} />
      {moment.value === undefined && <Cable guid={guid} number={number} />}
      {moment.value === undefined && <Quarantine guid={guid} number={number} />}
    </>
  );
}
