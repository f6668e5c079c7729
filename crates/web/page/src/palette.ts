// Colours. Those of trouble are told apart by people who see no red or no green (after Okabe and Ito), and are brighter
// than what is well; small shapes tell them apart as well.
import { RAMP_STEPS, Shade } from "./kinds";

export type Rgb = readonly [number, number, number];

interface Colors {
  ground: Rgb;
  shades: Record<number, Rgb>;
  ramp: Rgb[];
}

const DARK: Colors = {
  ground: hex("#0f151b"),
  shades: {
    [Shade.Empty]: hex("#222c36"),
    [Shade.Active]: hex("#3a5d76"),
    [Shade.Rising]: hex("#8fd3ff"),
    [Shade.Lost]: hex("#ff6a3d"),
    [Shade.Disabled]: hex("#a9b1ba"),
    [Shade.OutOfUse]: hex("#e08cc0"),
    [Shade.Gone]: hex("#ff6a3d"),
    [Shade.Slow]: hex("#f2b134"),
    [Shade.Errors]: hex("#f5ea5a"),
    [Shade.Flapping]: hex("#e08cc0"),
    [Shade.Drained]: hex("#6f86ff"),
    [Shade.Other]: hex("#f2b134"),
    [Shade.Unknown]: hex("#33404d"),
    [Shade.Pod]: hex("#151d25"),
    [Shade.Tile]: hex("#1a232c"),
  },
  ramp: ["#24384a", "#2f5f86", "#3f8fb5", "#7fb7a0", "#d9c65a", "#fff3a8"].map(hex),
};

const LIGHT: Colors = {
  ground: hex("#ffffff"),
  shades: {
    [Shade.Empty]: hex("#e4e9ee"),
    [Shade.Active]: hex("#9dbdd2"),
    [Shade.Rising]: hex("#0072b2"),
    [Shade.Lost]: hex("#c8380a"),
    [Shade.Disabled]: hex("#59636e"),
    [Shade.OutOfUse]: hex("#a83c7f"),
    [Shade.Gone]: hex("#c8380a"),
    [Shade.Slow]: hex("#b36b00"),
    [Shade.Errors]: hex("#7d6b00"),
    [Shade.Flapping]: hex("#a83c7f"),
    [Shade.Drained]: hex("#3d4fd6"),
    [Shade.Other]: hex("#b36b00"),
    [Shade.Unknown]: hex("#d5dce3"),
    [Shade.Pod]: hex("#f6f8fa"),
    [Shade.Tile]: hex("#eef2f5"),
  },
  ramp: ["#dfe8ef", "#a9c9dd", "#6ba3c4", "#3a7fa8", "#7a5a9a", "#4a1a5a"].map(hex),
};

/** Whether the page is being printed. */
export function isPaper(): boolean {
  return matchMedia("print").matches;
}

/** Whether the page is dark now; on paper it never is. */
export function isDark(theme: string): boolean {
  if (isPaper()) return false;
  return theme === "" ? matchMedia("(prefers-color-scheme: dark)").matches : theme === "dark";
}

/** The colours of letters, of what is said aside, of panels, and of thin lines, as page.css has them. */
export function ink(dark: boolean): string {
  return dark ? "#e8eef3" : "#14202b";
}

export function quiet(dark: boolean): string {
  return dark ? "#98a7b4" : "#55626e";
}

export function panel(dark: boolean): string {
  return dark ? "#151d25" : "#f6f8fa";
}

export function line(dark: boolean): string {
  return dark ? "#2a3743" : "#d9e0e6";
}

export function ground(dark: boolean): Rgb {
  return (dark ? DARK : LIGHT).ground;
}

/** The colour of a place in the palette. */
export function colorOf(shade: number, dark: boolean): Rgb {
  const colors = dark ? DARK : LIGHT;
  const own = colors.shades[shade];
  if (own !== undefined) {
    return own;
  }
  const step = (shade - Shade.Ramp) % RAMP_STEPS;
  const at = (step / (RAMP_STEPS - 1)) * (colors.ramp.length - 1);
  const low = Math.max(0, Math.min(colors.ramp.length - 2, Math.floor(at)));
  const [a, b, part] = [colors.ramp[low], colors.ramp[low + 1], Math.min(1, Math.max(0, at - low))];
  return [0, 1, 2].map((c) => Math.round(a[c] + (b[c] - a[c]) * part)) as unknown as Rgb;
}

export function css([r, g, b]: Rgb): string {
  return `rgb(${r} ${g} ${b})`;
}

function hex(text: string): Rgb {
  const number = parseInt(text.slice(1), 16);
  return [number >> 16, (number >> 8) & 255, number & 255];
}
