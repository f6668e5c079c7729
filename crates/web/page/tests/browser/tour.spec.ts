// The pictures of docs/tour.md: WEFT_TOUR=../../../docs crates/web/page/check --programs DIR makes them anew. Look at them before
// they are committed.
import { expect, type Page, test } from "@playwright/test";
import { join } from "node:path";
import { Daemon } from "./daemon";
import { guidOf } from "./steps";

const FOLDER = process.env["WEFT_TOUR"];

test.skip(FOLDER === undefined, "WEFT_TOUR names the folder");
test.use({ viewport: { width: 1280, height: 800 }, colorScheme: "dark", timezoneId: "UTC", locale: "en-GB" });
test.describe.configure({ timeout: 300_000 });

/** Runs with a daemon that has a past, set up before it is started. */
async function withDaemon(fabric: string, prepare: (daemon: Daemon) => void, look: (daemon: Daemon) => Promise<void>): Promise<void> {
  const daemon = new Daemon(fabric);
  daemon.remember();
  prepare(daemon);
  try {
    await daemon.start();
    await look(daemon);
  } finally {
    await daemon.remove();
  }
}

async function picture(page: Page, name: string, high = 800): Promise<void> {
  await page.setViewportSize({ width: 1280, height: high });
  await page.mouse.move(0, 0);
  await page.waitForTimeout(500);
  await page.screenshot({ path: join(FOLDER ?? "", `page-${name}.png`), animations: "disabled" });
}

test("overview and timeline", async ({ page }) => {
  await withDaemon("fattree:1152", () => {}, async (daemon) => {
    await page.goto(daemon.page);
    await expect(page.locator(".side")).toContainText("1,152 hosts");
    const from = new Date();
    for (const port of ["edge7:30", "edge21:36", "edge40:9"]) {
      await page.waitForTimeout(4_000);
      daemon.cause("link-down", port);
    }
    daemon.cause("link-lanes", "edge33:28", "2");
    await expect(page.locator(".findings > li")).toHaveCount(4);
    await expect(page.locator(".findings")).toContainText("missing host");
    await expect(page.locator(".findings")).toContainText("unused");
    await picture(page, "overview");
    daemon.weft("port", "disable", "--reason", "rack 7 is moved", "node:edge12:port:6");
    await page.waitForTimeout(5_000);
    daemon.cause("link-up", "edge7:30");
    daemon.weft("port", "enable", "node:edge12:port:6");
    await expect(page.locator(".legend")).not.toContainText("disabled");
    await page.waitForTimeout(4_000);
    await page.goto(`${daemon.page}#/events?last=15m@${from.toISOString()}..${new Date().toISOString()}`);
    await expect(page.locator(".asof")).toContainText("are means of");
    await expect(page.locator(".events")).toContainText("rack 7 is moved");
    await picture(page, "timeline");
  });
});

test("a plan", async ({ page }) => {
  await withDaemon("fattree:72,radix=12", () => {}, async (daemon) => {
    await page.goto(`${daemon.page}#/plans`);
    await page.getByRole("combobox", { name: /Switch or link to drain/ }).fill("core2");
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Make the plan of this drain" }).click();
    await expect(page.getByRole("region", { name: "Fuller links" }).locator("tbody tr").first()).toBeVisible();
    await picture(page, "plan", 1_000);
  });
});

test("groups, and a route", async ({ page }) => {
  await withDaemon("fattree:72,radix=12", (daemon) => daemon.chooseLinks(), async (daemon) => {
    daemon.weft("emulator", "traffic", "start", "job", "pairs", "node1:node60");
    await page.goto(`${daemon.page}#/groups`);
    await expect(page.getByRole("main")).toContainText("broadcast");
    await picture(page, "groups");
    const [from, to] = [await guidOf(page, daemon, "node1 hfi1_0"), await guidOf(page, daemon, "node60 hfi1_0")];
    await page.goto(`${daemon.page}#/route/${from}/${to}/beside/opa-shortestpath`);
    await expect(page.locator(".hop.other").first()).toBeVisible();
    await picture(page, "route");
  });
});

test("experiment E1", async ({ page }) => {
  await withDaemon("pgft:2;4,2;1,2;1,1", () => {}, async (daemon) => {
    await page.goto(`${daemon.page}#/experiments/live`);
    await page.getByRole("button", { name: "Start traffic…" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("textbox", { name: "Reason" }).fill("two pairs");
    await dialog.getByRole("button", { name: "Start it" }).click();
    await expect(page.getByRole("region", { name: "Traffic" })).toContainText("6.20");
    await page.locator(".done button").click();
    await expect(page.getByRole("region", { name: "Links", exact: true })).toContainText("100 %");
    // The curve has some seconds.
    await page.waitForTimeout(8_000);
    await picture(page, "experiments", 900);
  });
});
