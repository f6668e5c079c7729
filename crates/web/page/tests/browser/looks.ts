// What every view of the page is asked for.
import AxeBuilder from "@axe-core/playwright";
import { expect, type Page } from "@playwright/test";
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

/** axe-core finds nothing. */
export async function accessible(page: Page, name: string): Promise<void> {
  const { violations } = await new AxeBuilder({ page }).analyze();
  expect(violations.map((one) => `${name} ${one.id}: ${one.nodes.map((node) => node.html).join(" ").slice(0, 300)}`)).toEqual([]);
}

/** Keeps a picture where WEFT_PICTURES names a folder. */
async function shown(page: Page, name: string): Promise<void> {
  const folder = process.env["WEFT_PICTURES"];
  if (folder === undefined) return;
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: join(folder, `${name}.png`) });
}
