"""What happened over time, by pandas, of the results of weft-lab run --parquet.

    weft-lab run --parquet results examples/timeline.scenario
    python3 examples/timeline.py results

Prints for each case the rate of each job and the load of its busiest links in each interval, and the slowest
messages.
"""

import sys
from pathlib import Path

import pandas


def over_time(table, key, value):
    """A row for each interval, a column for each key."""
    return table.pivot_table(index="to_us", columns=key, values=value, sort=False).round(1)


def main(directory):
    """Reads the tables of a directory."""
    kinds = ("job_interval", "link_interval", "message")
    jobs, links, messages = (pandas.read_parquet(Path(directory) / f"{kind}.parquet") for kind in kinds)
    jobs["job"] = jobs["job"].fillna("own")
    jobs["GB/s"] = jobs["bytes"] / (jobs["to_us"] - jobs["from_us"]) / 1e3
    links["link"] = links["from"] + " > " + links["to"]
    messages["job"] = messages["job"].fillna("own")
    for case, rows in jobs.groupby("case", sort=False):
        print(f"{case}: GB/s of each job")
        print(over_time(rows, "job", "GB/s").to_string())
        of_case = links[links["case"] == case]
        print(f"{case}: percent of each link")
        print(over_time(of_case, "link", "percent").to_string())
        slow = messages[messages["case"] == case].nlargest(3, "us")
        print(f"{case}: slowest messages")
        print(slow[["job", "from_rank", "to_rank", "bytes", "begun_us", "us"]].to_string(index=False))


main(*sys.argv[1:])
