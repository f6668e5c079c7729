"""Connection to a daemon, and its calls."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, sleep
from types import TracebackType
from typing import Protocol, TypeVar
from urllib.parse import urlsplit

import grpc

from google.protobuf.duration_pb2 import Duration

from weft.v1 import fabric_pb2, operation_pb2, operation_pb2_grpc, perf_group_pb2, perf_group_pb2_grpc, perf_pb2
from weft.v1 import perf_pb2_grpc, port_pb2, port_pb2_grpc, route_pb2
from weft.v1 import fabric_pb2_grpc, route_pb2_grpc, sweep_pb2, sweep_pb2_grpc, types_pb2
from weft.v1 import watch_pb2, watch_pb2_grpc

DEFAULT_SOCKET = Path("/run/weft/api.sock")
"""Where the daemon of a real fabric listens by default."""
DEFAULT_ADDRESS = "http://127.0.0.1:9313"
"""Where that of an emulated fabric does."""

_MESSAGE_MAX = 64 << 20
_PAUSE = 0.05

Item = TypeVar("Item")


class WeftError(Exception):
    """The daemon refused a call, or does not answer."""

    def __init__(self, code: grpc.StatusCode, message: str) -> None:
        super().__init__(f"{code.name}: {message}")
        self.code = code
        self.message = message


@dataclass(frozen=True)
class Tls:
    """Certificates, PEM. `cert` and `key` are the client's own; `domain` is the name in the daemon's certificate."""

    ca: Path
    cert: Path | None = None
    key: Path | None = None
    domain: str | None = None


@dataclass
class Snapshot:
    """The whole fabric at one moment. Structures are bytes as on the wire."""

    generation: int = 0
    unix_time: int = 0
    nodes: list[fabric_pb2.SnapshotNode] = field(default_factory=list)
    links: list[fabric_pb2.SnapshotLink] = field(default_factory=list)
    linear: dict[int, bytes] = field(default_factory=dict)
    """Egress ports by LID, of each switch by its NodeGUID."""
    port_groups: list[fabric_pb2.SnapshotPortGroups] = field(default_factory=list)
    subnet_managers: list[fabric_pb2.SubnetManager] = field(default_factory=list)


def connect(address: str | None = None, tls: Tls | None = None, timeout: float = 60.0) -> Client:
    """Connects to a daemon: unix:/PATH, http://HOST:PORT, or https://HOST:PORT with `tls`. Without an address that of the
    variable WEFT_ADDRESS counts, or this host's first instance: its socket if that is there.
    `timeout` is that of each call, in seconds.

    Raises ValueError for an address that is none, and OSError for a certificate that cannot be read.
    """
    stock = f"unix:{DEFAULT_SOCKET}" if DEFAULT_SOCKET.exists() else DEFAULT_ADDRESS
    address = address or os.environ.get("WEFT_ADDRESS") or stock
    parts = urlsplit(address)
    options: list[tuple[str, object]] = [("grpc.max_receive_message_length", _MESSAGE_MAX)]
    if parts.scheme == "unix":
        if tls is not None or not parts.path.startswith("/") or parts.netloc:
            raise ValueError(f"{address!r} is no address of a daemon: unix:/PATH, without tls")
        # HTTP/2 names a host, also where none is connected to.
        options.append(("grpc.default_authority", "localhost"))
        return Client(grpc.insecure_channel(address, options=options), timeout)
    if parts.scheme not in ("http", "https") or not parts.hostname or not parts.port:
        raise ValueError(f"{address!r} is no address of a daemon: unix:/PATH, http://HOST:PORT or https://HOST:PORT")
    if (parts.scheme == "https") != (tls is not None):
        raise ValueError(f"{address}: https needs tls, and http has none")
    if tls is None:
        return Client(grpc.insecure_channel(parts.netloc, options=options), timeout)
    read: Callable[[Path | None], bytes | None] = lambda path: path.read_bytes() if path else None
    credentials = grpc.ssl_channel_credentials(
        root_certificates=tls.ca.read_bytes(),
        private_key=read(tls.key),
        certificate_chain=read(tls.cert),
    )
    if tls.domain:
        options.append(("grpc.ssl_target_name_override", tls.domain))
    return Client(grpc.secure_channel(parts.netloc, credentials, options=options), timeout)


class _Page(Protocol):
    @property
    def next_page_token(self) -> str: ...


Paged = TypeVar("Paged", bound=_Page)


class Client:
    """A daemon. Use it in a `with` statement, or call `close`. Every call may raise WeftError."""

    def __init__(self, channel: grpc.Channel, timeout: float) -> None:
        self._channel = channel
        self._timeout = timeout
        self._fabric = fabric_pb2_grpc.FabricServiceStub(channel)
        self._operation = operation_pb2_grpc.OperationServiceStub(channel)
        self._perf = perf_pb2_grpc.PerfServiceStub(channel)
        self._perf_group = perf_group_pb2_grpc.PerfGroupServiceStub(channel)
        self._port = port_pb2_grpc.PortServiceStub(channel)
        self._route = route_pb2_grpc.RouteServiceStub(channel)
        self._sweep = sweep_pb2_grpc.SweepServiceStub(channel)
        self._watch = watch_pb2_grpc.WatchServiceStub(channel)

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends the connection."""
        self._channel.close()

    # The fabric.

    def fabric(self) -> fabric_pb2.GetFabricResponse:
        """Counts, role and last sweep."""
        return _answer(lambda: self._fabric.GetFabric(fabric_pb2.GetFabricRequest(), timeout=self._timeout))

    def nodes(self, focus: str = "") -> Iterator[fabric_pb2.Node]:
        """Nodes by GUID; `focus` is a point such as 'node:edge1' or 'nodetype:SW'."""

        def page(token: str) -> fabric_pb2.ListNodesResponse:
            request = fabric_pb2.ListNodesRequest(focus=focus, page_token=token)
            return self._fabric.ListNodes(request, timeout=self._timeout)

        return _pages(page, lambda answer: answer.nodes)

    def ports(self, focus: str = "") -> Iterator[fabric_pb2.Port]:
        """Ports by GUID and number."""

        def page(token: str) -> fabric_pb2.ListPortsResponse:
            request = fabric_pb2.ListPortsRequest(focus=focus, page_token=token)
            return self._fabric.ListPorts(request, timeout=self._timeout)

        return _pages(page, lambda answer: answer.ports)

    def links(self, focus: str = "") -> Iterator[fabric_pb2.Link]:
        """Links, each once."""

        def page(token: str) -> fabric_pb2.ListLinksResponse:
            request = fabric_pb2.ListLinksRequest(focus=focus, page_token=token)
            return self._fabric.ListLinks(request, timeout=self._timeout)

        return _pages(page, lambda answer: answer.links)

    def node(self, name: str) -> fabric_pb2.Node:
        """The one node of this name. Raises WeftError with NOT_FOUND if there is none, ValueError if there are several."""
        found = list(self.nodes(f"node:{name}"))
        if len(found) != 1:
            raise ValueError(f"{len(found)} nodes are called {name}")
        return found[0]

    def snapshot(self) -> Snapshot:
        """The whole fabric at one moment."""
        snapshot = Snapshot()

        def read() -> Snapshot:
            parts = self._fabric.GetSnapshot(fabric_pb2.GetSnapshotRequest(), timeout=self._timeout)
            for part in parts:
                _add(snapshot, part)
            return snapshot

        return _answer(read)

    def export(self, format: fabric_pb2.ExportFormat.ValueType) -> bytes:
        """The fabric as a file for other programs."""
        request = fabric_pb2.ExportFabricRequest(format=format)
        return _answer(lambda: b"".join(part.data for part in self._fabric.ExportFabric(request, timeout=self._timeout)))

    # Events.

    def watch(self, resume_token: str = "") -> Iterator[watch_pb2.WatchResponse]:
        """Events as they happen, for ever. The first one is a marker: read the fabric after it, and you miss no change.
        Where the connection breaks, the call is repeated after the last event; a marker with `gap` says that events
        are missing. `resume_token` is that of the last event of an earlier call.
        """
        while True:
            try:
                for event in self._watch.Watch(watch_pb2.WatchRequest(resume_token=resume_token)):
                    resume_token = event.resume_token or resume_token
                    yield event
            except grpc.RpcError as error:
                failure = _error(error)
                lasting = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.RESOURCE_EXHAUSTED)
                if failure.code not in lasting:
                    raise failure from error
            sleep(1)

    # Sweeps.

    def sweep(self) -> sweep_pb2.Sweep:
        """Runs a sweep and waits for its end; raises TimeoutError if that takes longer than the timeout."""
        number = _answer(
            lambda: self._sweep.StartSweep(sweep_pb2.StartSweepRequest(), timeout=self._timeout)
        ).number
        return self.wait(number)

    def wait(self, number: int) -> sweep_pb2.Sweep:
        """The report of a sweep, when it has ended; raises TimeoutError if that takes longer than the timeout."""
        until = monotonic() + self._timeout
        request = sweep_pb2.GetSweepRequest(number=number)
        while monotonic() < until:
            sweep = _answer(lambda: self._sweep.GetSweep(request, timeout=self._timeout)).sweep
            if sweep.phase == sweep_pb2.SWEEP_PHASE_ENDED:
                return sweep
            sleep(_PAUSE)
        raise TimeoutError(f"sweep {number} has not ended within {self._timeout} s")

    # Operations.

    def operations(self) -> Iterator[operation_pb2.Operation]:
        """Plans, drains, roll-backs and sweeps that were asked for, the newest first."""

        def page(token: str) -> operation_pb2.ListOperationsResponse:
            request = operation_pb2.ListOperationsRequest(page_token=token)
            return self._operation.ListOperations(request, timeout=self._timeout)

        return _pages(page, lambda answer: answer.operations)

    def operation(self, id: str) -> operation_pb2.Operation:
        """One of them. Raises WeftError with NOT_FOUND if it is not remembered."""
        request = operation_pb2.GetOperationRequest(id=id)
        return _answer(lambda: self._operation.GetOperation(request, timeout=self._timeout)).operation

    def wait_operation(self, id: str) -> operation_pb2.Operation:
        """Waits until nothing of it is under way; raises TimeoutError if that takes longer than the timeout."""
        until = monotonic() + self._timeout
        while (left := until - monotonic()) > 0:
            limit = Duration()
            limit.FromMilliseconds(int(min(left, 30) * 1000))
            request = operation_pb2.WaitOperationRequest(id=id, timeout=limit)
            answer = _answer(lambda: self._operation.WaitOperation(request, timeout=self._timeout))
            if answer.settled:
                return answer.operation
        raise TimeoutError(f"operation {id} has not ended within {self._timeout} s")

    def cancel_operation(self, id: str) -> operation_pb2.Operation:
        """Cancels an operation before anything is written; raises WeftError with FAILED_PRECONDITION after that."""
        request = operation_pb2.CancelOperationRequest(id=id)
        return _answer(lambda: self._operation.CancelOperation(request, timeout=self._timeout)).operation

    # Ports and quarantine.

    def set_port(self, port: types_pb2.PortId, action: port_pb2.PortAction.ValueType, validate_only: bool = False) -> None:
        """Disables, enables or bounces a port; with `validate_only` only says whether that would be refused."""
        request = port_pb2.SetPortStateRequest(port=port, action=action, validate_only=validate_only)
        _answer(lambda: self._port.SetPortState(request, timeout=self._timeout))

    def quarantine(self, point: str = "") -> list[port_pb2.QuarantinedPort]:
        """Ports in quarantine, held back, or with errors over a rule; `point` limits them, such as 'node:edge1'."""

        def page(token: str) -> port_pb2.ListQuarantineResponse:
            request = port_pb2.ListQuarantineRequest(point=point, page_token=token)
            return self._port.ListQuarantine(request, timeout=self._timeout)

        return list(_pages(page, lambda answer: answer.ports))

    def quarantine_port(self, port: types_pb2.PortId, comment: str, force: bool = False) -> sweep_pb2.Sweep:
        """Leaves a link out of routes until it is released; waits until that is in force."""
        request = port_pb2.QuarantinePortRequest(port=port, comment=comment, force=force)
        return self.wait(_answer(lambda: self._port.QuarantinePort(request, timeout=self._timeout)).sweep)

    def release_port(self, port: types_pb2.PortId) -> sweep_pb2.Sweep:
        """Lets a link be used again; waits until that is in force."""
        request = port_pb2.ReleasePortRequest(port=port)
        return self.wait(_answer(lambda: self._port.ReleasePort(request, timeout=self._timeout)).sweep)

    def busiest_links(
        self, limit: int = 20, order: perf_pb2.LinkOrder.ValueType = perf_pb2.LINK_ORDER_UTILIZATION
    ) -> perf_pb2.ListBusiestLinksResponse:
        """What links carry, by the last reading of the counters; at most 1,000 links."""
        request = perf_pb2.ListBusiestLinksRequest(limit=limit, order=order)
        return _answer(lambda: self._perf.ListBusiestLinks(request, timeout=self._timeout))

    # Groups of ports.

    def groups(self, *names: str) -> list[perf_group_pb2.PerfGroup]:
        """The performance manager's groups of ports with their traffic and errors, by the last reading of the counters;
        all of them without names. Raises WeftError with NOT_FOUND if one is not there.
        """
        request = perf_group_pb2.ListPerfGroupsRequest(names=names)
        return list(_answer(lambda: self._perf_group.ListPerfGroups(request, timeout=self._timeout)).groups)

    def group_ports(self, group: str, point: str = "") -> Iterator[perf_group_pb2.GroupPort]:
        """The ports of a group, in order of GUID and port; `point` limits them, such as 'node:edge1'."""

        def page(token: str) -> perf_group_pb2.ListGroupPortsResponse:
            request = perf_group_pb2.ListGroupPortsRequest(group=group, point=point, page_token=token)
            return self._perf_group.ListGroupPorts(request, timeout=self._timeout)

        return _pages(page, lambda answer: answer.ports)

    def perf_config(self) -> perf_group_pb2.GetPerfConfigResponse:
        """The settings of the performance manager."""
        request = perf_group_pb2.GetPerfConfigRequest()
        return _answer(lambda: self._perf_group.GetPerfConfig(request, timeout=self._timeout))

    # Routes, plans and drains.

    def plan(self, request: route_pb2.PlanRoutesRequest) -> route_pb2.PlanRoutesResponse:
        """Previews a change of routes; nothing changes."""
        return _answer(lambda: self._route.PlanRoutes(request, timeout=self._timeout))

    def apply(self, plan_id: int) -> sweep_pb2.Sweep:
        """Applies a plan and waits until it is in force."""
        request = route_pb2.ApplyRoutePlanRequest(plan_id=plan_id)
        return self.wait(_answer(lambda: self._route.ApplyRoutePlan(request, timeout=self._timeout)).sweep)

    def roll_back(self) -> sweep_pb2.Sweep:
        """Undoes the last plan and waits until that is in force."""
        request = route_pb2.RollBackRoutesRequest()
        return self.wait(_answer(lambda: self._route.RollBackRoutes(request, timeout=self._timeout)).sweep)

    def drains(self) -> list[route_pb2.Drain]:
        """Drains in force."""
        request = route_pb2.ListDrainsRequest()
        return list(_answer(lambda: self._route.ListDrains(request, timeout=self._timeout)).drains)

    def drain(self, target: route_pb2.DrainTarget) -> route_pb2.Drain:
        """Moves data off a switch or a link between switches. The result says whether it is `safe_to_pull`.

        Raises WeftError if something would be cut off.
        """
        plan = self.plan(route_pb2.PlanRoutesRequest(drain=target))
        if plan.HasField("plan_id"):
            self.apply(plan.plan_id)
        for drain in self.drains():
            if drain.target == target:
                return drain
        raise WeftError(grpc.StatusCode.ABORTED, "; ".join(finding.message for finding in plan.findings))

    def undrain(self, target: route_pb2.DrainTarget) -> None:
        """Lets data use it again, and waits until that is in force."""
        plan = self.plan(route_pb2.PlanRoutesRequest(undrain=target))
        if plan.HasField("plan_id"):
            self.apply(plan.plan_id)


def _add(snapshot: Snapshot, part: fabric_pb2.GetSnapshotResponse) -> None:
    kind = part.WhichOneof("part")
    if kind == "header":
        snapshot.generation, snapshot.unix_time = part.header.generation, part.header.time.seconds
    elif kind == "node":
        snapshot.nodes.append(part.node)
    elif kind == "links":
        snapshot.links.extend(part.links.links)
    elif kind == "linear":
        snapshot.linear[part.linear.switch_guid] = part.linear.egress
    elif kind == "port_groups":
        snapshot.port_groups.append(part.port_groups)
    elif kind == "subnet_manager":
        snapshot.subnet_managers.append(part.subnet_manager)


def _pages(page: Callable[[str], Paged], items: Callable[[Paged], Iterable[Item]]) -> Iterator[Item]:
    token = ""
    while True:
        last = token
        answer = _answer(lambda: page(last))
        yield from items(answer)
        token = answer.next_page_token
        if not token:
            return


def _answer(call: Callable[[], Item]) -> Item:
    try:
        return call()
    except grpc.RpcError as error:
        raise _error(error) from None


def _error(error: grpc.RpcError) -> WeftError:
    if isinstance(error, grpc.Call):
        return WeftError(error.code(), error.details() or "")
    return WeftError(grpc.StatusCode.UNKNOWN, str(error))
