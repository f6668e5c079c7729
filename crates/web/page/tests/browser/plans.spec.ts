// Plans and drains from the page: made, looked at, applied with a reason, followed and rolled back.
import { expect, test } from "@playwright/test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Daemon } from "./daemon";
import { looksWell } from "./looks";
import { open, say } from "./steps";

const daemon = new Daemon("fattree:16,radix=8");

/** What somebody at a loopback address may do from now on, and which plans need a second person. */
function rule(loopback: string, twoPersons: string): Promise<void> {
  return daemon.loopbackMay(loopback, `[plans]\ntwo_persons = "${twoPersons}"\n`);
}

test.beforeAll(async () => {
  await rule("administer", "none");
  daemon.remember();
  await daemon.start();
});
test.afterAll(async () => {
  await daemon.remove();
});

test("a switch is drained until it is safe to pull, and used again", async ({ page }) => {
  await open(page, daemon, "#/plans");
  await expect(page.getByText("Nothing is drained.")).toBeVisible();
  const make = page.getByRole("button", { name: "Make the plan of this drain" });
  await expect(make).toBeDisabled();
  const picker = page.getByRole("combobox", { name: /Switch or link to drain/ });
  await picker.fill("node3 hfi1_0");
  await page.keyboard.press("Enter");
  await expect(page.getByText("is no switch")).toBeVisible();
  await expect(make).toBeDisabled();
  await picker.fill("core2");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/#\/plans\/drain\/0x[0-9a-f]{16}$/);
  await looksWell(page, "plans");
  await make.click();
  await expect(page).toHaveURL(/#\/plan\/op-\d+$/);
  await expect(page.getByRole("heading", { level: 1 })).toContainText("drain switch core2");
  await expect(page.getByText("can be applied")).toBeVisible();
  await expect(page.getByText(/\d+ routes move: \d+ blocks? of 64 registers in \d+ switch/)).toBeVisible();
  await expect(page.getByText("Nobody loses a connection")).toBeVisible();
  await page.getByText("Proof and figures of the routes").click();
  await expect(page.getByText(/\d+ routes arrive/)).toBeVisible();
  await expect(page.getByRole("region", { name: "Before and after" })).toContainText("Flows on the busiest link");
  // What the links of the switch carried comes on others, those with most more first.
  const moves = async (title: string) => {
    const rows = page.getByRole("region", { name: title }).locator("tbody tr");
    await expect(rows.first()).toBeVisible();
    const texts = await rows.locator("td.number").allTextContents();
    const numbers = texts.map((text) => Number(text.replaceAll(",", "")));
    const changes = numbers.filter((_, at) => at % 3 === 2);
    changes.forEach((change, row) => expect(change).toBeCloseTo(numbers[3 * row + 1] - numbers[3 * row], 1));
    const save = page.locator(".side-of-route", { has: page.getByRole("heading", { name: title.split(" ")[0] }) }).getByRole("button", { name: "Save as CSV" });
    const [file] = await Promise.all([page.waitForEvent("download"), save.click()]);
    const lines = readFileSync(await file.path(), "utf8").trimEnd().split("\r\n");
    expect(lines[0]).toBe("from,GUID,port,to,GUID,port,before,after,change");
    lines.slice(1).forEach((line, row) => {
      const saved = line.split(",").slice(-3).map(Number);
      saved.forEach((value, at) => expect(value).toBeCloseTo(numbers[3 * row + at], 1));
    });
    expect(lines.length - 1).toBe(changes.length);
    return { names: await rows.allTextContents(), numbers, changes };
  };
  const [fuller, emptier] = [await moves("Fuller links"), await moves("Emptier links")];
  expect(emptier.names.every((name) => name.includes("core2 port"))).toBe(true);
  expect(emptier.numbers.filter((_, at) => at % 3 === 1).every((after) => after === 0)).toBe(true);
  expect(fuller.names.some((name) => name.includes("core2 port"))).toBe(false);
  expect(fuller.changes).toEqual([...fuller.changes].sort((a, b) => b - a));
  const sum = (changes: number[]) => changes.reduce((sum, change) => sum + change, 0);
  expect(sum(fuller.changes)).toBeCloseTo(-sum(emptier.changes), 1);
  await looksWell(page, "plan");
  await page.getByRole("button", { name: "Apply…" }).click();
  await page.keyboard.press("Enter");
  await looksWell(page, "dialog-apply");
  await say(page, "Apply the plan", "fan of core2");
  await expect(page.locator(".done")).toContainText("is applied");
  await expect(page.getByRole("status").getByText("done")).toBeVisible();
  await expect(page.getByText("core2 is safe to pull: nothing leads over it.")).toBeVisible();
  await expect(page.getByRole("region", { name: "Drained" })).toContainText("safe to pull");
  await looksWell(page, "plan-done");
  expect(daemon.audited("weft.v1.RouteService/ApplyRoutePlan").map((record) => record.reason)).toContain("fan of core2");

  await page.getByRole("button", { name: "Make the plan to use it again" }).click();
  await expect(page.getByRole("heading", { level: 1 })).toContainText("undrain switch core2");
  await page.getByRole("button", { name: "Apply…" }).click();
  await say(page, "Apply the plan", "fan is new");
  await expect(page.getByText("Nothing is drained.")).toBeVisible();
});

test("another engine is applied and rolled back", { tag: "@firefox" }, async ({ page }) => {
  await open(page, daemon, "#/plans");
  await page.getByRole("combobox", { name: "Engine" }).selectOption("shortestpath");
  await page.getByRole("button", { name: "Make the plan of this engine" }).click();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("engine shortestpath");
  await page.getByText("Proof and figures of the routes").click();
  await expect(page.getByRole("region", { name: "Before and after" })).toContainText("shortestpath");
  await page.getByRole("button", { name: "Apply…" }).click();
  await say(page, "Apply the plan", "compare");
  await expect(page.getByRole("status").getByText("done")).toBeVisible();
  expect(daemon.weft("fabric", "show")).toContain("shortestpath");
  await page.getByRole("button", { name: "Roll back…" }).click();
  await say(page, "Roll the plan back", "compared");
  await expect(page.locator(".done")).toContainText("rolled back");
  await expect(page.getByRole("status").getByText("done")).toBeVisible();
  await expect.poll(() => daemon.weft("fabric", "show")).not.toContain("shortestpath");
  await page.getByRole("link", { name: "All plans and drains" }).click();
  const made = page.getByRole("region", { name: "Plans that were made" });
  await expect(made).toContainText("compared");
  await expect(made).toContainText("engine shortestpath");
  await looksWell(page, "plans-made");
});

test("an older plan cannot be applied after a newer one, and a limit is told before a reason is asked for", async ({ page }) => {
  daemon.weft("route", "plan", "--engine", "dmodc", "--operation", "older");
  await open(page, daemon, "#/plan/older");
  await expect(page.getByText("can be applied")).toBeVisible();
  daemon.weft("drain", "node:core2", "--reason", "newer");
  await expect(page.getByRole("status").getByText("computed for an older fabric or configuration: it cannot be applied")).toBeVisible();
  await expect(page.getByRole("button", { name: "Apply…" })).toHaveCount(0);

  await daemon.loopbackMay("administer", '[[limit]]\nname = "no links"\ndrained_links = 0\n');
  daemon.weft("route", "plan", "--drain", "node:edge1:port:5", "--operation", "second");
  await open(page, daemon, "#/plan/second");
  await page.getByRole("button", { name: "Apply…" }).click();
  const dialog = page.getByRole("dialog");
  await expect(dialog.getByRole("alert")).toContainText('the limit "no links" allows at most 0 drained links, and this would make 1');
  await dialog.getByRole("textbox", { name: "Reason" }).fill("both at once");
  await expect(dialog.getByRole("button", { name: "Apply the plan" })).toBeDisabled();
  await page.keyboard.press("Escape");
  expect(daemon.weft("route", "drains")).not.toContain("edge1");
  // What happens to the fabric is found out when somebody asks.
  daemon.cause("link-down", "edge2:5");
  await open(page, daemon, "#/");
  await expect(page.locator(".legend")).toContainText("missing link");
  await open(page, daemon, "#/plan/second");
  await page.getByRole("button", { name: "Apply…" }).click();
  await expect(dialog.getByRole("alert")).toContainText("has changed since; plan again");
  await page.keyboard.press("Escape");
  await expect(page.getByRole("status").getByText("computed for an older fabric or configuration: it cannot be applied")).toBeVisible();
  await rule("administer", "none");
  daemon.weft("undrain", "node:core2");
  daemon.cause("link-up", "edge2:5");
  await open(page, daemon, "#/");
  await expect(page.locator(".legend")).not.toContainText("missing link");
});

test("a plan that nobody wants any more is given up, and cannot be applied", async ({ page }) => {
  daemon.weft("route", "plan", "--engine", "dmodc", "--operation", "second-thoughts");
  await open(page, daemon, "#/plan/second-thoughts");
  await page.getByRole("button", { name: "Give up…" }).click();
  const dialog = page.getByRole("dialog");
  await expect(dialog.getByRole("button", { name: "Give the plan up" })).toBeDisabled();
  await looksWell(page, "dialog-give-up");
  await dialog.getByRole("button", { name: "Do nothing" }).click();
  await expect(page.getByText("can be applied")).toBeVisible();
  await page.getByRole("button", { name: "Give up…" }).click();
  await say(page, "Give the plan up", "not needed");
  await expect(page.locator(".done")).toContainText("engine dmodc is given up");
  await expect(page.getByRole("status").getByText("given up").first()).toBeVisible();
  await expect(page.getByText(/^Given up by .*: not needed$/)).toBeVisible();
  await expect(page.getByRole("button", { name: "Apply…" })).toHaveCount(0);
  await expect(page.getByRole("button", { name: "Give up…" })).toHaveCount(0);
  expect(daemon.audited("OperationService/CancelOperation").at(-1)).toMatchObject({ result: "ok", reason: "not needed" });
  expect(daemon.weft("who")).toContain("cancel operation second-thoughts");
});

test("the way back to a moment says what it switches, and does it", async ({ page }) => {
  await page.waitForTimeout(2_500);
  const before = new Date();
  await page.waitForTimeout(1_000);
  daemon.weft("drain", "node:core1", "--reason", "fan");
  daemon.weft("port", "disable", "--reason", "ticket 12", "node:edge1:port:6");
  await page.waitForTimeout(2_500);
  // The moment that is looked at is the one that is offered.
  await open(page, daemon, `#/@${before.toISOString()}`);
  await page.getByRole("link", { name: "Plan the way back to it" }).click();
  await expect(page.getByLabel("Date and time")).toHaveValue(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$/);
  await looksWell(page, "plans-back");
  await page.getByRole("button", { name: "Make the plan back to this moment" }).click();
  await expect(page).toHaveURL(/#\/plan\/op-\d+$/);
  await expect(page.getByRole("heading", { level: 1 })).toContainText("back to ");
  const content = page.getByRole("main");
  await expect(content).toContainText("core1 is used again");
  await expect(content).toContainText("edge1 port 6 is enabled (ticket 12");
  await looksWell(page, "plan-back");
  // Who opens it elsewhere sees the same.
  await page.reload();
  await expect(content).toContainText("edge1 port 6 is enabled (ticket 12");
  await page.getByRole("button", { name: "Apply…" }).click();
  await expect(page.getByRole("dialog")).toContainText("It also switches 1 port off or on.");
  await say(page, "Apply the plan", "as it was");
  await expect(page.locator(".done")).toContainText("1 port was switched");
  await page.goto(`${daemon.page}#/plans`);
  await expect(page.getByText("Nothing is drained.")).toBeVisible();
  await expect.poll(() => daemon.weft("port", "list", "--disabled")).not.toContain("edge1");
  // Of a time that nobody knows anything of, no plan is made.
  await page.getByLabel("Date and time").fill("2019-01-01T00:00:00");
  await page.getByRole("button", { name: "Make the plan back to this moment" }).click();
  await expect(page.getByRole("alert")).toContainText("No plan was made: ");
  await page.getByLabel("Date and time").fill("2099-01-01T00:00:00");
  await expect(page.getByText("This moment has not come yet.")).toBeVisible();
  await expect(page.getByRole("button", { name: "Make the plan back to this moment" })).toBeDisabled();
});

test("a changed configuration is planned, and what is wrong with one is told by its line", async ({ page }) => {
  const config = readFileSync(join(daemon.dir, "opafm.xml"), "utf8");
  const engine = /<RoutingAlgorithm>[a-z]+<\/RoutingAlgorithm>/;
  expect(config).toMatch(engine);
  await open(page, daemon, "#/plans");
  const make = page.getByRole("button", { name: "Make the plan of this configuration" });
  await expect(make).toBeDisabled();
  const take = (text: string) => page.getByLabel("File").setInputFiles({ name: "new.xml", mimeType: "text/xml", buffer: Buffer.from(text) });
  await take(config.replace(engine, "<RoutingAlgorithm>sideways</RoutingAlgorithm>"));
  await make.click();
  await expect(page.getByRole("alert")).toContainText("No plan was made: the configuration cannot be used.");
  await expect(page.getByRole("alert")).toContainText(/line \d+, .*RoutingAlgorithm/);
  await looksWell(page, "plans-wrong");
  await take(config.replace(engine, "<RoutingAlgorithm>shortestpath</RoutingAlgorithm>"));
  await make.click();
  await expect(page).toHaveURL(/#\/plan\/op-\d+$/);
  await page.getByText("Proof and figures of the routes").click();
  await expect(page.getByRole("region", { name: "Before and after" })).toContainText("shortestpath");
  await expect(page.getByText("can be applied")).toBeVisible();
});

test("who operates moves data, and is told that settings need another role", async ({ page }) => {
  await rule("operate", "none");
  await open(page, daemon, "#/plans");
  await expect(page.getByText("Another engine needs the role administer")).toBeVisible();
  await expect(page.getByText("A plan of another configuration needs the role administer")).toBeVisible();
  await expect(page.getByLabel("File")).toHaveCount(0);
  await expect(page.getByRole("button", { name: "Make the plan back to this moment" })).toBeVisible();
  await expect(page.getByRole("button", { name: "Make the plan of this drain" })).toBeVisible();
  await looksWell(page, "plans-operate");
});

test("a plan that needs a second person is refused in words, and stays", async ({ page }) => {
  await rule("administer", "all");
  daemon.weft("route", "plan", "--engine", "dmodc", "--operation", "night-shift");
  await open(page, daemon, "#/plan/night-shift");
  await page.getByRole("button", { name: "Apply…" }).click();
  // It is said before a reason is asked for.
  await expect(page.getByRole("dialog").getByRole("alert")).toContainText("needs a second person, and nothing tells who calls");
  await page.getByRole("dialog").getByRole("textbox", { name: "Reason" }).fill("I alone");
  await expect(page.getByRole("dialog").getByRole("button", { name: "Apply the plan" })).toBeDisabled();
  await page.getByRole("button", { name: "Do nothing" }).click();
  await expect(page.getByText("can be applied")).toBeVisible();
});

test("who may only look sees plans and drains, and is told why he makes none", async ({ page }) => {
  await rule("view", "none");
  await open(page, daemon, "#/plans");
  await expect(page.getByText("Making a plan needs the role operate")).toBeVisible();
  await expect(page.getByRole("region", { name: "Plans that were made" })).toContainText("engine dmodc");
  await page.getByRole("link", { name: "engine dmodc" }).first().click();
  await expect(page.getByText("Applying a plan needs the role operate")).toBeVisible();
  await expect(page.getByRole("button", { name: "Apply…" })).toHaveCount(0);
  await expect(page.getByRole("button", { name: "Give up…" })).toHaveCount(0);
});
