"""Every call of the package, on the fabric pgft:2;4,3;1,2;1,1 of an emulator: three edges with four hosts, two cores."""

import threading
from collections.abc import Iterator
from time import sleep

import grpc

import weft
from weft.v1.fabric_pb2 import EXPORT_FORMAT_IBNETDISCOVER, Link
from weft.v1.operation_pb2 import OPERATION_KIND_DRAIN, OPERATION_KIND_UNDRAIN
from weft.v1.operation_pb2 import OPERATION_STATE_DONE, OPERATION_STATE_REFUSED
from weft.v1.perf_group_pb2 import PerfGroup
from weft.v1.port_pb2 import PORT_ACTION_DISABLE, PORT_ACTION_ENABLE
from weft.v1.route_pb2 import DrainTarget
from weft.v1.types_pb2 import LinkEnd, PortId
from weft.v1.watch_pb2 import WatchResponse


def refused(code: grpc.StatusCode, call: object, *args: object) -> None:
    assert callable(call)
    try:
        call(*args)
    except weft.WeftError as error:
        assert error.code == code, error
    else:
        raise AssertionError(f"{code} was expected")


def reads(client: weft.Client) -> None:
    fabric = client.fabric()
    assert (fabric.hfis, fabric.switches, fabric.links) == (12, 5, 18)
    assert sorted(node.name for node in client.nodes("nodetype:SW")) == ["core1", "core2", "edge1", "edge2", "edge3"]
    assert len(list(client.nodes())) == 17
    assert len(list(client.links())) == 18
    assert sum(port.HasField("neighbor") for port in client.ports()) == 36
    snapshot = client.snapshot()
    assert (len(snapshot.nodes), len(snapshot.links), len(snapshot.linear)) == (17, 18, 5)
    core = client.node("core1")
    # The core's table has a port for each LID of a host.
    hosts = [node.lid for node in client.nodes("nodetype:FI")]
    assert all(snapshot.linear[core.guid][lid] in (1, 2, 3) for lid in hosts)
    assert b"core2" in client.export(EXPORT_FORMAT_IBNETDISCOVER)
    refused(grpc.StatusCode.NOT_FOUND, client.node, "nosuch")
    refused(grpc.StatusCode.INVALID_ARGUMENT, lambda: list(client.nodes("bogus:1")))


def first(link: Link) -> LinkEnd:
    end = getattr(link, "from")
    assert isinstance(end, LinkEnd)
    return end


def changes(client: weft.Client) -> None:
    edge = client.node("edge1")
    uplink = next(end.port for link in client.links("node:core1") for end in (first(link), link.to) if end.node_name == "edge1")
    assert client.quarantine_port(uplink, "test").number > 0
    [entry] = client.quarantine()
    assert (entry.port.port, entry.comment, entry.by_hand) == (uplink, "test", True)
    client.release_port(uplink)
    assert client.quarantine() == []

    core = DrainTarget(switch_guid=client.node("core1").guid)
    assert client.drain(core).safe_to_pull
    assert [drain.name for drain in client.drains()] == ["core1"]
    client.undrain(core)
    assert client.drains() == []
    refused(grpc.StatusCode.FAILED_PRECONDITION, client.drain, DrainTarget(switch_guid=edge.guid))

    # The refused drain is the newest.
    drains = [one for one in client.operations() if one.kind in (OPERATION_KIND_DRAIN, OPERATION_KIND_UNDRAIN)]
    assert [one.state for one in drains] == [OPERATION_STATE_REFUSED, OPERATION_STATE_DONE, OPERATION_STATE_DONE]
    assert client.wait_operation(drains[1].id) == client.operation(drains[1].id)
    refused(grpc.StatusCode.FAILED_PRECONDITION, client.cancel_operation, drains[1].id)
    refused(grpc.StatusCode.NOT_FOUND, client.operation, "nothing")

    host = PortId(node_guid=edge.guid, port=2)
    client.set_port(host, PORT_ACTION_DISABLE, True)
    assert client.sweep().hfis == 12
    client.set_port(host, PORT_ACTION_DISABLE)
    assert client.sweep().hfis == 11
    client.set_port(host, PORT_ACTION_ENABLE)


def read_twice(client: weft.Client) -> list[PerfGroup]:
    """The groups, once the counters have been read twice."""
    for _ in range(300):
        try:
            return client.groups()
        except weft.WeftError as error:
            assert error.code == grpc.StatusCode.FAILED_PRECONDITION, error
        sleep(0.1)
    raise AssertionError("the counters are not read")


def groups(client: weft.Client) -> None:
    everyone, hosts, switches = read_twice(client)
    assert [group.name for group in (everyone, hosts, switches)] == ["All", "HFIs", "SWs"]
    # Hosts have their neighbours outside; a switch's port 0 has none.
    assert (hosts.internal.ports, hosts.external.ports) == (0, 12)
    assert (switches.internal.ports, switches.external.ports) == (5 + 2 * 6, 12)
    assert client.groups("SWs")[0].built_in
    ports = list(client.group_ports("SWs", "node:core1"))
    assert [port.port.port.port for port in ports] == [0, 1, 2, 3]
    assert all(port.port.node_name == "core1" and port.internal for port in ports)
    assert len(list(client.group_ports("All"))) == 12 + 5 + 2 * 6 + 12
    assert list(client.perf_config().groups) == ["All", "HFIs", "SWs"]
    refused(grpc.StatusCode.NOT_FOUND, client.groups, "nobody")
    refused(grpc.StatusCode.NOT_FOUND, lambda: list(client.group_ports("nobody")))


def watches(client: weft.Client) -> None:
    events = client.watch()
    marker = next(events)
    assert marker.HasField("marker") and not marker.marker.gap
    sweep = threading.Thread(target=client.sweep)
    sweep.start()
    started = until(events, "sweep_started")
    ended = until(events, "sweep_ended")
    assert ended.sweep_ended.number >= started.sweep_started.number
    # What follows an event is there for whoever comes back with its token.
    again = client.watch(started.resume_token)
    assert not next(again).marker.gap
    assert until(again, "sweep_ended") == ended
    sweep.join()


def until(events: Iterator[WatchResponse], kind: str) -> WatchResponse:
    for event in events:
        if event.WhichOneof("content") == kind:
            return event
    raise AssertionError("the stream has ended")


def main() -> None:
    for address in ("", "nonsense", "https://localhost:1", "http://localhost"):
        try:
            weft.connect(address or "x")
        except ValueError:
            continue
        raise AssertionError(address)
    with weft.connect() as client:
        reads(client)
        groups(client)
        changes(client)
        watches(client)
    with weft.connect("http://127.0.0.1:1", timeout=2) as nobody:
        refused(grpc.StatusCode.UNAVAILABLE, nobody.fabric)


if __name__ == "__main__":
    main()
