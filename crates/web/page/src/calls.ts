// Clients of the API for views that are loaded later.
import { createClient } from "@connectrpc/connect";
import { EmulatorService } from "../gen/weft/emulator/v1/emulator_pb";
import { CableService } from "../gen/weft/v1/cable_pb";
import { CounterService } from "../gen/weft/v1/counters_pb";
import { OperationService } from "../gen/weft/v1/operation_pb";
import { PortService } from "../gen/weft/v1/port_pb";
import { RouteService } from "../gen/weft/v1/route_pb";
import { transport } from "./api";

export const cableCalls = createClient(CableService, transport);
export const counterCalls = createClient(CounterService, transport);
export const emulatorCalls = createClient(EmulatorService, transport);
export const operationCalls = createClient(OperationService, transport);
export const portCalls = createClient(PortService, transport);
export const routeCalls = createClient(RouteService, transport);
