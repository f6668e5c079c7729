// The matrix of a fabric of three tiers, by its pods.
import { expect, test } from "@playwright/test";
import { Daemon } from "./daemon";
import { looksWell } from "./looks";

const daemon = new Daemon("fattree:432,radix=12");

test.beforeAll(async () => {
  await daemon.start();
});
test.afterAll(async () => {
  await daemon.remove();
});

test("links above the pods are shown by pods, and lead to the one that is in trouble", async ({ page }) => {
  await page.goto(`${daemon.page}#/matrix`);
  await page.getByRole("link", { name: "tier 2 × 3" }).click();
  await page.getByRole("link", { name: "by pods" }).click();
  await expect(page).toHaveURL(/#\/matrix\/tier\/2\/pods$/);
  await expect(page.getByText("Rows: 12 pods")).toContainText("Columns: 6 groups of switches of tier 3");
  await expect(page.getByText("Every pair has its links")).toBeVisible();
  daemon.cause("link-down", "core1:1");
  const odd = page.getByRole("region", { name: "Pairs with trouble" });
  await expect(odd.locator("tbody tr")).toHaveText("Pod 1core1 … core31 (6)56");
  await page.locator(".matrix").focus();
  await page.keyboard.press("Shift+ArrowDown");
  await expect(page.locator(".status")).toContainText("Pod 1 × core1 … core31 (6): 5 of 6 up");
  await looksWell(page, "matrix-pods");
  await page.locator(".matrix").focus();
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("spine1 port 7");
  await expect(page.getByText("The cable led to core1 port 1")).toBeVisible();
});
