// What an open page asks the daemon, as one module for Node: the overview with its timeline, and nothing that draws.
import { effect } from "@preact/signals";
import { followPast } from "../src/history";
import { follow, layout, lost, sums } from "../src/store";

/** Opens the page; the function that it gives tells how many hosts it knows, and why no daemon answers. */
export function open(): () => { hosts: number; lost: string } {
  void follow();
  // As the page has it: after the first picture.
  const end = effect(() => {
    if (layout.value === undefined) return;
    queueMicrotask(() => {
      end();
      followPast();
    });
  });
  return () => ({ hosts: sums.value.hosts, lost: lost.value?.why ?? "" });
}
