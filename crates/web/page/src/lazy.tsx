// The view of experiments, whose code is loaded when somebody opens it.
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";

const loaded = signal<typeof import("./experiments/view") | undefined>(undefined);
const failed = signal(false);

export function Lazy({ live }: { live: boolean }) {
  useEffect(() => {
    import("./experiments/view").then(
      (view) => (loaded.value = view),
      () => (failed.value = true),
    );
  }, []);
  if (loaded.value !== undefined) return <loaded.value.Experiments live={live} />;
  return (
    <section class="alone">
      <h1>Experiments</h1>
      <p role="status">{failed.value ? "This part of the page could not be loaded: load the page again when weftd answers." : "Loading…"}</p>
    </section>
  );
}
