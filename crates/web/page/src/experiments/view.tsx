// Experiments: results of `weft-lab run` from a file, and a small live emulation. Loaded when somebody opens it.
import { addressOf } from "../address";
import { Emulation } from "./emulation";
import { Results } from "./opened";

export function Experiments({ live }: { live: boolean }) {
  const tab = (to: boolean, name: string) => <a class={to === live ? "chip on" : "chip"} href={addressOf({ kind: "experiments", live: to })} aria-current={to === live ? "page" : undefined}>{name}</a>;
  return (
    <section class="alone experiments">
      <h1>Experiments</h1>
      <p class="paints">{tab(false, "Results from a file")}{tab(true, "Live emulation")}</p>
      {live ? <Emulation /> : <Results />}
    </section>
  );
}
