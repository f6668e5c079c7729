// A one-time link, which lets in a browser that nothing else tells who it is of: its token is shown to the daemon once.
import { signal } from "@preact/signals";
import { PATIENCE } from "./api";

/** What is known of a link that did not let this browser in, and why; none where it did, or there was none. */
const refused = signal<{ what: string; why: string } | undefined>(undefined);

/**
 * Shows the token of the address, and takes it out of the address and of this tab's entry of it; false where it has none. What
 * the browser keeps elsewhere of addresses that were visited may still have it.
 */
export async function enter(): Promise<boolean> {
  const token = /^#link=(.*)$/.exec(location.hash)?.[1];
  if (token === undefined) return false;
  history.replaceState(null, "", location.pathname);
  refused.value = undefined;
  try {
    const headers = { "Content-Type": "application/x-weft-link" };
    const answer = await fetch("/link", { method: "POST", headers, body: token, signal: AbortSignal.timeout(PATIENCE) });
    if (!answer.ok) refused.value = { what: "The link was not used", why: (await answer.text()) || `answer ${answer.status}` };
  } catch {
    // The token may have come there, and the answer not here.
    refused.value = { what: "It is not known whether the link was used", why: "weftd does not answer" };
  }
  return true;
}

/** What is wrong with the link. */
export function LinkRefused() {
  return (
    <>
      {refused.value !== undefined && (
        <p class="refused" role="alert"><span><b>{refused.value.what}</b>: <bdi>{refused.value.why}</bdi></span> <button type="button" aria-label="Close this message" onClick={() => (refused.value = undefined)}>✕</button></p>
      )}
    </>
  );
}
