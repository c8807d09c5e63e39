"""What the server tells about GPUs, queues, models, tenants and itself, as plain values."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Optional

from berth.timing import instant
from berth.v1 import scheduler_pb2 as pb


def _known(number: int) -> Optional[int]:
    """On the wire -1 stands for: not known."""
    return None if number < 0 else number


def _config(message: Any) -> dict[str, Any]:
    """The fields that are set, by name."""
    return {field.name: value for field, value in message.ListFields()}


@dataclass(frozen=True)
class Batch:
    """Tasks of one queue that run together."""

    lease: int
    task_type: str
    task_ids: tuple[str, ...]
    gpu_memory_mb: int
    started_at: Optional[datetime]
    expected_end_at: Optional[datetime]

    @classmethod
    def read(cls, message: pb.RunningBatch) -> "Batch":
        return cls(message.lease, message.task_type, tuple(message.task_ids),
                   message.gpu_memory_mb, instant(message.started_unix_ms),
                   instant(message.expected_end_unix_ms))


@dataclass(frozen=True)
class Gpu:
    """A GPU; None where it was not measured."""

    name: str
    uuid: str
    kind: str
    node: str
    simulated: bool
    state: str  # "up", "draining", "lost"
    total_mb: int
    usable_mb: int  # may be promised
    promised_mb: int  # to running batches and resident models
    used_mb: Optional[int]
    utilisation_percent: Optional[int]
    temperature_c: Optional[int]
    power_w: Optional[int]
    load: float  # promised compute, 1.0: all of it
    models: tuple[str, ...]  # resident
    running: tuple[Batch, ...]

    @classmethod
    def read(cls, message: pb.GpuStatus) -> "Gpu":
        return cls(message.name, message.uuid, message.kind, message.node, message.simulated,
                   message.state, message.total_mb, message.usable_mb, message.promised_mb,
                   _known(message.used_mb), _known(message.utilisation_percent),
                   _known(message.temperature_c), _known(message.power_w),
                   message.load_milli / 1000, tuple(message.models),
                   tuple(Batch.read(batch) for batch in message.running))


@dataclass(frozen=True)
class Queue:
    """A queue, its tasks now and its counts so far."""

    name: str
    model: str
    paused: bool
    draining: bool
    ready: int
    waiting: int
    running: int
    oldest_wait: float  # seconds
    batches: int
    completed: int
    failed: int
    cancelled: int
    expired: int
    resident_on: tuple[str, ...]
    loads: int
    load_time: float  # seconds, all loads together
    config: dict[str, Any]

    @classmethod
    def read(cls, message: pb.QueueStatus) -> "Queue":
        return cls(message.name, message.model, message.paused, message.draining, message.ready,
                   message.waiting, message.running, message.oldest_wait_ms / 1000,
                   message.batches, message.completed, message.failed, message.cancelled,
                   message.expired, tuple(message.resident_on), message.loads,
                   message.load_ms_total / 1000, _config(message.config))


@dataclass(frozen=True)
class Model:
    """A model and where it is."""

    name: str
    resident_on: tuple[str, ...]
    loading_on: tuple[str, ...]
    loads: int
    load_failures: int
    evictions: int
    load_time: float  # seconds, all loads together
    config: dict[str, Any]

    @classmethod
    def read(cls, message: pb.ModelStatus) -> "Model":
        return cls(message.name, tuple(message.resident_on), tuple(message.loading_on),
                   message.loads, message.load_failures, message.evictions,
                   message.load_ms_total / 1000, _config(message.config))


@dataclass(frozen=True)
class Ledger:
    """Normalised GPU time in whole microseconds. The first two never fall."""

    charged_us: int
    refunded_us: int
    net_us: int

    @classmethod
    def read(cls, message: pb.LedgerLine) -> "Ledger":
        return cls(message.charged_us, message.refunded_us, message.net_us)


@dataclass(frozen=True)
class Tenant:
    """A tenant, its tasks now and its counts so far."""

    name: str
    paused: bool
    ready: int
    waiting: int
    running: int
    completed: int
    failed: int
    cancelled: int
    expired: int
    gpu_time: float  # normalised GPU seconds: charged, less what was given back
    subtree_gpu_time: float  # of it and all tenants below it
    ledger: "Ledger"
    subtree_ledger: "Ledger"
    config: dict[str, Any]

    @classmethod
    def read(cls, message: pb.TenantStatus) -> "Tenant":
        return cls(message.name, message.paused, message.ready, message.waiting, message.running,
                   message.completed, message.failed, message.cancelled, message.expired,
                   message.gpu_ms / 1000, message.subtree_gpu_ms / 1000,
                   Ledger.read(message.ledger), Ledger.read(message.subtree_ledger),
                   _config(message.config))


@dataclass(frozen=True)
class Signal:
    """A signal: given, or awaited by so many tasks."""

    name: str
    user_id: str
    given: bool  # one that was given stays given until it is reset
    waiters: int
    since: Optional[float]  # Unix time: it was given, or its first waiter came

    @classmethod
    def read(cls, message: pb.Signal) -> "Signal":
        since = message.since_unix_ms / 1000 if message.since_unix_ms else None
        return cls(message.name, message.user_id, message.given, message.waiters, since)


@dataclass(frozen=True)
class Usage:
    """What one tenant used of one queue on one day."""

    user_id: str
    task_type: str
    day: str  # "2026-11-15"
    tasks: int
    completed: int
    gpu_time: float  # seconds
    wait_time: float  # seconds
    subtree_tasks: int  # of the tenant and all below it
    subtree_completed: int
    subtree_gpu_time: float  # seconds

    @classmethod
    def read(cls, message: pb.UsageLine) -> "Usage":
        return cls(message.user_id, message.task_type, message.day, message.tasks,
                   message.completed, message.gpu_ms / 1000, message.wait_ms / 1000,
                   message.subtree_tasks, message.subtree_completed,
                   message.subtree_gpu_ms / 1000)


@dataclass(frozen=True)
class ServerInfo:
    """The server itself."""

    version: str
    epoch: int  # goes up at every start
    started_at: Optional[datetime]
    sequence: int  # of the last released event
    live_tasks: int
    authentication: bool
    simulated_gpus: bool

    @classmethod
    def read(cls, message: pb.ServerInfo) -> "ServerInfo":
        return cls(message.version, message.epoch, instant(message.started_unix_ms),
                   message.sequence, message.live_tasks, message.authentication,
                   message.simulated_gpus)
