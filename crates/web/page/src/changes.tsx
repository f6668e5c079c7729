// Who or what changed a port or a node, and what a change comes from.
import { timestampDate, timestampFromDate } from "@bufbuild/protobuf/wkt";
import { useSignal } from "@preact/signals";
import { type Cause, type Change, ChangeOrigin } from "../gen/weft/v1/change_pb";
import { moment } from "./address";
import { changeCalls, PATIENCE, whyOf } from "./api";
import { usePolled } from "./poll";
import { SaveTable } from "./saving";
import { clock, pointOf, sentence } from "./words";

/** Time from one reading to the next, milliseconds. */
const PACE = 10_000;
/** Changes that are shown. */
const CHANGES_MAX = 20;

/** The changes of a port, of a whole node where it is 0. */
export function Changes({ guid, number }: { guid: bigint; number: number }) {
  const point = pointOf(guid, number);
  const to = moment.value === undefined ? {} : { to: timestampFromDate(moment.value) };
  const { answer, failed } = usePolled((options) => changeCalls.listChanges({ object: { case: "point", value: point }, limit: CHANGES_MAX, ...to }, options), moment.value === undefined ? PACE : 0, [guid, number, moment.value]);
  return (
    <>
      <h2>What changed it</h2>
      {answer === undefined && <p class="quiet"><bdi>{failed}</bdi></p>}
      {answer !== undefined && answer.changes.length === 0 && <p class="quiet">Nothing, as far back as is kept.</p>}
      {answer !== undefined && answer.changes.length > 0 && (
        <div class="scroll tall" tabIndex={0} role="region" aria-label="What changed it">
          <table>
            <thead><tr><th scope="col">Time</th><th scope="col">Who</th><th scope="col">What</th></tr></thead>
            <tbody>{answer.changes.map((change, key) => <Row key={change.eventId || key} change={change} />)}</tbody>
          </table>
          <SaveTable name="changes" />
          {answer.warnings.map((warning, key) => <p key={key} class="quiet"><bdi>{sentence(warning)}</bdi></p>)}
          {answer.more && <p class="quiet">There are older ones: <code>weft who {point}</code></p>}
        </div>
      )}
    </>
  );
}

function Row({ change }: { change: Change }) {
  const causes = useSignal<Cause[] | undefined>(undefined);
  const failed = useSignal("");
  const explain = () => {
    changeCalls.explainChange({ subject: { case: "eventId", value: change.eventId } }, { timeoutMs: PATIENCE }).then(
      (answer) => (causes.value = answer.causes),
      (error: unknown) => (failed.value = whyOf(error)),
    );
  };
  const refused = change.result !== "" && change.result !== "ok";
  return (
    <tr>
      <td class="time">{change.time !== undefined && clock(timestampDate(change.time))}</td>
      <td><bdi>{change.origin === ChangeOrigin.PERSON ? change.author || change.peer || "somebody" : "the manager"}</bdi></td>
      <td>
        <bdi>{change.what}</bdi>{refused && <b class="bad"> ({change.result.replaceAll("_", " ")})</b>}{change.reason !== "" && <>: <bdi>{change.reason}</bdi></>}
        {change.eventId !== "" && causes.value === undefined && <> <button type="button" class="more" onClick={explain}>Why?</button></>}
        {failed.value !== "" && <span class="bad"> {failed.value}</span>}
        {causes.value !== undefined && <ol class="causes">{causes.value.slice(1).map((cause, key) => <li key={key}><bdi>{cause.what}</bdi></li>)}{causes.value.length < 2 && <li class="quiet">Nothing is known of what it comes from.</li>}</ol>}
      </td>
    </tr>
  );
}
