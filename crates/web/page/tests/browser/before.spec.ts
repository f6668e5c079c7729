// What was lost before anybody opened the page.
import { expect, test } from "@playwright/test";
import { Daemon } from "./daemon";
import { accessible } from "./looks";
import { find } from "./steps";

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

test("a switch that is gone shows its hosts as missing in their places, and a cut port the cable that was in it", async ({ page }) => {
  const daemon = new Daemon("fattree:8,radix=4");
  try {
    await daemon.start();
    // Cables are read after the first sweep.
    const serial = () => /;(W[0-9]+);/.exec(daemon.weft("report", "cablehealth").split("\n").find((row) => /edge1;2;0x[0-9a-f]+;0x[0-9a-f]+; *3;/.test(row)) ?? "")?.[1];
    await expect.poll(serial).toBeDefined();
    const was = serial();
    daemon.cause("link-down", "edge1:3");
    daemon.cause("node-down", "edge3");
    await page.goto(daemon.page);
    // The four ports of the switch, and those of the two hosts below it.
    await expect(page.locator(".legend")).toContainText("missing node 6");
    await expect(page.locator(".side")).toContainText("6 hosts (2 missing)");
    const hosts = ["node5 hfi1_0", "node6 hfi1_0"];
    await page.locator(".findings a", { hasText: "edge3" }).first().click();
    const neighbours = page.getByRole("region", { name: "Neighbours and cables" });
    for (const host of hosts) await expect(neighbours.getByRole("link", { name: host })).toBeVisible();
    await expect(page.locator(".facts")).toContainText("switch of tier 1");
    await neighbours.getByRole("link", { name: hosts[0] }).click();
    await expect(page.getByRole("heading", { level: 1 })).toContainText(hosts[0]);
    await expect(page.getByRole("main")).toContainText("and so is the switch to which its cable led: edge3 port");
    await find(page, "edge1:3");
    await expect(page.getByRole("main")).toContainText(/missing link: there was a link\. The cable led to core\d port \d/);
    await expect(page.getByRole("main")).toContainText(`serial number ${was}`);
    await accessible(page, "cut port");
  } finally {
    await daemon.remove();
  }
});
