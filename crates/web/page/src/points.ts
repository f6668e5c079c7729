// Points that the daemon alone can tell of: port GUIDs, the LIDs of a port beside its base LID, patterns.
import { createClient } from "@connectrpc/connect";
import { FabricService } from "../gen/weft/v1/fabric_pb";
import { PATIENCE, transport } from "./api";
import type { Layout } from "./fabric";
import type { Asked, Found } from "./search";

const calls = createClient(FabricService, transport);

/** What a point names, of the nodes that are shown; nothing where it names none, or is not whole yet. */
export async function pointed(nodes: Layout, { focus, port, why }: Asked, most: number, signal: AbortSignal): Promise<Found[]> {
  const request = { focus, pageSize: most, readMask: { paths: ["guid"] } };
  const answer = await calls.listNodes(request, { timeoutMs: PATIENCE, signal }).catch(() => ({ nodes: [] }));
  return answer.nodes.flatMap(({ guid }) => {
    const node = nodes.find(guid);
    return node === undefined || port > nodes.first[node + 1] - nodes.first[node] ? [] : [{ node, port, why }];
  });
}
