// The ways from one node to another: hop by hop, on every LID, with the load of each link, what switches may choose in its place,
// lanes, and the ways that another engine would make beside them.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { ComponentChildren } from "preact";
import type { GetRouteResponse, Hop, HopChoice, Path, PathLevel } from "../gen/weft/v1/route_pb";
import type { LinkEnd } from "../gen/weft/v1/types_pb";
import { addressOf, go, moment } from "./address";
import { PATIENCE, PLAN_PATIENCE, whyOf } from "./api";
import { placeOf } from "./cables";
import { routeCalls } from "./calls";
import { Kind, type Layout, UNKNOWN } from "./fabric";
import { isWrong, kindOf, percent, rampOf, Shade } from "./kinds";
import { colorOf, css, isDark } from "./palette";
import { at, meansOfSpan } from "./past";
import { Picker } from "./search";
import { SaveTable } from "./saving";
import { beat, columns, layout, scheme, shades, source, theme } from "./store";
import { guidText, sentence } from "./words";

/** Paths that are shown: one for each LID of the ends. */
const PATHS_MAX = 64;

export function RouteView({ from, to, beside }: { from: bigint; to: bigint; beside: string }) {
  const nodes = layout.value;
  const known = useRoute(from, to, "");
  const engine = moment.value === undefined ? beside : "";
  const other = useRoute(from, to, engine);
  const both = from !== 0n && to !== 0n;
  return (
    <section class="alone">
      <h1>Route</h1>
      <div class="ends">
        <End nodes={nodes} id="from" label="From" guid={from} choose={(guid) => go({ kind: "route", from: guid, to, beside })} />
        <End nodes={nodes} id="to" label="To" guid={to} choose={(guid) => go({ kind: "route", from: from === 0n ? guid : from, to: from === 0n ? 0n : guid, beside })} />
        {both && <a class="chip" href={addressOf({ kind: "route", from: to, to: from, beside })}>the way back</a>}
        {both && moment.value === undefined && <Engines chosen={beside} choose={(engine) => go({ kind: "route", from, to, beside: engine })} />}
      </div>
      {!both && <p class="quiet">Name two nodes: the links that packets take between them are shown, on every LID that both have.</p>}
      {nodes !== undefined && both && (
        <div class={engine === "" ? "" : "sides"}>
          <Side nodes={nodes} known={known} title="In force" against={undefined}>from the tables that the switches have confirmed. The number in each link is its load, {meansOfSpan.value ? "as the mean of the span" : "as of the last reading of the counters"}.</Side>
          {engine !== "" && <Side nodes={nodes} known={other} title={`By ${other.answer?.engine || engine}`} against={known.answer}>as that engine would make them; nothing changes. Loads are those of now. Links that are not on the path in force are marked.</Side>}
        </div>
      )}
    </section>
  );
}

interface Known {
  answer: GetRouteResponse | undefined;
  failed: string;
}

/** The route between two nodes by the tables in force, or by an engine; none where an end is not named, or the engine is not asked for. */
function useRoute(from: bigint, to: bigint, engine: string): Known {
  const answer = useSignal<GetRouteResponse | undefined>(undefined);
  const failed = useSignal("");
  const nodes = layout.value;
  useEffect(() => {
    const ended = new AbortController();
    [answer.value, failed.value] = [undefined, ""];
    if (from !== 0n && to !== 0n) {
      const request = { source: `nodeguid:${guidText(from)}`, destination: `nodeguid:${guidText(to)}`, engine, ...at() };
      routeCalls.getRoute(request, { timeoutMs: engine === "" ? PATIENCE : PLAN_PATIENCE, signal: ended.signal }).then(
        (found) => (answer.value = found),
        (error: unknown) => {
          if (!ended.signal.aborted) failed.value = whyOf(error);
        },
      );
    }
    return () => ended.abort();
  }, [from, to, engine, nodes]);
  return { answer: answer.value, failed: failed.value };
}

/** Chooses the engine whose route is shown beside the one in force. */
function Engines({ chosen, choose }: { chosen: string; choose(engine: string): void }) {
  const engines = source.value?.engines ?? [];
  return (
    <label class="field">
      Beside the route of
      <select value={chosen} onChange={(event) => choose(event.currentTarget.value)}>
        <option value="">no other engine</option>
        {engines.map((engine) => <option key={engine} value={engine}>{engine}</option>)}
      </select>
    </label>
  );
}

function Side({ nodes, known, title, against, children }: { nodes: Layout; known: Known; title: string; against: GetRouteResponse | undefined; children: ComponentChildren }) {
  const found = known.answer?.routes[0];
  const marked = against === undefined ? undefined : new Set(against.routes[0]?.paths.flatMap((path) => path.hops.map((hop) => keyOf(path, hop))));
  return (
    <div class="side-of-route" role="group" aria-label={title}>
      <h2>{title}</h2>
      {known.failed !== "" && <p class="bad" role="alert"><bdi>{known.failed}</bdi></p>}
      {known.answer === undefined && known.failed === "" && <p class="quiet" role="status">Routes are computed…</p>}
      {found !== undefined && (
        <>
          <p class="quiet">{found.paths.length} {found.paths.length === 1 ? "path" : "paths"}, {children}</p>
          {known.answer?.notes.map((note, key) => <p key={key} class="quiet"><bdi>{sentence(note)}</bdi></p>)}
          <ol class="paths">
            {found.paths.slice(0, PATHS_MAX).map((path) => <Way key={`${path.sourceLid}-${path.destinationLid}`} nodes={nodes} path={path} known={marked} title={title} />)}
          </ol>
          {found.paths.length > PATHS_MAX && <p class="quiet">Shown are the first {PATHS_MAX}.</p>}
        </>
      )}
      {known.answer !== undefined && found === undefined && <p class="bad">No route is known between them.</p>}
    </div>
  );
}

/** A link of a path to a LID. */
function keyOf(path: Path, hop: Hop): string {
  return `${path.destinationLid} ${hop.from?.port?.nodeGuid} ${hop.from?.port?.port}`;
}

function End({ nodes, id, label, guid, choose }: { nodes: Layout | undefined; id: string; label: string; guid: bigint; choose(guid: bigint): void }) {
  const node = guid === 0n ? undefined : nodes?.find(guid);
  return (
    <div class="end">
      <p>
        <b>{label}</b>{" "}
        {node !== undefined && nodes !== undefined ? <a href={addressOf({ kind: "focus", guid, port: 0 })}><bdi>{nodes.names[node]}</bdi></a> : <span class="quiet">{guid === 0n ? "not chosen yet" : `${guidText(guid)}, not in the fabric`}</span>}
      </p>
      <Picker id={id} label={`${label}: name, GUID or LID`} hint="Name, GUID or LID" slash={false} choose={choose} />
    </div>
  );
}

function Way({ nodes, path, known, title }: { nodes: Layout; path: Path; known: Set<string> | undefined; title: string }) {
  const last = path.hops.at(-1)?.to;
  return (
    <li>
      <p class="quiet">LID {path.sourceLid} to LID {path.destinationLid}, {path.hops.length} links{!path.complete && <b class="bad">: packets do not arrive: {path.incompleteReason}</b>}</p>
      <div class="hops">
        {path.hops.map((hop, at) => <Link key={at} nodes={nodes} hop={hop} isOther={known !== undefined && !known.has(keyOf(path, hop))} />)}
        <Name guid={last?.port?.nodeGuid ?? 0n} nodes={nodes} name={last?.nodeName ?? ""} />
      </div>
      <Details nodes={nodes} path={path} title={title} />
    </li>
  );
}

/** Load of what a port sends; UNKNOWN where it is not known. */
function loadOf(nodes: Layout, end: LinkEnd | undefined): number {
  beat.value;
  const port = placeOf(nodes, end?.port?.nodeGuid ?? 0n, end?.port?.port ?? 0);
  return port === undefined ? UNKNOWN : (columns.value?.get(Kind.Load)[port] ?? UNKNOWN);
}

/** What switches may choose at each link, and the lanes of each virtual fabric. */
function Details({ nodes, path, title }: { nodes: Layout; path: Path; title: string }) {
  const adaptive = path.hops.some((hop) => hop.choices.length > 0);
  return (
    <details>
      <summary>{adaptive ? "Loads, adaptive choices and lanes" : "Loads and lanes"} of each link</summary>
      <div class="scroll" tabIndex={0} role="region" aria-label={`Links to LID ${path.destinationLid}: ${title}`}>
        <table class="named">
          <thead>
            <tr>
              <th scope="col">Link</th><th scope="col" class="number">Load</th><th scope="col">The switch may choose</th>
              {path.levels.map((level, key) => <th key={key} scope="col"><bdi>{level.virtualFabric}</bdi>, SL {level.sl}</th>)}
            </tr>
          </thead>
          <tbody>
            {path.hops.map((hop, at) => (
              <tr key={at}>
                <td><bdi>{hop.from?.nodeName}</bdi> port {hop.from?.port?.port} – <bdi>{hop.to?.nodeName}</bdi> port {hop.to?.port?.port}</td>
                <td class="number">{percent(loadOf(nodes, hop.from))}</td>
                <td>{hop.choices.length === 0 ? "this link only" : hop.choices.map((choice, key) => <Choice key={key} nodes={nodes} choice={choice} own={choice.from?.port?.port === hop.from?.port?.port} />)}</td>
                {path.levels.map((level, key) => <td key={key} class="lane">{lanesOf(level, at)}</td>)}
              </tr>
            ))}
          </tbody>
        </table>
        <SaveTable name={`links to LID ${path.destinationLid}`} />
      </div>
    </details>
  );
}

function Choice({ nodes, choice, own }: { nodes: Layout; choice: HopChoice; own: boolean }) {
  const { from, to } = choice;
  const load = loadOf(nodes, from);
  return <span class="choice"><a class={own ? "own-choice" : ""} href={addressOf({ kind: "focus", guid: from?.port?.nodeGuid ?? 0n, port: from?.port?.port ?? 0 })}>{from?.port?.port}</a> to <bdi>{to?.nodeName}</bdi>{load !== UNKNOWN && <span class="quiet"> {percent(load)}</span>}{" "}</span>;
}

/** The channel and lane of a level on a link. */
function lanesOf(level: PathLevel, at: number): string {
  const lane = level.lanes[at];
  if (lane !== undefined) return `SC ${lane.sc}, VL ${lane.vl}`;
  return at === level.lanes.length && level.stoppedReason !== "" ? `stops: ${level.stoppedReason}` : "";
}

/** A node and the link by which packets leave it. */
function Link({ nodes, hop, isOther }: { nodes: Layout; hop: Hop; isOther: boolean }) {
  scheme.value;
  const [guid, number] = [hop.from?.port?.nodeGuid ?? 0n, hop.from?.port?.port ?? 0];
  const port = placeOf(nodes, guid, number);
  const shade = port === undefined ? Shade.Unknown : shades.value[port];
  const load = loadOf(nodes, hop.from);
  const color = css(colorOf(isWrong(shade) ? shade : rampOf(load), isDark(theme.value)));
  return (
    <>
      <Name guid={guid} nodes={nodes} name={hop.from?.nodeName ?? ""} />
      <a class={isOther ? "hop other" : "hop"} href={addressOf({ kind: "focus", guid, port: number })} title={`port ${number}, ${hop.rate}, ${kindOf(shade).name}${isOther ? ", not on the path in force" : ""}`} style={{ borderBottomColor: color }}>
        {isOther && <span aria-hidden="true">≠ </span>}{number} <span class="quiet">{isWrong(shade) ? kindOf(shade).name : load === UNKNOWN ? hop.rate : percent(load)}</span> {hop.to?.port?.port}
        {hop.choices.length > 1 && <span class="quiet" title={`The switch may choose among ${hop.choices.length} links`}> · 1 of {hop.choices.length}</span>}
      </a>
    </>
  );
}

function Name({ nodes, guid, name }: { nodes: Layout; guid: bigint; name: string }) {
  const known = nodes.find(guid) !== undefined;
  return known ? <a class="stop" href={addressOf({ kind: "focus", guid, port: 0 })}><bdi>{name}</bdi></a> : <span class="stop"><bdi>{name}</bdi></span>;
}
