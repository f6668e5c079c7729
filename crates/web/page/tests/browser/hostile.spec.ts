// Names that would act on a page, if a page let them.
import { expect, test } from "@playwright/test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Daemon } from "./daemon";

/** As they are in a dump of ibnetdiscover: at most 64 bytes. */
const NAMES = [
  "<img src=x onerror=alert(1)>",
  "</script><script>alert(1)</script>",
  "&lt;b&gt; &amp; 'quotes'",
  "\u202Eevil\u202C right to left",
  "שלום עולם",
  "\u{1F525}".repeat(16),
  "javascript:alert(1)",
  "a".repeat(64),
];

test("hostile names are text and nothing else", { tag: "@firefox" }, async ({ page }) => {
  const daemon = new Daemon("", []);
  const file = join(daemon.dir, "hostile.ibnetdiscover");
  writeFileSync(file, dump(NAMES));
  const own = Object.assign(daemon, { fabric: file });
  const dialogs: string[] = [];
  page.on("dialog", (dialog) => {
    dialogs.push(dialog.message());
    void dialog.dismiss();
  });
  try {
    await own.start();
    await page.goto(own.page);
    await expect(page.locator(".side")).toContainText(`${NAMES.length} hosts`);
    for (const name of NAMES.slice(0, 3)) {
      await page.keyboard.press("/");
      await page.keyboard.type(name.slice(0, 12));
      await expect(page.getByRole("listbox")).toContainText(name.slice(0, 12));
      await page.keyboard.press("Enter");
      await expect(page.getByRole("heading", { level: 1 })).toContainText(name);
      await page.keyboard.press("Escape");
    }
    // A turned direction is shown as the bytes that it is.
    await page.locator(".search input").fill("right to left");
    await expect(page.getByRole("listbox")).toContainText("\\xe2\\x80\\xaeevil");
    await page.locator(".search input").fill("");
    await page.keyboard.press("Escape");
    await page.goto(`${own.page}#/node/0x0011750100000001`);
    await expect(page.locator(".neighbourName").first()).toBeVisible();
    expect(await page.locator("img, script:not([src])").count()).toBe(0);
    expect(dialogs).toEqual([]);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    expect(wide).toBeLessThanOrEqual(1440);
  } finally {
    await own.remove();
  }
});

/** One switch, and a host for each name. */
function dump(names: string[]): string {
  const hex = (number: number) => number.toString(16).padStart(8, "0");
  const host = (at: number) => `00117501${hex(0x1000 + at)}`;
  const lines = ["vendid=0x1175", "devid=0xabc0", "sysimgguid=0x11750100000001", "switchguid=0x11750100000001(11750100000001)"];
  lines.push(`Switch\t48 "S-0011750100000001"\t\t# "one \\"switch\\"" enhanced port 0 lid 1 lmc 0`);
  names.forEach((_, at) => lines.push(`[${at + 1}]\t"H-${host(at)}"[1](${host(at)})\t\t# "${escaped(names[at])}" lid ${at + 2} 4xEDR`));
  names.forEach((name, at) => {
    lines.push("", "vendid=0x1175", "devid=0x24f0", `sysimgguid=0x${host(at)}`, `caguid=0x${host(at)}`);
    lines.push(`Ca\t1 "H-${host(at)}"\t\t# "${escaped(name)}"`);
    lines.push(`[1](${host(at)})\t"S-0011750100000001"[${at + 1}]\t\t# lid ${at + 2} lmc 0 "one \\"switch\\"" lid 1 4xEDR`);
  });
  return `${lines.join("\n")}\n`;
}

/** As ibnetdiscover's readers in Weft take quotes. */
function escaped(name: string): string {
  return name.replaceAll('"', "'");
}
