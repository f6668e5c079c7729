// What every view of the page is asked for.
import AxeBuilder from "@axe-core/playwright";
import { expect, type Page, test } from "@playwright/test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";

/** Nothing stands in the way of who does not see it well, and nothing is wider than the screen, dark and light, narrow and wide. */
export async function looksWell(page: Page, name: string): Promise<void> {
  const own = page.viewportSize();
  for (const [width, height] of [[1440, 900], [360, 740]]) {
    await page.setViewportSize({ width, height });
    for (const colorScheme of ["dark", "light"] as const) {
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      await accessible(page, `${name} ${colorScheme}`);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      expect(wide, `${name} at ${width} pixels`).toBeLessThanOrEqual(width);
      await shown(page, `${name}-${colorScheme}-${width}`);
    }
  }
  if (own !== null) await page.setViewportSize(own);
  await page.emulateMedia({ colorScheme: "dark" });
}

/**
 * axe-core finds nothing. The page has no frames, so its results need no page of their own to be put together in; and of what
 * passes nothing is told, which otherwise takes more time than all rules.
 */
export async function accessible(page: Page, name: string): Promise<void> {
  expect(page.frames(), name).toHaveLength(1);
  const { violations } = await new AxeBuilder({ page }).setLegacyMode(true).options({ resultTypes: ["violations"] }).analyze();
  expect(violations.map((one) => `${name} ${one.id}: ${one.nodes.map((node) => node.html).join(" ").slice(0, 300)}`)).toEqual([]);
}

/** Keeps a picture where WEFT_PICTURES names a folder. */
async function shown(page: Page, name: string): Promise<void> {
  const folder = process.env["WEFT_PICTURES"];
  if (folder === undefined) return;
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: join(folder, `${name}.png`) });
}

/** Fails tests of a file in which the browser complains of something that is not to be passed over. */
export function complainsOfNothing(isPassedOver: (text: string, title: string) => boolean = () => false): void {
  let complaints: string[] = [];
  test.beforeEach(({ page }) => {
    complaints = [];
    page.on("console", (message) => {
      if (message.type() === "error" || message.type() === "warning") complaints.push(message.text());
    });
    page.on("pageerror", (error) => complaints.push(String(error)));
    page.on("dialog", (dialog) => {
      complaints.push(`dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
  });
  test.afterEach(({}, info) => {
    const own = complaints.filter((text) => !/GPU stall|GL Driver Message/.test(text) && !isPassedOver(text, info.title));
    expect(own, "nothing is refused by the content policy, and nothing fails").toEqual([]);
  });
}
