// What was lost before anybody opened the page.
import { expect, test } from "@playwright/test";
import { Daemon } from "./daemon";

test("what was lost before anybody looked is shown where it was", async ({ page }) => {
  const daemon = new Daemon("fattree:8,radix=4");
  try {
    await daemon.start();
    daemon.cause("link-down", "edge1:3");
    daemon.cause("link-down", "edge2:1");
    await page.goto(daemon.page);
    await expect(page.locator(".legend")).toContainText("missing node 1");
    await expect(page.locator(".legend")).toContainText("missing link 3");
    await page.locator(".findings a", { hasText: "node3" }).click();
    await expect(page.getByRole("heading", { level: 1 })).toContainText("node3");
    await expect(page.locator(".facts")).toContainText("host");
    await expect(page.locator(".neighbours a").first()).toContainText("edge2");
  } finally {
    await daemon.remove();
  }
});
