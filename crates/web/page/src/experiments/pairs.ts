// Two pairs of hosts whose routes meet on one link, as in experiment E1: found by asking the daemon for routes.
import type { Hop } from "../../gen/weft/v1/route_pb";
import { PATIENCE } from "../api";
import { routeCalls } from "../calls";
import { type Layout, NO_PEER } from "../fabric";
import { guidText } from "../words";

/** Receivers that are tried. */
const TRIED_MAX = 8;

export interface Pairs {
  /** Nodes that send, and those that receive. */
  pairs: [number, number][];
  /** The link that both routes take: its ends in words. */
  link: string;
}

/** The first two pairs from one switch to another that share a link between switches; none where there are none. */
export async function findPairs(nodes: Layout): Promise<Pairs | undefined> {
  const hosts = new Map<number, number[]>();
  for (let node = 0; node < nodes.nodes; node++) {
    const peer = nodes.isSwitch(node) || nodes.first[node] === nodes.first[node + 1] ? NO_PEER : nodes.peers[nodes.first[node]];
    if (peer === NO_PEER) continue;
    const at = nodes.nodeOf[peer];
    hosts.set(at, [...(hosts.get(at) ?? []), node]);
  }
  const [senders, receivers] = [...hosts.values()].filter((own) => own.length > 1);
  if (senders === undefined || receivers === undefined) return undefined;
  const [first, second] = senders;
  const tried: { to: number; first: Hop[]; second: Hop[] }[] = [];
  for (const to of receivers.slice(0, TRIED_MAX)) {
    const own = { to, first: await hops(nodes, first, to), second: await hops(nodes, second, to) };
    for (const before of tried) {
      const ways = [[before.first, own.second, before.to, to], [own.first, before.second, to, before.to]] as const;
      for (const [one, other, toOne, toOther] of ways) {
        const met = one.find((hop) => other.some((second) => keyOf(second) === keyOf(hop)));
        if (met !== undefined) return { pairs: [[first, toOne], [second, toOther]], link: wordsOf(met) };
      }
    }
    tried.push(own);
  }
  return undefined;
}

/** The links between switches on the way. */
async function hops(nodes: Layout, from: number, to: number): Promise<Hop[]> {
  const name = (node: number) => `nodeguid:${guidText(nodes.guids[node])}`;
  const answer = await routeCalls.getRoute({ source: name(from), destination: name(to) }, { timeoutMs: PATIENCE });
  return answer.routes[0]?.paths[0]?.hops.slice(1, -1) ?? [];
}

function keyOf(hop: Hop): string {
  return `${hop.from?.port?.nodeGuid}:${hop.from?.port?.port}`;
}

function wordsOf({ from, to }: Hop): string {
  return `${from?.nodeName}:${from?.port?.port} to ${to?.nodeName}:${to?.port?.port}`;
}
