// A one-time link, which lets in a browser that nothing else tells who it is of: its token is shown to the daemon once.
import { signal } from "@preact/signals";
import { PATIENCE } from "./api";

/** Why the link did not let this browser in; empty where it did, or there was none. */
const refused = signal("");

/** Shows the token of the address, and takes it out of the address and of what the browser remembers; false where it has none. */
export async function enter(): Promise<boolean> {
  const token = /^#link=(.*)$/.exec(location.hash)?.[1];
  if (token === undefined) return false;
  history.replaceState(null, "", location.pathname);
  refused.value = "";
  try {
    const headers = { "Content-Type": "application/x-weft-link" };
    const answer = await fetch("/link", { method: "POST", headers, body: token, signal: AbortSignal.timeout(PATIENCE) });
    if (!answer.ok) refused.value = (await answer.text()) || `answer ${answer.status}`;
  } catch {
    refused.value = "weftd does not answer";
  }
  return true;
}

/** What is wrong with the link. */
export function LinkRefused() {
  return (
    <>
      {refused.value !== "" && (
        <p class="refused" role="alert"><span><b>The link was not used</b>: <bdi>{refused.value}</bdi></span> <button type="button" aria-label="Close this message" onClick={() => (refused.value = "")}>✕</button></p>
      )}
    </>
  );
}
