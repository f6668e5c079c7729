// Clients of the API for what is shown first, which the daemon serves at this page's own address as gRPC-Web.
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createGrpcWebTransport } from "@connectrpc/connect-web";
import { ChangeService } from "../gen/weft/v1/change_pb";
import { FabricHealthService } from "../gen/weft/v1/health_pb";
import { HistoryService } from "../gen/weft/v1/history_pb";
import { MulticastService } from "../gen/weft/v1/multicast_pb";
import { VirtualFabricService } from "../gen/weft/v1/virtual_fabric_pb";
import { WatchService } from "../gen/weft/v1/watch_pb";
import { WebService } from "../gen/weft/v1/web_pb";

export const transport = createGrpcWebTransport({ baseUrl: location.origin });

export const web = createClient(WebService, transport);
export const healthCalls = createClient(FabricHealthService, transport);
export const changeCalls = createClient(ChangeService, transport);
export const historyCalls = createClient(HistoryService, transport);
export const fabricCalls = createClient(VirtualFabricService, transport);
export const groupCalls = createClient(MulticastService, transport);
export const watchCalls = createClient(WatchService, transport);

/** Longest wait for an answer, milliseconds. */
export const PATIENCE = 10_000;
/** Time for an order to be carried out, milliseconds: the device has to confirm it. */
export const ORDER_PATIENCE = 60_000;
/** Time for a plan to be made, milliseconds: routes of the largest fabrics take a while. */
export const PLAN_PATIENCE = 300_000;

/** Why a call failed, for people. */
export function whyOf(error: unknown): string {
  const failed = ConnectError.from(error);
  return failed.code === Code.DeadlineExceeded ? "no answer in time" : failed.rawMessage || "no answer";
}
