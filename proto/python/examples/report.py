"""A table of all links, with what they carry, as a pandas DataFrame: report.py [FILE.csv]"""

import sys

import pandas as pd

import weft
from weft.v1.perf_pb2 import LinkLoad
from weft.v1.types_pb2 import LinkEnd


def links(client: weft.Client) -> pd.DataFrame:
    """One row for each link; load is empty where the counters have not been read twice."""
    loads: dict[frozenset[tuple[int, int]], LinkLoad] = {}
    for load in client.busiest_links(1000).busiest:
        loads[ends(load.a, load.b)] = load
    rows = []
    for link in client.links():
        start: LinkEnd = getattr(link, "from")
        row: dict[str, object] = {
            "from": start.node_name,
            "from_port": start.port.port,
            "to": link.to.node_name,
            "to_port": link.to.port.port,
            "rate": link.rate,
        }
        if found := loads.get(ends(start, link.to)):
            ways = (found.a_to_b, found.b_to_a)
            row["gigabytes_per_second"] = max(way.bytes_per_second for way in ways) / 1e9
            row["utilization"] = max(way.utilization for way in ways)
        rows.append(row)
    return pd.DataFrame(rows)


def ends(a: LinkEnd, b: LinkEnd) -> frozenset[tuple[int, int]]:
    """A link, whichever end comes first."""
    return frozenset((end.port.node_guid, end.port.port) for end in (a, b))


def main() -> int:
    with weft.connect() as client:
        table = links(client)
    if len(sys.argv) > 1:
        table.to_csv(sys.argv[1], index=False)
    print(f"{len(table)} links, {table['utilization'].max():.0%} used at most")
    print(table.groupby("rate").size().to_string())
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except weft.WeftError as error:
        sys.exit(str(error))
