// The colours of a share, from nothing to the whole.
import type { ComponentChildren } from "preact";
import { WHOLE } from "./fabric";
import { rampOf } from "./kinds";
import { colorOf, css, isDark } from "./palette";
import { scheme, theme } from "./store";

const STEPS = 8;

export function Ramp({ from = "0 %", to = "100 %" }: { from?: ComponentChildren; to?: string }) {
  scheme.value;
  const dark = isDark(theme.value);
  const colors = Array.from({ length: STEPS }, (_, at) => css(colorOf(rampOf((at / (STEPS - 1)) * WHOLE), dark)));
  return <>{from} <span class="ramp" aria-hidden="true">{colors.map((background, at) => <i key={at} style={{ background }} />)}</span> {to}</>;
}
