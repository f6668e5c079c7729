// Results of `weft-lab run --csv`, from a file that somebody opens: nothing in it is believed before it is read.

/** Most bytes of a file, lines of all files together, and characters of a cell. */
export const FILE_MAX = 16 << 20;
export const LINES_MAX = 100_000;
const CELL_MAX = 1_000;

/** One measurement of one case. */
export interface Row {
  experiment: string;
  case: string;
  metric: string;
  /** None where a published figure was not measured. */
  measured: number | undefined;
  unit: string;
  /** Least and most that was published; either may be open. */
  published: { least: number | undefined; most: number | undefined } | undefined;
  verdict: string;
  /** The curve on which the case is, over which setting, and its value there; none for a case that is alone. */
  curve: string;
  over: string;
  at: number | undefined;
  /** Least and most of several runs. */
  least: number | undefined;
  most: number | undefined;
}

/** Columns of the file; those that a file must have come first. */
const NEEDED = ["experiment", "case", "metric", "measured", "unit"];
const OPTIONAL = ["published", "within_percent", "bounds", "verdict", "curve", "over", "at", "least", "most"];
const VERDICTS = ["", "held", "given", "✗", "not measured ✗"];

/** Why a file is not shown: what, where, and what is allowed. */
export class Refused extends Error {}

/** The text of a file. */
export function textOf(name: string, bytes: ArrayBuffer): string {
  if (bytes.byteLength > FILE_MAX) {
    throw new Refused(`${visible(name)} has ${bytes.byteLength.toLocaleString("en")} bytes, allowed: up to ${FILE_MAX.toLocaleString("en")}`);
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new Refused(`${visible(name)} is no text in UTF-8, allowed: what weft-lab run --csv prints`);
  }
}

/** The measurements in the text of a file. */
export function rowsOf(file: string, text: string): Row[] {
  const name = visible(file);
  const lines = cells(name, text);
  const head = lines.shift();
  const missing = NEEDED.filter((column) => !head?.cells.includes(column));
  if (head === undefined || missing.length > 0) {
    throw new Refused(`${name}, line 1: no column ${missing.join(", ")}; allowed: a table of weft-lab run --csv, which begins with ${NEEDED.join(",")}`);
  }
  const places = new Map([...NEEDED, ...OPTIONAL].map((column) => [column, head.cells.indexOf(column)]));
  return lines.map(({ line, cells }) => {
    const where = `${name}, line ${line}`;
    if (cells.length !== head.cells.length) {
      throw new Refused(`${where}: ${cells.length} cells, allowed: ${head.cells.length}, as many as the first line has`);
    }
    return rowOf(where, (column) => visible(cells[places.get(column) ?? -1] ?? ""));
  });
}

function rowOf(where: string, cell: (column: string) => string): Row {
  const number = (column: string) => {
    const text = cell(column);
    if (text === "") return undefined;
    // Number() also takes blanks and 0x10, which weft-lab does not write.
    if (!/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text) || !Number.isFinite(Number(text))) {
      throw new Refused(`${where}: ${column} is "${text.slice(0, 40)}", allowed: a number or nothing`);
    }
    return Number(text);
  };
  const verdict = cell("verdict");
  if (!VERDICTS.includes(verdict)) {
    throw new Refused(`${where}: verdict is "${verdict.slice(0, 40)}", allowed: ${VERDICTS.filter(Boolean).join(", ")} or nothing`);
  }
  for (const column of ["experiment", "case", "metric"]) {
    if (cell(column) === "") throw new Refused(`${where}: ${column} is empty, allowed: a name`);
  }
  const [over, at] = [cell("over"), number("at")];
  if ((over === "") !== (at === undefined)) {
    throw new Refused(`${where}: over and at are allowed only together`);
  }
  const [least, most] = [number("least"), number("most")];
  const measured = number("measured");
  return { experiment: cell("experiment"), case: cell("case"), metric: cell("metric"), measured, unit: cell("unit"), published: published(number("published"), number("within_percent"), cell("bounds")), verdict, curve: cell("curve"), over, at, least, most };
}

/** A published value with what it may differ by, or bounds such as "≥ 1, < 101". */
function published(value: number | undefined, within: number | undefined, bounds: string): Row["published"] {
  if (value !== undefined) {
    const room = (Math.abs(value) * (within ?? 0)) / 100;
    return { least: value - room, most: value + room };
  }
  const side = (signs: RegExp) => {
    const found = signs.exec(bounds)?.[1];
    return found === undefined || !Number.isFinite(Number(found)) ? undefined : Number(found);
  };
  const [least, most] = [side(/[≥>] (-?[\d.e+-]+)/), side(/[≤<] (-?[\d.e+-]+)/)];
  return least === undefined && most === undefined ? undefined : { least, most };
}

/** Characters that are not seen, or that turn the direction of others, are shown by their numbers. */
export function visible(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cs}]/gu, (hidden) => `\\u{${hidden.codePointAt(0)?.toString(16)}}`);
}

interface Line {
  line: number;
  cells: string[];
}

/** The cells of each line, as RFC 4180 has them; empty lines are left out. */
function cells(name: string, text: string): Line[] {
  const found: Line[] = [];
  let [line, at] = [1, 0];
  while (at < text.length) {
    const own: Line = { line, cells: [] };
    for (;;) {
      const cell = text[at] === '"' ? quoted(text, at) : plain(text, at);
      if (cell === undefined) throw new Refused(`${name}, line ${line}: a quote that is not closed`);
      if (cell.value.length > CELL_MAX) throw new Refused(`${name}, line ${line}: a cell of ${cell.value.length.toLocaleString("en")} characters, allowed: up to ${CELL_MAX.toLocaleString("en")}`);
      own.cells.push(cell.value);
      line += cell.value.split("\n").length - 1;
      at = cell.end;
      if (text[at] !== ",") break;
      at++;
      if (own.cells.length > NEEDED.length + OPTIONAL.length) throw new Refused(`${name}, line ${line}: more cells than weft-lab run --csv has columns`);
    }
    if (text[at] === "\r") at++;
    if (at < text.length && text[at] !== "\n") throw new Refused(`${name}, line ${line}: text after a closed quote, allowed: a comma or the end of the line`);
    at++;
    line++;
    if (own.cells.length > 1 || own.cells[0] !== "") found.push(own);
    if (found.length > LINES_MAX) throw new Refused(`${name} has more than ${LINES_MAX.toLocaleString("en")} lines, which is the most allowed`);
  }
  return found;
}

function plain(text: string, from: number): { value: string; end: number } {
  const stop = /[,\r\n]/g;
  stop.lastIndex = from;
  const end = stop.exec(text)?.index ?? text.length;
  return { value: text.slice(from, end), end };
}

function quoted(text: string, from: number): { value: string; end: number } | undefined {
  let end = from + 1;
  for (;;) {
    end = text.indexOf('"', end);
    if (end < 0) return undefined;
    if (text[end + 1] !== '"') break;
    end += 2;
  }
  return { value: text.slice(from + 1, end).replaceAll('""', '"'), end: end + 1 };
}
