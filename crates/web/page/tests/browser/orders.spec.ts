// What can be done from the page: by whom, with a reason, and never by a single click.
import { expect, type Page, test } from "@playwright/test";
import { Daemon } from "./daemon";
import { looksWell } from "./looks";

const daemon = new Daemon("fattree:16,radix=8");

test.beforeAll(async () => {
  await daemon.loopbackMay("operate");
  daemon.remember();
  await daemon.start();
});
test.afterAll(async () => {
  await daemon.remove();
});

async function open(page: Page, name: string): Promise<void> {
  await page.goto(daemon.page);
  await expect(page.locator(".figures")).toBeVisible();
  await page.keyboard.press("/");
  await page.keyboard.type(name);
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
}

test("a port is disabled and enabled with a reason that is kept, and not by a stray click", async ({ page }) => {
  await open(page, "edge1:5");
  await expect(page.locator(".who")).toHaveText("local users may change ports and routes");
  await page.getByRole("button", { name: "Disable…" }).click();
  const dialog = page.getByRole("dialog", { name: "Disable edge1 port 5" });
  await expect(dialog).toContainText("keeps it down until somebody enables");
  await expect(dialog).toContainText("The cable leads to");
  await expect(dialog).toContainText(/\d+ routes? and \d+ multicast entr(y|ies) lead over it now/);
  const reason = dialog.getByRole("textbox", { name: "Reason" });
  await expect(reason).toBeFocused();
  await page.keyboard.press("Enter");
  await page.keyboard.type("   ");
  await page.keyboard.press("Enter");
  await expect(dialog).toBeVisible();
  await expect(dialog.getByRole("button", { name: "Disable the port" })).toBeDisabled();
  await looksWell(page, "dialog");
  expect(daemon.audited("SetPortState")).toEqual([]);
  await page.keyboard.press("Escape");
  await expect(dialog).toHaveCount(0);
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("edge1 port 5");

  await page.getByRole("button", { name: "Disable…" }).click();
  await reason.fill("cable 17 is replaced");
  await dialog.getByRole("textbox", { name: "Your name" }).fill("ann");
  await dialog.getByRole("button", { name: "Disable the port" }).click();
  await expect(page.locator(".done")).toContainText("edge1 port 5 is disabled");
  await expect(page.getByText("was disabled")).toContainText("by ann: cable 17 is replaced");
  expect(daemon.weft("port", "list", "--disabled")).toContain("cable 17 is replaced");
  const [record] = daemon.audited("SetPortState");
  expect(record).toMatchObject({ reason: "cable 17 is replaced", author: "ann", identity: "loopback", result: "ok" });
  await looksWell(page, "port-disabled");

  await page.getByRole("button", { name: "Enable…" }).click();
  await expect(page.getByRole("textbox", { name: "Your name" })).toHaveValue("ann");
  await page.getByRole("textbox", { name: "Reason" }).fill("cable 17 is new");
  await page.keyboard.press("Enter");
  await expect(page.locator(".done")).toContainText("edge1 port 5 is enabled");
  await expect(page.getByRole("button", { name: "Bounce…" })).toBeVisible();
  expect(daemon.audited("SetPortState").map((record) => record.reason)).toEqual(expect.arrayContaining(["cable 17 is new"]));
});

test("a bounce and the light at a port", async ({ page }) => {
  await open(page, "edge2:6");
  for (const [short, button, done] of [["LED on…", "Switch the LED on", "has its LED on"], ["LED off…", "Switch the LED off", "has its LED off"], ["Bounce…", "Bounce the link", "is taken down once"]]) {
    await page.getByRole("button", { name: short }).click();
    await page.getByRole("textbox", { name: "Reason" }).fill("look for it");
    await page.getByRole("button", { name: button }).click();
    await expect(page.locator(".done")).toContainText(done);
  }
});

test("what cuts off a part of the fabric is said, and done only when that is accepted", async ({ page }) => {
  for (const port of ["6", "7", "8"]) daemon.cause("link-down", `edge3:${port}`);
  await open(page, "edge3:5");
  await expect(page.locator(".facts")).toContainText("3 in trouble");
  await page.getByRole("button", { name: "Disable…" }).click();
  const dialog = page.getByRole("dialog");
  await expect(dialog.getByRole("alert")).toContainText("cut off");
  await dialog.getByRole("textbox", { name: "Reason" }).fill("rack 3 is moved");
  const go = dialog.getByRole("button", { name: "Disable the port" });
  await expect(go).toBeDisabled();
  await looksWell(page, "dialog-objection");
  await dialog.getByRole("checkbox").check();
  await go.click();
  await expect(page.locator(".done")).toContainText("is disabled");
  for (const port of ["6", "7", "8"]) daemon.cause("link-up", `edge3:${port}`);
  // It was disabled at the end that the manager still reaches.
  await page.getByRole("button", { name: "Enable…" }).click();
  await expect(page.getByRole("dialog", { name: "Enable core1 port 3" })).toBeVisible();
  await page.getByRole("textbox", { name: "Reason" }).fill("rack 3 is there");
  await page.keyboard.press("Enter");
  await expect(page.locator(".done")).toContainText("is enabled");
});

test("who may only look is told why, and is refused by the daemon where his role was taken away meanwhile", { tag: "@firefox" }, async ({ page }) => {
  await open(page, "edge1:5");
  await page.getByRole("button", { name: "Disable…" }).click();
  await page.getByRole("textbox", { name: "Reason" }).fill("too late");
  await daemon.loopbackMay("view");
  await page.getByRole("button", { name: "Disable the port" }).click();
  await expect(page.getByRole("dialog").getByRole("alert")).toContainText("needs the role operate, and loopback has view");
  expect(daemon.audited("SetPortState").at(-1)).toMatchObject({ reason: "too late", result: "permission_denied" });
  await page.reload();
  await expect(page.locator(".who")).toHaveText("local users may look");
  await expect(page.getByText("Changing a port needs the role operate")).toBeVisible();
  await expect(page.getByRole("button", { name: "Disable…" })).toHaveCount(0);
  await looksWell(page, "port-view-only");
  await daemon.loopbackMay("operate");
});
