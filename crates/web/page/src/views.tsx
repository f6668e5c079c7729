// The views that are loaded after the first picture.
export { Orders } from "./dialog";
export { Focus } from "./focus";
export { Groups } from "./groups";
export { EventsView } from "./happened";
export { Matrix } from "./matrix";
export { GroupView } from "./multicast";
export { PlanView } from "./plan";
export { Plans } from "./plans";
export { RouteView } from "./route";
export { VirtualFabricView } from "./virtual_fabric";
export { pointed } from "./points";
