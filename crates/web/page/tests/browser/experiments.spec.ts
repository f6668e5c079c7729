// Experiments: results from a file, and the live emulation, in which E1 is seen as its authors saw it.
import { expect, type Locator, type Page, test } from "@playwright/test";
import { readFileSync } from "node:fs";
import { Daemon } from "./daemon";
import { accessible, looksWell } from "./looks";
import { say } from "./steps";
import { loadOf, near, ONE, throughput, TWO } from "./traffic";

/** Two edge switches with four hosts each, and two core switches: the fabric of E1. */
const daemon = new Daemon("pgft:2;4,2;1,2;1,1");
/** What `weft-lab run --csv` has printed. */
const RESULTS = "tests/browser/results.csv";
/** What somebody at a loopback address may do from now on, and which plans need a second person. */
function loopbackMay(role: string, twoPersons = "none"): Promise<void> {
  return daemon.loopbackMay(role, `[plans]\ntwo_persons = "${twoPersons}"\n`);
}

test.describe.configure({ timeout: 180_000 });
test.beforeAll(async () => {
  await loopbackMay("administer");
  daemon.remember();
  await daemon.start();
});
test.afterAll(async () => {
  await daemon.remove();
});

/** Opens a text as a file that somebody chooses. */
async function choose(page: Page, ...files: { name: string; text: string | Buffer }[]): Promise<void> {
  await page.getByLabel("Open results").setInputFiles(files.map(({ name, text }) => ({ name, mimeType: "text/csv", buffer: Buffer.from(text as string) })));
}

/** Sets the rate as somebody does who types: `fill` adds to what is in a field for numbers of Firefox. */
async function setRate(page: Page, percent: string): Promise<void> {
  await page.getByLabel("Most that each sends").focus();
  await page.keyboard.press("ControlOrMeta+a");
  await page.keyboard.type(percent);
}

/** Clicks on a line, away from its middle, where it may cross another one. */
async function clickOn(page: Page, line: Locator): Promise<void> {
  await line.scrollIntoViewIfNeeded();
  const [x, y] = await line.evaluate((path: SVGPathElement) => {
    const point = path.getPointAtLength(path.getTotalLength() * 0.3).matrixTransform(path.getScreenCTM() ?? undefined);
    return [point.x, point.y];
  });
  await page.mouse.click(x, y);
}

test("results of weft-lab run are opened from the disk, drawn, and stay in the browser", async ({ page }) => {
  const sent: string[] = [];
  page.on("request", (request) => sent.push(request.postData() ?? ""));
  await page.goto(`${daemon.page}#/experiments`);
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Experiments");
  await expect(page.getByText("Nothing is open")).toBeVisible();
  await looksWell(page, "experiments-empty");

  const text = readFileSync(RESULTS, "utf8");
  await choose(page, { name: "results.csv", text });
  await expect(page.getByText("Open: results.csv")).toBeVisible();
  // E1: a bar for each case, with what was published.
  const drawing = page.locator(".plot svg");
  await expect(drawing).toHaveAttribute("aria-label", /^bandwidth, GB\/s of each case/);
  await expect(drawing.locator("rect")).toHaveCount(1 + 3);
  await expect(drawing).toContainText("two pairs, adaptive");
  await expect(drawing).toContainText("24.8");
  await expect(page.getByText("All 3 published figures came out.")).toBeVisible();
  await looksWell(page, "experiments-bars");

  // A swept setting: a curve for each case with its least and most, and a heat map.
  await page.getByLabel("Experiment").selectOption({ index: 1 });
  await expect(drawing).toHaveAttribute("aria-label", /over gone/);
  await expect(drawing.locator("circle").first()).toBeVisible();
  await expect(drawing).toContainText("the least and the most");
  await looksWell(page, "experiments-curves");
  await page.getByRole("button", { name: "heat map" }).click();
  await expect(drawing).toHaveAttribute("aria-label", /as a heat map/);
  expect(await drawing.locator("rect title").count()).toBeGreaterThanOrEqual(6);
  await looksWell(page, "experiments-heat");

  // The drawing and the table as files, whole in themselves.
  const [picture] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Save as SVG" }).click()]);
  const svg = readFileSync(await picture.path(), "utf8");
  expect(svg).toMatch(/^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg"[^>]* width="\d+"/);
  expect(svg).not.toContain("class=");
  await page.getByText("The same as a table").click();
  const [table] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Save all as CSV" }).click()]);
  expect(readFileSync(await table.path(), "utf8")).toMatch(/^experiment,case,metric,measured,unit,least,most,published from,/);
  await looksWell(page, "experiments-table");

  // Another view and back: what was open still is.
  await page.getByRole("link", { name: "Matrix" }).click();
  await page.getByRole("link", { name: "Experiments" }).click();
  await expect(page.getByText("Open: results.csv")).toBeVisible();
  expect(sent.filter((body) => body.includes("bandwidth"))).toEqual([]);
});

test("a file is dropped, and what is no result is refused in a sentence", async ({ page }) => {
  await page.goto(`${daemon.page}#/experiments`);
  const head = "experiment,case,metric,measured,unit\n";
  const refused = page.getByRole("alert");
  for (const [name, text, why] of [
    ["page.html", "<script>alert(1)</script>", /page\.html, line 1: no column experiment, .*allowed: a table of weft-lab run --csv/],
    ["e.csv", `${head}E1,a,b,much,us\n`, /e\.csv, line 2: measured is "much", allowed: a number or nothing/],
    ["empty.csv", head, /empty\.csv has no measurement/],
    ["\u202Egnp.csv", Buffer.from([0x89, 0x50, 0xff]), /\\u\{202e\}gnp\.csv is no text in UTF-8/],
    ["large.csv", Buffer.alloc((16 << 20) + 1, 65), /large\.csv has 16,777,217 bytes, allowed: up to 16,777,216/],
  ] as const) {
    await choose(page, { name, text });
    await expect(refused).toHaveText(why);
  }
  await looksWell(page, "experiments-refused");
  const data = await page.evaluateHandle((text) => {
    const held = new DataTransfer();
    held.items.add(new File([text], "dropped.csv"));
    return held;
  }, `${head}E9,a,rate,5,Gb/s\n`);
  await page.locator(".drop").dispatchEvent("drop", { dataTransfer: data });
  await expect(page.getByText("Open: dropped.csv")).toBeVisible();
  await expect(refused).toHaveCount(0);
});

test("a table says how many of its rows it leaves out, and its file has all", async ({ page }) => {
  await page.goto(`${daemon.page}#/experiments`);
  const rows = Array.from({ length: 620 }, (_, at) => `E9,case ${at},rate,${at},Gb/s`);
  await choose(page, { name: "long.csv", text: `experiment,case,metric,measured,unit\n${rows.join("\n")}\n` });
  await page.getByText("The same as a table").click();
  await expect(page.getByText("Shown are the first 500 of 620 rows")).toBeVisible();
  await expect(page.getByRole("region", { name: "Measurements" }).locator("tbody tr")).toHaveCount(500);
  const [table] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Save all as CSV" }).click()]);
  expect(readFileSync(await table.path(), "utf8").trimEnd().split("\n")).toHaveLength(1 + 620);
});

test("hostile names in a file are text and nothing else", async ({ page }) => {
  const dialogs: string[] = [];
  page.on("dialog", (dialog) => {
    dialogs.push(dialog.message());
    void dialog.dismiss();
  });
  await page.goto(`${daemon.page}#/experiments`);
  const names = ["<img src=x onerror=alert(1)>", "</script><script>alert(1)</script>", "&lt;b&gt; \"\"quotes\"\"", "\u202Eevil", "\u{1F525}".repeat(200), "=HYPERLINK(1)", "a".repeat(900)];
  const rows = names.flatMap((name) => [1, 2].map((at) => `"${name}","${name}, bytes ${at}",rate,${at},Gb/s,,,,,"${name}",bytes,${at},,`));
  const both = [...rows, ...names.map((name) => `"${names[0]}","${name}",alone,1,"${name}",,,,,,,,,`)];
  await choose(page, { name: "<b>x</b>.csv", text: `experiment,case,metric,measured,unit,published,within_percent,bounds,verdict,curve,over,at,least,most\n${both.join("\n")}\n` });
  await expect(page.getByText("Open: <b>x</b>.csv")).toBeVisible();
  for (let at = 0; at < names.length; at++) {
    await page.getByLabel("Experiment").selectOption({ index: at });
    await expect(page.locator(".plot svg")).toBeVisible();
  }
  await page.getByLabel("Experiment").selectOption({ index: 0 });
  await page.getByRole("combobox", { name: "What" }).selectOption({ index: 1 });
  await expect(page.locator(".plot svg")).toContainText("\\u{202e}evil");
  await page.getByText("The same as a table").click();
  expect(await page.locator("img, script:not([src])").count()).toBe(0);
  expect(dialogs).toEqual([]);
  await looksWell(page, "experiments-hostile");
});

test("E1: the hot link is found, and adaptive routing relieves it", { tag: "@firefox" }, async ({ page }) => {
  await page.goto(`${daemon.page}#/experiments/live`);
  await expect(page.getByText("No traffic.")).toBeVisible();
  await expect(page.getByText("Adaptive routing is off")).toBeVisible();
  await expect(page.locator(".cables [data-link]")).toHaveCount(12);

  // A dialog first, which is closed without doing anything.
  const start = page.getByRole("button", { name: "Start traffic…" });
  await start.click();
  const dialog = page.getByRole("dialog");
  await expect(dialog).toContainText(/node1 sends to node\d, and node2 sends to node\d, each as fast as it goes/);
  const hot = /Both routes take the link (edge\d):(\d) to (core\d):(\d)/.exec(await dialog.innerText());
  expect(hot).not.toBeNull();
  const [edge, core] = [hot![1], hot![3]];
  const idle = core === "core1" ? "core2" : "core1";
  await accessible(page, "experiments-dialog");
  await page.keyboard.press("Escape");
  expect(daemon.weft("emulator", "traffic", "list")).toBe("no traffic\n");

  await start.click();
  await dialog.getByRole("textbox", { name: "Your name" }).fill("erika");
  await say(page, "Start it", "two pairs");
  await expect(page.locator(".done")).toContainText("Traffic is started: pair 1, pair 2");
  // Two pairs get what one link carries, and share it.
  await expect.poll(() => throughput(page)).toBeGreaterThan(12);
  expect(near(await throughput(page), ONE)).toBe(true);
  await expect(page.getByRole("region", { name: "Traffic" })).toContainText("6.20");
  await expect.poll(() => loadOf(page, edge, core)).toBeGreaterThan(99);
  // What the manager itself sends.
  expect(await loadOf(page, edge, idle)).toBeLessThan(2);
  const stroke = (to: string) => page.locator(`.cables [data-link^="${edge}:"][data-link*=" ${to}:"] path`).first().getAttribute("stroke");
  expect(await stroke(core)).not.toBe(await stroke(idle));
  await looksWell(page, "experiments-hot");

  await page.getByRole("button", { name: "Switch it on…" }).click();
  await expect(dialog).toContainText("as soon as a buffer is full");
  await say(page, "Switch it on", "as in E1");
  await expect(page.getByText(/Adaptive routing is on, in \d+ switches/)).toBeVisible();
  await expect.poll(() => throughput(page)).toBeGreaterThan(1.5 * ONE);
  expect(near(await throughput(page), TWO)).toBe(true);
  await expect(page.getByText("1 route moved by it")).toBeVisible();
  await expect.poll(() => loadOf(page, edge, idle)).toBeGreaterThan(99);
  await expect.poll(async () => (await stroke(idle)) === (await stroke(core))).toBe(true);

  // A cable is cut by a click on its line, after a question.
  const line = page.locator(`.cables [data-link^="${edge}:"][data-link*=" ${idle}:"] path`).last();
  await clickOn(page, line);
  await expect(dialog).toContainText(`Cut the cable ${edge}`);
  await page.keyboard.press("Escape");
  await expect(dialog).toHaveCount(0);
  expect(daemon.audited("SetCable")).toEqual([]);
  await clickOn(page, line);
  await say(page, "Cut the cable", "a cable is pulled");
  await expect(page.locator(".done")).toContainText("is cut");
  const mend = page.getByRole("button", { name: new RegExp(`^Mend ${edge}:\\d – ${idle}`) });
  await expect(mend).toBeVisible();
  await expect.poll(async () => near(await throughput(page), ONE)).toBe(true);
  await looksWell(page, "experiments-cut");
  await mend.click();
  await say(page, "Mend the cable", "and put back");
  await expect(mend).toHaveCount(0);
  await expect.poll(async () => near(await throughput(page), TWO)).toBe(true);
  const why = (method: string) => daemon.audited(method).map(({ author, identity, reason, result }) => [author, identity, reason, result]);
  expect(why("SetCable")).toEqual([["erika", "loopback", "a cable is pulled", "ok"], ["erika", "loopback", "and put back", "ok"]]);

  await page.getByRole("button", { name: "Switch it off…" }).click();
  await say(page, "Switch it off", "E1 is over");
  await expect(page.getByText("Adaptive routing is off")).toBeVisible();
  for (const method of ["PlanRoutes", "ApplyRoutePlan"]) expect(daemon.audited(method).map((record) => record.reason).sort()).toEqual(["E1 is over", "as in E1"]);
  await page.getByRole("button", { name: "Stop all traffic…" }).click();
  await say(page, "Stop it", "seen");
  await expect(page.getByText("No traffic.")).toBeVisible();
  expect(why("StartTraffic")).toEqual(Array(2).fill(["erika", "loopback", "two pairs", "ok"]));
  expect(why("StopTraffic")).toEqual([["erika", "loopback", "seen", "ok"]]);
});

test("what cannot be started is said", async ({ page }) => {
  await page.goto(`${daemon.page}#/experiments/live`);
  await setRate(page, "0");
  await expect(page.getByRole("alert")).toHaveText("The rate is 0, allowed: over 0, up to 100 %.");
  await expect(page.getByRole("button", { name: "Start traffic…" })).toBeDisabled();
  await setRate(page, "20");
  await page.getByLabel("Who sends").selectOption({ label: "each host to all others" });
  await page.getByRole("button", { name: "Start traffic…" }).click();
  await expect(page.getByRole("dialog")).toContainText("each host to all others, at up to 20 % of a link's rate");
  await say(page, "Start it", "all of them");
  // Eight hosts at a fifth of 12.4 GB/s.
  await expect.poll(async () => near(await throughput(page), 8 * 0.2 * 12.4)).toBe(true);
  await page.getByRole("button", { name: "Stop uniform 1…" }).click();
  await say(page, "Stop it", "enough");
  await expect(page.getByText("No traffic.")).toBeVisible();
});

test("where a plan needs a second person, one is led to the plan", async ({ page }) => {
  await loopbackMay("administer", "all");
  await page.goto(`${daemon.page}#/experiments/live`);
  await page.getByRole("button", { name: "Switch it on…" }).click();
  const dialog = page.getByRole("dialog");
  await say(page, "Switch it on", "I alone");
  await expect(page.locator(".done")).toContainText(/The plan is made and not applied: who made plan \d+ is not known/);
  await expect(page).toHaveURL(/#\/plan\//);
  await expect(page.getByText("can be applied")).toBeVisible();
  await page.getByRole("button", { name: "Give up…" }).click();
  await say(page, "Give the plan up", "one of us is enough");
  await expect(dialog).toHaveCount(0);
  await loopbackMay("administer");
});

test("who may only look has no buttons, and is refused where his role was taken away meanwhile", async ({ page }) => {
  await page.goto(`${daemon.page}#/experiments/live`);
  await page.getByRole("button", { name: /^Cut node1 / }).click();
  await loopbackMay("view");
  await say(page, "Cut the cable", "without a role");
  await expect(page.getByRole("dialog").getByRole("alert")).toContainText("needs the role operate, and loopback has view");
  await page.reload();
  await expect(page.getByText("Changing the emulation needs the role operate")).toBeVisible();
  await expect(page.locator(".cables [data-link]")).toHaveCount(12);
  expect(await page.locator("main button").allInnerTexts()).toEqual(["Save as SVG", "Save all as CSV"]);
  await clickOn(page, page.locator(".cables [data-link] path").last());
  await expect(page.getByRole("dialog")).toHaveCount(0);
  await looksWell(page, "experiments-viewer");

  // Who may change ports and routes may not change settings.
  await loopbackMay("operate");
  await page.reload();
  await expect(page.getByText("Switching it needs the role administer.")).toBeVisible();
  await expect(page.getByRole("button", { name: "Start traffic…" })).toBeVisible();
  await expect(page.getByRole("button", { name: "Switch it on…" })).toHaveCount(0);
  await loopbackMay("administer");
});

test("a fabric that is not emulated has no emulation, and still opens results", async ({ page }) => {
  // As a daemon at an HFI answers, see crates/weftd/tests/e2e.
  await page.route("**/weft.emulator.v1.EmulatorService/ListTraffic", (route) =>
    route.fulfill({ status: 200, contentType: "application/grpc-web+proto", headers: { "grpc-status": "9", "grpc-message": "this fabric is not emulated" } }),
  );
  await page.goto(`${daemon.page}#/experiments/live`);
  await expect(page.getByText("No emulation here: this fabric is not emulated.")).toBeVisible();
  await expect(page.locator("main button")).toHaveCount(0);
  await page.getByRole("link", { name: "Results from a file" }).click();
  await choose(page, { name: "results.csv", text: readFileSync(RESULTS) });
  await expect(page.locator(".plot svg")).toBeVisible();
});
