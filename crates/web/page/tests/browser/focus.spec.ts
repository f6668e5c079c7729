// A port over time, its lanes, quarantine and changes; routes beside another engine's; the matrix by imbalance; virtual fabrics and
// multicast groups.
import { create, toBinary } from "@bufbuild/protobuf";
import { expect, test } from "@playwright/test";
import { GetMulticastGroupResponseSchema } from "../../gen/weft/v1/multicast_pb";
import { Daemon } from "./daemon";
import { complainsOfNothing, looksWell } from "./looks";
import { guidOf, open, saved } from "./steps";

const daemon = new Daemon("fattree:72,radix=12", []);
/** A virtual fabric with a name that would act on a page, if a page let it. */
const HOSTILE = `"><img src=x onerror=alert(1)>`;
const BROADCAST = "0xff12401b80010000:0x00000000ffffffff";
complainsOfNothing();

test.beforeAll(async () => {
  const quoted = HOSTILE.replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  const fabric = `<VirtualFabric><Name>${quoted}</Name><Enable>1</Enable><PKey>0x7</PKey><Security>0</Security><QOS>1</QOS><Bandwidth>10%</Bandwidth><Member>All</Member><Application>Own</Application></VirtualFabric>`;
  const application = "<Application><Name>Own</Name><ServiceID>0x1234</ServiceID></Application>";
  daemon.configure((text) => text.replace("</VirtualFabrics>", `${fabric}</VirtualFabrics>`).replace("    </Applications>", `${application}</Applications>`));
  daemon.chooseLinks();
  daemon.remember();
  await daemon.start();
  daemon.weft("emulator", "traffic", "start", "job", "pairs", "node1:node60");
  daemon.weft("quarantine", "add", "--reason", "it is noisy", "node:edge2:port:9");
});
test.afterAll(async () => {
  await daemon.remove();
});

test("a port has its counters over time, its lanes, and a legend in its drawings", async ({ page }) => {
  const guid = await guidOf(page, daemon, "node1 hfi1_0");
  await open(page, daemon, `#/node/${guid}/port/1`);
  const lanes = page.getByRole("region", { name: "Virtual lanes" });
  await expect(lanes.getByRole("row").nth(1)).toContainText(/[GM]B\/s/);
  const sent = await lanes.getByRole("row").nth(1).getByRole("cell").nth(3).textContent();
  expect(Number((sent ?? "").replaceAll(",", ""))).toBeGreaterThan(1_000);
  await expect(page.getByRole("heading", { name: "Over the last hour" })).toBeVisible();
  const lines = page.locator(".chart", { has: page.getByRole("img", { name: /^data of node1 hfi1_0 port 1/ }) });
  await expect(lines.locator("svg")).toContainText("sent");
  await expect(lines.locator("svg")).toContainText("received");
  // The line has points, and the table behind it values.
  await expect.poll(async () => (await lines.locator(".line0 path").last().getAttribute("d"))?.length ?? 0).toBeGreaterThan(20);
  await page.getByText("The same as a table").first().click();
  await expect(page.getByRole("region", { name: "data over time" }).getByRole("row").nth(1)).toContainText(/B\/s/);
  const table = await saved(page, () => page.getByRole("region", { name: "data over time" }).getByRole("button", { name: "Save all as CSV" }).click());
  expect(table.text).toMatch(/^time,sent \(xmitData a second\),received \(rcvData a second\)\r\n\d{4}-/);
  const drawing = await saved(page, () => lines.getByRole("button", { name: "Save as SVG" }).click());
  expect(drawing.text).toContain(">sent<");
  await page.getByRole("combobox", { name: "Time that is shown" }).selectOption({ label: "last 15 minutes" });
  await expect(page.getByRole("heading", { name: "Over the last 15 minutes" })).toBeVisible();
  await expect(page).toHaveURL(/\/port\/1\?last=15m$/);
  for (const kind of ["packets", "waiting", "errors"]) {
    await page.getByRole("button", { name: kind, exact: true }).click();
    await expect(page).toHaveURL(new RegExp(`/port/1/lines/${kind}\\?last=15m$`));
    await expect(page.getByRole("img", { name: new RegExp(`^${kind} of node1`) })).toBeVisible();
  }
  await page.reload();
  await expect(page.getByRole("img", { name: /^errors of node1/ })).toBeVisible();
  await expect(page.getByRole("heading", { name: "Over the last 15 minutes" })).toBeVisible();
  await looksWell(page, "port-over-time");
});

test("names in the drawing of neighbours are text that other programs draw", async ({ page }) => {
  const guid = await guidOf(page, daemon, "edge3");
  await open(page, daemon, `#/node/${guid}`);
  const region = page.getByRole("region", { name: "Neighbours and cables" });
  const { text } = await saved(page, () => region.getByRole("button", { name: "Save as SVG" }).click());
  expect(text).not.toContain("foreignObject");
  expect(text).toMatch(/<tspan[^>]*>core1<\/tspan>/);
});

test("a port says why it is in quarantine, since when and what ends it, and who put it there", async ({ page }) => {
  const guid = await guidOf(page, daemon, "edge2");
  await open(page, daemon, `#/node/${guid}/port/9`);
  const told = page.locator(".quarantine");
  await expect(told).toContainText("In quarantine since");
  await expect(told).toContainText("It is noisy.");
  await expect(told).toContainText("it ends when somebody releases the port");
  await expect(told).toContainText("Routes leave it out.");
  const changes = page.getByRole("region", { name: "What changed it" });
  await expect(changes).toContainText("it is noisy");
  await changes.getByRole("button", { name: "Why?" }).first().click();
  await expect(changes.locator(".causes li").first()).toBeVisible();
  await looksWell(page, "port-quarantine");
  await open(page, daemon, `#/node/${guid}/port/8`);
  await expect(page.locator(".quarantine")).toContainText("Its link is not in quarantine.");
});

test("a route has all LIDs, the choices of adaptive routing, lanes and loads, beside another engine's", async ({ page }) => {
  const [from, to] = [await guidOf(page, daemon, "node1 hfi1_0"), await guidOf(page, daemon, "node60 hfi1_0")];
  await open(page, daemon, `#/route/${from}/${to}`);
  const now = page.getByRole("group", { name: "In force" });
  await expect(now.locator(".paths > li")).toHaveCount(2);
  await now.getByText("Loads, adaptive choices and lanes").first().click();
  const links = now.getByRole("region", { name: /^Links to LID/ }).first();
  await expect(links.getByRole("row")).toHaveCount(5);
  // The edge switch chooses among its six links upwards, and a host does not choose.
  await expect(links.getByRole("row").nth(1)).toContainText("this link only");
  await expect(links.getByRole("row").nth(2).locator(".choice")).toHaveCount(6);
  await expect(links.getByRole("row").nth(2)).toContainText(/SC \d+, VL \d+/);
  await expect(links.getByRole("columnheader", { name: /^Default, SL \d+$/ })).toBeVisible();
  await page.getByRole("combobox", { name: "Beside the route of" }).selectOption("opa-shortestpath");
  await expect(page).toHaveURL(/\/beside\/opa-shortestpath$/);
  const other = page.getByRole("group", { name: "By opa-shortestpath" });
  await expect(other.locator(".paths > li")).toHaveCount(2);
  await other.getByText(/^Loads/).first().click();
  await looksWell(page, "route-beside");
  await page.reload();
  await expect(page.getByRole("group", { name: "By opa-shortestpath" }).locator(".paths > li")).toHaveCount(2);
});

test("a host is found by a LID that is not its base LID, and by its port GUID", async ({ page }) => {
  const guid = await guidOf(page, daemon, "node60 hfi1_0");
  const base = Number(await page.locator(".facts code").nth(1).textContent());
  const other = `LID ${base + 1}`;
  // The first port of an HFI has the GUID of its node.
  for (const [text, why] of [[`lid:${base + 1}`, other], [String(base + 1), other], [`portguid:${guid}`, `portguid:${guid}`]]) {
    await open(page, daemon, "#/");
    await page.getByRole("combobox").first().fill(text);
    await expect(page.getByRole("listbox")).toContainText(`node60 hfi1_0 ${why}`);
    await page.keyboard.press("Enter");
    await expect(page).toHaveURL(new RegExp(guid));
  }
});

test("the matrix by imbalance names the pair that has more load than its row", async ({ page }) => {
  await open(page, daemon, "#/matrix/imbalance");
  const uneven = page.getByRole("region", { name: "Pairs with more load than their row" });
  await expect(uneven.getByRole("row").nth(1)).toContainText("edge1");
  await expect(page.locator(".legend")).toContainText("3 times the mean, or more");
  const pairs = await saved(page, () => page.getByRole("button", { name: "Save all pairs as CSV" }).click());
  expect(pairs.text).toContain("times the mean of the row");
  await looksWell(page, "matrix-imbalance");
});

test("a virtual fabric is found by its name, with settings, members and the ports that carry it", async ({ page }) => {
  await open(page, daemon, "#/groups");
  await expect(page.getByRole("region", { name: "Virtual fabrics" })).toContainText("Default");
  await expect(page.getByRole("region", { name: "Multicast groups" })).toContainText(BROADCAST);
  await looksWell(page, "groups");
  await page.getByRole("combobox", { name: /^Search/ }).fill("default");
  await page.getByRole("option", { name: /virtual fabric/ }).first().click();
  await expect(page).toHaveURL(/#\/fabric\/Default$/);
  await expect(page.getByRole("region", { name: "Settings" })).toContainText("P_Key");
  await expect(page.getByRole("region", { name: "Levels, channels and lanes" }).getByRole("row").nth(1)).toContainText(/\d/);
  await expect(page.getByRole("region", { name: "Members", exact: true })).toContainText("node1 hfi1_0");
  await expect(page.getByRole("region", { name: "members of Default" }).locator("a").first()).toBeVisible();
  await expect(page.getByRole("region", { name: "Ports that carry it" }).getByRole("row").nth(1)).toContainText(/[GM]B\/s/);
  await looksWell(page, "virtual-fabric");
});

test("the name of a virtual fabric is text and nothing else", async ({ page }) => {
  await open(page, daemon, "#/groups");
  await page.getByRole("region", { name: "Virtual fabrics" }).getByRole("link", { name: HOSTILE }).click();
  await expect(page.getByRole("heading", { level: 1 })).toContainText(HOSTILE);
  await expect(page.getByRole("region", { name: "Settings" })).toContainText("0x");
  await page.reload();
  await expect(page.getByRole("heading", { level: 1 })).toContainText(HOSTILE);
  expect(await page.locator("img").count()).toBe(0);
});

test("a multicast group without members has the tree of the switches, and is found by its MGID", async ({ page }) => {
  await open(page, daemon, `#/group/${BROADCAST}`);
  await expect(page.locator(".facts")).toContainText("MLID 0xf00");
  await expect(page.getByText("Nobody has joined.")).toBeVisible();
  // 18 switches.
  const tree = page.getByRole("region", { name: `tree of ${BROADCAST}` });
  await expect(tree.locator("path")).toHaveCount(17);
  await expect(tree.locator("a")).toHaveCount(18);
  await page.getByText("The same as a table").click();
  await expect(page.getByRole("region", { name: "Links of the tree" }).getByRole("row")).toHaveCount(18);
  await page.getByRole("combobox", { name: /^Search/ }).fill("0xff12401b");
  await expect(page.getByRole("listbox")).toContainText("multicast group, MLID 0xf00");
  await page.keyboard.press("Escape");
  await open(page, daemon, "#/group/0xff12401b80010000:0x0000000000000099");
  await expect(page.getByRole("alert")).toContainText("there is no multicast group");
});

test("a multicast group has its members and its tree", async ({ page }) => {
  const [edge1, edge2, core] = [await guidOf(page, daemon, "edge1"), await guidOf(page, daemon, "edge2"), await guidOf(page, daemon, "core1")];
  const hosts = [await guidOf(page, daemon, "node1 hfi1_0"), await guidOf(page, daemon, "node7 hfi1_0")];
  // Nobody on an emulated fabric joins a group: the answer is one of a fabric where two hosts have.
  const port = (guid: string, name: string, port: number) => ({ port: { nodeGuid: BigInt(guid), port }, nodeName: name });
  const link = (a: ReturnType<typeof port>, b: ReturnType<typeof port>) => ({ a, b, fromA: true, fromB: true });
  const answer = create(GetMulticastGroupResponseSchema, {
    group: { mgid: BROADCAST, mlid: 0xf0000001, pkey: 0x8001, qKey: 1, mtu: 2048, rate: "100g", sl: 0, permanent: true, members: 3 },
    members: [
      { gid: "0xfe80000000000000:0x1", port: port(hosts[0], "node1 hfi1_0", 1), full: true, receives: true },
      { gid: "0xfe80000000000000:0x2", port: port(hosts[1], "node7 hfi1_0", 1), sendsOnly: true },
      { gid: "0xfe80000000000000:0x3" },
    ],
    tree: [link(port(edge1, "edge1", 7), port(core, "core1", 1)), link(port(edge2, "edge2", 7), port(core, "core1", 2)), link(port(hosts[0], "node1 hfi1_0", 1), port(edge1, "edge1", 1)), link(port(hosts[1], "node7 hfi1_0", 1), port(edge2, "edge2", 1))],
    links: 4,
  });
  await page.route("**/weft.v1.MulticastService/GetMulticastGroup", (route) => {
    const message = Buffer.from(toBinary(GetMulticastGroupResponseSchema, answer));
    const frame = (kind: number, bytes: Buffer) => {
      const head = Buffer.alloc(5);
      head[0] = kind;
      head.writeUInt32BE(bytes.length, 1);
      return Buffer.concat([head, bytes]);
    };
    void route.fulfill({ contentType: "application/grpc-web+proto", body: Buffer.concat([frame(0, message), frame(0x80, Buffer.from("grpc-status: 0\r\n"))]) });
  });
  await open(page, daemon, `#/group/${BROADCAST}`);
  const tree = page.getByRole("region", { name: `tree of ${BROADCAST}` });
  await expect(tree.locator("a")).toHaveCount(5);
  await expect(tree.locator("path")).toHaveCount(4);
  await expect(tree.getByRole("link", { name: "node1 hfi1_0, member" })).toBeVisible();
  const members = page.getByRole("region", { name: "Members", exact: true });
  await expect(members).toContainText("not in the fabric");
  await expect(members.getByRole("row").nth(2)).toContainText("sends only");
  await looksWell(page, "multicast-group");
  await tree.getByRole("link", { name: "core1" }).click();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("core1");
});
