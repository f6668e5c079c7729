// Events as lines for people.
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { OperationState } from "../gen/weft/v1/operation_pb";
import { PortAction } from "../gen/weft/v1/port_pb";
import type { NamedPort, PortId } from "../gen/weft/v1/types_pb";
import type { WatchResponse } from "../gen/weft/v1/watch_pb";
import { stateText, undoneText } from "./operation_words";
import { colorWords, guidText } from "./words";

/** A node, or a port of it. */
export interface Place {
  guid: bigint;
  port: number;
}

/** An event that is shown. */
export interface Told {
  token: string;
  time: Date;
  text: string;
  /** Whether it tells of trouble, of its end, of what somebody asked for, or of another role of this manager. */
  tone: "bad" | "good" | "plain" | "person" | "role";
  /** The node that it is about; its port, 0 for the whole node. */
  guid?: bigint;
  port?: number;
  /** Other nodes and ports that it is about: the other end of a cable, all that a change names. */
  also?: Place[];
  /** Whether the node, or the cable of the port, is another since, or is used in another way. */
  changes?: boolean;
}

type Line = Omit<Told, "token" | "time">;

/** The line of an event; none of those that are too many for people. */
export function told(message: WatchResponse): Told | undefined {
  const line = lineOf(message.content);
  if (line === undefined) {
    return undefined;
  }
  const time = message.time === undefined ? new Date() : timestampDate(message.time);
  return { token: message.resumeToken, time, ...line };
}

function lineOf(content: WatchResponse["content"]): Line | undefined {
  switch (content.case) {
    case undefined:
      return { text: "an event that this page does not know", tone: "plain" };
    case "marker":
    case "sweepStarted":
    case "phaseEntered":
    case "operationProgress":
      return undefined;
    case "sweepEnded":
      return { text: `sweep ${content.value.number} is over`, tone: "plain" };
    case "nodeAppeared":
      return { text: `node appeared: ${content.value.name}`, tone: "good", guid: content.value.guid, port: 0, changes: true };
    case "nodeVanished":
      return { text: `node vanished: ${content.value.name}`, tone: "bad", guid: content.value.guid, port: 0, changes: true };
    case "linkAppeared":
    case "linkVanished": {
      const link = content.value;
      const ends = `${at(link.a, link.aName)} – ${at(link.b, link.bName)}`;
      const [word, tone] = content.case === "linkVanished" ? (["vanished", "bad"] as const) : (["appeared", "good"] as const);
      return { text: `link ${word}: ${ends}`, tone, ...place(link.a), also: placesOf([link.b]), changes: true };
    }
    case "portChanged": {
      const { port, nodeName, action, author, reason } = content.value;
      const done = (PortAction[action] ?? "changed").toLowerCase().replaceAll("_", " ");
      const [by, why] = [author && ` by ${author}`, reason && `: ${reason}`];
      return { text: `${at(port, nodeName)}: ${done}${by}${why}`, tone: "person", ...place(port), changes: true };
    }
    case "portQuarantined":
      return { ...about("in quarantine", content.value.port, "bad", content.value.comment), changes: true };
    case "portReleased":
      return { ...about("quarantine is over", content.value.port, "good", ""), changes: true };
    case "linkIsolated":
      return { ...about("out of use", content.value.a, "bad", content.value.what), also: placesOf([content.value.b?.port]), changes: true };
    case "linkSpared":
      return about("stays in use with errors", content.value.a, "bad", content.value.what);
    case "linkErrorsOver":
      return about("errors are over", content.value.a, "good", content.value.why);
    case "thresholdExceeded": {
      const over = content.value;
      const text = `${over.category} of ${at(over.port, over.nodeName)} is ${over.value}, over its threshold ${over.threshold}`;
      return { text, tone: "bad", ...place(over.port) };
    }
    case "nodeSilent":
      return { text: `${content.value.name} does not answer (${content.value.attribute})`, tone: "bad", guid: content.value.guid, port: 0 };
    case "nodeAnswers":
      return { text: `${content.value.name} answers again`, tone: "good", guid: content.value.guid, port: 0 };
    case "linkUnused":
      return { ...about("carries no data", content.value.a, "bad", content.value.reason), also: placesOf([content.value.b?.port]), changes: true };
    case "linkUsedAgain":
      return { ...about("carries data again", content.value.a, "good", ""), also: placesOf([content.value.b?.port]), changes: true };
    case "linkHasErrors":
      return { ...about("errors", content.value.a, "bad", content.value.what), also: placesOf([content.value.b?.port]) };
    case "linkIsWell":
      return { ...about("no errors any more", content.value.a, "good", ""), also: placesOf([content.value.b?.port]) };
    case "deviceFault":
      return { text: `${content.value.name}: ${content.value.what}`, tone: "bad", guid: content.value.guid, port: 0 };
    case "trap":
      return { text: `trap of ${content.value.nodeName || `LID ${content.value.lid}`}: ${content.value.what}`, tone: "plain", guid: content.value.nodeGuid, port: 0 };
    case "attachmentChanged":
      return content.value.attached ? { text: "the fabric is back", tone: "good" } : { text: "the fabric is gone", tone: "bad" };
    case "roleChanged": {
      const { role, master, why } = content.value;
      return { text: `${roleText(role, master)}${why && `: ${why}`}`, tone: "role" };
    }
    case "healthChanged": {
      const { before, now, reason } = content.value;
      return { text: `health is ${colorWords(now).name}, it was ${colorWords(before).name}: ${reason}`, tone: now > before ? "bad" : "good" };
    }
    case "planInForce":
      return { text: `route plan ${content.value.planId} is in force: ${content.value.what}`, tone: "plain" };
    case "operationChanged": {
      const one = content.value;
      const failed = one.state === OperationState.FAILED;
      return { text: `${one.what || one.id}: ${stateText(one)}${one.note && `: ${undoneText(one.note)}`}${one.error && `: ${undoneText(one.error)}`}`, tone: failed ? "bad" : one.asked?.author ? "person" : "plain" };
    }
    default:
      return { text: plain(content.case, content.value), tone: "plain" };
  }
}

/** What a manager is from now on, by the name of its role. */
function roleText(role: string, master: bigint): string {
  switch (role) {
    case "Master":
      return "this manager is master now";
    case "Standby":
      return `this manager is standby now${master === 0n ? "" : `, the master is the one on port ${guidText(master)}`}`;
    case "Discovering":
      return "this manager looks for other managers now";
    default:
      return `this manager is ${role.toLowerCase()} now`;
  }
}

/** Any other event: its name, and what it says in words. */
function plain(name: string, value: object): string {
  const words = name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  const said = ["what", "why", "reason", "description"].flatMap((field) => {
    const text = (value as Record<string, unknown>)[field];
    return typeof text === "string" && text !== "" ? [text] : [];
  });
  return [words, ...said].join(": ");
}

function about(word: string, port: NamedPort | undefined, tone: Line["tone"], why: string): Line {
  const text = `${word}: ${at(port?.port, port?.nodeName ?? "")}${why && `: ${why}`}`;
  return { text, tone, ...place(port?.port) };
}

function at(port: PortId | undefined, name: string): string {
  return `${name || guidText(port?.nodeGuid ?? 0n)} port ${port?.port ?? 0}`;
}

function place(port: PortId | undefined): { guid?: bigint; port?: number } {
  return port === undefined ? {} : { guid: port.nodeGuid, port: port.port };
}

/** Ports that a message names. */
export function placesOf(ports: (PortId | undefined)[]): Place[] {
  return ports.flatMap((port) => (port === undefined ? [] : [{ guid: port.nodeGuid, port: port.port }]));
}

/** Whether an event is about a node. */
export function isAbout(event: Told, guid: bigint): boolean {
  return event.guid === guid || (event.also ?? []).some((place) => place.guid === guid);
}
