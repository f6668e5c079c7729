"""Puts the ten worst links into quarantine, each with the reason: worst_links.py [--dry-run]

Links with errors over a rule of `weftd --link-rules` come first, then those that discard most packets.
"""

import sys

import weft
from weft.v1.perf_pb2 import LINK_ORDER_CONGESTION
from weft.v1.types_pb2 import PortId

LINKS = 10


def worst(client: weft.Client) -> list[tuple[PortId, str, str]]:
    """A port, the link's name and the reason, worst first."""
    found: list[tuple[PortId, str, str]] = []
    for entry in client.quarantine():
        if entry.by_errors and not entry.quarantined:
            found.append((entry.port.port, entry.port.node_name, entry.comment))
    loads = client.busiest_links(1000, LINK_ORDER_CONGESTION)
    discards = [(load.a_to_b.discards + load.b_to_a.discards, load) for load in loads.busiest]
    for count, load in sorted(discards, key=lambda pair: -pair[0]):
        if count > 0:
            name = f"{load.a.node_name} to {load.b.node_name}"
            found.append((load.a.port, name, f"{count} packets discarded in {loads.span.ToNanoseconds() / 1e9:.0f} s"))
    return found[:LINKS]


def main() -> int:
    with weft.connect() as client:
        for port, name, reason in worst(client):
            if "--dry-run" in sys.argv[1:]:
                print(f"{name} port {port.port}: {reason}")
                continue
            try:
                client.quarantine_port(port, reason)
                print(f"{name} port {port.port} is in quarantine: {reason}")
            except weft.WeftError as refusal:
                # The last path of a host, for example.
                print(f"{name} port {port.port} stays in use: {refusal.message}")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except weft.WeftError as error:
        sys.exit(str(error))
