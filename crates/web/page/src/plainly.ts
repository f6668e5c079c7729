// What the daemon says, with the names of nodes in place of their GUIDs.
import { layout } from "./store";

/** A reason as people read it: nodes by their names, without the field of the request that it is about. */
export function plainly(why: string): string {
  const nodes = layout.value;
  const named = why.replace(/\b0x[0-9a-f]{16}\b/g, (guid) => {
    const node = nodes?.find(BigInt(guid));
    return node === undefined || nodes === undefined ? guid : nodes.names[node];
  });
  return named.replace(/^(port|point): /, "").replace(/\bnode (?!0x)/g, "");
}
