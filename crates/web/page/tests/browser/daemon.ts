// A running daemon with an emulated fabric, for tests.
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const PROGRAMS = process.env["WEFT_PROGRAMS"] ?? "../../../target/debug";
const CONFIG = "../../../config/opafm.xml";
/** Longest time until a daemon has brought its fabric up, milliseconds: 27,648 hosts on a busy machine. */
const PATIENCE = 300_000;
/** Most that the command line prints, bytes. */
const OUTPUT_MAX = 64 << 20;

/** An entry of the record of changes. */
interface Audited {
  method: string;
  reason: string;
  author: string;
  identity: string;
  result: string;
  request: string;
}

export class Daemon {
  readonly dir = mkdtempSync(join(tmpdir(), "weft-page-"));
  page = "";
  private process: ChildProcess | undefined;

  constructor(private fabric: string, readonly more: string[] = []) {
    // Counters are read every second.
    const config = readFileSync(CONFIG, "utf8").replace("<SweepInterval>10</SweepInterval>", "<SweepInterval>1</SweepInterval>");
    writeFileSync(join(this.dir, "opafm.xml"), config);
  }

  /** Changes its configuration, for the next start. */
  configure(change: (text: string) => string): void {
    const file = join(this.dir, "opafm.xml");
    writeFileSync(file, change(readFileSync(file, "utf8")));
  }

  /** Has each host have two LIDs, and switches choose among links. */
  chooseLinks(): void {
    this.configure((text) => {
      const at = text.indexOf("<AdaptiveRouting>");
      return text.slice(0, at).replace("<Lmc>0</Lmc>", "<Lmc>1</Lmc>") + text.slice(at).replace("<Enable>0</Enable>", "<Enable>1</Enable>");
    });
  }

  /** Sets what somebody at a loopback address may do from now on, with more of the rules after it. */
  async loopbackMay(role: string, more = ""): Promise<void> {
    const rules = join(this.dir, "access.toml");
    writeFileSync(rules, `loopback = "${role}"\n${more}`);
    if (this.process === undefined) {
      this.more.push("--access", rules);
      return;
    }
    const taken = `loopback without a certificate: ${role}`;
    const before = this.logged(taken);
    this.reload();
    await until(() => this.logged(taken) > before);
  }

  /** Keeps its past, and what it has been asked for, from the next start on. */
  remember(): void {
    this.more.push("--state-dir", join(this.dir, "state"));
  }

  /** Starts it, again at the address that it had before. */
  async start(): Promise<void> {
    const addresses = join(this.dir, "addresses");
    rmSync(addresses, { force: true });
    const log = openSync(this.log, "w");
    const web = this.page === "" ? "127.0.0.1:0" : new URL(this.page).host;
    const own = ["--emulate", this.fabric, "--config", join(this.dir, "opafm.xml"), "--listen", `unix:${join(this.dir, "api.sock")}`];
    const other = ["--metrics", "127.0.0.1:0", "--control", `unix:${this.control}`, "--web", web, "--address-file", addresses];
    this.process = spawn(join(PROGRAMS, "weftd"), [...own, ...other, ...this.more], { stdio: ["ignore", "ignore", log] });
    closeSync(log);
    await until(() => {
      if (this.process?.exitCode !== null) throw new Error(`weftd has ended: ${readFileSync(this.log, "utf8")}`);
      return existsSync(addresses) && readFileSync(this.log, "utf8").includes("fabric up");
    });
    this.page = /^page (.*)$/m.exec(readFileSync(addresses, "utf8"))?.[1] ?? "";
  }

  /** Causes a fault, as `weft-emulator ctl` does. */
  cause(...what: string[]): void {
    execFileSync(join(PROGRAMS, "weft-emulator"), ["ctl", "--connect", `unix:${this.control}`, ...what]);
  }

  /** What the command line says with --json, the judge of what the page shows. */
  json<T>(...what: string[]): T {
    return JSON.parse(this.weft(...what, "--json")) as T;
  }

  /** What the command line says at the daemon's socket, as the user of the daemon. */
  weft(...what: string[]): string {
    return execFileSync(join(PROGRAMS, "weft"), ["--address", `unix:${join(this.dir, "api.sock")}`, ...what], { encoding: "utf8", maxBuffer: OUTPUT_MAX });
  }

  /** What the record of changes has of a method. */
  audited(method: string): Audited[] {
    const lines = this.weft("audit", "list", "--json").split("\n").filter((line) => line !== "");
    return lines.map((line) => JSON.parse(line) as Audited).filter((record) => record.method.endsWith(method));
  }

  /** How often its log has a text. */
  logged(text: string): number {
    return readFileSync(this.log, "utf8").split(text).length - 1;
  }

  /** Time that it has taken of processors, seconds: fields 14 and 15 of its `stat` are hundredths. */
  cpu(): number {
    const stat = readFileSync(`/proc/${this.process?.pid}/stat`, "utf8");
    const [user, system] = stat.slice(stat.lastIndexOf(")") + 2).split(" ").slice(11, 13).map(Number);
    return (user + system) / 100;
  }

  /** Has files of settings read again. */
  reload(): void {
    this.process?.kill("SIGHUP");
  }

  /** Ends it at once. */
  async kill(): Promise<void> {
    const ending = this.process;
    if (ending === undefined || ending.exitCode !== null) return;
    const ended = new Promise((done) => ending.once("exit", done));
    ending.kill("SIGKILL");
    await ended;
  }

  async remove(): Promise<void> {
    await this.kill();
    rmSync(this.dir, { recursive: true, force: true });
  }

  private get control(): string {
    return join(this.dir, "emulator.sock");
  }

  private get log(): string {
    return join(this.dir, "log");
  }
}

async function until(look: () => boolean): Promise<void> {
  const start = Date.now();
  while (!look()) {
    if (Date.now() - start > PATIENCE) throw new Error("it takes too long");
    await new Promise((done) => setTimeout(done, 50));
  }
}
