// What a way back to a moment changes besides routes, and what stays other than it was.
import { timestampDate } from "@bufbuild/protobuf/wkt";
import type { RoutePlan } from "../gen/weft/v1/route_pb";
import type { NodeName, WayBack } from "../gen/weft/v1/route_back_pb";
import type { NamedPort } from "../gen/weft/v1/types_pb";
import { clock, guidText, many } from "./words";

/** Ports and nodes that are named at most. */
const SHOWN_MAX = 20;

export function Back({ back, plan }: { back: WayBack; plan: RoutePlan | undefined }) {
  const { moment, settings, drains, ports, portCount, portsGone } = back;
  const same = settings.length === 0 && drains.length === 0 && portCount === 0 && portsGone.length === 0;
  const nodes = (what: string, all: NodeName[], count: number) => count > 0 && <li>{many(count, "node")} {what}: <bdi>{all.slice(0, SHOWN_MAX).map(({ name, guid }) => name || guidText(guid)).join(", ")}</bdi>{count > Math.min(all.length, SHOWN_MAX) && ", …"}</li>;
  return (
    <>
      <h2>Besides routes</h2>
      {moment?.time !== undefined && <p class="quiet">As it was decided {clock(timestampDate(moment.time))}{moment.sweep > 0n && `, sweep ${moment.sweep}`}.</p>}
      <ul class="plain">
        {same && <li>settings of routes, drains and disabled ports are as they were then</li>}
        {settings.map((one) => <li key={one.element}><code>{one.element}</code>: <bdi>{one.before}</bdi> → <b><bdi>{one.after}</bdi></b></li>)}
        {drains.slice(0, SHOWN_MAX).map((one, key) => <li key={key}><bdi>{named(one.part)}</bdi> is {one.drained ? <b>drained</b> : <b>used again</b>}</li>)}
        {ports.slice(0, SHOWN_MAX).map((one, key) => <li key={key}><bdi>{named(one.port)}</bdi> is {one.disabled ? <b class="bad">disabled</b> : <b>enabled</b>}{(one.reason || one.author) && <> (<bdi>{[one.reason, one.author].filter(Boolean).join("; ")}</bdi>)</>}</li>)}
        {drains.length > SHOWN_MAX && <li>… and {many(drains.length - SHOWN_MAX, "drain")} more</li>}
        {portCount > SHOWN_MAX && <li>… and {many(portCount - SHOWN_MAX, "port")} more</li>}
        {portsGone.slice(0, SHOWN_MAX).map((one, key) => <li key={key} class="quiet"><bdi>{named(one)}</bdi> was disabled then and is not in the fabric any more</li>)}
        {portsGone.length > SHOWN_MAX && <li class="quiet">… and {many(portsGone.length - SHOWN_MAX, "port")} more</li>}
        {nodes("gone since", back.nodesGone, back.nodesGoneCount)}
        {nodes("new since", back.nodesNew, back.nodesNewCount)}
        {back.linksGoneCount + back.linksNewCount > 0 && <li>{many(back.linksGoneCount, "link")} gone since, {back.linksNewCount} new</li>}
        {plan?.unlikeThen !== undefined && <li>{plan.unlikeThen === 0n ? "all routes of then that are still possible are as they were" : `${many(Number(plan.unlikeThen), "route is", "routes are")} not as then: the fabric or its other settings are others`}</li>}
      </ul>
    </>
  );
}

function named(port: NamedPort | undefined): string {
  const number = port?.port?.port ?? 0;
  return `${port?.nodeName || guidText(port?.port?.nodeGuid ?? 0n)}${number > 0 ? ` port ${number}` : ""}`;
}
