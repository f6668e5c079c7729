// What can be done to a port: each with what it will do, and a reason.
import type { ComponentChildren } from "preact";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { type ExplainQuarantineResponse, PortAction, PortOutcome } from "../gen/weft/v1/port_pb";
import { addressOf, moment } from "./address";
import { ORDER_PATIENCE, PATIENCE } from "./api";
import { portCalls } from "./calls";
import { type Objection, propose, type Why } from "./dialog";
import { Kind, type Layout, NO_PEER, State } from "./fabric";
import { usePolled } from "./poll";
import { beat, columns, shades } from "./store";
import { mayOrder, WhyNot } from "./who";
import { clock, many, pointOf } from "./words";

interface Doable {
  action: PortAction;
  /** Of the button that leads to the dialog. */
  short: string;
  /** Of the dialog, before the port's name. */
  title: string;
  /** Of the button that does it. */
  button: string;
  says: string;
  /** What has become of the port. */
  done: string;
  /** Whether the link carries nothing for a while, or from now on. */
  stops: boolean;
}

const DISABLE: Doable = { action: PortAction.DISABLE, short: "Disable", title: "Disable", button: "Disable the port", says: "Takes the link down and keeps it down until somebody enables the port, also after a restart of the daemon.", done: "is disabled", stops: true };
const ENABLE: Doable = { action: PortAction.ENABLE, short: "Enable", title: "Enable", button: "Enable the port", says: "Lets the link come up again. When it has, the next sweep lets data use it.", done: "is enabled", stops: false };
const BOUNCE: Doable = { action: PortAction.BOUNCE, short: "Bounce", title: "Bounce", button: "Bounce the link", says: "Takes the link down once, so that it trains again. It carries no data until it is up again and a sweep has made it active.", done: "is taken down once and trains again", stops: true };
const LED_ON: Doable = { action: PortAction.LED_ON, short: "LED on", title: "Switch on the LED of", button: "Switch the LED on", says: "Switches the light at the port on, so that somebody beside the machine finds it. Data is not touched.", done: "has its LED on", stops: false };
const LED_OFF: Doable = { action: PortAction.LED_OFF, short: "LED off", title: "Switch off the LED of", button: "Switch the LED off", says: "Switches the light at the port off. Data is not touched.", done: "has its LED off", stops: false };

/** The orders for a port, and why it is disabled where it is. */
export function PortOrders({ nodes, at }: { nodes: Layout; at: number }) {
  beat.value;
  const states = columns.value?.get(Kind.State);
  const state = states?.[at] ?? State.Empty;
  if (state === State.Gone || moment.value !== undefined) return null;
  const [node, peer] = [nodes.nodeOf[at], nodes.peers[at]];
  // The manager disables the end that it still reaches: the port is enabled where it is disabled.
  const off = [at, peer].find((port) => states?.[port] === State.Disabled);
  const up = state === State.Active || state === State.Rising || state === State.Unused;
  const doable: [Doable, number][] = [off === undefined ? [DISABLE, at] : [ENABLE, off]];
  if (up) doable.push([BOUNCE, at]);
  doable.push([LED_ON, at], [LED_OFF, at]);
  const drainable = up && peer !== NO_PEER && nodes.isSwitch(node) && nodes.isSwitch(nodes.nodeOf[peer]);
  return (
    <>
      <WhyDisabled nodes={nodes} at={at} />
      {!mayOrder() ? <WhyNot what="Changing a port" /> : (
        <p class="buttons">
          {doable.map(([one, port]) => <button key={one.short} type="button" onClick={() => offer(nodes, port, one)}>{one.short}…</button>)}
          {drainable && <a class="chip" href={addressOf({ kind: "plans", guid: nodes.guids[node], port: nodes.number(at) })}>Plan the drain of this link</a>}
        </p>
      )}
    </>
  );
}

function offer(nodes: Layout, at: number, one: Doable): void {
  const [node, number] = [nodes.nodeOf[at], nodes.number(at)];
  const port = { nodeGuid: nodes.guids[node], port: number };
  const name = `${nodes.names[node]} port ${number}`;
  propose({
    title: `${one.title} ${name}`,
    button: one.button,
    says: <Says nodes={nodes} at={at} one={one} />,
    check: () => objection(port, one.action),
    run: async ({ reason, author }: Why, force: boolean) => {
      await portCalls.setPortState({ port, action: one.action, reason, author, force }, { timeoutMs: ORDER_PATIENCE });
      return `${name} ${one.done}`;
    },
  });
}

/** What the daemon has against it; only a part that is cut off can be accepted. */
async function objection(port: { nodeGuid: bigint; port: number }, action: PortAction): Promise<Objection | undefined> {
  for await (const answer of portCalls.setPorts({ ports: [{ port }], action, validateOnly: true }, { timeoutMs: PATIENCE })) {
    if (answer.outcome === PortOutcome.REFUSED) {
      // What the command line would be told helps nobody here.
      const words = answer.message.replace(/; --force .*$/, "");
      return { words, force: answer.code === "CUTS_OFF" ? "Do it although a part of the fabric is cut off" : undefined };
    }
  }
  return undefined;
}

function Says({ nodes, at, one }: { nodes: Layout; at: number; one: Doable }) {
  const [node, peer] = [nodes.nodeOf[at], nodes.peers[at]];
  const port = { nodeGuid: nodes.guids[node], port: nodes.number(at) };
  const { answer } = usePolled((options) => portCalls.explainQuarantine({ port }, options), 0, [at]);
  return (
    <>
      <p>{one.says}</p>
      {peer !== NO_PEER && <p>The cable leads to <b><bdi>{nodes.names[nodes.nodeOf[peer]]}</bdi> port {nodes.number(peer)}</b>{one.stops && !nodes.isSwitch(nodes.nodeOf[peer]) && ", a host that then has no link"}.</p>}
      {one.stops && answer !== undefined && <Carries answer={answer} port={port} />}
    </>
  );
}

/** What leads over the link now. */
function Carries({ answer, port }: { answer: ExplainQuarantineResponse; port: { nodeGuid: bigint; port: number } }) {
  const { routes, multicast, way } = answer;
  const itself = way.some((hop) => hop.port?.nodeGuid === port.nodeGuid && hop.port.port === port.port);
  if (routes === 0n && multicast === 0n) return null;
  return (
    <p>
      {many(Number(routes), "route")} and {many(Number(multicast), "multicast entry", "multicast entries")} lead over it now
      {way.length > 0 && !itself && <>; between its ends, packets can go round by <bdi>{way.map((hop) => `${hop.nodeName} port ${hop.port?.port ?? 0}`).join(", ")}</bdi></>}.
    </p>
  );
}

/** Who has disabled a port, and why. */
function WhyDisabled({ nodes, at }: { nodes: Layout; at: number }) {
  beat.value;
  const state = columns.value?.get(Kind.State)[at];
  const [guid, number] = [nodes.guids[nodes.nodeOf[at]], nodes.number(at)];
  const asked = state === State.Disabled || state === State.Lost;
  const { answer } = usePolled(async (options) => (asked ? await portCalls.listDisabledPorts({ point: pointOf(guid, number) }, options) : undefined), 0, [at, shades.value[at]]);
  const said: ComponentChildren[] = (answer?.ports ?? []).map(({ port, author, peer, reason, disabledTime }, key) => (
    <p key={key}>
      <a href={addressOf({ kind: "focus", guid: port?.port?.nodeGuid ?? 0n, port: port?.port?.port ?? 0 })}><bdi>{port?.nodeName}</bdi> port {port?.port?.port}</a> was disabled
      {disabledTime && ` ${clock(timestampDate(disabledTime))}`}{(author || peer) && <> by <bdi>{author || peer}</bdi></>}{reason === "" ? ", without a reason that is known." : <>: <bdi>{reason}</bdi></>}
    </p>
  ));
  return <>{said}</>;
}
