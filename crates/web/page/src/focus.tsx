// One node or one of its ports: what it is, its neighbours, its counters, what is wrong with it and what happened to it.
import { HealthColor } from "../gen/weft/v1/health_pb";
import { addressOf, moment } from "./address";
import { Changes } from "./changes";
import { LoadChart } from "./chart";
import { Counters } from "./counters";
import { type Layout, NO_PEER, NO_TIER } from "./fabric";
import { One } from "./health";
import { kept } from "./history";
import { Events } from "./happened";
import { HistoryLines } from "./history_lines";
import { isWrong, kindOf, Shade } from "./kinds";
import { Cable, NodeCables } from "./cable";
import { OtherEnd, otherEnd } from "./missing";
import { Neighbours } from "./neighbours";
import { DrainOf } from "./plans";
import { PortOrders } from "./port_orders";
import { NodeQuarantine, Quarantine } from "./quarantine";
import { health, layout, readings, shades } from "./store";
import { NodePorts, PortName } from "./tables";
import { Since } from "./timeline";
import { guidText } from "./words";

export function Focus({ guid, port }: { guid: bigint; port: number }) {
  const nodes = layout.value;
  const node = nodes?.find(guid);
  if (nodes === undefined) {
    return <section class="alone"><p class="quiet">reading the fabric…</p></section>;
  }
  if (node === undefined) {
    return (
      <section class="alone">
        <h1>Not in the fabric</h1>
        <p>No node with the GUID <code>{guidText(guid)}</code> is known. <a href={addressOf({ kind: "overview", paint: "state" })}>Show the whole fabric</a></p>
      </section>
    );
  }
  const many = nodes.first[node + 1] - nodes.first[node];
  const number = port > 0 && port <= many ? port : many === 1 ? 1 : 0;
  const at = number === 0 ? -1 : nodes.first[node] + number - 1;
  const other = otherEnd(nodes, node);
  if (other !== undefined || shades.value[nodes.first[node]] === Shade.Gone) return <Missing nodes={nodes} node={node} other={other} />;
  return (
    <section class="focus">
      <header>
        <h1>
          <a href={addressOf({ kind: "focus", guid, port: 0 })}><bdi>{nodes.names[node]}</bdi></a>
          {port > 0 && port <= many && <> port {number}</>}
        </h1>
        <Facts nodes={nodes} node={node} />
        {!nodes.isSwitch(node) && <p><a href={addressOf({ kind: "route", from: guid, to: 0n, beside: "" })}>Routes from here</a></p>}
        {nodes.isSwitch(node) && moment.value === undefined && <DrainOf guid={guid} port={number} />}
      </header>
      <div class="columns">
        <div>
          {at >= 0 && <PortFacts nodes={nodes} at={at} />}
          <h2>Neighbours</h2>
          <Neighbours nodes={nodes} node={node} chosen={number} />
          {kept.value !== undefined && <HistoryLines guid={guid} number={number} title={`${nodes.names[node]}${number > 0 ? ` port ${number}` : ""}`} />}
          <Counters guid={guid} number={number} />
          {moment.value === undefined && (at >= 0 ? <Cable guid={guid} number={number} /> : <NodeCables nodes={nodes} node={node} />)}
        </div>
        <div>
          <Wrong guid={guid} number={port > 0 ? number : 0} />
          {moment.value === undefined && (at >= 0 ? <Quarantine guid={guid} number={number} /> : <NodeQuarantine guid={guid} />)}
          <Changes guid={guid} number={number} />
          <h2>What happened <Since /></h2>
          <Events most={20} about={guid} />
          <h2>Ports <span class="quiet">{many}</span></h2>
          <NodePorts nodes={nodes} node={node} chosen={number} />
        </div>
      </div>
    </section>
  );
}

/** A node that is missing; a host with what its switch tells. */
function Missing({ nodes, node, other }: { nodes: Layout; node: number; other: number | undefined }) {
  const guid = nodes.guids[node];
  return (
    <section class="focus">
      <header>
        <h1><bdi>{nodes.names[node]}</bdi></h1>
        <Facts nodes={nodes} node={node} />
      </header>
      <div class="columns">
        <div>
          {other !== undefined && <OtherEnd nodes={nodes} port={other} />}
          <h2>Neighbours</h2>
          <Neighbours nodes={nodes} node={node} chosen={0} />
        </div>
        <div>
          <Wrong guid={guid} number={0} />
          <Changes guid={guid} number={0} />
          <h2>What happened <Since /></h2>
          <Events most={20} about={guid} />
        </div>
      </div>
    </section>
  );
}

function Facts({ nodes, node }: { nodes: Layout; node: number }) {
  const tier = nodes.tiers[node];
  const own = shades.value.subarray(nodes.first[node], nodes.first[node + 1]);
  const wrong = own.filter(isWrong).length;
  const active = own.filter((shade) => shade === Shade.Active).length;
  return (
    <p class="facts">
      {tier === 0 ? "host" : tier === NO_TIER ? "switch without a way to hosts" : `switch of tier ${tier}`}
      {nodes.pods[node] > 0 && `, pod ${nodes.pods[node]}`} · GUID <code>{guidText(nodes.guids[node])}</code>{nodes.lids[node] > 0 && <> · LID <code>{nodes.lids[node]}</code></>} · {active} of {own.length} ports active{wrong > 0 && <b class="bad">, {wrong} in trouble</b>}
    </p>
  );
}

function PortFacts({ nodes, at }: { nodes: Layout; at: number }) {
  const peer = nodes.peers[at];
  const { name, what } = kindOf(shades.value[at]);
  const label = (port: number) => `${nodes.names[nodes.nodeOf[port]]} port ${nodes.number(port)}`;
  const ends = peer === NO_PEER ? [at] : [at, peer];
  const isDown = ends.some((port) => shades.value[port] === Shade.Lost || shades.value[port] === Shade.Gone);
  return (
    <>
      <h2>Port {nodes.number(at)}</h2>
      <p><b class={isWrong(shades.value[at]) ? "bad" : ""}>{name}</b>: {what}.{peer !== NO_PEER && <> The cable {isDown ? "led" : "leads"} to <PortName nodes={nodes} port={peer} />.</>}</p>
      <PortOrders nodes={nodes} at={at} />
      {readings.value.length > 0 && <LoadChart ports={ends} names={ends.map(label)} />}
    </>
  );
}

function Wrong({ guid, number }: { guid: bigint; number: number }) {
  const isIts = (place: { nodeGuid: bigint; port: number } | undefined) => place?.nodeGuid === guid && (number === 0 || place.port === 0 || place.port === number);
  const found = health.value?.findings.filter((finding) => finding.color !== HealthColor.GREEN && (isIts(finding.a) || isIts(finding.b))) ?? [];
  return (
    <>
      <h2>What is wrong with it</h2>
      {found.length === 0 ? <p class="calm">Nothing is found wrong.</p> : <ol class="findings">{found.map((finding, key) => <One key={key} finding={finding} />)}</ol>}
    </>
  );
}
