// What the test of spans needs of the page, as one module.
export { moment, start } from "../../src/address";
export { countedIn } from "../../src/counters";
export { kept, keptOfSpan, looked, missing, spanFailed, untold } from "../../src/history";
export { meansOfSpan, shown } from "../../src/past";
export { events } from "../../src/store";
