// What the test of ages needs of the page, as one module.
export { changed } from "../../src/ages";
export { told } from "../../src/events";
export { Columns, Layout } from "../../src/fabric";
export { changeLine } from "../../src/history";
export { events, past } from "../../src/store";
