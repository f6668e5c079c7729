// How wide an element is: a drawing fits it.
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

/** Most width of a drawing that may be kept as a file, pixels. */
export const DRAWING_MAX = 1_200;

/** An element and its width, at most so much, whole pixels; 0 before it is known. */
export function useWidth<E extends HTMLElement = HTMLElement>(most = Infinity) {
  const holder = useRef<E>(null);
  const wide = useSignal(0);
  useEffect(() => {
    const size = new ResizeObserver(([entry]) => (wide.value = Math.min(most, Math.floor(entry?.contentRect.width ?? 0))));
    if (holder.current !== null) size.observe(holder.current);
    return () => size.disconnect();
  }, []);
  return [holder, wide] as const;
}
