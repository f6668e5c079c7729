// A browser without a certificate comes in by a one-time link, through TLS.
import { type Browser, expect, test } from "@playwright/test";
import { Daemon } from "./daemon";
import { looksWell } from "./looks";

/** Certificates that were made for tests and protect nothing. */
const KEYS = "../../weftd/tests/data/roles";
const daemon = new Daemon("fattree:16,radix=8");

test.beforeAll(async () => {
  daemon.remember();
  daemon.more.push("--tls-cert", `${KEYS}/server.pem`, "--tls-key", `${KEYS}/server.key`, "--tls-client-ca", `${KEYS}/ca.pem`);
  await daemon.start();
});
test.afterAll(async () => {
  await daemon.remove();
});

/** A link that the command line prints. */
function link(...more: string[]): string {
  return daemon.weft("web", "--link", ...more).split("\n")[0];
}

async function fresh(browser: Browser) {
  const context = await browser.newContext({ ignoreHTTPSErrors: true });
  return { context, page: await context.newPage() };
}

test("a link lets one browser in as who asked for it, and nobody after that", async ({ browser }) => {
  const url = link("--role", "operate");
  const { context, page } = await fresh(browser);
  await page.goto(url);
  await expect(page.locator(".who")).toContainText("may change ports and routes");
  await expect(page.locator(".who")).toContainText("user:");
  expect(page.url()).toBe(daemon.page);
  await expect(page.locator(".side")).toContainText("16 hosts");
  // No script can read the cookie, and no other site sends it.
  expect(await page.evaluate(() => document.cookie)).toBe("");
  const [cookie] = await context.cookies(daemon.page);
  expect([cookie.httpOnly, cookie.secure, cookie.sameSite, cookie.path]).toEqual([true, true, "Strict", "/"]);
  await page.reload();
  await expect(page.locator(".who")).toContainText("user:");
  await page.goto(`${daemon.page}#/plans`);
  await page.getByRole("combobox", { name: /Switch or link to drain/ }).fill("core2");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Make the plan of this drain" }).click();
  await expect(page.getByText("can be applied")).toBeVisible();

  const second = await fresh(browser);
  await second.page.goto(url);
  await expect(second.page.getByRole("alert")).toContainText("The link was not used: this link lets nobody in: it was used already");
  await expect(second.page.locator(".lost")).toContainText("This browser is not let in: nothing tells who you are");
  await looksWell(second.page, "link-refused");
  // The same page, with another link.
  const other = link();
  await second.page.evaluate((hash) => (location.hash = hash), new URL(other).hash);
  await expect(second.page.locator(".who")).toContainText("may look");
  await expect(second.page.getByRole("alert")).toHaveCount(0);
  await expect(second.page.locator(".side")).toContainText("16 hosts");
  await second.page.getByRole("link", { name: "Plans" }).click();
  await expect(second.page.getByText("Making a plan needs the role operate")).toBeVisible();
  await second.context.close();

  expect(daemon.weft("web", "--end")).toContain("ended 0 unused links and 2 sessions");
  await expect(page.locator(".lost")).toBeVisible();
  await context.close();
});

/** The end of a link that somebody with a certificate asks for. */
async function linkOfAnother(browser: Browser): Promise<string> {
  const origin = daemon.page.replace(/\/$/, "");
  const context = await browser.newContext({ ignoreHTTPSErrors: true, clientCertificates: [{ origin, certPath: `${KEYS}/ci.pem`, keyPath: `${KEYS}/ci.key` }] });
  const page = await context.newPage();
  await page.goto(daemon.page);
  // An empty message: a link with the role view.
  const answer = await page.evaluate(async () => {
    const headers = { "Content-Type": "application/grpc-web+proto" };
    return await (await fetch("/weft.v1.WebService/CreateLink", { method: "POST", headers, body: new Uint8Array(5) })).text();
  });
  await context.close();
  const hash = /#link=[0-9a-f]+/.exec(answer)?.[0];
  expect(hash).toBeDefined();
  return hash!;
}

test("somebody else's link is not used in a browser with a session, and the page says whose both are", async ({ browser }) => {
  const { context, page } = await fresh(browser);
  await page.goto(link());
  await expect(page.locator(".who")).toContainText("user:");
  const hash = await linkOfAnother(browser);
  await page.evaluate((hash) => (location.hash = hash), hash);
  const refused = page.getByRole("alert");
  await expect(refused).toContainText(/The link was not used: this browser has a session of user:\S+, and this link is of uri:spiffe:\/\/example\.org\/ci: it was not used up; end that session first \(weft web --end\), or open the link in another browser/);
  expect(page.url()).toBe(daemon.page);
  await expect(page.locator(".who")).toContainText("user:");
  await expect(page.locator(".side")).toContainText("16 hosts");
  await looksWell(page, "link-of-another");
  await page.getByRole("button", { name: "Close this message" }).click();
  await expect(refused).toHaveCount(0);
  // It is still good elsewhere.
  const second = await fresh(browser);
  await second.page.goto(daemon.page + hash);
  await expect(second.page.locator(".who")).toContainText("uri:spiffe://example.org/ci may look");
  await second.context.close();
  await context.close();
});

test("where no answer comes to a link, it is not said that the link can be used again", async ({ browser }) => {
  const { context, page } = await fresh(browser);
  await page.route("**/link", (route) => route.abort());
  await page.goto(link());
  await expect(page.getByRole("alert")).toContainText("It is not known whether the link was used: weftd does not answer");
  expect(page.url()).toBe(daemon.page);
  await context.close();
});

