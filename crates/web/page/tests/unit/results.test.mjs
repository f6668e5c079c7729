// Files of results that somebody opens: what is read of them, and what is refused.
import assert from "node:assert/strict";
import { test } from "node:test";
import { load, random } from "./load.mjs";

const { rowsOf, textOf, visible, FILE_MAX } = await load("src/experiments/results.ts");
const { plotsOf, isMap, placesOf, scaleOf, digits, placeText, CURVES_MAX, POINTS_MAX } = await load("src/experiments/plots.ts");
const { Drawing } = await load("src/experiments/drawing.tsx");

const HEAD = "experiment,case,metric,measured,unit,published,within_percent,bounds,verdict,curve,over,at,least,most\n";

/** The file as weft-lab writes it. */
const FILE = `${HEAD}E1,"two pairs, static",bandwidth,12.4,GB/s,12.38,5,,held,,,,,
E1,"two pairs, static",rate,99.2,Gb/s,99,5,,given,,,,,
E6,"dmodc, gone 0",bisection,80,%,,,"≥ 55, ≤ 60",✗,dmodc,gone,0,79,81
E6,"dmodc, gone 5",bisection,77,%,,,,,dmodc,gone,5,,
E6,"layered, gone 0",bisection,81,%,,,,,layered,gone,0,,
E6,"layered, gone 5",bisection,,,90,1,,not measured ✗,layered,gone,5,,
`;

test("a file as weft-lab writes it is read in whole", () => {
  const rows = rowsOf("e.csv", FILE);
  assert.equal(rows.length, 6);
  assert.deepEqual(rows[0].published, { least: 12.38 - 12.38 * 0.05, most: 12.38 + 12.38 * 0.05 });
  assert.deepEqual([rows[0].case, rows[0].verdict, rows[1].verdict], ["two pairs, static", "held", "given"]);
  assert.deepEqual(rows[2].published, { least: 55, most: 60 });
  assert.deepEqual([rows[2].over, rows[2].at, rows[2].least, rows[2].most], ["gone", 0, 79, 81]);
  assert.equal(rows[5].measured, undefined);
  // Ends of lines as other systems have them, and the columns that a file has to have alone.
  assert.deepEqual(rowsOf("e.csv", FILE.replaceAll("\n", "\r\n")), rows);
  assert.equal(rowsOf("e.csv", "experiment,case,metric,measured,unit\na,b,c,1e3,us").at(0).measured, 1_000);
});

test("what is drawn: bars of cases alone, curves and a heat map over what was swept", () => {
  const rows = rowsOf("e.csv", FILE);
  const [bandwidth, rate] = plotsOf(rows.filter((row) => row.experiment === "E1"));
  assert.deepEqual([bandwidth.metric, bandwidth.over, isMap(bandwidth), rate.metric], ["bandwidth", "", false, "rate"]);
  const [bisection] = plotsOf(rows.filter((row) => row.experiment === "E6"));
  assert.deepEqual(bisection.series.map((one) => one.name), ["dmodc", "layered"]);
  assert.deepEqual(placesOf(bisection), [0, 5]);
  assert.ok(isMap(bisection));
  const [first] = bisection.series[0].points;
  assert.deepEqual([first.spread, first.held, first.value], [[79, 81], false, 80]);
  assert.equal(bisection.series[1].points[1].value, undefined);
});

test("the least and the most of a metric belong to it", () => {
  const text = "experiment,case,metric,measured,unit\nE3,a,latency,0.93,us\nE3,a,latency_min,0.92,us\nE3,a,latency_max,0.95,us\nE3,a,latency_bound,0.1,us\nE3,a,other_min,1,us\n";
  const plots = plotsOf(rowsOf("e.csv", text));
  assert.deepEqual(plots.map((plot) => plot.metric), ["latency", "other_min"]);
  const [point] = plots[0].series[0].points;
  assert.deepEqual([point.spread, point.bound], [[0.92, 0.95], 0.1]);
});

test("what is no result is refused: what, where, and what is allowed", () => {
  const line = (cells) => `${HEAD}${cells}\n`;
  const cases = [
    ["", /e\.csv, line 1: no column experiment, case, metric, measured, unit; allowed/],
    ["<html>", /line 1: no column/],
    ["a,b\n1,2\n", /line 1: no column/],
    [line("E1,a,b"), /line 2: 3 cells, allowed: 14/],
    [line("E1,a,b,0x10,us,,,,,,,,,"), /line 2: measured is "0x10", allowed: a number or nothing/],
    [line("E1,a,b,1e999,us,,,,,,,,,"), /measured is "1e999"/],
    [line("E1,a,b,NaN,us,,,,,,,,,"), /measured is "NaN"/],
    [line("E1,a,b,1,us,,,,maybe,,,,,"), /verdict is "maybe", allowed: held/],
    [line(",a,b,1,us,,,,,,,,,"), /experiment is empty, allowed: a name/],
    [line("E1,a,b,1,us,,,,,c,gone,,,"), /over and at are allowed only together/],
    [line('E1,"a,b,1'), /line 2: a quote that is not closed/],
    [line('E1,"a"b,c,1,us,,,,,,,,,'), /text after a closed quote/],
    [line(`E1,${"a".repeat(1_001)},b,1,us,,,,,,,,,`), /a cell of 1,001 characters, allowed: up to 1,000/],
    [line(",".repeat(50)), /more cells than/],
    [HEAD + "E1,a,b,1,us,,,,,,,,,\n".repeat(100_001), /more than 100,000 lines/],
  ];
  for (const [text, expected] of cases) assert.throws(() => rowsOf("e.csv", text), expected);
  assert.throws(() => textOf("e.csv", new ArrayBuffer(FILE_MAX + 1)), /e\.csv has 16,777,217 bytes, allowed: up to 16,777,216/);
  assert.throws(() => textOf("e.csv", Uint8Array.from([0x61, 0xff]).buffer), /is no text in UTF-8/);
});

/** Number of elements of a drawing. */
function elementsOf(drawn) {
  if (Array.isArray(drawn)) return drawn.reduce((sum, one) => sum + elementsOf(one), 0);
  if (drawn === null || typeof drawn !== "object") return 0;
  return typeof drawn.type === "function" ? elementsOf(drawn.type(drawn.props)) : 1 + elementsOf(drawn.props.children);
}

test("as many curves and places as a file may have are drawn in part, and soon", () => {
  const swept = (line) => Array.from({ length: 99_999 }, (_, at) => `E6,case ${at},m,${at + 1},us,,,,,${line(at)},,`).join("\n");
  const look = { wide: 1_000, dark: true, logX: undefined, logY: undefined };
  const shapes = [
    [(at) => `curve ${at},gone,${at % 2}`, 99_999, 2, CURVES_MAX],
    [(at) => `curve ${at % 2},gone,${at}`, 2, 99_999, 2 * POINTS_MAX],
  ];
  for (const [line, curves, places, points] of shapes) {
    const start = performance.now();
    const [plot] = plotsOf(rowsOf("e.csv", HEAD + swept(line)));
    assert.deepEqual([plot.series.length, placesOf(plot).length], [curves, places]);
    for (const map of [false, true]) {
      const elements = elementsOf(Drawing({ plot, map, look }));
      assert.ok(elements >= points && elements < 4 * points + 500, `${elements} elements for ${points} points`);
    }
    assert.ok(performance.now() - start < 5_000, `${performance.now() - start} ms`);
  }
});

/** All that a drawing says. */
function saidBy(drawn) {
  if (Array.isArray(drawn)) return drawn.map(saidBy).join(" ");
  if (typeof drawn === "string") return drawn;
  if (drawn === null || typeof drawn !== "object") return "";
  return saidBy(typeof drawn.type === "function" ? drawn.type(drawn.props) : drawn.props.children);
}

test("bars beyond those that are drawn are counted below them", () => {
  const bars = (count) => {
    const lines = Array.from({ length: count }, (_, at) => `E1,case ${at},m,${at + 1},us,1,5,,✗,,,,,`);
    const [plot] = plotsOf(rowsOf("e.csv", HEAD + lines.join("\n")));
    return saidBy(Drawing({ plot, map: false, look: { wide: 360, dark: false, logX: undefined, logY: undefined } }));
  };
  assert.match(bars(100), /case 99/);
  assert.doesNotMatch(bars(100), /not drawn/);
  assert.match(bars(101), /1 more case is not drawn; the file has all/);
  const many = bars(1_300);
  assert.doesNotMatch(many, /case 100/);
  assert.match(many, /1,200 more cases are not drawn; the file has all/);
});

test("random bytes never do anything but be refused", () => {
  const below = random(7);
  const letters = ['"', ",", "\n", "\r", "1", "-", "e", "a", "✗", "\u202e", "\u0000"];
  for (let run = 0; run < 2_000; run++) {
    const text = HEAD.repeat(below(2)) + Array.from({ length: below(60) }, () => letters[below(letters.length)]).join("");
    try {
      plotsOf(rowsOf("r", text));
    } catch (error) {
      assert.match(error.message, /^r(,| has)/);
    }
  }
});

test("hidden characters of names are shown", () => {
  assert.equal(visible("a\u202Eb\u0000"), "a\\u{202e}b\\u{0}");
  const [row] = rowsOf("e.csv", `${HEAD}<img src=x>,\u2066x,m,1,us,,,,,,,,,\n`);
  assert.deepEqual([row.experiment, row.case], ["<img src=x>", "\\u{2066}x"]);
});

test("axes have round values, also in powers of ten, and sizes as scenarios write them", () => {
  assert.deepEqual(scaleOf([0, 24.8], false, 0, 100, 6, true).ticks, [0, 5, 10, 15, 20]);
  assert.deepEqual(scaleOf([1, 1_000_000], true, 0, 100, 8, false).ticks, [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000]);
  assert.deepEqual(scaleOf([5, 5], false, 0, 100, 4, false).place(5), 50);
  assert.deepEqual([8, 16_384, 4 << 20].map((at) => placeText("bytes", at)), ["8", "16K", "4M"]);
  assert.deepEqual([12.4, 0.93512, 1e-9, 2_957, 1e9].map(digits), ["12.4", "0.9351", "1e-9", "2,957", "1e9"]);
});
