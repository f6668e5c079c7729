// Operations in words: how far they are, and what was left undone.
import { type Operation, OperationKind, OperationState } from "../gen/weft/v1/operation_pb";
import type { Layout } from "./fabric";
import { plainly } from "./plainly";
import { many } from "./words";

/** What a sweep says of a device that has not confirmed everything, and of what it does not list. */
const SLOW = /(0x[0-9a-f]{16})\)? did not take all of its settings$/;
const MORE = /^and (\d+) more$/;
/** Parts of what was left undone that an event names. */
const SAID_MAX = 3;

/** Whether it cannot be done as the fabric or the configuration is: of every kind, and nothing was changed. */
export function isRefused({ state }: Pick<Operation, "state">): boolean {
  return state === OperationState.REFUSED;
}

/** What is refused, as a sentence in two parts. */
export function refusedText({ kind }: Pick<Operation, "kind">): [string, string] {
  return [kind === OperationKind.DRAIN ? "The drain is refused:" : "It is refused:", "nothing was changed."];
}

/** How far an operation is, in words. */
export function stateText(operation: Pick<Operation, "kind" | "state" | "sweep" | "error">): string {
  switch (operation.state) {
    case OperationState.PLANNING:
      return "routes are computed";
    case OperationState.PLANNED:
      return "can be applied";
    case OperationState.APPLYING:
      return "is being written";
    case OperationState.DONE:
      return "done";
    case OperationState.FAILED:
      if (isOutdated(operation)) return "computed for an older fabric or configuration: it cannot be applied";
      return isLeftUndone(operation) ? "in force, with something left undone" : "failed";
    case OperationState.REFUSED:
      return "refused";
    case OperationState.CANCELLED:
      return "given up";
    default:
      return "not known";
  }
}

/** Whether it is a plan that was not applied before something else changed. */
export function isOutdated({ state, sweep, error }: Pick<Operation, "state" | "sweep" | "error">): boolean {
  return state === OperationState.FAILED && sweep === 0n && error.endsWith("has changed since; plan again");
}

/** Whether a change is in force and lacks nothing but what slow devices have not confirmed. */
export function isLeftUndone({ kind, state, sweep, error }: Pick<Operation, "kind" | "state" | "sweep" | "error">): boolean {
  return state === OperationState.FAILED && kind !== OperationKind.SWEEP && sweep > 0n && isOnlySlow(error);
}

/** Whether a text names slow devices and nothing else. */
export function isOnlySlow(text: string): boolean {
  const { slow, rest } = undone(text, undefined);
  return slow.length > 0 && rest.length === 0;
}

/** What was left undone: names of devices that were slow, the rest in the words of the daemon, and how much it does not list. */
export interface Undone {
  slow: string[];
  rest: string[];
  more: number;
}

export function undone(text: string, nodes: Layout | undefined): Undone {
  const [slow, rest]: [string[], string[]] = [[], []];
  let more = 0;
  for (const part of text.split("; ")) {
    const [guid, count] = [SLOW.exec(part)?.[1], MORE.exec(part)?.[1]];
    if (guid !== undefined) slow.push(plainly(guid, nodes));
    else if (count !== undefined) more += Number(count);
    else rest.push(plainly(part, nodes));
  }
  return { slow, rest, more };
}

/** The same as part of a line: how many devices were slow, and the first of the rest. */
export function undoneText(text: string): string {
  const { slow, rest, more } = undone(text, undefined);
  const left = Math.max(0, rest.length - SAID_MAX) + more;
  return [
    ...(slow.length > 0 ? [many(slow.length, "device was slow", "devices were slow")] : []),
    ...rest.slice(0, SAID_MAX),
    ...(left > 0 ? [`and ${left} more`] : []),
  ].join("; ");
}
