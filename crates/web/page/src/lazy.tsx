// Parts of the page whose code is loaded later: views after the first picture, or when one is opened before; experiments when
// somebody opens them.
import { type Signal, signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";

interface Part<M> {
  /** Its code, once it is there. */
  module: Signal<M | undefined>;
  failed: Signal<boolean>;
  load(): void;
}

function part<M>(read: () => Promise<M>): Part<M> {
  const module = signal<M | undefined>(undefined);
  const failed = signal(false);
  let asked = false;
  const load = () => {
    if (asked) return;
    asked = true;
    read().then(
      (found) => ([module.value, failed.value] = [found, false]),
      () => ([asked, failed.value] = [false, true]),
    );
  };
  return { module, failed, load };
}

export const views = part(() => import("./views"));
export const experiments = part(() => import("./experiments/view"));

/** What a part shows, or that it is being loaded. */
export function Later<M>({ of, title, children }: { of: Part<M>; title: string; children(module: M): ComponentChildren }) {
  useEffect(of.load, [of]);
  const module = of.module.value;
  if (module !== undefined) return <>{children(module)}</>;
  return (
    <section class="alone">
      <h1>{title}</h1>
      <p role="status">{of.failed.value ? "This part of the page could not be loaded: load the page again when weftd answers." : "Loading…"}</p>
    </section>
  );
}
