// The page of Weft: the fabric in a browser.
import "./page.css";
import { computed, effect, signal } from "@preact/signals";
import { render } from "preact";
import { useEffect } from "preact/hooks";
import { addressOf, view } from "./address";
import { experiments, Later, views } from "./lazy";
import { enter, LinkRefused } from "./link";
import { Overview } from "./overview";
import { SearchBox } from "./search";
import { again, events, follow, health, layout, lost, source, theme } from "./store";
import { AsOf, Timeline } from "./timeline";
import { Who } from "./who";
import { clock } from "./words";

/** Time after the first picture until the code of the other views is loaded, milliseconds. */
const REST = 500;

/** Newest event that somebody has seen in the list. */
const read = signal("");
effect(() => {
  if (view.value.kind === "events") read.value = events.value[0]?.token ?? "";
});
/** Events since then, without those that tell of nothing but work, such as sweeps. */
const unread = computed(() => {
  const seen = events.value.findIndex(({ token }) => token === read.value);
  return events.value.slice(0, seen < 0 ? undefined : seen).filter(({ tone }) => tone !== "plain").length;
});

function App() {
  const now = view.value;
  const isThere = layout.value !== undefined;
  useEffect(() => {
    // They are there, then, also when the daemon is gone.
    if (isThere) setTimeout(views.load, REST);
  }, [isThere]);
  const dialogs = views.module.value;
  return (
    <>
      <a class="skip" href="#content" onClick={(event) => {
        event.preventDefault();
        document.getElementById("content")?.focus();
      }}>Skip to the content</a>
      <header class="top">
        <a class="logo" href={addressOf({ kind: "overview", paint: "state" })}>Weft</a>
        <nav aria-label="Views">
          <Tab to={addressOf({ kind: "overview", paint: "state" })} on={now.kind === "overview"}>Overview</Tab>
          <Tab to={addressOf({ kind: "route", from: 0n, to: 0n, beside: "" })} on={now.kind === "route"}>Route</Tab>
          <Tab to={addressOf({ kind: "matrix", by: "load", tier: 0, pods: false })} on={now.kind === "matrix"}>Matrix</Tab>
          <Tab to={addressOf({ kind: "groups" })} on={now.kind === "groups" || now.kind === "fabric" || now.kind === "group"}>Groups</Tab>
          <Tab to={addressOf({ kind: "plans", guid: 0n, port: 0 })} on={now.kind === "plans" || now.kind === "plan"}>Plans</Tab>
          <Tab to={addressOf({ kind: "experiments", live: false })} on={now.kind === "experiments"}>Experiments</Tab>
          <Tab to={addressOf({ kind: "events" })} on={now.kind === "events"}>Events{unread.value > 0 && <span class="count">{unread.value}</span>}</Tab>
        </nav>
        <SearchBox />
        <Source />
        <Theme />
      </header>
      <LinkRefused />
      <Lost />
      <AsOf />
      {dialogs !== undefined && <dialogs.Orders />}
      <main id="content" tabIndex={-1}>
        {now.kind === "overview" && <Overview paint={now.paint} />}
        {now.kind === "focus" && <Later of={views} title="Node">{(all) => <all.Focus guid={now.guid} port={now.port} />}</Later>}
        {now.kind === "route" && <Later of={views} title="Route">{(all) => <all.RouteView from={now.from} to={now.to} beside={now.beside} />}</Later>}
        {now.kind === "matrix" && <Later of={views} title="Links between tiers">{(all) => <all.Matrix by={now.by} asked={now.tier} pods={now.pods} />}</Later>}
        {now.kind === "groups" && <Later of={views} title="Virtual fabrics and multicast groups">{(all) => <all.Groups />}</Later>}
        {now.kind === "fabric" && <Later of={views} title="Virtual fabric">{(all) => <all.VirtualFabricView name={now.name} />}</Later>}
        {now.kind === "group" && <Later of={views} title="Multicast group">{(all) => <all.GroupView mgid={now.mgid} />}</Later>}
        {now.kind === "plans" && <Later of={views} title="Plans">{(all) => <all.Plans guid={now.guid} port={now.port} />}</Later>}
        {now.kind === "plan" && <Later of={views} title="Plan">{(all) => <all.PlanView id={now.id} />}</Later>}
        {now.kind === "events" && <Later of={views} title="Events">{(all) => <all.EventsView />}</Later>}
        {now.kind === "experiments" && <Later of={experiments} title="Experiments">{(all) => <all.Experiments live={now.live} />}</Later>}
      </main>
      {/* After the first picture: the past is read beside it. */}
      {layout.value !== undefined && <Timeline />}
    </>
  );
}

function Tab({ to, on, children }: { to: string; on: boolean; children: preact.ComponentChildren }) {
  return <a class={on ? "tab on" : "tab"} href={to} aria-current={on ? "page" : undefined}>{children}</a>;
}

/** Whose fabric this is, and what this manager is to it. */
function Source() {
  const [known, page] = [source.value, health.value];
  if (known === undefined) return null;
  const gone = page?.attachment !== undefined && !page.attachment.attached;
  return (
    <p class="source" title={`${known.connectedTo}; weftd ${known.version}`}>
      <bdi>{known.instance}</bdi> <span class="quiet">{page?.role}</span>{gone && <b class="bad"> the fabric cannot be reached</b>}<Who />
    </p>
  );
}

function Lost() {
  const now = lost.value;
  return (
    <div role="status">
      {now?.nobody === true && <p class="lost"><b>This browser is not let in</b>: <bdi>{now.why}</bdi></p>}
      {now !== undefined && !now.nobody && (
        <p class="lost"><b>weftd does not answer</b> since {clock(now.since)}: <bdi>{now.why}</bdi>. What is shown is from before; it is tried again and again.</p>
      )}
    </div>
  );
}

const THEMES = [["", "◐", "as the system"], ["light", "☀", "light"], ["dark", "☾", "dark"]] as const;

function Theme() {
  const at = Math.max(0, THEMES.findIndex(([name]) => name === theme.value));
  const [, sign, word] = THEMES[at];
  return (
    <button type="button" class="theme" title={`Theme: ${word}`} aria-label={`Theme: ${word}; press for another`} onClick={() => (theme.value = THEMES[(at + 1) % THEMES.length][0])}>{sign}</button>
  );
}

const root = document.getElementById("page");
if (root !== null) {
  render(<App />, root);
  void enter().then(follow);
  addEventListener("hashchange", () => void enter().then((asked) => asked && again()));
}
