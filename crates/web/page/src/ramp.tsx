// The colours of a share, from nothing to the whole, and of rates of errors.
import type { ComponentChildren } from "preact";
import { WHOLE } from "./fabric";
import { ERRORS_MAX, errorsRamp, rampOf } from "./kinds";
import { colorOf, css, isDark } from "./palette";
import { scheme, theme } from "./store";

const STEPS = 8;
/** Rates of errors with a colour in the legend, and how far they lie apart: 1 a day to 1,000,000 a minute. */
const RATE_LEAST = 8;
const RATE_STEP = (ERRORS_MAX - RATE_LEAST) / (STEPS - 1);

export function Ramp({ from = "0 %", to = "100 %" }: { from?: ComponentChildren; to?: string }) {
  return <>{from} <Colors places={Array.from({ length: STEPS }, (_, at) => rampOf((at / (STEPS - 1)) * WHOLE))} /> {to}</>;
}

/** The colours of rates of errors, which grow many times from one to the next. */
export function ErrorsRamp() {
  return <>errors: <Colors places={[errorsRamp(0)]} /> none, 1 a day <Colors places={Array.from({ length: STEPS }, (_, at) => errorsRamp(RATE_LEAST + at * RATE_STEP))} /> 1,000,000 a minute</>;
}

function Colors({ places }: { places: number[] }) {
  scheme.value;
  const dark = isDark(theme.value);
  return <span class="ramp" aria-hidden="true">{places.map((place, at) => <i key={at} style={{ background: css(colorOf(place, dark)) }} />)}</span>;
}
