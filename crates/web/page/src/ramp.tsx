// The colours of a share, from nothing to the whole.
import { WHOLE } from "./fabric";
import { rampOf } from "./kinds";
import { colorOf, css, isDark } from "./palette";
import { scheme, theme } from "./store";

const STEPS = 8;

export function Ramp() {
  scheme.value;
  const dark = isDark(theme.value);
  const colors = Array.from({ length: STEPS }, (_, at) => css(colorOf(rampOf((at / (STEPS - 1)) * WHOLE), dark)));
  return <>0 % <span class="ramp" aria-hidden="true">{colors.map((background, at) => <i key={at} style={{ background }} />)}</span> 100 %</>;
}
