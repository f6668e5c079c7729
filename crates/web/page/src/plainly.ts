// What the daemon says, with the names of nodes in place of their GUIDs.
import type { Layout } from "./fabric";

/** A reason as people read it: nodes by their names, without the field of the request that it is about. */
export function plainly(why: string, nodes: Layout | undefined): string {
  const named = why.replace(/ \(0x[0-9a-f]{16}\)/g, "").replace(/(?:\bnode )?\b(0x[0-9a-f]{16})\b/g, (whole, guid: string) => {
    const node = nodes?.find(BigInt(guid));
    return node === undefined || nodes === undefined ? whole : nodes.names[node];
  });
  return named.replace(/^(port|point): /, "");
}
