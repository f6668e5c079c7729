// What tests of several views do with a page.
import { expect, type Page } from "@playwright/test";
import { readFileSync } from "node:fs";
import type { Daemon } from "./daemon";

/** Opens a view, and waits until it is known whose fabric it shows. */
export async function open(page: Page, daemon: Daemon, hash = ""): Promise<void> {
  await page.goto(daemon.page + hash);
  await expect(page.locator(".source")).toBeVisible();
}

/** Looks for a node or a port by its name, and opens the first that is found. */
export async function find(page: Page, name: string): Promise<void> {
  await page.getByRole("combobox", { name: /^Search/ }).fill(name);
  await expect(page.getByRole("option").first()).toBeVisible();
  await page.keyboard.press("Enter");
}

/** The GUID of a node, which is open afterwards. */
export async function guidOf(page: Page, daemon: Daemon, name: string): Promise<string> {
  await open(page, daemon, "#/");
  await find(page, name);
  await expect(page.getByRole("heading", { level: 1 })).toContainText(name);
  return /0x[0-9a-f]{16}/.exec(page.url())?.[0] ?? "";
}

/** What a button saves: the name of the file, and its text. */
export async function saved(page: Page, press: () => Promise<void>): Promise<{ name: string; text: string }> {
  const [file] = await Promise.all([page.waitForEvent("download"), press()]);
  return { name: file.suggestedFilename(), text: readFileSync(await file.path(), "utf8") };
}

/** Rows of a file of comma-separated values without a comma in them, the head first. */
export function rowsOf(text: string): string[][] {
  return text.trimEnd().split("\r\n").map((line) => line.split(","));
}

/** Answers a dialog with a reason, by its button. */
export async function say(page: Page, button: string, reason: string): Promise<void> {
  const dialog = page.getByRole("dialog");
  await expect(dialog.getByRole("button", { name: button })).toBeDisabled();
  await dialog.getByRole("textbox", { name: "Reason" }).fill(reason);
  await dialog.getByRole("button", { name: button }).click();
}
