// One virtual fabric: its settings, members, and the ports that carry its packets.
import type { PortCounters } from "../gen/weft/v1/counters_pb";
import type { VirtualFabric, VirtualFabricMember } from "../gen/weft/v1/virtual_fabric_pb";
import { addressOf } from "./address";
import { fabricCalls } from "./api";
import { Cables, placeOf } from "./cables";
import { counterCalls } from "./calls";
import { type Layout, NO_PEER } from "./fabric";
import { OfNow } from "./groups";
import { flitRate } from "./lanes";
import { usePolled } from "./poll";
import { saveCsv } from "./save";
import { SaveTable } from "./saving";
import { layout } from "./store";
import { guidText, many } from "./words";

/** Time from one reading to the next, milliseconds: of settings and members, and of counters. */
const [PACE, PACE_COUNTERS] = [30_000, 5_000];
/** Members that are read, ports that are read, and rows of a table. */
const [MEMBERS_MAX, PORTS_MAX, ROWS_MAX] = [10_000, 200, 200];

export function VirtualFabricView({ name }: { name: string }) {
  const { answer, failed } = usePolled((options) => fabricCalls.listVirtualFabrics({}, options), PACE, [name]);
  const one = answer?.virtualFabrics.find((fabric) => fabric.name === name);
  return (
    <section class="alone">
      <p><a href={addressOf({ kind: "groups" })}>All virtual fabrics and multicast groups</a></p>
      <h1><bdi>{name}</bdi> <span class="quiet">virtual fabric</span></h1>
      <OfNow />
      {failed !== "" && <p class="bad" role="alert"><bdi>{failed}</bdi></p>}
      {answer !== undefined && one === undefined && <p>No virtual fabric is called that.</p>}
      {one !== undefined && (
        <div class="columns">
          <div>
            <Members one={one} />
          </div>
          <div>
            <Settings one={one} />
            {!one.standby && <Carrying name={name} />}
          </div>
        </div>
      )}
    </section>
  );
}

function Settings({ one }: { one: VirtualFabric }) {
  const rows: [string, string][] = [
    ["P_Key", `0x${one.pkey.toString(16).padStart(4, "0")}`],
    ["State", one.standby ? "on standby: it carries no traffic, and no port has its key" : "in force"],
    ["Members", `${one.fullMembers.toLocaleString("en")} full, ${one.limitedMembers.toLocaleString("en")} limited`],
    ["Security", one.security ? "limited members do not reach each other, and switches check keys" : "none: every member is a full one"],
    ["Service level", one.sl === one.multicastSl ? `${one.sl}` : `${one.sl}, ${one.multicastSl} for multicast`],
    ["Bandwidth", one.highPriority ? "before all that has no high priority" : `${one.bandwidthPercent} % of each link, with all of the same QoS group`],
    ["QoS group", `${one.qosIndex}${one.qos ? ", of its own" : ""}`],
    ["Largest packet", one.maxMtu === 0 ? "as links allow" : `${one.maxMtu} bytes`],
    ["Highest rate", one.maxRateMbps === 0 ? "as links allow" : `${(one.maxRateMbps / 1_000).toFixed(1)} Gb/s`],
    ["Preemption rank", `${one.preemptionRank}`],
    ["Flow control", one.flowControlDisabled ? "off" : "on"],
    ["Head-of-line lifetime", `${(4.096e-3 * 2 ** one.hoqLife).toPrecision(4)} ms`],
    ["Packet lifetime", one.lifetimeIncrement === 0 ? "that of the fabric" : `${2 ** one.lifetimeIncrement} times that of the fabric`],
  ];
  return (
    <>
      <h2>Settings</h2>
      <div class="scroll" tabIndex={0} role="region" aria-label="Settings">
        <table>
          <thead><tr><th scope="col">Setting</th><th scope="col">Value</th></tr></thead>
          <tbody>{rows.map(([what, value]) => <tr key={what}><td>{what}</td><td>{value}</td></tr>)}</tbody>
        </table>
        <SaveTable name={`settings of ${one.name}`} />
      </div>
      <h2>Levels, channels and lanes</h2>
      <div class="scroll" tabIndex={0} role="region" aria-label="Levels, channels and lanes">
        <table>
          <thead><tr><th scope="col" class="number">SL</th><th scope="col" class="number">SC</th><th scope="col" class="number">VL</th></tr></thead>
          <tbody>
            {one.levels.map((level, key) => <tr key={key}><td class="number">{level.sl}</td><td class="number">{level.confirmed ? level.sc : "not read"}</td><td class="number">{level.confirmed ? level.vl : "not read"}</td></tr>)}
          </tbody>
        </table>
        <SaveTable name={`lanes of ${one.name}`} />
      </div>
      <p class="quiet">As the port of the manager sends them.</p>
    </>
  );
}

function Members({ one }: { one: VirtualFabric }) {
  const { answer, failed } = usePolled((options) => fabricCalls.listVirtualFabricMembers({ name: one.name, pageSize: MEMBERS_MAX }, options), PACE, [one.name]);
  const nodes = layout.value;
  const members = answer?.members ?? [];
  if (nodes === undefined) return null;
  const all = one.fullMembers + one.limitedMembers;
  const full = new Set(members.flatMap((member) => (member.full ? nodes.find(member.port?.port?.nodeGuid ?? 0n) ?? [] : [])));
  const row = (member: VirtualFabricMember) => [member.port?.nodeName ?? "", member.port?.port?.port ?? 0, guidText(member.port?.port?.nodeGuid ?? 0n), member.full ? "full" : "limited", member.deviceGroups.join(" ")];
  return (
    <>
      <h2>Members <span class="quiet">{all.toLocaleString("en")}</span></h2>
      {failed !== "" && <p class="quiet">{failed}</p>}
      {answer !== undefined && members.length === 0 && <p class="quiet">It has none.</p>}
      {members.length > 0 && (
        <>
          <Cables nodes={nodes} ports={cablesOf(nodes, members)} all={answer?.nextPageToken ? all : undefined} marked={full} marks="full member" name={`members of ${one.name}`} />
          <div class="scroll tall" tabIndex={0} role="region" aria-label="Members">
            <table>
              <thead><tr><th scope="col">Node</th><th scope="col" class="number">Port</th><th scope="col">Member</th><th scope="col">By device groups</th></tr></thead>
              <tbody>
                {members.slice(0, ROWS_MAX).map((member, key) => (
                  <tr key={key}>
                    <td><a href={addressOf({ kind: "focus", guid: member.port?.port?.nodeGuid ?? 0n, port: 0 })}><bdi>{member.port?.nodeName}</bdi></a></td>
                    <td class="number">{member.port?.port?.port}</td>
                    <td>{member.full ? "full" : "limited"}</td>
                    <td><bdi>{member.deviceGroups.join(", ")}</bdi></td>
                  </tr>
                ))}
              </tbody>
            </table>
            <button type="button" class="more" onClick={() => saveCsv(`members of ${one.name}`, [["node", "port", "GUID", "member", "device groups"], ...members.map(row)])}>Save {members.length === all ? "all" : "the first"} {members.length.toLocaleString("en")} as CSV</button>
            {all > ROWS_MAX && <p class="quiet">{many(all - Math.min(members.length, ROWS_MAX), "member")} more</p>}
          </div>
        </>
      )}
    </>
  );
}

/** Cables between members and their switches, each by one port. */
function cablesOf(nodes: Layout, members: VirtualFabricMember[]): number[] {
  const found = new Set<number>();
  for (const member of members) {
    const node = nodes.find(member.port?.port?.nodeGuid ?? 0n);
    // A switch is a member by its port 0, which has no cable.
    if (node === undefined || nodes.isSwitch(node)) continue;
    const port = placeOf(nodes, nodes.guids[node], member.port?.port?.port ?? 0);
    if (port !== undefined && nodes.peers[port] !== NO_PEER) found.add(port);
  }
  return [...found];
}

/** The ports that carry its packets, those that send most first. */
function Carrying({ name }: { name: string }) {
  const { answer, failed } = usePolled((options) => counterCalls.listVirtualFabricPorts({ name, limit: PORTS_MAX }, options), PACE_COUNTERS, [name]);
  if (answer === undefined) return failed === "" ? null : <><h2>Ports that carry it</h2><p class="quiet"><bdi>{failed}</bdi></p></>;
  return (
    <>
      <h2>Ports that carry it <span class="quiet">{answer.carrying.toLocaleString("en")}</span></h2>
      <p class="quiet">Those that send most on its lanes; virtual fabrics that share lanes share their counters.</p>
      <div class="scroll tall" tabIndex={0} role="region" aria-label="Ports that carry it">
        <table class="named">
          <thead><tr><th scope="col">Port</th><th scope="col">VL</th><th scope="col" class="number">Sends</th><th scope="col" class="number">Receives</th><th scope="col" class="number">Dropped</th></tr></thead>
          <tbody>{answer.ports.map((port, key) => <Row key={key} port={port} />)}</tbody>
        </table>
        <SaveTable name={`ports that carry ${name}`} />
        {answer.carrying > answer.ports.length && <p class="quiet">{many(answer.carrying - answer.ports.length, "port")} more</p>}
      </div>
    </>
  );
}

function Row({ port }: { port: PortCounters }) {
  const own = port.virtualFabrics[0];
  const id = port.port?.port;
  const lanes = Array.from({ length: 32 }, (_, vl) => vl).filter((vl) => (((own?.vls ?? 0) >>> vl) & 1) === 1);
  const dropped = own?.totals?.xmitDiscards ?? 0n;
  return (
    <tr class={dropped > 0n ? "wrong" : ""}>
      <td><a href={addressOf({ kind: "focus", guid: id?.nodeGuid ?? 0n, port: id?.port ?? 0 })}><bdi>{port.port?.nodeName}</bdi> port {id?.port}</a></td>
      <td>{lanes.join(", ")}</td>
      <td class="number">{flitRate(own?.rates?.xmitData)}</td>
      <td class="number">{flitRate(own?.rates?.rcvData)}</td>
      <td class="number">{dropped.toLocaleString("en")}</td>
    </tr>
  );
}
