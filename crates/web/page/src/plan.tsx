// One plan: what it changes, before and after, how it is applied, followed and rolled back.
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import { type Operation, type OperationAsker, OperationKind, OperationState } from "../gen/weft/v1/operation_pb";
import type { PlannedFlows, RoutePlan, RouteQuality, TrafficPattern } from "../gen/weft/v1/route_pb";
import type { PortsSwitched, WayBack } from "../gen/weft/v1/route_back_pb";
import { addressOf, go } from "./address";
import { ORDER_PATIENCE, PATIENCE, whyOf } from "./api";
import { operationCalls, routeCalls } from "./calls";
import { type Objection, propose } from "./dialog";
import { Flows } from "./flows";
import { isLeftUndone, stateText } from "./operation_words";
import { Answer, droppingText, Errors, Note, uncabledText } from "./plan_answer";
import { Drains } from "./plans";
import { usePolled } from "./poll";
import { SaveTable } from "./saving";
import { Back } from "./way_back";
import { mayOrder, WhyNot } from "./who";
import { clock, many } from "./words";

/** Time from one question to the next, milliseconds. */
const PACE = 500;
/** Steps of a sweep. */
const STEPS = ["reads the fabric", "computes tables", "writes tables", "activates ports"];

export function PlanView({ id }: { id: string }) {
  const { answer, failed, again } = usePolled((options) => operationCalls.getOperation({ id }, options), PACE, [id]);
  const one = answer?.operation;
  return (
    <section class="alone">
      <p><a href={addressOf({ kind: "plans", guid: 0n, port: 0 })}>All plans and drains</a></p>
      <h1><bdi>{one?.what || id}</bdi></h1>
      {failed !== "" && <p class="bad" role="alert"><bdi>{failed}</bdi></p>}
      {one !== undefined && <Known one={one} back={answer?.wayBack} flows={answer?.flows} again={again} />}
    </section>
  );
}

function Known({ one, back, flows, again }: { one: Operation; back: WayBack | undefined; flows: PlannedFlows | undefined; again(): void }) {
  const { plan, planId, state, kind, sweep } = one;
  const isPlan = kind === OperationKind.ROUTE_PLAN || kind === OperationKind.DRAIN || kind === OperationKind.UNDRAIN;
  // A plan that failed when it was being written is in force all the same.
  const inForce = state === OperationState.DONE || (state === OperationState.FAILED && sweep > 0n);
  return (
    <>
      <Answer one={one} />
      {inForce && kind !== OperationKind.ROUTE_PLAN && <Drains of={one.what} />}
      <State one={one} />
      {mayOrder() ? (
        <p class="buttons">
          {state === OperationState.PLANNED && planId !== undefined && plan !== undefined && <button type="button" onClick={() => apply(one, planId, plan, back, again)}>Apply…</button>}
          {state === OperationState.PLANNED && <button type="button" onClick={() => giveUp(one, "Give the plan up", again)}>Give up…</button>}
          {state === OperationState.PLANNING && <button type="button" onClick={() => giveUp(one, "Stop computing", again)}>Stop…</button>}
          {inForce && isPlan && planId !== undefined && <button type="button" onClick={() => rollBack(one, planId)}>Roll back…</button>}
        </p>
      ) : (
        isPlan && <WhyNot what="Applying a plan" />
      )}
      {back !== undefined && <Back back={back} plan={plan} />}
      {plan !== undefined && <Does plan={plan} />}
      {plan !== undefined && flows !== undefined && <Flows flows={flows} />}
    </>
  );
}

/** How far it is, and who asked for it. */
function State({ one }: { one: Operation }) {
  const { state, asked, applied, cancelled, beginTime, endTime, sweep, error, note } = one;
  const applying = state === OperationState.APPLYING;
  return (
    <>
      <p role="status"><b class={state === OperationState.FAILED && !isLeftUndone(one) ? "bad" : state === OperationState.DONE ? "calm" : ""}>{stateText(one)}</b>{endTime && ` ${clock(timestampDate(endTime))}`}{sweep > 0n && `, by sweep ${sweep}`}</p>
      {applying && (
        <p>
          <progress max={one.steps} value={one.stepsDone} aria-label="Steps of the sweep" /> step {Math.min(one.stepsDone + 1, one.steps)} of {one.steps}: {STEPS[one.stepsDone] ?? "ends"}
        </p>
      )}
      {note !== "" && <Note text={note} />}
      {error !== "" && <Errors text={error} />}
      <p class="quiet">Made{beginTime && ` ${clock(timestampDate(beginTime))}`}<By asker={asked} /></p>
      {applied !== undefined && <p class="quiet">Applied<By asker={applied} /></p>}
      {cancelled !== undefined && <p class="quiet">Given up<By asker={cancelled} /></p>}
    </>
  );
}

function By({ asker }: { asker: OperationAsker | undefined }) {
  const who = [asker?.author, asker?.peer].filter(Boolean).join(" at ");
  return <>{who !== "" && <> by <bdi>{who}</bdi></>}{asker?.reason ? <>: <bdi>{asker.reason}</bdi></> : ""}</>;
}

function apply(one: Operation, planId: bigint, plan: RoutePlan, back: WayBack | undefined, again: () => void): void {
  propose({
    title: `Apply plan ${planId}: ${one.what}`,
    button: "Apply the plan",
    says: <><p>A sweep writes it to the switches. It is refused if the fabric has changed since the plan was made, and it can be rolled back.</p>{back !== undefined && back.portCount > 0 && <p class="bad">It also switches <b>{many(back.portCount, "port")}</b> off or on.</p>}<Moves plan={plan} /></>,
    check: () => objection(planId, again),
    run: async ({ reason, author }) => {
      const { ports } = await routeCalls.applyRoutePlan({ planId, label: { reason, author } }, { timeoutMs: ORDER_PATIENCE });
      again();
      return `plan ${planId} is applied: below is how far its sweep is${switched(ports)}`;
    },
  });
}

/** What the daemon has against a plan before anybody says why he applies it: a limit, a second person, or that it is of before. */
async function objection(planId: bigint, again: () => void): Promise<Objection | undefined> {
  try {
    await routeCalls.applyRoutePlan({ planId, validateOnly: true }, { timeoutMs: PATIENCE });
    return undefined;
  } catch (error) {
    const refused = [Code.PermissionDenied, Code.Aborted, Code.NotFound, Code.FailedPrecondition];
    if (!refused.includes(ConnectError.from(error).code)) throw error;
    again();
    return { words: whyOf(error) };
  }
}

function rollBack(one: Operation, planId: bigint): void {
  propose({
    title: `Roll back plan ${planId}: ${one.what}`,
    button: "Roll the plan back",
    says: <p>A sweep writes the routes of before. Only the plan that was applied last can be rolled back; then the one before it.</p>,
    run: async ({ reason, author }) => {
      const undone = await routeCalls.rollBackRoutes({ expectedPlanId: planId, label: { reason, author } }, { timeoutMs: ORDER_PATIENCE });
      go({ kind: "plan", id: undone.operationId });
      return `${undone.undone} is rolled back: a sweep writes the routes of before${switched(undone.ports)}`;
    },
  });
}

/** Ports that were switched with a plan, in words. */
function switched(ports: PortsSwitched | undefined): string {
  if (ports === undefined) return "";
  const failed = ports.failed.map(({ port, why }) => `; ${port?.nodeName} port ${port?.port?.port} was not: ${why}`);
  return `; ${many(ports.count, "port was", "ports were")} switched${failed.join("")}`;
}

function giveUp(one: Operation, button: string, again: () => void): void {
  propose({
    title: `Give up ${one.what}`,
    button,
    says: <p>Nothing has been changed by it, and nothing will be. A plan that is given up cannot be applied any more; another one can be made.</p>,
    run: async ({ reason, author }) => {
      await operationCalls.cancelOperation({ id: one.id, reason, author }, { timeoutMs: ORDER_PATIENCE });
      again();
      return `${one.what} is given up: nothing was changed`;
    },
  });
}

/** What is written, and what packets feel of it. */
function Moves({ plan }: { plan: RoutePlan }) {
  return (
    <ul class="plain">
      <li><b>{many(Number(plan.routes), "route")}</b> {plan.routes === 1n ? "moves" : "move"}: {many(plan.blocks, "block")} of 64 registers in {many(plan.switches, "switch", "switches")}</li>
      {plan.dropping > 0n ? <li>{droppingText(plan.dropping)}, so that old and new routes form no loop</li> : <li>no packet is dropped meanwhile</li>}
      {plan.suspendsAdaptive && <li>adaptive routing is suspended meanwhile</li>}
      {plan.changedLevels > 0 && <li class="bad">{many(plan.changedLevels, "LID")} get another service level: connections that are open keep the old one, which the proof does not cover</li>}
    </ul>
  );
}

/** A plan before and after. */
function Does({ plan }: { plan: RoutePlan }) {
  const { certificate, before, after } = plan;
  const share = (pattern: TrafficPattern | undefined) => (pattern === undefined ? "" : `${(pattern.bandwidth * 100).toFixed(1)} %`);
  const flows = (pattern: TrafficPattern | undefined) => (pattern === undefined ? "" : `${pattern.worst.toFixed(0)} (mean ${pattern.mean.toFixed(2)})`);
  const rows: [string, (quality: RouteQuality) => string][] = [
    ["Flows on the busiest link, all to all", (quality) => quality.allToAllWorst.toFixed(0)],
    ["… shifts", (quality) => flows(quality.shifts)],
    ["… permutations", (quality) => flows(quality.permutations)],
    ["Bandwidth of a flow, shifts", (quality) => share(quality.shifts)],
    ["… permutations", (quality) => share(quality.permutations)],
    ["… half to half", (quality) => share(quality.bisection)],
  ];
  return (
    <>
      <h2>What changes</h2>
      <Moves plan={plan} />
      <details>
        <summary>Proof and figures of the routes</summary>
        <h2>Proof about the new routes</h2>
        {certificate === undefined ? <p class="bad">There is none.</p> : (
          <ul class="plain">
            <li><span class="calm">✓</span> {many(Number(certificate.routes), "route")} {certificate.routes === 1n ? "arrives" : "arrive"}, and none runs in a circle</li>
            <li><span class="calm">✓</span> no links wait for each other in a circle: {many(Number(certificate.dependencies), "dependency", "dependencies")} looked at</li>
            {certificate.disconnected > 0n && <li class="quiet">{uncabledText(certificate.disconnected)}</li>}
          </ul>
        )}
        <h2>Before and after</h2>
        <div class="scroll" tabIndex={0} role="region" aria-label="Before and after">
          <table>
            <thead><tr><th scope="col">Routes</th><th scope="col" class="number">before</th><th scope="col" class="number">after</th></tr></thead>
            <tbody>
              <tr><td>Engine</td><td class="number">{plan.engineBefore}</td><td class="number">{plan.engine}</td></tr>
              {before !== undefined && after !== undefined && rows.map(([name, value]) => (
                <tr key={name}><td>{name}</td><td class="number">{value(before)}</td><td class="number">{value(after)}</td></tr>
              ))}
            </tbody>
          </table>
          <SaveTable name="before and after" />
        </div>
      </details>
      {plan.notes.length > 0 && <ul class="plain quiet">{plan.notes.map((note, key) => <li key={key}><bdi>{note}</bdi></li>)}</ul>}
    </>
  );
}
