// What open pages cost the daemon. Prints the figures of docs/research/benchmarks.md.
import { expect, type Page, test } from "@playwright/test";
import { Daemon } from "./daemon";

test.skip(!process.env["WEFT_NIGHT"], "crates/web/page/check --night");

const PAGES = 10;
/** How long the daemon is watched, seconds. */
const WATCHED = 60;
/** The goal for all pages together, share of a core. */
const MOST = 0.02;

for (const hosts of [1_152, 27_648]) {
  test(`${PAGES} open pages of ${hosts} hosts cost the daemon next to nothing`, async ({ browser }) => {
    test.setTimeout(1_200_000);
    const daemon = new Daemon(`fattree:${hosts}`);
    try {
      await daemon.start();
      // What a start leaves to do is over by then.
      await new Promise((done) => setTimeout(done, 15_000));
      const alone = await share(daemon);
      const pages: Page[] = [];
      for (let one = 0; one < PAGES; one++) {
        // A window of its own: pages that nobody sees ask nothing.
        const page = await (await browser.newContext()).newPage();
        await page.goto(daemon.page);
        await expect(page.locator(".side")).toContainText(`${hosts.toLocaleString("en")} hosts`);
        pages.push(page);
      }
      const asked = { count: 0 };
      for (const page of pages) page.on("request", () => asked.count++);
      const looked = await share(daemon);
      console.log(`${hosts} hosts: ${percent(alone)} of a core without a page, ${percent(looked)} with ${PAGES} that ask ${(asked.count / WATCHED).toFixed(0)} times a second: ${percent(looked - alone)} for them`);
      expect(asked.count, "they are followed").toBeGreaterThan(PAGES * WATCHED);
      if (hosts <= 1_152) expect(looked - alone).toBeLessThan(MOST);
    } finally {
      await daemon.remove();
    }
  });
}

/** Share of a core that a daemon takes. */
async function share(daemon: Daemon): Promise<number> {
  const [before, start] = [daemon.cpu(), Date.now()];
  await new Promise((done) => setTimeout(done, WATCHED * 1_000));
  return (daemon.cpu() - before) / ((Date.now() - start) / 1_000);
}

function percent(share: number): string {
  return `${(100 * share).toFixed(2)} %`;
}
