// The views that are loaded after the first picture.
export { Orders } from "./dialog";
export { Focus } from "./focus";
export { Matrix } from "./matrix";
export { PlanView } from "./plan";
export { Plans } from "./plans";
export { RouteView } from "./route";
