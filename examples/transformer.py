"""Writes execution traces of Chakra for a step of training a transformer, and a scenario that replays them.

    python3 examples/transformer.py trace
    weft-lab run trace/transformer.scenario

Each layer is split over the ranks of a tensor group (all-reduce of activations after attention and after
the feed-forward part, forwards and backwards), and groups of data-parallel ranks reduce its gradients
while layers before it are still at work. Schema: et_def.proto of MLCommons' Chakra, version 1.
"""

import argparse
import pathlib

COMP, COLL = 4, 7
ALL_REDUCE = 0


def varint(value):
    """A number in groups of seven bits, the lowest first."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])


def number(field, value):
    """A field that is a number."""
    return varint(field << 3) + varint(value)


def text(field, value):
    """A field that is text, bytes or a message."""
    value = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(value)) + value


class Trace:
    """The nodes of a rank."""

    def __init__(self):
        self.content = bytearray()
        self.count = 0
        self.message(text(1, "1.0.0"))

    def message(self, body):
        self.content += varint(len(body)) + body

    def node(self, name, kind, waits, fields=b""):
        """Adds a node that waits for others; its number."""
        body = number(1, self.count) + text(2, name) + number(3, kind)
        body += b"".join(number(5, one) for one in waits) + fields
        self.message(body)
        self.count += 1
        return self.count - 1

    def compute(self, name, micros, waits):
        return self.node(name, COMP, waits, number(7, micros))

    def all_reduce(self, name, group, size, waits):
        attributes = [
            text(1, "comm_type") + number(9, ALL_REDUCE),
            text(1, "comm_size") + number(9, size),
            text(1, "pg_name") + text(29, group),
        ]
        fields = b"".join(text(10, attribute) for attribute in attributes)
        return self.node(name, COLL, waits, fields)


def step(rank, shape):
    """The trace of a rank."""
    trace, last, reduced = Trace(), [], []
    tensor, data = f"tensor {rank // shape.tensor}", f"data {rank % shape.tensor}"
    activations = 2 * shape.batch * shape.sequence * shape.hidden
    # Attention and feed-forward: twelve squares of the hidden size, two bytes each.
    gradients = 2 * 12 * shape.hidden**2 // shape.tensor

    def part(name, micros, last):
        last = [trace.compute(name, micros, last)]
        return [trace.all_reduce(f"{name} all-reduce", tensor, activations, last)]

    for layer in range(shape.layers):
        for name in ["attention", "feed-forward"]:
            last = part(f"{layer} {name} forwards", shape.micros, last)
    for layer in reversed(range(shape.layers)):
        for name in ["feed-forward", "attention"]:
            last = part(f"{layer} {name} backwards", 2 * shape.micros, last)
        # One after the other, as on one stream.
        waits = last + reduced[-1:]
        reduced.append(trace.all_reduce(f"{layer} gradients", data, gradients, waits))
    trace.compute("optimizer", shape.micros, last + reduced)
    return bytes(trace.content)


def main():
    """Reads the shape of the model, and writes a file for each rank and the scenario."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", type=pathlib.Path)
    for name, value, what in [
        ("tensor", 4, "ranks that share a layer"),
        ("data", 4, "ranks that share the data"),
        ("layers", 4, "layers"),
        ("hidden", 1024, "hidden size"),
        ("sequence", 512, "tokens of a sequence"),
        ("batch", 1, "sequences of a rank"),
        ("micros", 100, "computation of half a layer forwards, us"),
    ]:
        parser.add_argument(f"--{name}", type=int, default=value, help=f"{what}, {value}")
    shape = parser.parse_args()
    ranks = shape.tensor * shape.data
    shape.directory.mkdir(parents=True, exist_ok=True)
    for rank in range(ranks):
        (shape.directory / f"transformer.{rank}.et").write_bytes(step(rank, shape))
    (shape.directory / "transformer.scenario").write_text(
        f"experiment A step of a transformer, {shape.tensor} x {shape.data} ranks\n"
        f"fabric one-switch:{ranks}\nlatencies on\nlinks on\n"
        f"traffic file=transformer.*.et ranks={ranks}\n"
    )


main()
