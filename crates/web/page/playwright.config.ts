// The page in Chromium, and in Firefox what is tagged so (by night all that Firefox can be asked for), with pictures drawn by
// software: no graphics card is needed.
import { defineConfig } from "@playwright/test";

const NIGHT = Boolean(process.env["WEFT_NIGHT"]);
const SHARED = { viewport: { width: 1440, height: 900 }, colorScheme: "dark", trace: "off" } as const;

/** WebGL without a graphics card; and loopback through the proxy by which Playwright shows certificates of clients. */
const FIREFOX = { "webgl.force-enabled": true, "network.proxy.allow_hijacking_localhost": true };

export default defineConfig({
  testDir: "tests/browser",
  testMatch: "*.spec.ts",
  fullyParallel: false,
  // Tests mostly wait, for sweeps and readings. Times are measured one after the other.
  workers: NIGHT ? 1 : 2,
  retries: 0,
  forbidOnly: true,
  timeout: 60_000,
  expect: { timeout: 15_000 },
  reporter: [["list"]],
  outputDir: "test-results",
  snapshotPathTemplate: "{testDir}/{testFilePath}-snapshots/{arg}-{platform}{ext}",
  projects: [
    {
      name: "chromium",
      use: {
        ...SHARED,
        browserName: "chromium",
        launchOptions: {
          executablePath: process.env["WEFT_CHROMIUM"] ?? "/usr/bin/chromium",
          args: ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist"],
        },
      },
    },
    {
      name: "firefox",
      grep: NIGHT ? /./ : /@firefox/,
      // Pictures are compared, and times and costs measured, in one browser; a slow line is made by Chromium's own protocol.
      testIgnore: ["pictures.spec.ts", "throttled.spec.ts", "cost.spec.ts", "night.spec.ts", "frames.spec.ts"],
      use: {
        ...SHARED,
        browserName: "firefox",
        channel: "moz-firefox",
        launchOptions: { executablePath: "tests/browser/firefox.mjs", firefoxUserPrefs: FIREFOX },
      },
    },
  ],
});
