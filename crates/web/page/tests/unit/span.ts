// What the test of spans needs of the page, as one module.
export { moment, start } from "../../src/address";
export { countedIn } from "../../src/counters";
export { joined, kept, keptOfSpan, looked, missing, spanAsked, spanFailed, untold } from "../../src/history";
export { meansOfSpan, shown } from "../../src/past";
export { events } from "../../src/store";
