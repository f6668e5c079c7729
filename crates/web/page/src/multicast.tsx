// One multicast group: what it is, its members, and its tree.
import { addressOf } from "./address";
import { groupCalls } from "./api";
import { Cables, placeOf } from "./cables";
import { OfNow } from "./groups";
import { groupWords } from "./named";
import { usePolled } from "./poll";
import { SaveTable } from "./saving";
import { layout } from "./store";
import type { GetMulticastGroupResponse, MulticastGroup, MulticastLink, MulticastMember } from "../gen/weft/v1/multicast_pb";
import type { NamedPort } from "../gen/weft/v1/types_pb";
import { many } from "./words";

/** Time from one reading to the next, milliseconds. */
const PACE = 5_000;
/** Rows of a table. */
const ROWS_MAX = 200;

export function GroupView({ mgid }: { mgid: string }) {
  const { answer, failed } = usePolled((options) => groupCalls.getMulticastGroup({ mgid }, options), PACE, [mgid]);
  const words = groupWords(mgid);
  return (
    <section class="alone">
      <p><a href={addressOf({ kind: "groups" })}>All virtual fabrics and multicast groups</a></p>
      <h1><code>{mgid}</code> <span class="quiet">multicast group{words && `, ${words}`}</span></h1>
      <OfNow />
      {failed !== "" && <p class="bad" role="alert"><bdi>{failed}</bdi></p>}
      {answer?.group !== undefined && <Known answer={answer} group={answer.group} />}
    </section>
  );
}

function Known({ answer, group }: { answer: GetMulticastGroupResponse; group: MulticastGroup }) {
  const nodes = layout.value;
  if (nodes === undefined) return null;
  const ports = answer.tree.flatMap(({ a }) => placeOf(nodes, a?.port?.nodeGuid ?? 0n, a?.port?.port ?? 0) ?? []);
  const members = new Set(answer.members.flatMap(({ port }) => nodes.find(port?.port?.nodeGuid ?? 0n) ?? []));
  return (
    <>
      <p class="facts">
        MLID <code>0x{group.mlid.toString(16)}</code> · P_Key <code>0x{group.pkey.toString(16).padStart(4, "0")}</code> · Q_Key <code>0x{group.qKey.toString(16).padStart(8, "0")}</code> · SL {group.sl} · packets up to {group.mtu} bytes · {group.rate} · {group.permanent ? "stays without members" : "ends with its last member"}
      </p>
      <div class="columns">
        <div>
          <h2>Tree</h2>
          {answer.links === 0 ? <p class="quiet">{group.members === 0 ? "Nobody has joined, and no switch sends its packets anywhere." : "No switch sends its packets anywhere yet."}</p> : (
            <>
              <p class="quiet">{many(answer.links, "link")} on which switches send its packets, from the tables that they have confirmed.</p>
              <Cables nodes={nodes} ports={ports} all={answer.links} marked={members} marks="member" name={`tree of ${group.mgid}`} />
              <Tree links={answer.tree} all={answer.links} name={group.mgid} />
            </>
          )}
        </div>
        <div>
          <h2>Members <span class="quiet">{group.members.toLocaleString("en")}</span></h2>
          {answer.members.length === 0 ? <p class="quiet">Nobody has joined.</p> : <Members members={answer.members} all={group.members} name={group.mgid} />}
        </div>
      </div>
    </>
  );
}

function Port({ port }: { port: NamedPort | undefined }) {
  const [guid, number] = [port?.port?.nodeGuid ?? 0n, port?.port?.port ?? 0];
  return <a href={addressOf({ kind: "focus", guid, port: number })}><bdi>{port?.nodeName}</bdi> port {number}</a>;
}

function Members({ members, all, name }: { members: MulticastMember[]; all: number; name: string }) {
  return (
    <div class="scroll tall" tabIndex={0} role="region" aria-label="Members">
      <table>
        <thead><tr><th scope="col">Port</th><th scope="col">Takes part</th><th scope="col">GID</th></tr></thead>
        <tbody>
          {members.slice(0, ROWS_MAX).map((member) => (
            <tr key={member.gid}>
              <td>{member.port === undefined ? <span class="bad">not in the fabric</span> : <Port port={member.port} />}</td>
              <td>{member.sendsOnly ? "sends only" : member.full ? "full member" : "receives"}</td>
              <td><code>{member.gid}</code></td>
            </tr>
          ))}
        </tbody>
      </table>
      <SaveTable name={`members of ${name}`} />
      {all > ROWS_MAX && <p class="quiet">{many(all - ROWS_MAX, "member")} more</p>}
    </div>
  );
}

function Tree({ links, all, name }: { links: MulticastLink[]; all: number; name: string }) {
  return (
    <details>
      <summary>The same as a table</summary>
      <div class="scroll tall" tabIndex={0} role="region" aria-label="Links of the tree">
        <table>
          <thead><tr><th scope="col">One end</th><th scope="col">Other end</th><th scope="col">Packets go</th></tr></thead>
          <tbody>
            {links.slice(0, ROWS_MAX).map(({ a, b, fromA, fromB }, key) => (
              <tr key={key}><td><Port port={a} /></td><td><Port port={b} /></td><td>{fromA && fromB ? "both ways" : fromA ? "to the other end" : "to the first end"}</td></tr>
            ))}
          </tbody>
        </table>
        <SaveTable name={`tree of ${name}`} />
        {all > ROWS_MAX && <p class="quiet">{many(all - ROWS_MAX, "link")} more</p>}
      </div>
    </details>
  );
}
