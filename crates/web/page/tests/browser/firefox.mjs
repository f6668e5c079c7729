#!/usr/bin/env node
// Firefox for Playwright, which drives it by WebDriver BiDi.
//
// Playwright asks for `emulation.setMediaFeaturesOverride` before it opens a page, and Firefox has no such command: this
// program stands between both and carries it out by a preference of Firefox. It gives downloads the numbers that Playwright
// follows them by. And Firefox without a window has WebGL only where there is an X server: it gets one of its own, Xvfb.
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createInterface } from "node:readline";
import WebSocket, { WebSocketServer } from "ws";

const FIREFOX = process.env["WEFT_FIREFOX"] ?? "/usr/bin/firefox-esr";
const COMMAND = "emulation.setMediaFeaturesOverride";
/** Values of the setting, for all pages: 2 is what the system has. */
const SCHEMES = { dark: 0, light: 1 };
const SYSTEM = 2;
/** Numbers of own commands, above those that Playwright gives. */
const OWN = 2 ** 40;

const screen = spawn("Xvfb", ["-displayfd", "3", "-nolisten", "tcp", "-screen", "0", "1440x900x24"], { stdio: ["ignore", "ignore", "ignore", "pipe"] });
screen.on("error", (error) => ended(`Xvfb: ${error.message}`));
const [display] = await once(createInterface({ input: screen.stdio[3] }), "line");
const args = ["--remote-allow-system-access", ...process.argv.slice(2)];
const firefox = spawn(FIREFOX, args, { stdio: ["ignore", "inherit", "pipe"], env: { ...process.env, DISPLAY: `:${display}` } });
firefox.on("error", (error) => ended(`${FIREFOX}: ${error.message}`));
firefox.on("exit", () => ended("Firefox has ended"));
for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"]) {
  process.on(signal, () => firefox.kill(signal));
}
createInterface({ input: firefox.stderr }).on("line", (line) => {
  const listening = /^WebDriver BiDi listening on (ws:\/\/.*)$/.exec(line);
  if (listening === null) {
    console.error(line);
  } else {
    serve(listening[1]);
  }
});

/** Numbers of downloads by their addresses. */
const downloads = new Map();

/** An event of a download with its number. */
function numbered(event) {
  const download = downloads.get(event.params.url) ?? randomUUID();
  downloads.set(event.params.url, download);
  return { ...event, params: { ...event.params, download } };
}

function ended(why) {
  console.error(why);
  screen.kill();
  process.exit(1);
}

/** Takes Playwright's connection, and says where, as Firefox does. */
function serve(at) {
  const server = new WebSocketServer({ host: "127.0.0.1", port: 0 });
  server.on("listening", () => console.error(`WebDriver BiDi listening on ws://127.0.0.1:${server.address().port}`));
  server.on("connection", (client) => connect(client, `${at}/session`));
}

/** Hands on what either side says. */
function connect(client, at) {
  const browser = new WebSocket(at, { maxPayload: 0 });
  const opened = new Promise((done) => browser.once("open", done));
  const waiting = new Map();
  let last = OWN;
  let chrome;

  function ask(method, params) {
    last += 1;
    browser.send(JSON.stringify({ id: last, method, params }));
    return new Promise((done, failed) => waiting.set(last, { done, failed }));
  }

  /** What pages shall prefer from now on. */
  async function prefer(scheme) {
    if (chrome === undefined) {
      const { contexts } = await ask("browsingContext.getTree", { "moz:scope": "chrome" });
      chrome = contexts[0].context;
    }
    const set = `Services.prefs.setIntPref("layout.css.prefers-color-scheme.content-override", ${SCHEMES[scheme] ?? SYSTEM})`;
    const { type } = await ask("script.evaluate", { expression: set, target: { context: chrome }, awaitPromise: false });
    if (type !== "success") {
      throw new Error(`${set}: ${type}`);
    }
  }

  client.on("message", async (data) => {
    await opened;
    const { id, method, params } = JSON.parse(data);
    if (method !== COMMAND) {
      browser.send(String(data));
      return;
    }
    try {
      await prefer(params.features["prefers-color-scheme"]);
      client.send(JSON.stringify({ type: "success", id, result: {} }));
    } catch (error) {
      client.send(JSON.stringify({ type: "error", id, error: "unknown error", message: String(error), stacktrace: "" }));
    }
  });
  browser.on("message", (data) => {
    const answer = JSON.parse(data);
    if (answer.method?.startsWith("browsingContext.download")) {
      client.send(JSON.stringify(numbered(answer)));
      return;
    }
    const own = waiting.get(answer.id);
    if (own === undefined) {
      client.send(String(data));
      return;
    }
    waiting.delete(answer.id);
    if (answer.type === "success") {
      own.done(answer.result);
    } else {
      own.failed(new Error(answer.message));
    }
  });
  browser.on("close", () => client.close());
  browser.on("error", () => client.terminate());
  client.on("close", () => browser.close());
}
