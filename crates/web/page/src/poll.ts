// Answers of the daemon that are asked for again and again while a view is open.
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { PATIENCE, whyOf } from "./api";
import { plainly } from "./plainly";
import { layout } from "./store";

/** How a call is made. */
export interface Options {
  timeoutMs: number;
  signal: AbortSignal;
}

export interface Polled<T> {
  /** The last answer. */
  answer: T | undefined;
  /** Why there was none the last time; empty where there was. */
  failed: string;
  /** Asks at once. */
  again(): void;
}

/** Asks at once and then every `pace` milliseconds, 0 for once, as long as the page is looked at; anew where `of` is another. */
export function usePolled<T>(ask: (options: Options) => Promise<T>, pace: number, of: unknown[]): Polled<T> {
  const answer = useSignal<T | undefined>(undefined);
  const failed = useSignal("");
  const now = useRef<() => void>(() => {});
  useEffect(() => {
    [answer.value, failed.value] = [undefined, ""];
  }, of);
  useEffect(() => {
    const ended = new AbortController();
    let asking = false;
    const once = async () => {
      if (document.hidden || asking) return;
      asking = true;
      try {
        const found = await ask({ timeoutMs: PATIENCE, signal: ended.signal });
        if (!ended.signal.aborted) [answer.value, failed.value] = [found, ""];
      } catch (error) {
        if (!ended.signal.aborted) failed.value = plainly(whyOf(error), layout.value);
      }
      asking = false;
    };
    now.current = () => void once();
    now.current();
    const timer = pace > 0 ? setInterval(now.current, pace) : 0;
    return () => {
      clearInterval(timer);
      ended.abort();
    };
  }, [...of, pace]);
  return { answer: answer.value, failed: failed.value, again: () => now.current() };
}
