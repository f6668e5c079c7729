"""Moves all data off a switch and waits until it is safe to pull: drain_switch.py SWITCH [--undrain]"""

import sys

import weft
from weft.v1.route_pb2 import DrainTarget


def main() -> int:
    name, undrain = sys.argv[1], "--undrain" in sys.argv[2:]
    with weft.connect() as client:
        target = DrainTarget(switch_guid=client.node(name).guid)
        if undrain:
            client.undrain(target)
            print(f"{name} is in use again")
            return 0
        events = client.watch()
        next(events)  # The marker: whatever changes from here on is seen.
        try:
            drain = client.drain(target)
        except weft.WeftError as refusal:
            print(f"{name} stays in use: {refusal.message}")
            return 1
        while not drain.safe_to_pull:
            # A sweep that ends may have written what was left.
            while next(events).WhichOneof("content") != "sweep_ended":
                pass
            drain = next(drain for drain in client.drains() if drain.target == target)
            print(f"{drain.routes} routes are left")
    print(f"{name} is safe to pull")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except weft.WeftError as error:
        sys.exit(str(error))
