// Virtual fabrics and multicast groups by their names, for their list and for the search.
import { signal } from "@preact/signals";
import type { MulticastGroup } from "../gen/weft/v1/multicast_pb";
import type { VirtualFabric } from "../gen/weft/v1/virtual_fabric_pb";
import type { View } from "./address";
import { fabricCalls, groupCalls, PATIENCE, whyOf } from "./api";

interface Known {
  fabrics: VirtualFabric[];
  /** The first ones, by MGID. */
  groups: MulticastGroup[];
  /** All groups that there are. */
  total: number;
  /** Why nothing newer is known; empty where it is. */
  failed: string;
}

export const known = signal<Known>({ fabrics: [], groups: [], total: 0, failed: "" });
/** Groups of a page of the list, and pages that are read. */
const [PAGE, PAGES_MAX] = [10_000, 10];
/** Time for which they need not be read again, milliseconds. */
const FRESH = 2_000;
let read = -Infinity;

export async function readNamed(): Promise<void> {
  const now = performance.now();
  if (now - read < FRESH) return;
  read = now;
  const options = { timeoutMs: PATIENCE };
  const [fabrics, groups] = await Promise.allSettled([fabricCalls.listVirtualFabrics({}, options), readGroups(options)]);
  const failed = [fabrics, groups].find((one) => one.status === "rejected");
  known.value = {
    ...known.value,
    ...(fabrics.status === "fulfilled" ? { fabrics: fabrics.value.virtualFabrics } : {}),
    ...(groups.status === "fulfilled" ? groups.value : {}),
    failed: failed === undefined ? "" : whyOf(failed.reason),
  };
}

async function readGroups(options: { timeoutMs: number }): Promise<Pick<Known, "groups" | "total">> {
  const groups: MulticastGroup[] = [];
  let [pageToken, total] = ["", 0];
  for (let page = 0; page < PAGES_MAX; page++) {
    const answer = await groupCalls.listMulticastGroups({ limit: PAGE, pageToken }, options);
    groups.push(...answer.groups);
    [pageToken, total] = [answer.nextPageToken, answer.total];
    if (pageToken === "") break;
  }
  return { groups, total };
}

/** What a MGID is of, by its first bytes (RFC 4391); empty where that is not known. */
export function groupWords(mgid: string): string {
  const kind = /^0xff[0-9a-f]{2}([0-9a-f]{4})/.exec(mgid)?.[1];
  if (kind === "401b") return mgid.endsWith("ffffffff") ? "IPv4, broadcast" : "IPv4";
  return kind === "601b" ? "IPv6" : "";
}

/** Something with a name that is no node. */
export interface Named {
  view: View;
  name: string;
  why: string;
}

/** Virtual fabrics and multicast groups that a text may mean. */
export function namedBy(text: string, most: number): Named[] {
  const word = text.trim().toLowerCase();
  if (word === "") return [];
  // The highest bit of a P_Key is that of a full member.
  const key = /^0x[0-9a-f]{1,4}$/.test(word) ? Number(word) & 0x7fff : -1;
  const fabrics = known.value.fabrics.filter((one) => one.name.toLowerCase().includes(word) || (one.pkey & 0x7fff) === key);
  const groups = word.length < 4 ? [] : known.value.groups.filter((one) => one.mgid.includes(word) || word === `0x${one.mlid.toString(16)}`);
  return [
    ...fabrics.map((one): Named => ({ view: { kind: "fabric", name: one.name }, name: one.name, why: "virtual fabric" })),
    ...groups.map((one): Named => ({ view: { kind: "group", mgid: one.mgid }, name: one.mgid, why: `multicast group, MLID 0x${one.mlid.toString(16)}` })),
  ].slice(0, most);
}
