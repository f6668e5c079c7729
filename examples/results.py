"""Tables of the results of weft-lab run --json, by DuckDB.

    weft-lab run --json results.jsonl examples/e1-adaptive-routing.scenario
    python3 examples/results.py results.jsonl

Prints for each case its metrics and what was published of them, the busiest links, and the ranks that
took longest.
"""

import sys

import duckdb

QUESTIONS = {
    "metrics": """select "case", metric, value, least, most, unit, published, verdict from results
                  where kind = 'measurement' order by all""",
    "links": """select "case", "from", "to", percent, xmit_discards from results
                where kind = 'link' order by percent desc, "case", "from" limit 10""",
    "ranks": """select "case", rank, us, bytes_sent from results
                where kind = 'rank' order by us desc, rank limit 10""",
    "latencies": """select "case", job, percentile, us from results
                    where kind = 'latency' order by all""",
}
# Columns of a kind of line that these results may not have.
COLUMNS = {
    "kind": "varchar", "experiment": "varchar", "case": "varchar", "series": "varchar",
    "swept": "varchar", "at": "double", "swept_2": "varchar", "at_2": "double",
    "swept_3": "varchar", "at_3": "double", "metric": "varchar", "value": "double", "unit": "varchar",
    "least": "double", "most": "double", "published": "varchar", "verdict": "varchar",
    "method": "varchar", "virtual_us": "double", "packet_hops": "bigint",
    "lost": "bigint", "routes_moved": "bigint", "from": "varchar", "to": "varchar",
    "percent": "double", "xmit_wait": "bigint", "xmit_discards": "bigint", "rank": "bigint",
    "us": "double", "bytes_sent": "bigint", "job": "varchar", "percentile": "double",
}


def main(lines):
    """Reads a file of JSON Lines."""
    results = duckdb.read_json(lines, columns=COLUMNS, format="newline_delimited")
    duckdb.register("results", results)
    for name, question in QUESTIONS.items():
        rows = duckdb.sql(question).fetchall()
        print(f"{name}: {len(rows)}")
        for row in rows:
            print("  " + "\t".join("" if cell is None else str(cell) for cell in row))


main(*sys.argv[1:])
