// Plans of other routes: how one is made, those that there are, and what is drained.
import { timestampDate, timestampFromDate } from "@bufbuild/protobuf/wkt";
import { useSignal } from "@preact/signals";
import { type Finding, Severity } from "../gen/weft/v1/config_pb";
import { OperationKind } from "../gen/weft/v1/operation_pb";
import type { Drain, DrainTarget, PlanRoutesRequest } from "../gen/weft/v1/route_pb";
import { addressAt, addressOf, go, moment } from "./address";
import { PLAN_PATIENCE, whyOf } from "./api";
import { operationCalls, routeCalls } from "./calls";
import { type Layout, NO_PEER } from "./fabric";
import { stateText } from "./operation_words";
import { HostsAt } from "./plan_answer";
import { usePolled } from "./poll";
import { SaveTable } from "./saving";
import { Picker } from "./search";
import { layout, source } from "./store";
import { mayAdminister, mayOrder, WhyNot } from "./who";
import { clock, guidText, many } from "./words";

/** Time from one question to the next, milliseconds. */
const PACE = 1_000;
/** The same for a node that is looked at. */
const PACE_NODE = 5_000;
/** Operations that the daemon remembers. */
const KEPT = 128;
/** The longest configuration that the daemon takes, bytes. */
const CONFIG_MAX = 16 * 2 ** 20;

type Change = Exclude<PlanRoutesRequest["change"], { case: undefined }>;
type Target = DrainTarget["target"];

/** The node and port of what is drained; port 0 for a whole switch. */
function placeOf(target: Target | undefined): { guid: bigint; port: number } | undefined {
  switch (target?.case) {
    case "switchGuid":
      return { guid: target.value, port: 0 };
    case "link":
      return { guid: target.value.nodeGuid, port: target.value.port };
    default:
      return undefined;
  }
}

function targetOf(guid: bigint, port: number): { target: Target } {
  return { target: port === 0 ? { case: "switchGuid", value: guid } : { case: "link", value: { $typeName: "weft.v1.PortId", nodeGuid: guid, port } } };
}

/** Has the daemon make a plan, and leads to it; what is wrong with a configuration, where there is none. */
async function make(change: Change): Promise<Finding[]> {
  const label = { author: source.value?.identity ?? "" };
  const made = await routeCalls.planRoutes({ change, label }, { timeoutMs: PLAN_PATIENCE });
  if (made.planId === undefined) return made.findings;
  // A plan is always of now.
  location.hash = addressAt({ kind: "plan", id: made.operationId }, undefined);
  return [];
}

/** Plans as a whole; with a part of the fabric that is to be drained. */
export function Plans({ guid, port }: { guid: bigint; port: number }) {
  return (
    <section class="alone">
      <h1>Plans</h1>
      <p class="quiet">A plan changes which ways packets take. Making one changes nothing: it says what would be, with proof that everything is still reached, and is then applied or not.</p>
      {mayOrder() ? <Make guid={guid} port={port} /> : <WhyNot what="Making a plan" />}
      <Drains />
      <Operations />
    </section>
  );
}

function Make({ guid, port }: { guid: bigint; port: number }) {
  const engine = useSignal("");
  const [busy, failed] = [useSignal(""), useSignal("")];
  const findings = useSignal<Finding[]>([]);
  const nodes = layout.value;
  const engines = source.value?.engines ?? [];
  const start = async (what: string, change: Change) => {
    [busy.value, failed.value, findings.value] = [what, "", []];
    try {
      findings.value = await make(change);
    } catch (error) {
      failed.value = whyOf(error);
    }
    busy.value = "";
  };
  const wrong = nodes === undefined || guid === 0n ? undefined : notDrainable(nodes, guid, port);
  const node = guid === 0n ? undefined : nodes?.find(guid);
  const chosen = nodes === undefined || guid === 0n ? "" : nameOf(nodes, guid, port);
  return (
    <>
      <div class="ends choices">
        <div class="end">
          <h2>Drain a switch or a link</h2>
          <p class="quiet">Moves data off it, so that it can be pulled.</p>
          <Picker id="drained" label="Switch or link to drain: name, or name:port" hint="Switch, or switch:port" slash={false} keeps={true} choose={(guid, port) => go({ kind: "plans", guid, port })} />
          {chosen !== "" && <p>Chosen: <b><bdi>{chosen}</bdi></b>{wrong !== undefined && <span class="bad"> {wrong}</span>}</p>}
          <button type="button" class="more" disabled={chosen === "" || wrong !== undefined || busy.value !== ""} onClick={() => void start(`the drain of ${chosen}`, { case: "drain", value: { $typeName: "weft.v1.DrainTarget", ...targetOf(guid, port) } })}>Make the plan of this drain</button>
        </div>
        <div class="end">
          <h2>Another engine</h2>
          <p class="quiet">Computes all routes in another way.</p>
          {!mayAdminister() ? <WhyNot what="Another engine" role="administer" /> : <>
          <label class="field">
            Engine
            <select value={engine.value} onChange={(event) => (engine.value = event.currentTarget.value)}>
              <option value="">choose one</option>
              {engines.map((name) => <option key={name} value={name}>{name}</option>)}
            </select>
          </label>
          <button type="button" class="more" disabled={engine.value === "" || busy.value !== ""} onClick={() => void start(`engine ${engine.value}`, { case: "engine", value: engine.value })}>Make the plan of this engine</button>
          </>}
        </div>
        <Back busy={busy.value !== ""} start={start} />
        <Configuration busy={busy.value !== ""} start={start} />
      </div>
      <div role="status">{busy.value !== "" && <p>Routes are computed for <bdi>{busy.value}</bdi>…</p>}</div>
      {failed.value !== "" && <p class="bad" role="alert">No plan was made: <bdi>{failed.value}</bdi></p>}
      {failed.value !== "" && node !== undefined && nodes !== undefined && port === 0 && <HostsAt nodes={nodes} node={node} />}
      {findings.value.length > 0 && <Wrong findings={findings.value} />}
    </>
  );
}

interface Start {
  busy: boolean;
  start(what: string, change: Change): Promise<void>;
}

/** Back to what was decided at a moment: the one that is looked at, or another. */
function Back({ busy, start }: Start) {
  const looked = moment.value;
  const typed = useSignal<string | undefined>(undefined);
  const text = typed.value ?? (looked === undefined ? "" : localText(looked));
  const time = looked !== undefined && typed.value === undefined ? looked : new Date(text);
  const known = !Number.isNaN(time.getTime());
  const wrong = known && time.getTime() > Date.now() ? "This moment has not come yet." : "";
  return (
    <div class="end">
      <h2>Back to a moment</h2>
      <p class="quiet">Engine and settings of routes, drains, and ports that were switched off by order, as they were then.</p>
      <label class="field">
        Date and time <span class="quiet">{zone(known ? time : new Date())}</span>
        <input type="datetime-local" step="1" value={text} onInput={(event) => (typed.value = event.currentTarget.value)} />
      </label>
      {wrong !== "" && <p class="bad">{wrong}</p>}
      <button type="button" class="more" disabled={!known || wrong !== "" || busy} onClick={() => void start(`the way back to ${clock(time)}`, { case: "asOf", value: { $typeName: "weft.v1.Moment", moment: { case: "time", value: timestampFromDate(time) } } })}>Make the plan back to this moment</button>
    </div>
  );
}

/** A time as the field for one has it, in the zone of the browser. */
function localText(time: Date): string {
  const local = new Date(time.getTime() - time.getTimezoneOffset() * 60_000);
  return local.toISOString().slice(0, 19);
}

/** The zone of the browser, in which the field for a time is. */
function zone(time: Date): string {
  return new Intl.DateTimeFormat("en-GB", { timeZoneName: "long" }).formatToParts(time).find((part) => part.type === "timeZoneName")?.value ?? "";
}

/** The settings of routes of another opafm.xml. */
function Configuration({ busy, start }: Start) {
  const file = useSignal<File | undefined>(undefined);
  const chosen = file.value;
  const wrong = chosen !== undefined && chosen.size > CONFIG_MAX ? `It is larger than ${CONFIG_MAX / 2 ** 20} MiB.` : "";
  const plan = async (chosen: File) => {
    const text = await chosen.text();
    await start(`the configuration ${chosen.name}`, { case: "config", value: text });
  };
  return (
    <div class="end">
      <h2>Another configuration</h2>
      <p class="quiet">The settings of routes in an opafm.xml from this machine. The manager’s own file stays as it is.</p>
      {!mayAdminister() ? <WhyNot what="A plan of another configuration" role="administer" /> : <>
        <label class="field">
          File
          <input type="file" accept=".xml,text/xml" onChange={(event) => (file.value = event.currentTarget.files?.[0])} />
        </label>
        {wrong !== "" && <p class="bad">{wrong}</p>}
        <button type="button" class="more" disabled={chosen === undefined || wrong !== "" || busy} onClick={() => chosen !== undefined && void plan(chosen)}>Make the plan of this configuration</button>
      </>}
    </div>
  );
}

/** What is wrong with a configuration. */
function Wrong({ findings }: { findings: Finding[] }) {
  return (
    <div role="alert">
      <p class="bad">No plan was made: the configuration cannot be used.</p>
      <ul class="plain">
        {findings.map((one, key) => (
          <li key={key} class={one.severity === Severity.ERROR ? "bad" : "quiet"}>
            line {one.line}, <bdi>{one.path}</bdi>: <bdi>{one.message}</bdi>{one.allowed !== "" && <>; allowed: <bdi>{one.allowed}</bdi></>}
          </li>
        ))}
      </ul>
    </div>
  );
}

function nameOf(nodes: Layout, guid: bigint, port: number): string {
  const node = nodes.find(guid);
  return node === undefined ? "" : `${nodes.names[node]}${port > 0 ? ` port ${port}` : ""}`;
}

/** Why a node or port cannot be drained, where that is seen at once. */
function notDrainable(nodes: Layout, guid: bigint, port: number): string | undefined {
  const node = nodes.find(guid);
  if (node === undefined || !nodes.isSwitch(node)) return "is no switch: a host is not drained; disable its port, or stop its jobs";
  const at = nodes.first[node] + port - 1;
  if (port === 0 || at >= nodes.first[node + 1]) return undefined;
  const peer = nodes.peers[at];
  return peer === NO_PEER || !nodes.isSwitch(nodes.nodeOf[peer]) ? "has no link to another switch" : undefined;
}

/** Makes the plan to use again what is drained. */
async function undrain({ target }: Drain): Promise<void> {
  if (target !== undefined) await make({ case: "undrain", value: target });
}

function nameOfDrain({ name, target }: Drain): string {
  const port = placeOf(target?.target)?.port ?? 0;
  return `${name || "one that is not known"}${port > 0 ? ` port ${port}` : ""}`;
}

/** What leads over it, in words. */
function overText({ routes, groups, multicast }: Drain): string {
  return `${many(Number(routes), "route")}, ${groups} adaptive and ${multicast} multicast entries`;
}

/** Whether an operation, by its description, is about this drain. */
function isOf({ target }: Drain, what: string): boolean {
  const place = placeOf(target?.target);
  return place !== undefined && place.port === 0 && what.includes(guidText(place.guid));
}

/** Whether it can be pulled, as a sentence. */
function Pulled({ drain }: { drain: Drain }) {
  const name = <bdi>{nameOfDrain(drain)}</bdi>;
  if (!drain.present) return <b>{name} is drained, and not in the fabric.</b>;
  return drain.safeToPull ? <><b class="calm">{name} is safe to pull:</b> nothing leads over it.</> : <><b class="bad">{name} is not yet safe to pull:</b> {overText(drain)} lead over it.</>;
}

/** The other end of the cable in a port: a drained link is named by one of its ends. */
function otherEndOf(guid: bigint, port: number): { guid: bigint; port: number } | undefined {
  const nodes = layout.value;
  const node = nodes?.find(guid);
  if (nodes === undefined || node === undefined || port === 0) return undefined;
  const peer = nodes.peers[nodes.first[node] + port - 1];
  return peer === NO_PEER ? undefined : { guid: nodes.guids[nodes.nodeOf[peer]], port: nodes.number(peer) };
}

/** Of a node or port: whether it is drained and can be pulled, and how it is used again; else the way to a drain. */
export function DrainOf({ guid, port }: { guid: bigint; port: number }) {
  const { answer } = usePolled((options) => routeCalls.listDrains({}, options), PACE_NODE, []);
  const why = useSignal("");
  if (answer === undefined) return null;
  const other = otherEndOf(guid, port);
  const own = answer.drains.find((one) => {
    const place = placeOf(one.target?.target);
    return place !== undefined && ((place.guid === guid && (place.port === 0 || place.port === port)) || (place.guid === other?.guid && place.port === other.port));
  });
  if (own === undefined) return <p><a href={addressOf({ kind: "plans", guid, port: 0 })}>Plan the drain of this switch</a></p>;
  return (
    <>
      <p><Pulled drain={own} /> {mayOrder() && <button type="button" class="more" onClick={() => void undrain(own).catch((error: unknown) => (why.value = whyOf(error)))}>Make the plan to use it again</button>}</p>
      {why.value !== "" && <p class="bad" role="alert">No plan was made: <bdi>{why.value}</bdi></p>}
    </>
  );
}

/** What is drained, and whether it can be pulled; first what a drain was about. */
export function Drains({ of = "" }: { of?: string }) {
  const { answer, failed } = usePolled((options) => routeCalls.listDrains({}, options), PACE, []);
  const why = useSignal("");
  const again = (drain: Drain) => {
    why.value = "";
    undrain(drain).catch((error: unknown) => (why.value = whyOf(error)));
  };
  const drains = answer?.drains ?? [];
  const meant = of.startsWith("drain ") ? drains.find((one) => isOf(one, of)) : undefined;
  return (
    <>
      {meant !== undefined && <p class="answer"><Pulled drain={meant} /></p>}
      <h2>Drained</h2>
      {failed !== "" && <p class="bad" role="alert"><bdi>{failed}</bdi></p>}
      {answer !== undefined && drains.length === 0 && <p class="quiet">Nothing is drained.</p>}
      {drains.length > 0 && (
        <div class="scroll" tabIndex={0} role="region" aria-label="Drained">
          <table>
            <thead><tr><th scope="col">Switch or link</th><th scope="col">Can it be pulled?</th><th scope="col">Leads over it</th>{mayOrder() && <th scope="col">End of the drain</th>}</tr></thead>
            <tbody>
              {drains.map((drain, key) => {
                const place = placeOf(drain.target?.target);
                const name = nameOfDrain(drain);
                return (
                  <tr key={key}>
                    <td>{place !== undefined && drain.present ? <a href={addressOf({ kind: "focus", ...place })}><bdi>{name}</bdi></a> : <bdi>{name}</bdi>}</td>
                    <td>{!drain.present ? "it is not in the fabric" : drain.safeToPull ? <b class="calm">safe to pull</b> : <b class="bad">not yet</b>}</td>
                    <td>{drain.safeToPull ? "nothing" : overText(drain)}</td>
                    {mayOrder() && <td><button type="button" class="more" onClick={() => again(drain)}>Make the plan to use it again</button></td>}
                  </tr>
                );
              })}
            </tbody>
          </table>
          <SaveTable name="drained" />
        </div>
      )}
      {why.value !== "" && <p class="bad" role="alert">No plan was made: <bdi>{why.value}</bdi></p>}
    </>
  );
}

function Operations() {
  const { answer, failed } = usePolled((options) => operationCalls.listOperations({ pageSize: KEPT }, options), PACE, []);
  const shown = answer?.operations.filter((one) => one.kind !== OperationKind.SWEEP) ?? [];
  return (
    <>
      <h2>Plans that were made</h2>
      {failed !== "" && <p class="bad" role="alert"><bdi>{failed}</bdi></p>}
      {answer !== undefined && shown.length === 0 && <p class="quiet">None since the daemon was started.</p>}
      {shown.length > 0 && (
        <div class="scroll" tabIndex={0} role="region" aria-label="Plans that were made">
          <table>
            <thead><tr><th scope="col">Made</th><th scope="col">Plan</th><th scope="col">State</th><th scope="col">By</th><th scope="col">Reason</th></tr></thead>
            <tbody>
              {shown.map((one) => {
                const by = one.cancelled ?? one.applied ?? one.asked;
                return (
                  <tr key={one.id}>
                    <td class="time">{one.beginTime && clock(timestampDate(one.beginTime))}</td>
                    <td><a href={addressOf({ kind: "plan", id: one.id })}><bdi>{one.what || one.id}</bdi></a></td>
                    <td>{stateText(one)}</td>
                    <td><bdi>{by?.author || by?.peer}</bdi></td>
                    <td><bdi>{by?.reason}</bdi></td>
                  </tr>
                );
              })}
            </tbody>
          </table>
          <SaveTable name="plans" />
        </div>
      )}
    </>
  );
}
