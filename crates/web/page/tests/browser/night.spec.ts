// The largest fabric: how long it takes. Prints the times of docs/research/benchmarks.md.
import { expect, test } from "@playwright/test";
import { Daemon } from "./daemon";

test.skip(!process.env["WEFT_NIGHT"], "crates/web/page/check --night");

test("27,648 hosts are seen within a second, and followed without a pause that is felt", async ({ page }) => {
  test.setTimeout(900_000);
  const daemon = new Daemon("fattree:27648");
  try {
    await daemon.start();
    await page.goto(daemon.page);
    await expect(page.locator(".side")).toContainText("27,648 hosts");
    await page.waitForFunction(() => performance.getEntriesByName("weft-first").length > 0);
    const first = await page.evaluate(() => performance.getEntriesByName("weft-first")[0].startTime);
    console.log(`first picture: ${first.toFixed(0)} ms after the page was asked for`);
    for (let step = 0; step < 6; step++) {
      daemon.cause("link-down", `edge${step + 1}:30`);
      await page.waitForTimeout(1_500);
    }
    const measured = (name: string) =>
      page.evaluate((name) => {
        const all = performance.getEntriesByName(name).map((one) => one.duration).sort((a, b) => a - b);
        return { times: all.length, median: all[Math.floor(all.length / 2)] ?? 0, most: all.at(-1) ?? 0 };
      }, name);
    for (const name of ["weft-arrange", "weft-refresh", "weft-paint", "weft-draw"]) {
      const { times, median, most } = await measured(name);
      console.log(`${name}: ${median.toFixed(1)} ms, at most ${most.toFixed(1)} ms, ${times} times`);
    }
    const memory = await page.evaluate(() => (performance as unknown as { memory: { usedJSHeapSize: number } }).memory.usedJSHeapSize / 2 ** 20);
    console.log(`memory of the page: ${memory.toFixed(0)} MB of JavaScript`);
    expect(first).toBeLessThan(1_000);
    expect((await measured("weft-refresh")).median + (await measured("weft-paint")).median).toBeLessThan(50);
  } finally {
    await daemon.remove();
  }
});
