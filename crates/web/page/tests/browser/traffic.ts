// Traffic of the live emulation, as the page tells it.
import type { Page } from "@playwright/test";

/** Payload that one link carries, and two, GB/s (Intel, "Adaptive Routing with Intel Omni-Path Architecture"). */
export const [ONE, TWO] = [12.38, 24.7];

/** What all traffic gets, GB/s; 0 without any. */
export async function throughput(page: Page): Promise<number> {
  const text = await page.locator(".sum").innerText();
  return Number(/^([\d.]+) GB\/s/.exec(text)?.[1] ?? 0);
}

/** Load of what an end of a link sends, percent, as the table has it. */
export async function loadOf(page: Page, from: string, to: string): Promise<number> {
  const row = page.getByRole("region", { name: "Links", exact: true }).getByRole("row").filter({ hasText: from }).filter({ hasText: to });
  const text = (await row.locator("td.number").allInnerTexts()).map((cell) => Number(/^([\d.]+) %/.exec(cell)?.[1] ?? 0));
  return Math.max(0, ...text);
}

export function near(value: number, wanted: number): boolean {
  return Math.abs(value / wanted - 1) < 0.02;
}
