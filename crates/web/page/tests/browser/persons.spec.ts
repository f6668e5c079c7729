// The page over TLS, with certificates that tell who somebody is: a plan that one person makes and another one applies.
import { type Browser, type BrowserContext, expect, type Page, test } from "@playwright/test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Daemon } from "./daemon";

/** Certificates that were made for tests and protect nothing. */
const KEYS = "../../weftd/tests/data/roles";
const daemon = new Daemon("fattree:16,radix=8");

test.beforeAll(async () => {
  const rules = join(daemon.dir, "access.toml");
  writeFileSync(rules, `[administer]\ncertificates = ["uri:spiffe://example.org/ci", "dns:gone.example.org"]\n[plans]\ntwo_persons = "all"\n`);
  daemon.remember();
  daemon.more.push("--access", rules);
  daemon.more.push("--tls-cert", `${KEYS}/server.pem`, "--tls-key", `${KEYS}/server.key`, "--tls-client-ca", `${KEYS}/ca.pem`);
  await daemon.start();
});
test.afterAll(async () => {
  await daemon.remove();
});

/** A browser of somebody with a certificate. */
async function of(browser: Browser, name: string): Promise<{ context: BrowserContext; page: Page }> {
  const origin = daemon.page.replace(/\/$/, "");
  const context = await browser.newContext({ ignoreHTTPSErrors: true, clientCertificates: [{ origin, certPath: `${KEYS}/${name}.pem`, keyPath: `${KEYS}/${name}.key` }] });
  return { context, page: await context.newPage() };
}

test("who makes a plan cannot apply it, somebody else can, and the record has both", async ({ browser }) => {
  expect(daemon.page).toMatch(/^https:/);
  const maker = await of(browser, "ci");
  await maker.page.goto(`${daemon.page}#/plans`);
  await expect(maker.page.locator(".who")).toHaveText("uri:spiffe://example.org/ci may change everything");
  await maker.page.getByRole("combobox", { name: /Switch or link to drain/ }).fill("edge1:5");
  await maker.page.keyboard.press("Enter");
  await maker.page.getByRole("button", { name: "Make the plan of this drain" }).click();
  await expect(maker.page).toHaveURL(/#\/plan\/op-\d+$/);
  await maker.page.getByRole("button", { name: "Apply…" }).click();
  const dialog = maker.page.getByRole("dialog");
  await expect(dialog.getByRole("textbox", { name: "Your name" })).toHaveCount(0);
  await expect(dialog.getByRole("alert")).toContainText("made plan 1, so somebody else has to apply it");

  const second = await of(browser, "gone");
  await second.page.goto(maker.page.url());
  await expect(second.page.locator(".who")).toContainText("dns:gone.example.org");
  await expect(second.page.getByText("by uri:spiffe://example.org/ci")).toBeVisible();
  await second.page.getByRole("button", { name: "Apply…" }).click();
  await second.page.getByRole("dialog").getByRole("textbox", { name: "Reason" }).fill("seen by two");
  await second.page.keyboard.press("Enter");
  await expect(second.page.getByRole("region", { name: "Drained" })).toContainText("safe to pull");
  await maker.page.keyboard.press("Escape");
  await expect(maker.page.getByRole("region", { name: "Drained" })).toContainText("safe to pull");

  // The first time the page only asked, and so it did before the second person gave a reason.
  expect(daemon.audited("ApplyRoutePlan").map((record) => [record.identity, record.reason, record.result])).toEqual([
    ["uri:spiffe://example.org/ci", "", "permission_denied"],
    ["dns:gone.example.org", "", "ok"],
    ["dns:gone.example.org", "seen by two", "ok"],
  ]);
  await maker.context.close();
  await second.context.close();
});
