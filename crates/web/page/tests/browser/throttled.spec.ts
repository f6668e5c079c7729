// The page over a slow line and on a slow machine: 1.6 Mbit/s, 150 ms, a processor of a quarter.
import { type CDPSession, expect, type Page, test } from "@playwright/test";
import { Daemon } from "./daemon";

const daemon = new Daemon("fattree:1152");

test.beforeAll(async () => {
  await daemon.start();
});
test.afterAll(async () => {
  await daemon.remove();
});

/** Bytes in a second of 1.6 and 0.75 Mbit/s, and the delay of an answer in milliseconds. */
const LINE = { offline: false, latency: 150, downloadThroughput: 1.6e6 / 8, uploadThroughput: 0.75e6 / 8 };

async function slow(page: Page): Promise<CDPSession> {
  const session = await page.context().newCDPSession(page);
  await session.send("Network.enable");
  await session.send("Network.emulateNetworkConditions", LINE);
  await session.send("Emulation.setCPUThrottlingRate", { rate: 4 });
  return session;
}

test("1,152 hosts are seen, followed and found over a slow line by a slow machine", async ({ page }) => {
  const session = await slow(page);
  let received = 0;
  session.on("Network.loadingFinished", ({ encodedDataLength }) => (received += encodedDataLength));
  const asked = Date.now();
  await page.goto(daemon.page);
  await page.waitForFunction(() => performance.getEntriesByName("weft-first").length > 0);
  console.log(`first picture over the slow line: ${Date.now() - asked} ms`);
  // The line is really slow: the script alone takes as long as its bytes.
  const [took, bytes] = await page.evaluate(() => {
    const [script] = performance.getEntriesByType("resource").filter((one) => one.name.endsWith("/page.js")) as PerformanceResourceTiming[];
    return [script.duration, script.encodedBodySize];
  });
  expect(took).toBeGreaterThan((0.8 * 1_000 * bytes) / LINE.downloadThroughput);
  await expect(page.locator(".side")).toContainText("1,152 hosts");
  await expect(page.locator(".lost")).toHaveCount(0);

  const cut = Date.now();
  daemon.cause("link-down", "edge3:30");
  await expect(page.locator(".findings")).toContainText("missing link");
  console.log(`a cut cable is named after ${Date.now() - cut} ms`);
  await expect(page.locator(".legend")).toContainText("missing link 2");

  await page.keyboard.press("/");
  await page.keyboard.type("node1100");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { level: 1 })).toContainText("node1100");
  await expect(page.locator(".neighbours a").first()).toBeVisible();
  daemon.cause("link-up", "edge3:30");
  await page.getByRole("link", { name: "Overview" }).click();
  await expect(page.locator(".legend")).not.toContainText("missing link");

  // While nothing happens, following it costs next to nothing of the line.
  await page.waitForTimeout(2_000);
  const before = received;
  await page.waitForTimeout(10_000);
  const rate = (received - before) / 10;
  console.log(`while nothing happens: ${(rate / 1_024).toFixed(1)} KiB in a second`);
  expect(rate).toBeLessThan(LINE.downloadThroughput / 2);
});

test("a line that is gone for a while is told, and the page goes on when it is back", async ({ page }) => {
  const session = await slow(page);
  await page.goto(daemon.page);
  await expect(page.locator(".side")).toContainText("1,152 hosts");
  await session.send("Network.emulateNetworkConditions", { ...LINE, offline: true });
  await expect(page.locator(".lost")).toContainText("does not answer");
  daemon.cause("link-down", "edge4:30");
  await session.send("Network.emulateNetworkConditions", LINE);
  await expect(page.locator(".lost")).toHaveCount(0);
  await expect(page.locator(".findings")).toContainText("missing link");
  daemon.cause("link-up", "edge4:30");
});
