// The ways from one node to another: hop by hop, on every LID, with the load of each link.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { GetRouteResponse, Hop, Path } from "../gen/weft/v1/route_pb";
import { addressOf, go } from "./address";
import { PATIENCE, routeCalls, whyOf } from "./api";
import { Kind, type Layout, UNKNOWN } from "./fabric";
import { isWrong, kindOf, percent, rampOf, Shade } from "./kinds";
import { colorOf, css, isDark } from "./palette";
import { at } from "./past";
import { Picker } from "./search";
import { beat, columns, layout, scheme, shades, theme } from "./store";
import { guidText } from "./words";

/** Paths that are shown: one for each LID of the ends. */
const PATHS_MAX = 64;

export function RouteView({ from, to }: { from: bigint; to: bigint }) {
  const nodes = layout.value;
  const answer = useSignal<GetRouteResponse | undefined>(undefined);
  const failed = useSignal("");
  useEffect(() => {
    const ended = new AbortController();
    [answer.value, failed.value] = [undefined, ""];
    if (from !== 0n && to !== 0n) {
      const request = { source: `nodeguid:${guidText(from)}`, destination: `nodeguid:${guidText(to)}`, ...at() };
      routeCalls.getRoute(request, { timeoutMs: PATIENCE, signal: ended.signal }).then(
        (found) => (answer.value = found),
        (error: unknown) => {
          if (!ended.signal.aborted) failed.value = whyOf(error);
        },
      );
    }
    return () => ended.abort();
  }, [from, to, nodes]);
  const found = answer.value?.routes[0];
  return (
    <section class="alone">
      <h1>Route</h1>
      <div class="ends">
        <End nodes={nodes} id="from" label="From" guid={from} choose={(guid) => go({ kind: "route", from: guid, to })} />
        <End nodes={nodes} id="to" label="To" guid={to} choose={(guid) => go({ kind: "route", from: from === 0n ? guid : from, to: from === 0n ? 0n : guid })} />
        {from !== 0n && to !== 0n && <a class="chip" href={addressOf({ kind: "route", from: to, to: from })}>the way back</a>}
      </div>
      {(from === 0n || to === 0n) && <p class="quiet">Name two nodes: the links that packets take between them are shown, on every LID that both have.</p>}
      {failed.value !== "" && <p class="bad" role="alert">{failed.value}</p>}
      {nodes !== undefined && found !== undefined && (
        <>
          <p class="quiet">{found.paths.length} {found.paths.length === 1 ? "path" : "paths"}, from the tables that the switches have confirmed. The number in each link is its load, as of the last reading of the counters.</p>
          <ol class="paths">
            {found.paths.slice(0, PATHS_MAX).map((path) => <Way key={`${path.sourceLid}-${path.destinationLid}`} nodes={nodes} path={path} />)}
          </ol>
          {found.paths.length > PATHS_MAX && <p class="quiet">Shown are the first {PATHS_MAX}.</p>}
        </>
      )}
      {answer.value !== undefined && found === undefined && <p class="bad">No route is known between them.</p>}
    </section>
  );
}

function End({ nodes, id, label, guid, choose }: { nodes: Layout | undefined; id: string; label: string; guid: bigint; choose(guid: bigint): void }) {
  const node = guid === 0n ? undefined : nodes?.find(guid);
  return (
    <div class="end">
      <p>
        <b>{label}</b>{" "}
        {node !== undefined && nodes !== undefined ? <a href={addressOf({ kind: "focus", guid, port: 0 })}><bdi>{nodes.names[node]}</bdi></a> : <span class="quiet">{guid === 0n ? "nobody yet" : `${guidText(guid)}, not in the fabric`}</span>}
      </p>
      <Picker id={id} label={`${label}: name, GUID or LID`} hint="Name, GUID or LID" slash={false} choose={choose} />
    </div>
  );
}

function Way({ nodes, path }: { nodes: Layout; path: Path }) {
  beat.value;
  scheme.value;
  return (
    <li>
      <p class="quiet">LID {path.sourceLid} to LID {path.destinationLid}, {path.hops.length} links{!path.complete && <b class="bad">: packets do not arrive: {path.incompleteReason}</b>}</p>
      <div class="hops">
        {path.hops.map((hop, at) => <Link key={at} nodes={nodes} hop={hop} />)}
        <Name guid={path.hops.at(-1)?.to?.port?.nodeGuid ?? 0n} nodes={nodes} name={path.hops.at(-1)?.to?.nodeName ?? ""} />
      </div>
    </li>
  );
}

/** A node and the link by which packets leave it. */
function Link({ nodes, hop }: { nodes: Layout; hop: Hop }) {
  const [guid, number] = [hop.from?.port?.nodeGuid ?? 0n, hop.from?.port?.port ?? 0];
  const node = nodes.find(guid);
  const port = node === undefined ? -1 : nodes.first[node] + number - 1;
  const shade = shades.value[port] ?? Shade.Unknown;
  const load = columns.value?.get(Kind.Load)[port] ?? UNKNOWN;
  const color = css(colorOf(isWrong(shade) ? shade : rampOf(load), isDark(theme.value)));
  return (
    <>
      <Name guid={guid} nodes={nodes} name={hop.from?.nodeName ?? ""} />
      <a class="hop" href={addressOf({ kind: "focus", guid, port: number })} title={`port ${number}, ${hop.rate}, ${kindOf(shade).name}`} style={{ borderBottomColor: color }}>
        {number} <span class="quiet">{isWrong(shade) ? kindOf(shade).name : load === UNKNOWN ? hop.rate : percent(load)}</span> {hop.to?.port?.port}
      </a>
    </>
  );
}

function Name({ nodes, guid, name }: { nodes: Layout; guid: bigint; name: string }) {
  const known = nodes.find(guid) !== undefined;
  return known ? <a class="stop" href={addressOf({ kind: "focus", guid, port: 0 })}><bdi>{name}</bdi></a> : <span class="stop"><bdi>{name}</bdi></span>;
}
