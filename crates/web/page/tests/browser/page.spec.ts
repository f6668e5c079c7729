// The page against a running daemon.
import { expect, type Page, test } from "@playwright/test";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { Daemon } from "./daemon";
import { accessible, complainsOfNothing, looksWell } from "./looks";
import { saved } from "./steps";

const daemon = new Daemon("fattree:1152");
/** Digest of `body {}`, a style that Playwright gives a page in Firefox before it takes a picture. */
const STYLE_OF_SCREENSHOTS = createHash("sha256").update("body {}").digest("base64");
// A daemon that is gone is something that a browser complains of.
complainsOfNothing((text, title) => title.includes("lost") || text.includes(STYLE_OF_SCREENSHOTS));

test.beforeAll(async () => {
  await daemon.start();
});
test.afterAll(async () => {
  await daemon.remove();
});

/** Opens a view and waits until it shows the fabric. */
async function open(page: Page, hash = ""): Promise<void> {
  await page.goto(daemon.page + hash);
  await expect(page.locator(".figures")).toBeVisible();
  await expect(page.locator(".notice")).toHaveCount(0);
}

async function counted(page: Page, name: string): Promise<string> {
  return (await page.locator(".legend li", { hasText: name }).locator("b").first().textContent()) ?? "";
}

test("the overview shows every node of a fabric that is well", async ({ page }) => {
  await open(page);
  await expect(page.locator(".side")).toContainText("1,152 hosts");
  await expect(page.getByText("Nothing is found wrong.")).toBeVisible();
  await expect(page.getByRole("heading", { level: 1 })).toContainText("All is well");
  const drawn = await page.evaluate(() => {
    const canvas = document.querySelector<HTMLCanvasElement>(".canvas canvas");
    return canvas === null ? 0 : canvas.width * canvas.height;
  });
  expect(drawn).toBeGreaterThan(100_000);
  await expect(page.locator(".canvas")).toHaveAttribute("aria-label", /Picture of \d+ nodes/);
});

test("a cut cable is seen within a second, named, and gone when it is mended", { tag: "@firefox" }, async ({ page }) => {
  await open(page);
  await page.evaluate(() => {
    const seen = new MutationObserver(() => {
      if (document.querySelector(".legend")?.textContent?.includes("missing link")) {
        performance.mark("lost-seen");
        seen.disconnect();
      }
    });
    seen.observe(document.body, { subtree: true, childList: true, characterData: true });
  });
  daemon.cause("link-down", "edge1:30");
  const cut = await page.evaluate(() => performance.timeOrigin + performance.now());
  await expect(page.locator(".legend")).toContainText("missing link");
  const seen = await page.evaluate(() => performance.timeOrigin + performance.getEntriesByName("lost-seen")[0].startTime);
  expect(seen - cut, "milliseconds until it is seen").toBeLessThan(1_000);
  expect(await counted(page, "missing link")).toBe("2");
  const finding = page.locator(".findings li").first();
  await expect(finding).toContainText("missing link");
  await expect(finding).toContainText("edge1 port 30");
  await page.getByRole("link", { name: "Events" }).click();
  await expect(page.locator(".events")).toContainText("link vanished: edge1 port 30");
  await page.getByRole("link", { name: "Overview" }).click();
  await page.getByText("The same as a table").click();
  await expect(page.locator(".table")).toContainText("edge1 port 30");
  daemon.cause("link-up", "edge1:30");
  await expect(page.locator(".legend")).not.toContainText("missing link");
  // What the ports have counted of it may be told for a while.
  await expect(page.getByText("missing link")).toHaveCount(0);
});

test("a node is found by its name, and its view has its neighbours, ports and counters", { tag: "@firefox" }, async ({ page }) => {
  await open(page);
  await page.keyboard.press("/");
  await page.keyboard.type("edge7:3");
  await expect(page.getByRole("listbox")).toContainText("edge7 port 3");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/#\/node\/0x[0-9a-f]{16}\/port\/3$/);
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("edge7 port 3");
  await expect(page.locator(".facts")).toContainText("switch of tier 1");
  await expect(page.getByRole("region", { name: "Counters" })).toContainText("xmit data");
  await expect(page.getByRole("region", { name: "Ports" }).locator("tbody tr")).toHaveCount(48);
  await expect(page.locator(".neighbours a").first()).toBeVisible();
  await page.locator(".neighbours a").first().click();
  await expect(page.getByRole("heading", { level: 1 })).not.toHaveText(/edge7/);
  await page.keyboard.press("Escape");
  await expect(page).toHaveURL(/#\/$/);
});

test("a node is found in the picture by pointing at it", async ({ page }) => {
  await open(page);
  const box = await page.locator(".canvas").boundingBox();
  if (box === null) throw new Error("no picture");
  const tip = page.locator(".tip");
  for (let step = 1; step < 40 && !(await tip.isVisible()); step++) {
    await page.mouse.move(box.x + (box.width * step) / 40, box.y + box.height / 2 + step);
  }
  await expect(tip).toBeVisible();
  const name = (await tip.locator("b").textContent()) ?? "none";
  await page.mouse.down();
  await page.mouse.up();
  await expect(page.getByRole("heading", { level: 1 })).toContainText(name);
});

test("the picture is zoomed and moved with the keyboard and the wheel", async ({ page }) => {
  await open(page);
  const canvas = page.locator(".canvas");
  const picture = () => page.locator(".canvas canvas").last().screenshot();
  await canvas.focus();
  const all = await picture();
  await page.keyboard.press("+");
  await page.keyboard.press("+");
  await expect.poll(async () => (await picture()).equals(all)).toBe(false);
  await page.keyboard.press("0");
  await expect.poll(async () => (await picture()).equals(all)).toBe(true);
  const box = await canvas.boundingBox();
  if (box === null) throw new Error("no picture");
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  await page.mouse.wheel(0, -600);
  await expect.poll(async () => (await picture()).equals(all)).toBe(false);
});

test("a node of the picture and a pair of the matrix are chosen with the keyboard, and told", async ({ page }) => {
  await open(page);
  await page.locator(".canvas").focus();
  const told = page.locator(".spoken");
  await page.keyboard.press("Shift+ArrowRight");
  await expect(told).toHaveText(/, (switch|host), \d+ ports?$/);
  const first = await told.textContent();
  for (let step = 0; step < 3; step++) await page.keyboard.press("Shift+ArrowLeft");
  await expect(told).not.toHaveText(first ?? "");
  const name = (await told.textContent())?.split(",")[0] ?? "none";
  await expect(page.locator(".tip b")).toHaveText(name);
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { level: 1 })).toContainText(name);

  await page.getByRole("link", { name: "Matrix" }).click();
  await page.locator(".matrix").focus();
  const status = page.locator(".status");
  await page.keyboard.press("Shift+ArrowDown");
  await expect(status).toContainText("edge1 × core1: ");
  await page.keyboard.press("Shift+ArrowDown");
  await page.keyboard.press("Shift+ArrowRight");
  await expect(status).toContainText("edge2 × core2: ");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { level: 1 })).toHaveText(/^edge2 port \d+$/);
});

test("tables say what ports and pairs are coloured by", async ({ page }) => {
  await open(page, "#/by/load");
  await page.getByText("The same as a table").click();
  const ports = page.getByRole("region", { name: "Ports with cables, the busiest first" });
  await expect(ports.locator("tbody tr")).toHaveCount(200);
  await expect(ports.locator("thead")).toHaveText("PortStateLoadWaitingErrorsLast changeCable to");
  await expect(ports).toContainText("more ports; the file has all.");
  const [file] = await Promise.all([page.waitForEvent("download"), ports.getByRole("button", { name: "Save all as CSV" }).click()]);
  const lines = readFileSync(await file.path(), "utf8").trimEnd().split("\r\n");
  expect(lines[0]).toBe("node,port,state,cable to,its port,load,waiting,errors a minute,last change");
  // Both ends of each cable: of hosts, and as many above.
  expect(lines.length - 1).toBe(4 * 1_152);
  await page.getByRole("link", { name: "last change" }).click();
  await expect(page.getByText("those that changed last first")).toBeVisible();

  await page.goto(`${daemon.page}#/matrix`);
  await page.getByText("The same as a table: all pairs by load").click();
  const pairs = page.getByRole("region", { name: "All pairs by load" });
  await expect(pairs.locator("tbody tr").first()).toContainText("edge");
  await accessible(page, "matrix with all pairs");
});

test("a port is found by a point", async ({ page }) => {
  await open(page);
  const [box, found] = [page.getByRole("combobox").first(), page.getByRole("listbox")];
  await box.fill("edge7");
  await page.keyboard.press("Enter");
  const guid = /0x[0-9a-f]{16}/.exec(page.url())?.[0] ?? "";
  for (const [text, name] of [[`nodeguid:${guid}:port:9`, "edge7 port 9"], ["node:edge7:port:3", "edge7 port 3"], [`${guid}:3`, "edge7 port 3"], ["nodepat:e?ge7:port:2", "edge7 port 2"]]) {
    await box.fill(text);
    await expect(found.getByRole("option")).toHaveCount(1);
    await expect(found).toContainText(name);
  }
  await box.fill("portguid:0x1");
  await expect(page.getByText("nothing is called that")).toBeVisible();
});

test("the whole fabric is saved as a drawing", async ({ page }) => {
  await open(page);
  const saved = page.waitForEvent("download");
  await page.getByRole("button", { name: "SVG" }).click();
  const file = await (await saved).path();
  const drawing = readFileSync(file, "utf8");
  // Elsewhere: the content policy lets this page parse nothing.
  const reader = await page.context().newPage();
  const found = await reader.evaluate((text) => {
    const parsed = new DOMParser().parseFromString(text, "image/svg+xml");
    const texts = [...parsed.querySelectorAll("text")].map((one) => one.textContent);
    return { errors: parsed.querySelectorAll("parsererror").length, names: texts.filter((one) => /^(edge|core)\d+$/.test(one ?? "")).length, kinds: [...parsed.querySelectorAll("path title")].map((one) => one.textContent) };
  }, drawing);
  await reader.close();
  expect(found.errors).toBe(0);
  const nodes = await page.locator(".side").getByText(/\d+ switches/).textContent();
  expect(found.names).toBe(Number(/(\d+) switches/.exec(nodes ?? "")?.[1]));
  expect(found.kinds.join()).toMatch(/active: \d+/);
});

test("pictures and tables of a port and of the matrix are saved", async ({ page }) => {
  await open(page);
  await page.keyboard.press("/");
  await page.keyboard.type("edge7:3");
  await page.keyboard.press("Enter");
  const counters = page.getByRole("region", { name: "Counters" });
  const table = await saved(page, () => counters.getByRole("button", { name: "Save as CSV" }).click());
  expect(table.name).toBe("counters.csv");
  expect(table.text).toMatch(/^Counter,Total\r\n(.+\r\n)*xmit data,/);
  const picture = await saved(page, () => page.getByRole("region", { name: "Neighbours and cables" }).getByRole("button", { name: "Save as SVG" }).click());
  expect(picture.name).toBe("neighbours of edge7.svg");
  // The colours of the page are in it.
  const color = await page.locator(".neighbours .own").evaluate((own) => getComputedStyle(own).fill);
  expect(picture.text).toContain(`fill: ${color}`);
  await expect(page.locator(".chart")).toBeVisible();
  expect((await saved(page, () => page.locator(".chart").getByRole("button", { name: "Save as SVG" }).click())).name).toBe("load of edge7 port 3.svg");

  await page.getByRole("link", { name: "Matrix" }).click();
  expect((await saved(page, () => page.getByRole("button", { name: "Save as PNG" }).click())).text).toMatch(/PNG/);
  const pairs = (await saved(page, () => page.getByRole("button", { name: "Save all pairs as CSV" }).click())).text.trimEnd().split("\r\n");
  expect(pairs[0]).toBe("lower,upper,links that are up,links,busiest,times the mean of the row,errors a minute");
  // 48 edge switches, each with a link to each of 24 core switches.
  expect(pairs.length).toBe(1 + 48 * 24);
});

test("a port has what is known of its cable", async ({ page }) => {
  await open(page);
  await page.keyboard.press("/");
  await page.keyboard.type("edge7:30");
  await page.keyboard.press("Enter");
  const cable = page.locator("h2", { hasText: /^Cable$/ }).locator("+ p");
  const rows = () => daemon.weft("report", "cablehealth").split("\n");
  const serial = () => /;(W[0-9]+);/.exec(rows().find((row) => /edge7;2;0x[0-9a-f]+;0x[0-9a-f]+; *30;/.test(row)) ?? "")?.[1];
  await expect.poll(serial).toBeDefined();
  await expect(cable).toContainText(`Weft emulator, WEFT-AOC-10M, serial number ${serial()}`);
});

test("nothing covers the picture on a low window", async ({ page }) => {
  await page.setViewportSize({ width: 1000, height: 560 });
  await open(page);
  const picture = await page.locator(".canvas").boundingBox();
  const buttons = await page.locator(".zoom button").all();
  expect(buttons).not.toHaveLength(0);
  for (const button of buttons) {
    const own = await button.boundingBox();
    expect((own?.y ?? Infinity) + (own?.height ?? 0)).toBeLessThanOrEqual(picture?.y ?? 0);
  }
});

test("the matrix names the pair whose link is missing", { tag: "@firefox" }, async ({ page }) => {
  await open(page);
  await page.getByRole("link", { name: "Matrix" }).click();
  await expect(page.getByText("Every pair has its links")).toBeVisible();
  daemon.cause("link-down", "edge2:33");
  await expect(page.getByRole("region", { name: "Pairs with trouble" })).toContainText("edge2");
  daemon.cause("link-up", "edge2:33");
  await expect(page.getByText("Every pair has its links")).toBeVisible();
});

test("a route is shown hop by hop between two hosts that are named", { tag: "@firefox" }, async ({ page }) => {
  await open(page);
  await page.getByRole("link", { name: "Route" }).click();
  for (const [label, name] of [["From", "node1 hfi1_0"], ["To", "node600 hfi1_0"]]) {
    await page.getByRole("combobox", { name: `${label}: name, GUID or LID` }).fill(name);
    await page.getByRole("option").first().click();
  }
  await expect(page).toHaveURL(/#\/route\/0x[0-9a-f]{16}\/0x[0-9a-f]{16}$/);
  const stops = page.locator(".paths li").first().locator(".stop");
  await expect(stops).toHaveCount(5);
  await expect(stops.first()).toHaveText("node1 hfi1_0");
  await expect(stops.nth(1)).toHaveText("edge1");
  await expect(stops.last()).toHaveText("node600 hfi1_0");
  await page.getByRole("link", { name: "the way back" }).click();
  await expect(page.locator(".paths .stop").first()).toHaveText("node600 hfi1_0");
});

test("a link that is kept from use is told apart from a lost one", async ({ page }) => {
  await open(page);
  daemon.cause("link-lanes", "edge3:31", "2");
  await expect(page.locator(".legend")).toContainText("out of use");
  await expect(page.locator(".findings")).toContainText("unused");
  daemon.cause("link-lanes", "edge3:31", "4");
  daemon.cause("link-down", "edge3:31");
  daemon.cause("link-up", "edge3:31");
  await expect(page.locator(".legend")).not.toContainText("out of use");
});

test("a daemon that is lost is told, and followed again when it is back", { tag: "@firefox" }, async ({ page }) => {
  await open(page);
  await daemon.kill();
  await expect(page.locator(".lost")).toContainText("weftd does not answer");
  await expect(page.locator(".canvas")).toBeVisible();
  await daemon.start();
  await expect(page.locator(".lost")).toHaveCount(0);
  daemon.cause("link-down", "edge1:31");
  await expect(page.locator(".legend")).toContainText("missing link");
  daemon.cause("link-up", "edge1:31");
  await expect(page.locator(".legend")).not.toContainText("missing link");
});

for (const scheme of ["dark", "light"] as const) {
  test(`nothing stands in the way of who does not see it well: ${scheme}`, { tag: scheme === "dark" ? "@firefox" : [] }, async ({ page }) => {
    await page.emulateMedia({ colorScheme: scheme });
    daemon.cause("link-down", "edge1:32");
    for (const hash of ["", "#/by/load", "#/by/change", "#/route/0x0011750101000001/0x0011750101000002", "#/matrix", "#/matrix/imbalance", "#/groups", "#/fabric/Default", "#/events"]) {
      await page.goto(daemon.page + hash);
      await expect(page.locator("main h1").first()).toBeVisible();
      await expect(page.locator(".source")).toBeVisible();
      await accessible(page, hash);
    }
    await page.goto(`${daemon.page}#/`);
    await page.keyboard.press("/");
    await page.keyboard.type("edge1:32");
    await page.keyboard.press("Enter");
    await expect(page.getByRole("region", { name: "Counters" })).toBeVisible();
    await accessible(page, "focus");
    daemon.cause("link-up", "edge1:32");
  });
}

for (const [width, height] of [[360, 740], [1024, 768], [3840, 2160]]) {
  test(`nothing is wider than a screen of ${width} pixels`, async ({ page }) => {
    await page.setViewportSize({ width, height });
    for (const hash of ["", "#/matrix", "#/groups", "#/fabric/Default", "#/events"]) {
      await page.goto(daemon.page + hash);
      await expect(page.locator("main h1").first()).toBeVisible();
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      expect(wide, hash).toBeLessThanOrEqual(width);
    }
    // The overview scrolls on a narrow screen only.
    if (width > 820) {
      await page.goto(daemon.page);
      await expect(page.locator(".source")).toBeVisible();
      expect(await page.evaluate(() => document.documentElement.scrollHeight)).toBe(height);
    }
  });
}

// The link is in trouble for an hour after it: it comes last.
test("errors of links have a colour of their own, and the table tells how many", async ({ page }) => {
  await open(page);
  await page.getByRole("link", { name: "errors", exact: true }).click();
  await expect(page).toHaveURL(/#\/by\/errors$/);
  await expect(page.locator(".legend")).toContainText("errors: none, 1 a day 1,000,000 a minute");
  await page.getByText("The same as a table").click();
  const ports = page.getByRole("region", { name: "Ports with cables, those with most errors first" });
  const first = ports.locator("tbody tr").first();
  await expect(first.locator("td").nth(4)).toHaveText("none");
  // A reading is over after a second: they are counted anew until one is seen in both.
  await expect(async () => {
    daemon.cause("count-errors", "edge4:31", "--rcv-errors", "5000");
    await expect(first).toContainText("edge4 port 31", { timeout: 3_000 });
    await expect(first.locator("td").nth(4)).toHaveText(/^\d{3},000 a minute$/, { timeout: 500 });
    const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "SVG" }).click()]);
    const drawing = readFileSync(await file.path(), "utf8");
    expect(drawing).toMatch(/<title>errors: \d+</);
  }).toPass({ timeout: 40_000 });
  // None are counted any more, and the list has the link for an hour: so have the picture and the table.
  await expect(page.locator(".findings")).toContainText("edge4 port 31");
  await expect(ports.getByRole("row", { name: /^edge4 port 31/ }).locator("td").nth(4)).toHaveText("before the last reading");
  await expect(page.locator(".legend")).toContainText(/[^:]errors \d/);
  await looksWell(page, "errors");
});
