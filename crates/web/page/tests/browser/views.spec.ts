// Every view of a fabric of 1,152 hosts, beside what the command line says of the same fabric. A cut cable that is seen within a
// second, and a daemon that is lost and comes back, are in page.spec.ts, of the same size.
import { expect, test } from "@playwright/test";
import { Daemon } from "./daemon";
import { accessible, complainsOfNothing } from "./looks";
import { guidOf, open, rowsOf, saved, say } from "./steps";
import { loadOf, ONE, throughput, TWO } from "./traffic";

const daemon = new Daemon("fattree:1152");
/** Errors that port 31 of edge4 counts. */
const ERRORS = 4_321;
const BROADCAST = "0xff12401b80010000:0x00000000ffffffff";
/** A moment before anything was done, and one at which a cable was cut. */
let [before, cut] = ["", ""];
complainsOfNothing();

interface Fabric {
  hfis: number;
  switches: number;
  links: number;
  ports: Record<string, number>;
}

/** An end of a cable. */
interface End {
  name: string;
  port: number;
}

interface Link {
  from: End;
  to: End;
}

interface Counted {
  ports: { port: { port: number }; totals: Record<string, number> }[];
}

test.describe.configure({ timeout: 180_000 });
test.beforeAll(async ({ browser }) => {
  // Each host has two LIDs.
  daemon.configure((text) => text.replace("<Lmc>0</Lmc>", "<Lmc>1</Lmc>"));
  daemon.remember();
  await daemon.loopbackMay("administer");
  await daemon.start();
  before = new Date().toISOString();
  daemon.weft("quarantine", "add", "--reason", "it is noisy", "node:edge2:port:30");
  daemon.cause("count-errors", "edge4:31", "--rcv-errors", String(ERRORS));
  const page = await browser.newPage();
  await open(page, daemon);
  daemon.cause("link-down", "edge3:29");
  await expect(page.locator(".findings")).toContainText("edge3 port 29");
  await page.waitForTimeout(2_500);
  cut = new Date().toISOString();
  daemon.cause("link-up", "edge3:29");
  await expect(page.getByText("missing link")).toHaveCount(0);
  await page.close();
});
test.afterAll(async () => {
  await daemon.remove();
});

/** Cables by their ends, each once, as lines that do not depend on which end comes first. */
function cables(ends: [End, End][]): string[] {
  const lines = ends.map((both) => both.map(({ name, port }) => `${name}:${port}`).sort().join(" – "));
  return [...new Set(lines)].sort();
}

for (const paint of ["", "#/by/load", "#/by/wait", "#/by/errors", "#/by/change"]) {
  test(`the overview has the fabric that the command line has: ${paint || "by state"}`, async ({ page }) => {
    await open(page, daemon, paint);
    const fabric = daemon.json<Fabric>("fabric", "show");
    await expect(page.locator(".side")).toContainText(`${fabric.hfis.toLocaleString("en")} hosts`);
    await expect(page.locator(".side")).toContainText(`${fabric.switches} switches`);
    await page.locator("details.table summary").first().click();
    await accessible(page, `overview ${paint}`);
    const button = page.getByRole("button", { name: "Save all as CSV" });
    if (paint === "") return;
    const [, ...rows] = rowsOf((await saved(page, () => button.click())).text);
    expect(rows.length).toBe(2 * fabric.links);
    const judge = daemon.json<{ links: Link[] }>("report", "links");
    const own = cables(rows.map((row) => [{ name: row[0], port: Number(row[1]) }, { name: row[3], port: Number(row[4]) }]));
    expect(own).toEqual(cables(judge.links.map(({ from, to }) => [from, to])));
  });
}

test("the matrix has each link between switches that the command line has", async ({ page }) => {
  await open(page, daemon, "#/matrix/errors");
  const { links } = daemon.json<{ links: Link[] }>("report", "links");
  const wanted = links.filter(({ from, to }) => from.name.startsWith("edge") && to.name.startsWith("core")).map(({ from, to }) => `${from.name} × ${to.name}`);
  const [, ...rows] = rowsOf((await saved(page, () => page.getByRole("button", { name: "Save all pairs as CSV" }).click())).text);
  expect(rows.map(([lower, upper]) => `${lower} × ${upper}`).sort()).toEqual(wanted.sort());
  // The link in quarantine carries no data.
  expect(rows.filter(([, , up, all]) => up !== "1" || all !== "1").map((row) => [row[0], row[2], row[3]])).toEqual([["edge2", "0", "1"]]);
  await expect(page.locator(".legend")).toContainText("1,000,000 a minute");
  await page.getByText("The same as a table: all pairs by errors").click();
  await expect(page.getByRole("region", { name: "All pairs by errors" }).locator("tbody tr").first()).toContainText("edge");
  await accessible(page, "matrix by errors");
});

test("a switch has its counters, lines, lanes, cables, quarantine and changes", async ({ page }) => {
  const guid = await guidOf(page, daemon, "edge4");
  await expect(page.getByRole("region", { name: "Neighbours and cables" }).locator("a")).toHaveCount(48);
  const counters = page.getByRole("region", { name: "Counters" });
  await expect(counters).toBeVisible();
  const own = daemon.json<Counted>("counters", "-F", `nodeguid:${guid}`).ports.filter(({ port }) => port.port > 0);
  const sum = own.reduce((sum, { totals }) => sum + totals["rcv_errors"], 0);
  expect(sum).toBe(ERRORS);
  await expect(counters.getByRole("row", { name: /^rcv errors/ })).toContainText(sum.toLocaleString("en"));
  // In a file numbers are numbers.
  const table = await saved(page, () => counters.getByRole("button", { name: "Save as CSV" }).click());
  expect(table.text).toContain(`rcv errors,${sum}\r\n`);
  await expect(page.getByRole("region", { name: "Virtual lanes" }).getByRole("row").nth(1)).toContainText(/B\/s/);
  await expect(page.getByRole("img", { name: /^data of edge4 over the last hour/ })).toBeVisible();
  await expect(page.getByText("None of its links is in quarantine.")).toBeVisible();
  await page.locator("summary", { hasText: /^Cables$/ }).click();
  const cables = page.getByRole("region", { name: "Cables", exact: true });
  await expect(cables.locator("tbody tr")).toHaveCount(48);
  const serial = /;(W[0-9]+);/.exec(daemon.weft("report", "cablehealth").split("\n").find((row) => /edge4;2;0x[0-9a-f]+;0x[0-9a-f]+; *31;/.test(row)) ?? "")?.[1];
  expect(serial).toBeDefined();
  await expect(cables).toContainText(`serial number ${serial}`);
  await accessible(page, "switch");

  await guidOf(page, daemon, "edge2");
  await expect(page.locator(".quarantine")).toContainText("In quarantine since");
  await expect(page.locator(".quarantine")).toContainText("It is noisy.");
  await page.locator(".quarantine a").click();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("edge2 port 30");
  await page.getByRole("heading", { level: 1 }).getByRole("link").click();
  const changes = page.getByRole("region", { name: "What changed it" });
  await expect(changes).toContainText("it is noisy");
  expect(daemon.weft("who", "node:edge2")).toContain("it is noisy");
});

test("a host and its port are those that the command line knows", async ({ page }) => {
  const guid = await guidOf(page, daemon, "node700 hfi1_0");
  const [port] = daemon.json<{ ports: { lid: number }[] }>("counters", "-F", `nodeguid:${guid}`).ports;
  await expect(page.locator(".facts")).toContainText(`LID ${port.lid}`);
  for (const name of ["Counters", "Virtual lanes", "Neighbours and cables"]) await expect(page.getByRole("region", { name })).toBeVisible();
  for (const title of ["Cable", "Quarantine", "What changed it"]) await expect(page.getByRole("heading", { name: title, exact: true })).toBeVisible();
  await accessible(page, "host");
});

test("a virtual fabric has the members that the command line lists", async ({ page }) => {
  await open(page, daemon, "#/fabric/Default");
  const members = page.getByRole("region", { name: "Members", exact: true });
  await expect(members.locator("tbody tr")).toHaveCount(200);
  const [, ...rows] = rowsOf((await saved(page, () => members.getByRole("button", { name: /^Save all/ }).click())).text);
  const judge = daemon.json<{ members: { port: { node: string } }[] } | { port: { node: string } }[]>("vf", "members", "Default");
  expect(rows.length).toBe(("members" in judge ? judge.members : judge).length);
  await expect(page.getByRole("region", { name: "Ports that carry it" })).toBeVisible();
  await accessible(page, "virtual fabric");
});

test("a multicast group has the LID that the command line has, and a tree of all switches", async ({ page }) => {
  await open(page, daemon, `#/group/${BROADCAST}`);
  const { groups } = daemon.json<{ groups: { mgid: string; mlid: number }[] }>("report", "mcgroups");
  const { mlid } = groups.find(({ mgid }) => mgid === BROADCAST) ?? { mlid: 0 };
  await expect(page.locator(".facts")).toContainText(`MLID 0x${mlid.toString(16)}`);
  const { switches } = daemon.json<Fabric>("fabric", "show");
  await expect(page.getByRole("region", { name: `tree of ${BROADCAST}` }).locator("path")).toHaveCount(switches - 1);
  await accessible(page, "multicast group");
});

test("a route has the links that the command line prints, on both LIDs, beside another engine's", async ({ page }) => {
  const [from, to] = [await guidOf(page, daemon, "node1 hfi1_0"), await guidOf(page, daemon, "node1100 hfi1_0")];
  const { ways } = daemon.json<{ ways: { way: string; links: { from: { node: string }; to: { node: string } }[] }[] }>("route", "show", "node1 hfi1_0", "node1100 hfi1_0");
  await open(page, daemon, `#/route/${from}/${to}/beside/opa-shortestpath`);
  const now = page.getByRole("group", { name: "In force" });
  await expect(now.locator(".paths > li")).toHaveCount(2);
  const stops = (links: { from: { node: string }; to: { node: string } }[]) => [...links.map((link) => link.from.node), links[links.length - 1].to.node];
  const [base, other] = [ways.filter(({ way }) => way === "base"), ways.filter(({ way }) => way === "dispersive")];
  await expect(now.locator(".paths > li").nth(0).locator(".stop")).toHaveText(stops(base[0].links));
  expect(other).toHaveLength(1);
  await expect(now.locator(".paths > li").nth(1).locator(".stop")).toHaveText(stops(other[0].links));
  await expect(page.getByRole("group", { name: "By opa-shortestpath" }).locator(".paths > li")).toHaveCount(2);
  await now.locator("summary").first().click();
  await accessible(page, "route");
});

test("a plan is made, refused without the role, and applied with it", async ({ page }) => {
  await open(page, daemon, "#/plans");
  await page.getByRole("combobox", { name: /Switch or link to drain/ }).fill("core2");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Make the plan of this drain" }).click();
  await expect(page.getByRole("heading", { level: 1 })).toContainText("drain switch core2");
  await expect(page.getByRole("region", { name: "Fuller links" }).locator("tbody tr").first()).toBeVisible();
  await accessible(page, "plan");
  // What the daemon has against it is asked before the role is taken away.
  await Promise.all([page.waitForResponse(/ApplyRoutePlan/), page.getByRole("button", { name: "Apply…" }).click()]);
  await daemon.loopbackMay("view");
  await say(page, "Apply the plan", "without a role");
  await expect(page.getByRole("dialog").getByRole("alert")).toContainText("needs the role operate, and loopback has view");
  expect(daemon.weft("route", "drains")).not.toContain("core2");
  await page.reload();
  await expect(page.getByText("Applying a plan needs the role operate")).toBeVisible();
  await daemon.loopbackMay("administer");
  await page.reload();
  await page.getByRole("button", { name: "Apply…" }).click();
  await say(page, "Apply the plan", "fan of core2");
  await expect(page.getByRole("region", { name: "Drained" })).toContainText("safe to pull");
  expect(daemon.weft("route", "drains")).toMatch(/core2.*safe to pull/);
  daemon.weft("undrain", "node:core2");
});

test("a moment and a span of the past are shown, as the command line has them", async ({ page }) => {
  await open(page, daemon, `#/@${cut}`);
  await expect(page.locator(".asof")).toContainText("As of");
  await expect(page.locator(".legend")).toContainText("missing link 2");
  const then = daemon.json<Fabric>("fabric", "show", "--at", cut);
  await expect(page.locator(".side")).toContainText(`${then.links.toLocaleString("en")} links`);
  await accessible(page, "moment");
  await open(page, daemon, `#/by/errors@${cut}..${new Date().toISOString()}`);
  await expect(page.locator(".asof")).toContainText("are means of");
  await expect(page.locator(".legend")).not.toContainText("missing link");
  await accessible(page, "span");
});

test("events are those that the command line prints", async ({ page }) => {
  await open(page, daemon, `#/events@${before}..${cut}`);
  const lost = daemon.weft("log", "--from", before, "--to", cut, "--kind", "link_vanished", "--json").trimEnd().split("\n");
  expect(lost).toHaveLength(1);
  expect(lost[0]).toContain("edge3");
  await expect(page.locator(".events li", { hasText: "link vanished" })).toHaveCount(1);
  await expect(page.locator(".events")).toContainText(/link vanished: .*edge3 port 29/);
  await expect(page.locator(".events")).toContainText("it is noisy");
  await accessible(page, "events");
});

test("the hot link of E1 is found among 2,304, and adaptive routing relieves it", async ({ page }) => {
  // With several LIDs a host spreads what it sends over several routes; hosts of E1 have one.
  await daemon.kill();
  daemon.configure((text) => text.replace("<Lmc>1</Lmc>", "<Lmc>0</Lmc>"));
  await daemon.start();
  await open(page, daemon, "#/experiments/live");
  await page.getByRole("button", { name: "Start traffic…" }).click();
  const dialog = page.getByRole("dialog");
  const hot = /Both routes take the link (edge\d+):(\d+) to (core\d+):(\d+)/;
  await expect(dialog).toContainText(hot);
  const [, edge, , core] = hot.exec(await dialog.innerText()) ?? [];
  await say(page, "Start it", "two pairs");
  await expect.poll(() => throughput(page)).toBeGreaterThan(0.98 * ONE);
  expect(await throughput(page)).toBeLessThan(1.02 * ONE);
  // Two hosts send over one link: it is the busiest between switches, and full.
  await expect.poll(() => loadOf(page, edge, core)).toBeGreaterThan(99);
  // What both carry from there to one switch is as full.
  const { busiest } = daemon.json<{ busiest: { a: { name: string; switch: boolean }; b: { name: string; switch: boolean }; a_to_b: { utilization_percent: number }; b_to_a: { utilization_percent: number } }[] }>("top");
  const between = busiest.filter(({ a, b }) => a.switch && b.switch);
  const loads = between.map(({ a_to_b, b_to_a }) => Math.max(a_to_b.utilization_percent, b_to_a.utilization_percent));
  const fullest = between.filter((_, at) => loads[at] > loads[0] - 1).map(({ a, b }) => [a.name, b.name].sort().join());
  expect(fullest.length).toBeLessThanOrEqual(2);
  expect(fullest).toContain([core, edge].sort().join());
  await accessible(page, "experiments");
  await open(page, daemon, "#/by/load");
  await page.getByText("The same as a table").click();
  await expect(page.getByRole("region", { name: "Ports with cables, the busiest first" })).toContainText(`${edge} port`);
  await open(page, daemon, "#/experiments/live");
  await page.getByRole("button", { name: "Switch it on…" }).click();
  await say(page, "Switch it on", "as in E1");
  await expect.poll(() => throughput(page)).toBeGreaterThan(0.98 * TWO);
  await page.getByRole("button", { name: "Stop all traffic…" }).click();
  await say(page, "Stop it", "seen");
  await expect(page.getByText("No traffic.")).toBeVisible();
});
