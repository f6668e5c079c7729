// The past: what happened, by whom, and the fabric as it was.
import { expect, type Page, test } from "@playwright/test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Daemon } from "./daemon";
import { looksWell } from "./looks";

const daemon = new Daemon("fattree:16,radix=8");
/** A moment at which a cable was cut, and one at which it was mended, as addresses have them. */
let [cut, mended] = ["", ""];

function now(): string {
  return new Date().toISOString();
}

test.beforeAll(async ({ browser }) => {
  daemon.more.push("--state-dir", join(daemon.dir, "state"));
  await daemon.start();
  const page = await browser.newPage();
  await open(page, "");
  daemon.cause("link-down", "edge1:5");
  await expect(page.locator(".findings")).toContainText("missing link");
  await page.waitForTimeout(2_500);
  cut = now();
  await page.waitForTimeout(500);
  daemon.cause("link-up", "edge1:5");
  await expect(page.getByText("missing link")).toHaveCount(0);
  daemon.weft("port", "disable", "--reason", "rack 7 is moved", "node:edge2:port:6");
  await expect(page.locator(".legend")).toContainText("disabled");
  daemon.weft("port", "enable", "node:edge2:port:6");
  await expect(page.locator(".legend")).not.toContainText("disabled");
  await page.waitForTimeout(2_500);
  mended = now();
  await page.close();
});
test.afterAll(async () => {
  await daemon.remove();
});

async function open(page: Page, hash: string): Promise<void> {
  await page.goto(daemon.page + hash);
  await expect(page.locator(".source")).toBeVisible();
  await expect(page.locator(".notice")).toHaveCount(0);
}

test("the overview and a port show the fabric as it was, and lead back to now", async ({ page }) => {
  await open(page, `#/@${cut}`);
  const told = page.locator(".asof");
  await expect(told).toContainText(`As of ${cut.slice(11, 19)}`);
  await expect(told).toContainText(/loads of \d\d:\d\d:\d\d/);
  await expect(page.locator(".legend")).toContainText("lost 2");
  await expect(page.locator(".findings")).toContainText("missing link");
  await looksWell(page, "past-overview");
  await page.locator(".findings a", { hasText: "edge1 port 5" }).click();
  await expect(page).toHaveURL(/#\/node\/0x[0-9a-f]{16}\/port\/5@.*Z$/);
  await expect(page.getByRole("region", { name: "Ports" }).getByRole("row", { name: /^5 lost/ })).toBeVisible();
  await expect(page.getByRole("button", { name: "Disable…" })).toHaveCount(0);
  await looksWell(page, "past-port");
  await page.getByRole("button", { name: "Back to now" }).click();
  await expect(page).toHaveURL(/\/port\/5$/);
  await expect(page.getByRole("region", { name: "Ports" }).getByRole("row", { name: /^5 active/ })).toBeVisible();
  await expect(page.getByRole("button", { name: "Disable…" })).toBeVisible();
});

test("the timeline leads from one thing that happened to the next, also with the keyboard", async ({ page }) => {
  await open(page, `#/@${mended}`);
  const timeline = page.getByRole("region", { name: "Timeline" });
  await expect(timeline).toBeVisible();
  await expect(page.locator(".asof")).toContainText("As of");
  await expect(page.locator(".legend")).not.toContainText("lost");
  const moment = timeline.getByRole("slider", { name: "Moment" });
  await moment.focus();
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("ArrowLeft");
  await expect(page).not.toHaveURL(new RegExp(mended));
  await expect(page).toHaveURL(/@.*Z$/);
  await timeline.getByRole("button", { name: "What happened before" }).click();
  const there = page.url();
  await timeline.getByRole("button", { name: "What happened before" }).click();
  await expect.poll(() => page.url() < there).toBe(true);
  await timeline.getByRole("button", { name: "What happened next" }).click();
  await expect.poll(() => page.url()).toBe(there);
  await timeline.getByRole("button", { name: "Now" }).click();
  await expect(page).toHaveURL(/#\/$/);
  await expect(page.locator(".asof")).toHaveCount(0);
  await timeline.getByRole("combobox").selectOption("last day");
  await expect(timeline.locator("path.person")).toHaveAttribute("d", /^M/);
});

test("events tell what people changed, with the reason, and their times lead to the fabric of then", async ({ page }) => {
  await open(page, "#/events");
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Events in the last hour");
  const events = page.locator(".events");
  await expect(events).toContainText("link vanished: edge1 port 5");
  // The order and the event that tells of it are one line.
  await expect(events.locator("li", { hasText: "rack 7 is moved" })).toHaveCount(1);
  await expect(events.locator("li.person", { hasText: "disable edge2:6: rack 7 is moved" })).toHaveCount(1);
  await looksWell(page, "past-events");
  await events.locator("li", { hasText: "link vanished: edge1 port 5" }).last().locator("a.then").click();
  await expect(page.locator(".asof")).toContainText("As of");
  await page.getByRole("link", { name: "Route" }).click();
  await expect(page).toHaveURL(/#\/route@.*Z$/);
});

test("ports are coloured by the time since their last change", async ({ page }) => {
  // Ports by colour, as the drawing of the whole fabric tells: the number of each, the rarest first.
  const colors = async (hash: string) => {
    await open(page, hash);
    await expect(page.locator(".legend")).toContainText("just now");
    await expect(page.locator(".timeline")).toBeVisible();
    const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "SVG" }).click()]);
    const drawing = readFileSync(await file.path(), "utf8");
    return [...drawing.matchAll(/<title>active: (\d+)</g)].map(([, count]) => Number(count)).sort((a, b) => a - b);
  };
  // Port 5 of edge1, port 6 of edge2, and the other ends of their cables: of one age or two, by how fast this machine is.
  const split = async () => {
    const all = await colors(`#/by/change@${mended}`);
    return { changed: all.slice(0, -1).reduce((sum, count) => sum + count, 0), others: all.at(-1) };
  };
  await expect.poll(split).toEqual({ changed: 4, others: 60 });
  // At the first moment the one cable is lost, and nothing else has changed since the fabric came up.
  expect(await colors(`#/by/change@${cut}`)).toHaveLength(1);
});

test("on paper the page is light, without what one clicks", async ({ page }) => {
  await open(page, "");
  await expect(page.locator(".timeline")).toBeVisible();
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  expect(await ground()).not.toBe("rgb(255, 255, 255)");
  await page.emulateMedia({ media: "print", colorScheme: "dark" });
  await expect.poll(ground).toBe("rgb(255, 255, 255)");
  await expect(page.locator(".timeline")).toBeHidden();
  await expect(page.getByRole("button", { name: "SVG" })).toBeHidden();
  // The legend is as light as the page.
  await expect(page.locator(".legend li", { hasText: "active" }).locator("i")).toHaveCSS("background-color", "rgb(157, 189, 210)");
  await page.emulateMedia({ media: "screen", colorScheme: "dark" });
  await expect.poll(ground).not.toBe("rgb(255, 255, 255)");
});

test("a moment of which nothing is known is said to be one", async ({ page }) => {
  await open(page, "#/@2020-01-01T00:00:00Z");
  await expect(page.locator(".asof")).toContainText("nothing is known of 2020-01-01");
  await expect(page.locator(".asof")).toContainText("What is shown is of now");
  await page.getByRole("button", { name: "Back to now" }).click();
  await expect(page.locator(".asof")).toHaveCount(0);
});
