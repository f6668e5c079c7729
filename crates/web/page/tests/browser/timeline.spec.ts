// The past: what happened, by whom, and the fabric as it was.
import { expect, type Page, test } from "@playwright/test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Daemon } from "./daemon";
import { looksWell } from "./looks";

const daemon = new Daemon("fattree:16,radix=8");
/** A moment at which a cable was cut, and one at which it was mended, as addresses have them. */
let [cut, mended] = ["", ""];
/** Errors that a port counts between them. */
const ERRORS = 3_000;

function now(): string {
  return new Date().toISOString();
}

test.beforeAll(async ({ browser }) => {
  daemon.remember();
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
  daemon.cause("count-errors", "edge1:6", "--rcv-errors", String(ERRORS));
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
  await expect(page.locator(".legend")).toContainText("missing link 2");
  await expect(page.locator(".findings")).toContainText("missing link");
  await looksWell(page, "past-overview");
  await page.locator(".findings a", { hasText: "edge1 port 5" }).click();
  await expect(page).toHaveURL(/#\/node\/0x[0-9a-f]{16}\/port\/5@.*Z$/);
  await expect(page.getByRole("region", { name: "Ports" }).getByRole("row", { name: /^5 missing link/ })).toBeVisible();
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
  await expect(page.locator(".legend")).not.toContainText("missing link");
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

test("a span shows what was counted in it, what happened in it, and the fabric at its end", async ({ page }) => {
  await open(page, `#/by/errors@${cut}..${mended}`);
  const told = page.locator(".asof");
  await expect(told).toContainText(`From ${cut.slice(11, 19)} UTC to ${mended.slice(11, 19)} UTC.`);
  await expect(told).toContainText("states, cables, routes and what is wrong are as of its end");
  await expect(page.locator(".legend")).not.toContainText("missing link");
  // The errors of one reading, over all of the span.
  const [, means, unit] = /means of (\d+) (second|minute)s/.exec((await told.textContent()) ?? "") ?? [];
  const asked = (Date.parse(mended) - Date.parse(cut)) / 1_000;
  const said = Number(means) * (unit === "minute" ? 60 : 1);
  // From two minutes on it is said in whole minutes.
  expect(Math.abs(said - asked), `${said} of ${asked} seconds`).toBeLessThan(unit === "minute" ? 34 : 4);
  const seconds = unit === "minute" ? asked : said;
  await page.getByText("The same as a table").click();
  const first = page.getByRole("region", { name: "Ports with cables, those with most errors first" }).locator("tbody tr").first();
  await expect(first).toContainText("edge1 port 6");
  const rate = Number(/([\d,]+) a minute/.exec((await first.textContent()) ?? "")?.[1].replaceAll(",", ""));
  expect(Math.abs((rate * seconds) / 60 / ERRORS - 1), `${rate} a minute`).toBeLessThan(0.15);
  await looksWell(page, "span-errors");
  // At its end alone there are none.
  await page.goto(`${daemon.page}#/by/errors@${mended}`);
  await expect(told).toContainText("As of");
  await expect(first.locator("td").nth(4)).toHaveText("before the last reading");

  await open(page, `#/events@${cut}..${mended}`);
  await expect(page.getByRole("heading", { level: 1 })).toHaveText(/^Events from \d\d:\d\d:\d\d UTC to \d\d:\d\d:\d\d UTC$/);
  const events = page.locator(".events");
  await expect(events).toContainText("link appeared: edge1 port 5");
  await expect(events).not.toContainText("link vanished: edge1 port 5");
  await page.getByRole("link", { name: /link appeared: edge1 port 5/ }).first().click();
  await expect(page).toHaveURL(/#\/node\/0x[0-9a-f]{16}\/port\/5@.*Z\.\..*Z$/);
  await expect(page.getByRole("heading", { name: /^from \d\d:\d\d:\d\d UTC to/ })).toBeVisible();
  await page.getByRole("region", { name: "Ports" }).getByRole("link", { name: "6", exact: true }).click();
  const counters = page.getByRole("region", { name: "Counters" });
  await expect(counters.locator("thead")).toHaveText("CounterIn the spanTotal");
  await expect(counters.getByRole("row", { name: /^rcv errors/ })).toHaveText(`rcv errors${ERRORS.toLocaleString("en")}${ERRORS.toLocaleString("en")}`);
  await expect(page.getByRole("main")).toContainText(/In the span: from \d\d:\d\d:\d\d UTC to \d\d:\d\d:\d\d UTC, when the counters were read\./);
  await looksWell(page, "span-port");
  // Between two readings of the counters.
  const port = page.url().slice(0, page.url().indexOf("@"));
  await page.goto(`${port}@${new Date(Date.parse(mended) - 1).toISOString()}..${mended}`);
  await expect(page.getByRole("main")).toContainText("What was counted in the span is not known: the counters were not read within it.");
  await expect(counters.locator("thead")).toHaveText("CounterTotal");
  await page.goto(`${daemon.page}#/matrix@${cut}..${mended}`);
  await expect(page.getByRole("main")).toContainText("all as means of the span");
  await page.goto(`${daemon.page}#/plans@${cut}..${mended}`);
  await expect(told).toContainText("This view is of now.");
  await page.goto(`${daemon.page}#/@2020-01-01T00:00:00Z..${mended}`);
  await expect(told).toContainText("Loads, waiting and errors are not known: No reading of counters is kept");
  // Loads that are not known are no means.
  await page.goto(`${daemon.page}#/matrix@2020-01-01T00:00:00Z..${mended}`);
  await expect(page.getByRole("main")).toContainText("Colour: the load of the busiest link;");
});

test("while another span is read, the one that is shown is named", async ({ page }) => {
  await open(page, `#/by/load@${cut}..${mended}`);
  const told = page.locator(".asof");
  const named = (from: string) => `From ${from.slice(11, 19)} UTC to ${mended.slice(11, 19)} UTC.`;
  await expect(told).toContainText(named(cut));
  await expect(told).not.toContainText("is read…");
  let answer = () => {};
  const held = new Promise<void>((done) => (answer = done));
  await page.route(/\/GetPast(\?|$)/, async (route) => {
    await held;
    await route.continue();
  });
  const later = new Date(Date.parse(cut) + 1_000).toISOString();
  await page.goto(`${daemon.page}#/by/load@${later}..${mended}`);
  await expect(told).toContainText(`What was counted ${named(later).slice(0, -1).replace("From", "from")} is read…`);
  await expect(told).toContainText(named(cut));
  answer();
  await expect(told).toContainText(named(later));
  await expect(told).not.toContainText("is read…");
});

test("a span that the timeline does not show any more has what happened in it", async ({ page }) => {
  // As somebody opens its address two hours later.
  await page.clock.setFixedTime(Date.now() + 7_200_000);
  await open(page, `#/events?last=15m@${cut}..${mended}`);
  const events = page.locator(".events");
  await expect(events).toContainText("link appeared: edge1 port 5");
  await expect(events).toContainText("rack 7 is moved");
  await expect(events).not.toContainText("link vanished: edge1 port 5");
  await expect(page.locator("svg.happened")).toContainText(/well again [1-9]/);
  await expect(page.getByRole("button", { name: "Save all as CSV" })).toBeVisible();
  // Another span, of which nothing is kept.
  await page.goto(`${daemon.page}#/events?last=15m@2020-01-01T00:00:00Z..2020-01-02T00:00:00Z`);
  await expect(page.getByRole("main")).toContainText("No events are kept of then.");
});

test("a span is drawn over the marks, or chosen with the keyboard", async ({ page }) => {
  await open(page, "");
  const timeline = page.getByRole("region", { name: "Timeline" });
  // Waits until nothing moves it any more.
  await timeline.locator("svg").hover();
  const box = await timeline.locator("svg").boundingBox();
  if (box === null) throw new Error("no strip");
  await page.mouse.move(box.x + 0.97 * box.width, box.y + 8);
  await page.mouse.down();
  await page.mouse.move(box.x + 0.99 * box.width, box.y + 9, { steps: 4 });
  await page.mouse.up();
  await expect(page).toHaveURL(/#\/@\S+Z\.\.\S+Z$/);
  await expect(timeline.locator("rect.span")).toHaveAttribute("x", /^9[67]\d/);
  const drawn = page.url();
  await timeline.getByRole("slider", { name: "Start of the span" }).focus();
  await page.keyboard.press("ArrowLeft");
  await expect(page).not.toHaveURL(drawn);
  const longer = page.url();
  expect(longer.slice(longer.indexOf(".."))).toBe(drawn.slice(drawn.indexOf("..")));
  // Neither end goes past the other.
  const first = timeline.getByRole("slider", { name: "Start of the span" });
  const value = await first.inputValue();
  await page.keyboard.press("End");
  await expect(first).toHaveValue(value);
  expect(page.url()).toBe(longer);
  await timeline.getByRole("slider", { name: "End of the span" }).focus();
  await page.keyboard.press("ArrowRight");
  await expect(page).not.toHaveURL(longer);
  await expect(timeline.getByRole("button", { name: "Span" })).toHaveAttribute("aria-pressed", "true");
  await timeline.getByRole("button", { name: "Span" }).click();
  await expect(page).toHaveURL(/#\/@[^.]+Z$/);
  await expect(timeline.getByRole("slider", { name: "Moment" })).toBeVisible();
  await timeline.getByRole("button", { name: "Span" }).click();
  await expect(timeline.getByRole("slider", { name: "Start of the span" })).toBeVisible();
  // A moment that the timeline does not show stays the end of the span, and is left as it was.
  const old = "2020-01-01T00:00:00Z";
  await page.goto(`${daemon.page}#/@${old}`);
  await timeline.getByRole("button", { name: "Span" }).click();
  await expect(page).toHaveURL(`${daemon.page}#/@2019-12-31T23:50:00Z..${old}`);
  await timeline.getByRole("button", { name: "Span" }).click();
  await expect(page).toHaveURL(`${daemon.page}#/@${old}`);
  // Another button, and what is given up, choose nothing.
  await page.mouse.click(box.x + 0.98 * box.width, box.y + 8, { button: "right" });
  const strip = timeline.locator("svg");
  const at = { clientX: box.x + 0.5 * box.width, clientY: box.y + 8, pointerId: 1 };
  await page.mouse.move(at.clientX, at.clientY);
  await page.mouse.down();
  await page.mouse.move(at.clientX + 20, at.clientY, { steps: 2 });
  await expect(timeline.locator("rect.span")).toBeVisible();
  await strip.dispatchEvent("pointercancel", at);
  await expect(timeline.locator("rect.span")).toHaveCount(0);
  await page.mouse.up();
  await expect(page).toHaveURL(`${daemon.page}#/@${old}`);
  // A click is a moment.
  await page.mouse.click(box.x + 0.98 * box.width, box.y);
  await expect(page).toHaveURL(/#\/@[^.]+Z$/);
});

test("the timeline is saved as a drawing, and its events as a table", async ({ page }) => {
  await open(page, "#/events");
  const saved = async (button: string) => {
    const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: button }).click()]);
    return { name: file.suggestedFilename(), text: readFileSync(await file.path(), "utf8") };
  };
  await expect(page.locator(".events")).toContainText("rack 7 is moved");
  const table = await saved("Save all as CSV");
  const lines = table.text.trimEnd().split("\r\n");
  expect([table.name, lines[0]]).toEqual(["events.csv", "time,kind,what happened,node,port"]);
  expect(lines.length - 1).toBe(await page.locator(".events li").count());
  expect(lines.some((line) => /^\d{4}-\d\d-\d\dT[\d:.]+Z,trouble,link vanished: edge1 port 5 – .*,0x[0-9a-f]{16},5$/.test(line))).toBe(true);
  expect(lines.some((line) => /,by people,.*disable edge2:6: rack 7 is moved,0x[0-9a-f]{16},6$/.test(line))).toBe(true);
  const drawing = await saved("Save as SVG");
  expect(drawing.name).toBe("timeline.svg");
  expect(drawing.text).toMatch(/>trouble \d+<.*>well again \d+<.*>by people \d+</s);
  expect(drawing.text).toMatch(/<path class="bad" d="M\d+ 4V22[^>]*stroke: rgb\(/);
});

test("ports are coloured by the time since their last change", async ({ page }) => {
  // Ports by colour, as the drawing of the whole fabric tells: the number of each, the rarest first.
  const colors = async (time: string) => {
    await open(page, `#/by/change@${time}`);
    await expect(page.locator(".asof")).toContainText(`As of ${time.slice(11, 19)}`);
    await expect(page.locator(".legend")).toContainText("just now");
    await expect(page.locator(".timeline")).toBeVisible();
    const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "SVG" }).click()]);
    const drawing = readFileSync(await file.path(), "utf8");
    return [...drawing.matchAll(/<title>active: (\d+)</g)].map(([, count]) => Number(count)).sort((a, b) => a - b);
  };
  // Port 5 of edge1, port 6 of edge2, and the other ends of their cables: of one age or two, by how fast this machine is. Both
  // ends of the link with errors keep the colour of that.
  const split = async () => {
    const all = await colors(mended);
    return { changed: all.slice(0, -1).reduce((sum, count) => sum + count, 0), others: all.at(-1) };
  };
  await expect.poll(split).toEqual({ changed: 4, others: 58 });
  // At the first moment the one cable is lost, and nothing else has changed since the fabric came up.
  expect(await colors(cut)).toHaveLength(1);
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
