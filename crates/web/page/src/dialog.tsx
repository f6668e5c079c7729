// A dialog before anything is changed: what will be done, a reason, and a button that names it.
import { signal, useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { whyOf } from "./api";
import { source } from "./store";
import { clock } from "./words";

/** Longest reason and name that the daemon takes, bytes. */
const REASON_MAX = 200;
const AUTHOR_MAX = 100;

/** Why something is done, and who says so. */
export interface Why {
  reason: string;
  author: string;
}

/** What the daemon has against an order. */
export interface Objection {
  words: string;
  /** What may be said to have it done all the same; none where nothing helps. */
  force?: string | undefined;
}

/** Something that can be done. */
export interface Order {
  /** What, with its object. */
  title: string;
  /** Of the button that does it. */
  button: string;
  /** What will happen. */
  says: ComponentChildren;
  /** Asks the daemon what speaks against it, without doing it. */
  check?(): Promise<Objection | undefined>;
  /** Does it; what has been done, in words. */
  run(why: Why, force: boolean): Promise<string>;
}

const asked = signal<Order | undefined>(undefined);
/** What was done last, and on which view it is told. */
const done = signal<{ time: Date; text: string; hash: string } | undefined>(undefined);

/** Asks somebody whether he means it. */
export function propose(order: Order): void {
  done.value = undefined;
  asked.value = order;
}

/** The dialog, and after it what was done. */
export function Orders() {
  const order = asked.value;
  useEffect(() => {
    const leave = () => {
      if (done.value?.hash !== location.hash) done.value = undefined;
    };
    addEventListener("hashchange", leave);
    return () => removeEventListener("hashchange", leave);
  }, []);
  return (
    <>
      <div role="status">
        {done.value !== undefined && (
          <p class="done">
            <span>{clock(done.value.time)}: <bdi>{done.value.text}</bdi></span>
            <button type="button" aria-label="Close this message" onClick={() => (done.value = undefined)}>✕</button>
          </p>
        )}
      </div>
      {order !== undefined && <Question key={order.title} order={order} />}
    </>
  );
}

function Question({ order }: { order: Order }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [reason, author] = [useSignal(""), useSignal(localStorage.getItem("author") ?? "")];
  const [busy, failed] = [useSignal(false), useSignal("")];
  const objection = useSignal<Objection | undefined>(undefined);
  const force = useSignal(false);
  useEffect(() => {
    dialog.current?.showModal();
    order.check?.().then(
      (found) => (objection.value = found),
      (error: unknown) => (failed.value = whyOf(error)),
    );
  }, []);
  // Another one may be asked for by the time that this one is done.
  const close = () => {
    if (asked.value === order) asked.value = undefined;
  };
  const nameless = source.value?.identity === "loopback";
  const long = isLong(reason.value, REASON_MAX) || (nameless && isLong(author.value, AUTHOR_MAX));
  const ready = reason.value.trim() !== "" && !long && !busy.value && (objection.value === undefined || force.value);
  const run = async (event: Event) => {
    event.preventDefault();
    if (!ready) return;
    [busy.value, failed.value] = [true, ""];
    try {
      const name = nameless ? author.value.trim() : (source.value?.identity ?? "");
      if (nameless) localStorage.setItem("author", name);
      const text = await order.run({ reason: reason.value.trim(), author: name }, force.value);
      done.value = { time: new Date(), text, hash: location.hash };
      close();
    } catch (error) {
      [busy.value, failed.value] = [false, whyOf(error)];
    }
  };
  return (
    // Keys of the dialog lead nowhere else on the page.
    <dialog ref={dialog} class="order" aria-labelledby="order" onClose={close} onKeyDown={(event) => event.stopPropagation()}>
      <form onSubmit={(event) => void run(event)}>
        <h2 id="order"><bdi>{order.title}</bdi></h2>
        {order.says}
        {objection.value !== undefined && (
          <div role="alert">
            <p class="bad"><bdi>{objection.value.words}</bdi></p>
            {objection.value.force !== undefined && (
              <label class="force"><input type="checkbox" checked={force.value} onChange={(event) => (force.value = event.currentTarget.checked)} /> {objection.value.force}</label>
            )}
          </div>
        )}
        <Field label="Reason" hint="kept with the change, and in the record of changes where weftd keeps one" most={REASON_MAX} value={reason} focus={true} />
        {nameless && <Field label="Your name" hint="nothing else tells who you are at this address" most={AUTHOR_MAX} value={author} focus={false} />}
        {failed.value !== "" && <p class="bad" role="alert"><bdi>{failed.value}</bdi></p>}
        <p class="buttons">
          <button type="submit" class="go" disabled={!ready}>{busy.value ? "Under way…" : order.button}</button>
          <button type="button" onClick={close}>Do nothing</button>
        </p>
      </form>
    </dialog>
  );
}

/** Whether a text has more than so many bytes. */
function isLong(text: string, most: number): boolean {
  return new TextEncoder().encode(text).length > most;
}

function Field({ label, hint, most, value, focus }: { label: string; hint: string; most: number; value: { value: string }; focus: boolean }) {
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (focus) field.current?.focus();
  }, []);
  const long = isLong(value.value, most);
  return (
    <label class="field">
      {label} <span class="quiet">{long ? `at most ${most} bytes` : hint}</span>
      <input ref={field} type="text" autoComplete="off" maxLength={most} value={value.value} onInput={(event) => (value.value = event.currentTarget.value)} />
    </label>
  );
}
