// What is wrong, in words: the same page as `weft health`.
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { useSignal } from "@preact/signals";
import { HealthColor, type HealthFinding, type HealthPlace } from "../gen/weft/v1/health_pb";
import { addressOf } from "./address";
import { health, layout, sums } from "./store";
import { clock, colorWords, many, sentence } from "./words";

/** Findings that are shown before one asks for more. */
const SHOWN = 12;

/** A colour as a mark and a word: no colour alone tells anything. */
export function Mark({ color }: { color: HealthColor }) {
  const { name, sign, word } = colorWords(color);
  return <span class={`mark ${name}`} role="img" aria-label={word}>{sign}</span>;
}

/** How it is as a whole. */
export function Verdict() {
  const page = health.value;
  const isKnown = layout.value !== undefined;
  return (
    <>
      <h1>{page !== undefined ? <><Mark color={page.color} /> {colorWords(page.color).whole}</> : isKnown ? "Health is not known yet" : "Nothing is known yet"}</h1>
      {isKnown && (
        <p class="quiet">
          {many(sums.value.hosts, "host")}{missingText(sums.value.hostsMissing)}, {many(sums.value.switches, "switch", "switches")}{missingText(sums.value.switchesMissing)}, {many(sums.value.links, "link")}
        </p>
      )}
    </>
  );
}

function missingText(count: number): string {
  return count === 0 ? "" : ` (${count.toLocaleString("en")} missing)`;
}

export function Figures() {
  const page = health.value;
  if (page === undefined) return <p class="quiet">The page of what is wrong has not been read.</p>;
  return (
    <dl class="figures">
      {page.figures.map((figure) => (
        <div key={figure.name} title={figure.rule}>
          <dt><Mark color={figure.color} /> {figure.name}</dt>
          <dd><bdi>{figure.value}</bdi></dd>
        </div>
      ))}
    </dl>
  );
}

export function Findings() {
  const found = health.value?.findings ?? [];
  const all = found.filter(({ color }) => color !== HealthColor.GREEN);
  const noted = found.filter(({ color }) => color === HealthColor.GREEN);
  return (
    <>
      {health.value !== undefined && all.length === 0 && <p class="calm">Nothing is found wrong.</p>}
      {all.length > 0 && <Wrong all={all} />}
      {noted.length > 0 && <Noted all={noted} />}
    </>
  );
}

/** What is as somebody has asked for, or is over. */
function Noted({ all }: { all: HealthFinding[] }) {
  return (
    <>
      <h2>Good to know <span class="quiet">{all.length}</span></h2>
      <ol class="noted">{all.slice(0, SHOWN).map((finding, at) => <One key={at} finding={finding} />)}</ol>
      {all.length > SHOWN && <p class="quiet">{all.length - SHOWN} more</p>}
    </>
  );
}

function Wrong({ all }: { all: HealthFinding[] }) {
  const shown = useSignal(SHOWN);
  return (
    <>
      <h2>What is wrong <span class="quiet">{all.length}</span></h2>
      <ol class="findings">
        {all.slice(0, shown.value).map((finding, at) => <One key={at} finding={finding} />)}
      </ol>
      {all.length > shown.value && (
        <button type="button" class="more" onClick={() => (shown.value += 50)}>{all.length - shown.value} more</button>
      )}
    </>
  );
}

export function One({ finding }: { finding: HealthFinding }) {
  const { sinceTime } = finding;
  return (
    <li>
      <p class="what"><Mark color={finding.color} /> <span><b>{finding.kind.replaceAll("_", " ")}</b>: <bdi>{finding.what}</bdi></span></p>
      <p>
        <Where place={finding.a} />{finding.b && <> – <Where place={finding.b} /></>}
      </p>
      <p class="quiet">
        {sinceTime && <>since {clock(timestampDate(sinceTime))}. </>}
        {finding.hosts > 0 && <>It affects {many(finding.hosts, "host")}. </>}
        <bdi>{sentence(finding.advice)}</bdi>
      </p>
      {finding.next !== "" && <p><code>{finding.next}</code></p>}
    </li>
  );
}

/** A node or port, with the way to it. */
function Where({ place }: { place: HealthPlace | undefined }) {
  if (place === undefined) return null;
  const text = <><bdi>{place.nodeName || "a node"}</bdi>{place.port > 0 && ` port ${place.port}`}</>;
  const known = layout.value?.find(place.nodeGuid) !== undefined;
  return known ? <a href={addressOf({ kind: "focus", guid: place.nodeGuid, port: place.port })}>{text}</a> : <span>{text}</span>;
}
