// What a frame costs while the picture is dragged, with pictures drawn by software. Prints the rows of docs/research/benchmarks.md.
import { type Browser, expect, type Page, test } from "@playwright/test";
import { Daemon } from "./daemon";

test.skip(!process.env["WEFT_NIGHT"], "crates/web/page/check --night");

/** How long the picture is dragged, milliseconds. */
const TIME = 8_000;

interface Frames {
  /** Pictures drawn in a second. */
  rate: number;
  /** Time of processors for one, milliseconds: of the page, of the renderer in software. */
  page: number;
  renderer: number;
}

/** Time that processes of a kind have taken of processors, seconds. */
async function cpu(browser: Browser): Promise<(kind: string) => number> {
  const session = await browser.newBrowserCDPSession();
  const { processInfo } = await session.send("SystemInfo.getProcessInfo");
  await session.detach();
  return (kind) => processInfo.filter(({ type }) => type === kind).reduce((sum, { cpuTime }) => sum + cpuTime, 0);
}

/** Drags the picture around its middle. */
async function dragged(page: Page, browser: Browser): Promise<Frames> {
  const box = await page.locator(".canvas").boundingBox();
  if (box === null) throw new Error("there is no picture");
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
  await page.mouse.move(x, y);
  await page.mouse.down();
  const before = await cpu(browser);
  const start = await page.evaluate(() => performance.now());
  // Moves do not wait for frames: a browser leaves out those that come too late.
  const open = new Set<Promise<void>>();
  for (const ends = Date.now() + TIME; Date.now() < ends; ) {
    const at = (ends - Date.now()) / 400;
    if (open.size < 3) {
      const move = page.mouse.move(x + Math.sin(at) * box.width * 0.4, y + Math.sin(at * 1.7) * box.height * 0.35);
      open.add(move);
      void move.then(() => open.delete(move));
    }
    await new Promise((done) => setTimeout(done, 16));
  }
  const after = await cpu(browser);
  const [frames, took] = await page.evaluate((start) => {
    const drawn = performance.getEntriesByName("weft-draw").filter((one) => one.startTime >= start);
    return [drawn.length, (performance.now() - start) / 1_000] as const;
  }, start);
  await Promise.all(open);
  await page.mouse.up();
  expect(frames).toBeGreaterThan(0);
  const share = (kind: string) => ((after(kind) - before(kind)) * 1_000) / frames;
  return { rate: frames / took, page: share("renderer"), renderer: share("GPU") };
}

test("dragging the picture of 27,648 hosts costs about what that of 1,152 does", async ({ page, browser }) => {
  test.setTimeout(900_000);
  const costs: Frames[][] = [];
  for (const hosts of [1_152, 27_648]) {
    const daemon = new Daemon(`fattree:${hosts}`);
    try {
      await daemon.start();
      await page.goto(daemon.page);
      await page.waitForFunction(() => performance.getEntriesByName("weft-first").length > 0);
      const own: Frames[] = [];
      for (const [steps, seen] of [[0, "everything seen"], [6, "zoomed in six steps"]] as const) {
        for (let step = 0; step < steps; step++) await page.getByTitle("Zoom in (+)").click();
        const frames = await dragged(page, browser);
        console.log(`${hosts} hosts, ${seen}: ${frames.page.toFixed(0)} ms, ${frames.renderer.toFixed(0)} ms, ${frames.rate.toFixed(1)} frames a second`);
        own.push(frames);
      }
      costs.push(own);
    } finally {
      await daemon.remove();
    }
  }
  const [few, many] = costs;
  many.forEach((frames, at) => expect(frames.renderer, `with ${few[at].renderer} ms at 1,152 hosts`).toBeLessThan(2 * few[at].renderer));
});
