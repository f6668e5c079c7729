// What open pages cost a running daemon, without a browser that would take the processors from it: each page is a thread with
// the page's own modules, which ask the same at the same times and decode what comes; nothing is drawn.
//
//   node bench/pages.mjs ADDRESS PID [PAGES [SECONDS]]
//
// ADDRESS is the one that `weft web` prints, PID the process of the daemon; 10 pages and 60 seconds without. It measures the
// daemon's time of processors (/proc/PID/stat) without pages, with them, and without them again, and prints shares of a core.
import { readFileSync } from "node:fs";
import { loadavg } from "node:os";
import { parentPort, Worker, workerData } from "node:worker_threads";
import { load } from "../tests/unit/load.mjs";

/** Time until what pages ask at first is answered, seconds. */
const SETTLED = 15;
/** Time in which all pages know the fabric, or something is wrong, seconds. */
const OPENED_MAX = 60;
/** Hundredths of a second, in which Linux tells times of processes (USER_HZ, proc(5)). */
const TICKS = 100;

if (workerData !== null) await page(workerData);
else await measure(...process.argv.slice(2));

/** One page, and what it has asked so far. */
async function page({ address }) {
  const asked = {};
  globalThis.location = { hash: "", origin: address.replace(/\/$/, "") };
  globalThis.addEventListener = () => {};
  globalThis.document = { documentElement: { dataset: {} }, hidden: false, addEventListener() {} };
  globalThis.localStorage = { getItem: () => null, setItem() {} };
  globalThis.matchMedia = () => ({ matches: false, addEventListener() {} });
  const real = globalThis.fetch;
  globalThis.fetch = async (url, init) => {
    const own = (asked[String(url).split("/").at(-1)] ??= { calls: 0, bytes: 0 });
    own.calls++;
    const answer = await real(url, init);
    const counted = new TransformStream({
      transform(part, controller) {
        own.bytes += part.byteLength;
        controller.enqueue(part);
      },
    });
    return new Response(answer.body?.pipeThrough(counted), answer);
  };
  const { open } = await load("bench/open_page.ts");
  const state = open();
  parentPort.on("message", () => parentPort.postMessage({ asked, ...state() }));
}

async function measure(address, pid, pages = "10", seconds = "60") {
  if (!/^https?:\/\/\S+$/.test(address ?? "") || !/^\d+$/.test(pid ?? "") || !/^[1-9]\d{0,2}$/.test(pages) || !/^[1-9]\d{0,3}$/.test(seconds)) {
    console.error("usage: node bench/pages.mjs ADDRESS PID [PAGES [SECONDS]]: pages 1 to 999, seconds 1 to 9999");
    process.exit(2);
  }
  const span = Number(seconds);
  const before = await share(pid, span);
  const workers = Array.from({ length: Number(pages) }, () => new Worker(new URL(import.meta.url), { workerData: { address } }));
  for (const worker of workers) worker.on("error", (error) => { throw error; });
  const states = () => Promise.all(workers.map((worker) => new Promise((done) => {
    worker.once("message", done);
    worker.postMessage("state");
  })));
  await opened(states);
  await sleep(SETTLED);
  const first = await states();
  const open = await share(pid, span);
  const last = await states();
  const broken = last.find(({ lost }) => lost !== "");
  if (broken !== undefined) throw new Error(`a page has no answer: ${broken.lost}`);
  await Promise.all(workers.map((worker) => worker.terminate()));
  await sleep(SETTLED);
  const after = await share(pid, span);
  const [firstSum, lastSum] = [first, last].map(sumOf);
  const rate = (method, what) => (lastSum[method][what] - (firstSum[method]?.[what] ?? 0)) / span;
  const rates = Object.keys(lastSum).map((method) => `${method} ${rate(method, "calls").toFixed(1)} with ${(rate(method, "bytes") / 1_024).toFixed(1)} KiB`);
  console.log(`${last[0].hosts.toLocaleString("en")} hosts, ${pages} pages, load ${loadavg()[0].toFixed(1)}`);
  console.log(`asked and received a second: ${rates.join(", ")}`);
  console.log(`of a core: ${percent(before)} before, ${percent(open)} with pages, ${percent(after)} after: ${percent(open - (before + after) / 2)} for the pages`);
}

/** Waits until all pages know the fabric. */
async function opened(states) {
  const end = performance.now() + OPENED_MAX * 1_000;
  for (;;) {
    const now = await states();
    const waiting = now.filter(({ hosts }) => hosts === 0);
    if (waiting.length === 0) return;
    if (performance.now() > end) throw new Error(`${waiting.length} of ${now.length} pages know no fabric after ${OPENED_MAX} s: ${waiting[0].lost || "it has no hosts"}`);
    await sleep(1);
  }
}

function sumOf(states) {
  const sum = {};
  for (const [method, { calls, bytes }] of states.flatMap(({ asked }) => Object.entries(asked))) {
    const own = (sum[method] ??= { calls: 0, bytes: 0 });
    [own.calls, own.bytes] = [own.calls + calls, own.bytes + bytes];
  }
  return sum;
}

/** Share of a core that a process takes over some seconds. */
async function share(pid, seconds) {
  const [before, start] = [ticks(pid), performance.now()];
  await sleep(seconds);
  return (ticks(pid) - before) / TICKS / ((performance.now() - start) / 1_000);
}

/** Time of processors that a process has taken: fields 14 and 15 of its `stat`. */
function ticks(pid) {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  const [user, system] = stat.slice(stat.lastIndexOf(")") + 2).split(" ").slice(11, 13).map(Number);
  return user + system;
}

function sleep(seconds) {
  return new Promise((done) => setTimeout(done, seconds * 1_000));
}

function percent(share) {
  return `${(100 * share).toFixed(2)} %`;
}
