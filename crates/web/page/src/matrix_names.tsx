// Names of the rows and columns of the matrix, and what its marks mean.
import type { Pairs } from "./matrix_pairs";
import { Shade } from "./kinds";
import { colorOf, css, isDark } from "./palette";
import { scheme, theme } from "./store";

/** Room for the names of rows, pixels; page.css has the same. */
export const NAMES_WIDE = 88;
/** Least room for a name, pixels. */
const NAME_MIN = 12;

/** Names of rows or of columns, as many as there is room for, where each row and column is of one switch or group. */
export function MatrixNames({ found, side, which }: { found: Pairs; side: number; which: "rows" | "columns" }) {
  const names = new Map<number, string>();
  if (found.matrices === 1) {
    for (const pair of found.pairs.values()) which === "rows" ? names.set(pair.y, found.lowerName(pair.lower)) : names.set(pair.x, found.upperName(pair.upper));
  }
  const every = Math.max(1, Math.ceil(NAME_MIN / side));
  const shown = [...names].filter(([at]) => at % every === 0);
  const [length, room] = [`${(which === "rows" ? found.h : found.w) * side}px`, `${Math.max(side, NAME_MIN)}px`];
  return (
    <div class={`names ${which}`} aria-hidden="true" style={which === "rows" ? { height: length } : { width: length }}>
      {shown.map(([at, name]) => <span key={at} title={name} style={which === "rows" ? { top: `${at * side}px`, height: room, lineHeight: room } : { left: `${at * side}px`, width: room, lineHeight: room }}>{name}</span>)}
    </div>
  );
}

const MARKS: [number, string][] = [[Shade.Slow, "a link is missing or in trouble"], [Shade.Lost, "no link is up"], [Shade.Drained, "drained"]];

/** What is marked besides the colours. */
export function MatrixMarks() {
  scheme.value;
  const dark = isDark(theme.value);
  return (
    <ul class="marks">
      {MARKS.map(([shade, text]) => <li key={shade}><i class={shade === Shade.Drained ? `swatch shape${shade}` : "swatch"} style={{ background: css(colorOf(shade, dark)) }} />{text}</li>)}
    </ul>
  );
}
