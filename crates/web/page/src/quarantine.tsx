// Whether the link of a port is kept out of use, and which links of a node are: why, since when, and what ends that.
import { durationMs, timestampDate } from "@bufbuild/protobuf/wkt";
import { type ExplainQuarantineResponse, LinkUse, type LossThresholds, type PortLosses, type QuarantinedPort } from "../gen/weft/v1/port_pb";
import { addressOf } from "./address";
import { portCalls } from "./calls";
import { usePolled } from "./poll";
import { clock, many, pointOf, sentence, spanText } from "./words";

/** Time from one reading to the next, milliseconds. */
const PACE = 5_000;

const USES: Partial<Record<LinkUse, string>> = {
  [LinkUse.USED_ALL_THE_SAME]: "Routes use it all the same: a part of the fabric would be cut off without it.",
  [LinkUse.USED_UNTIL_SWEEP]: "Routes use it until the next sweep has ended.",
  [LinkUse.LEFT_OUT]: "Routes leave it out.",
};

export function Quarantine({ guid, number }: { guid: bigint; number: number }) {
  const { answer, failed } = usePolled((options) => portCalls.explainQuarantine({ port: { nodeGuid: guid, port: number } }, options), PACE, [guid, number]);
  return (
    <>
      <h2>Quarantine</h2>
      {answer === undefined ? <p class="quiet"><bdi>{failed}</bdi></p> : <Explained answer={answer} />}
    </>
  );
}

/** The links of a node that are kept out of use, or would be. */
export function NodeQuarantine({ guid }: { guid: bigint }) {
  const { answer, failed } = usePolled((options) => portCalls.listQuarantine({ point: pointOf(guid, 0) }, options), PACE, [guid]);
  return (
    <>
      <h2>Quarantine</h2>
      {answer === undefined && <p class="quiet"><bdi>{failed}</bdi></p>}
      {answer !== undefined && answer.ports.length === 0 && <p class="calm">None of its links is in quarantine.</p>}
      {answer?.ports.map((entry) => (
        <div key={`${entry.port?.port?.nodeGuid} ${entry.port?.port?.port}`} class="quarantine">
          <h3><a href={addressOf({ kind: "focus", guid: entry.port?.port?.nodeGuid ?? 0n, port: entry.port?.port?.port ?? 0 })}><bdi>{entry.port?.nodeName}</bdi> port {entry.port?.port?.port}</a></h3>
          <Entry entry={entry} thresholds={undefined} />
        </div>
      ))}
    </>
  );
}

function Explained({ answer }: { answer: ExplainQuarantineResponse }) {
  const entries = answer.ends.flatMap((end) => (end.entry === undefined ? [] : [end.entry]));
  const lost = answer.ends.filter((end) => end.lostTimes.length > 0);
  const [use, why] = [USES[answer.linkUse], answer.unusedReason];
  return (
    <div class="quarantine">
      {entries.length === 0 ? <p class="calm">Its link is not in quarantine.</p> : entries.map((entry, key) => <Entry key={key} entry={entry} thresholds={answer.thresholds} />)}
      {use !== undefined && <p class={answer.linkUse === LinkUse.LEFT_OUT ? "bad" : ""}>{use}{why !== "" && entries.length === 0 && <> <bdi>{sentence(why)}</bdi></>}</p>}
      {(answer.routes > 0n || answer.multicast > 0n) && <p class="quiet">{answer.routes.toLocaleString("en")} entries of linear tables and {answer.multicast.toLocaleString("en")} of multicast tables lead over it.</p>}
      {lost.map((end, key) => <Losses key={key} end={end} />)}
      {answer.thresholds !== undefined && <p class="quiet">A port that loses its link {many(answer.thresholds.high, "time")} within {spanText(answer.thresholds.window === undefined ? 0 : durationMs(answer.thresholds.window))} comes into quarantine.</p>}
    </div>
  );
}

function Entry({ entry, thresholds }: { entry: QuarantinedPort; thresholds: LossThresholds | undefined }) {
  const age = entry.age === undefined ? undefined : new Date(Date.now() - durationMs(entry.age));
  return (
    <>
      <p>
        <b class={entry.quarantined ? "bad" : ""}>{entry.quarantined ? "In quarantine" : entry.byErrors ? "Has errors" : "Held back"}</b>{age !== undefined && ` since ${clock(age)}`}: <bdi>{sentence(entry.reason)}</bdi>
        {entry.comment !== "" && <> <bdi>{sentence(entry.comment)}</bdi></>}
        {entry.spared !== "" && <> It stays in use: <bdi>{sentence(entry.spared)}</bdi></>}
      </p>
      <p>{endOf(entry, thresholds)}</p>
    </>
  );
}

/** What ends it, in words. */
function endOf(entry: QuarantinedPort, thresholds: LossThresholds | undefined): string {
  if (entry.byHand) return "Somebody put it there: it ends when somebody releases the port.";
  if (entry.byTopology) return "It ends when the fabric and the topology file agree.";
  if (entry.refused) return "It ends when the device behind it is let into the fabric.";
  if (entry.left !== undefined) return `It ends in ${spanText(durationMs(entry.left))}, unless the link is lost again.`;
  if (entry.byErrors) return "It ends when the errors do, or when somebody releases the port.";
  return thresholds === undefined ? "It ends when somebody releases the port." : `It ends when no more than ${many(thresholds.low, "loss", "losses")} count.`;
}

function Losses({ end }: { end: PortLosses }) {
  const last = end.lostTimes.slice(-5);
  return <p class="quiet"><bdi>{end.port?.nodeName}</bdi> port {end.port?.port?.port} lost its link {many(end.lostTimes.length, "time")}: {end.lostTimes.length > last.length && "… "}{last.map((time) => clock(timestampDate(time))).join("; ")}</p>;
}
