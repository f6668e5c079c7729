// Plans and drains from the page: made, looked at, applied with a reason, followed and rolled back.
import { expect, type Page, test } from "@playwright/test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Daemon } from "./daemon";
import { looksWell } from "./looks";

const daemon = new Daemon("fattree:16,radix=8");
const rules = join(daemon.dir, "access.toml");

function rule(loopback: string, twoPersons: string): void {
  writeFileSync(rules, `loopback = "${loopback}"\n[plans]\ntwo_persons = "${twoPersons}"\n`);
}

test.beforeAll(async () => {
  rule("administer", "none");
  daemon.more.push("--access", rules, "--state-dir", join(daemon.dir, "state"));
  await daemon.start();
});
test.afterAll(async () => {
  await daemon.remove();
});

async function open(page: Page, hash: string): Promise<void> {
  await page.goto(daemon.page + hash);
  await expect(page.locator(".source")).toBeVisible();
}

/** Answers a dialog with a reason, by its button. */
async function say(page: Page, button: string, reason: string): Promise<void> {
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("textbox", { name: "Reason" }).fill(reason);
  await dialog.getByRole("button", { name: button }).click();
  await expect(dialog).toHaveCount(0);
}

test("a switch is drained until it is safe to pull, and used again", async ({ page }) => {
  await open(page, "#/plans");
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
  await expect(page.getByText(/\d+ routes arrive/)).toBeVisible();
  await expect(page.getByRole("region", { name: "Before and after" })).toContainText("Flows on the busiest link");
  await looksWell(page, "plan");
  await page.getByRole("button", { name: "Apply…" }).click();
  await page.keyboard.press("Enter");
  await looksWell(page, "dialog-apply");
  await say(page, "Apply the plan", "fan of core2");
  await expect(page.locator(".done")).toContainText("is in force");
  await expect(page.getByRole("status").getByText("done")).toBeVisible();
  await expect(page.getByRole("region", { name: "Drained" })).toContainText("safe to pull");
  await looksWell(page, "plan-done");
  expect(daemon.audited("weft.v1.RouteService/ApplyRoutePlan").map((record) => record.reason)).toContain("fan of core2");

  await page.getByRole("button", { name: "Make the plan to use it again" }).click();
  await expect(page.getByRole("heading", { level: 1 })).toContainText("undrain switch core2");
  await page.getByRole("button", { name: "Apply…" }).click();
  await say(page, "Apply the plan", "fan is new");
  await expect(page.getByText("Nothing is drained.")).toBeVisible();
});

test("another engine is applied and rolled back", async ({ page }) => {
  await open(page, "#/plans");
  await page.getByRole("combobox", { name: "Engine" }).selectOption("shortestpath");
  await page.getByRole("button", { name: "Make the plan of this engine" }).click();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("engine shortestpath");
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

test("a plan that needs a second person is refused in words, and stays", async ({ page }) => {
  rule("administer", "all");
  daemon.reload();
  await expect.poll(() => daemon.logged("loopback without a certificate: administer")).toBe(2);
  daemon.weft("route", "plan", "--engine", "dmodc", "--operation", "night-shift");
  await open(page, "#/plan/night-shift");
  await page.getByRole("button", { name: "Apply…" }).click();
  await page.getByRole("dialog").getByRole("textbox", { name: "Reason" }).fill("I alone");
  await page.getByRole("dialog").getByRole("button", { name: "Apply the plan" }).click();
  await expect(page.getByRole("dialog").getByRole("alert")).toContainText("needs a second person, and nothing tells who calls");
  await page.getByRole("button", { name: "Do nothing" }).click();
  await expect(page.getByText("can be applied")).toBeVisible();
});

test("who may only look sees plans and drains, and is told why he makes none", async ({ page }) => {
  rule("view", "none");
  daemon.reload();
  await expect.poll(() => daemon.logged("loopback without a certificate: view")).toBe(1);
  await open(page, "#/plans");
  await expect(page.getByText("Making a plan needs the role operate")).toBeVisible();
  await expect(page.getByRole("region", { name: "Plans that were made" })).toContainText("engine dmodc");
  await page.getByRole("link", { name: "engine dmodc" }).click();
  await expect(page.getByText("Applying a plan needs the role operate")).toBeVisible();
  await expect(page.getByRole("button", { name: "Apply…" })).toHaveCount(0);
});
