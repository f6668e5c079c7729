// The main views, light and dark, compared with pictures that somebody has looked at.
//
// What they are now becomes what they shall be: WEFT_PLAYWRIGHT=--update-snapshots crates/web/page/check --programs DIR. Look at
// the files that changed before they are committed.
import { expect, type Page, test } from "@playwright/test";
import { Daemon } from "./daemon";

const daemon = new Daemon("fattree:72,radix=12");
/** A moment at which the clock stands. */
const NOON = new Date("2026-03-02T12:00:00Z");

// The content policy keeps the style of these pictures out as it does any other.
test.use({ viewport: { width: 1000, height: 600 }, timezoneId: "UTC", locale: "en-GB", bypassCSP: true });

test.beforeAll(async () => {
  await daemon.loopbackMay("administer");
  await daemon.start();
  // What is seen of trouble: a cable that is cut, a port that somebody has switched off, a switch that is drained.
  daemon.cause("link-down", "edge2:9");
  daemon.weft("port", "disable", "--reason", "rack 7 is moved", "node:edge5:port:2");
  daemon.weft("drain", "node:core3", "--reason", "fan");
});
test.afterAll(async () => {
  await daemon.remove();
});

/** Letters that are 0.05 pixels further apart move up to 1.3 % of the pixels, a grid that is none 2.6 % and more. */
const TOLERANCE = { threshold: 0.25, maxDiffPixelRatio: 0.018 };

async function compared(page: Page, name: string, hash: string, seen: () => Promise<void>): Promise<void> {
  await page.clock.setFixedTime(NOON);
  await page.goto(daemon.page + hash);
  await expect(page.locator(".source")).toBeVisible();
  await seen();
  for (const colorScheme of ["dark", "light"] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    await looks(page, `${name}-${colorScheme}`);
  }
}

async function looks(page: Page, name: string): Promise<void> {
  await expect(page).toHaveScreenshot(`${name}.png`, { ...TOLERANCE, stylePath: "tests/browser/pictures.css", animations: "disabled", timeout: 5_000 });
}

const VIEWS: [string, string, (page: Page) => Promise<void>][] = [
  ["overview", "", async (page) => {
    await expect(page.locator(".legend")).toContainText("missing link 2");
    await expect(page.locator(".legend")).toContainText("disabled");
  }],
  ["matrix", "#/matrix", (page) => expect(page.locator("canvas, svg").first()).toBeVisible()],
  ["plans", "#/plans", (page) => expect(page.getByText("safe to pull")).toBeVisible()],
];

for (const [name, hash, seen] of VIEWS) {
  test(`${name} is as it was`, async ({ page }) => {
    await compared(page, name, hash, () => seen(page));
  });
}

test("a switch and a route are as they were", async ({ page }) => {
  await page.goto(daemon.page);
  const guid = async (name: string) => {
    await page.goto(`${daemon.page}#/`);
    await expect(page.locator(".side")).toContainText("71 hosts");
    await page.getByRole("combobox").first().fill(name);
    await page.keyboard.press("Enter");
    await expect(page.getByRole("heading", { level: 1 })).toContainText(name);
    return /0x[0-9a-f]{16}/.exec(page.url())?.[0] ?? "";
  };
  const [edge, from, to] = [await guid("edge2"), await guid("node7 hfi1_0"), await guid("node70 hfi1_0")];
  await compared(page, "switch", `#/node/${edge}`, () => expect(page.locator(".neighbours a").first()).toBeVisible());
  await compared(page, "route", `#/route/${from}/${to}`, () => expect(page.locator(".hops").first()).toBeVisible());
});

test("a layout that is broken is noticed", async ({ page }, info) => {
  test.skip(info.config.updateSnapshots === "all" || info.config.updateSnapshots === "changed", "it would become what shall be");
  await page.clock.setFixedTime(NOON);
  await page.goto(daemon.page);
  await expect(page.locator(".legend")).toContainText("missing link 2");
  await looks(page, "overview-dark");
  await page.addStyleTag({ content: ".overview { display: block !important; }" });
  await expect(looks(page, "overview-dark")).rejects.toThrow("different");
});
