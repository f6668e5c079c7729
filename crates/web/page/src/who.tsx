// Who looks at the page, and what he may do: the daemon decides on each call, and this says so beforehand.
import { source } from "./store";

/** What a role lets one do, in words. */
const ROLES: Record<string, string> = { view: "may look", operate: "may change ports and routes", administer: "may change everything" };

/** Whether orders are taken at all. */
export function mayOrder(): boolean {
  return source.value?.role === "operate" || source.value?.role === "administer";
}

/** Whether settings of routes as a whole may be changed. */
export function mayAdminister(): boolean {
  return source.value?.role === "administer";
}

/** Who looks, and what he may do. */
export function Who() {
  const known = source.value;
  if (known === undefined || known.identity === "") return null;
  return <> · <span class="who quiet" title={`As the connection proves it; role ${known.role || "none"}`}><bdi>{known.identity === "loopback" ? "local users" : known.identity}</bdi> {ROLES[known.role] ?? "may do nothing"}</span></>;
}

/** Why there are no buttons for something. */
export function WhyNot({ what, role = "operate" }: { what: string; role?: string }) {
  const known = source.value;
  if (known === undefined) return null;
  return (
    <p class="quiet">
      {what} needs the role <b>{role}</b>. You are <bdi>{known.identity || "not known"}</bdi>, with the role {known.role || "none"}.
      {known.identity === "loopback" && " At a loopback address nothing tells who you are: use a certificate, a link that weft web --link prints, or the command line at the daemon's socket."}
      {" "}Who administers this daemon gives roles in its file of access.
    </p>
  );
}
