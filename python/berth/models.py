"""What the server tells, as plain values. Knows messages and no transport.

Each class has a `read` that makes it from its message. Instants are datetime in UTC, or None;
states are lower case, as in the documents: "pending", "running", "completed".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Optional

from berth import spec as specs
from berth.timing import instant
from berth.v1 import scheduler_pb2 as pb
from berth.v1 import task_pb2

ENDED = frozenset({"completed", "failed", "cancelled", "expired"})


def enum_name(kind: Any, number: int) -> str:
    """Lower case; "unknown" for none, and for one that only a newer server knows."""
    value = kind.DESCRIPTOR.values_by_number.get(number)
    return "unknown" if number == 0 or value is None else str(value.name).lower()


@dataclass(frozen=True)
class Reason:
    """Why not now, or why never: a name from a closed list, with its numbers."""

    code: str  # "vram_short"
    message: str = ""
    need: int = 0
    have: int = 0
    unit: str = ""
    subject: str = ""
    never: bool = False  # waiting cannot help
    retry_at: Optional[datetime] = None

    def __str__(self) -> str:
        return self.message or self.code

    @classmethod
    def read(cls, message: pb.Reason) -> Optional["Reason"]:
        if message.code in ("", "none"):
            return None
        return cls(message.code, message.message, message.need, message.have, message.unit,
                   message.subject, message.never, instant(message.retry_at_unix_ms))


@dataclass(frozen=True)
class Result:
    """How an attempt ended."""

    completed: bool
    failure: Optional[str] = None  # "error", "out_of_memory", "timeout", "crash", ...
    exit_status: int = 0
    term_signal: int = 0
    message: str = ""
    data: bytes = b""  # what the executor gave back
    simulated: bool = False

    @property
    def value(self) -> Any:
        """The data: JSON decoded where it is JSON, else text, else bytes; None without data."""
        return specs.decode(self.data)

    @classmethod
    def read(cls, message: task_pb2.TaskResult) -> "Result":
        failure = enum_name(task_pb2.FailureKind, message.failure) if message.failure else None
        return cls(message.completed, failure, message.exit_status, message.term_signal,
                   message.message, message.result, message.simulated)


@dataclass(frozen=True)
class Attempt:
    """One start of a task."""

    number: int
    gpus: tuple[str, ...]
    started_at: Optional[datetime]
    ended_at: Optional[datetime]
    result: Optional[Result]

    @classmethod
    def read(cls, message: pb.Attempt) -> "Attempt":
        return cls(message.number, tuple(message.gpus), instant(message.started_unix_ms),
                   instant(message.ended_unix_ms),
                   Result.read(message.result) if message.HasField("result") else None)


@dataclass(frozen=True)
class Task:
    """A task and how it stands."""

    task_id: str
    task_no: int
    user_id: str
    task_type: str
    status: str
    reason: Optional[Reason] = None  # why it is not running, if recorded; why it did not complete
    position: Optional[int] = None  # 1: next of its queue; told by explain alone
    attempts: int = 0
    gpus: tuple[str, ...] = ()
    submitted_at: Optional[datetime] = None
    eligible_at: Optional[datetime] = None
    started_at: Optional[datetime] = None
    ended_at: Optional[datetime] = None
    expected_start_at: Optional[datetime] = None  # told by explain alone
    group: str = ""
    labels: dict[str, str] = field(default_factory=dict)
    priority: int = 0
    tier: int = 0
    gpu_memory_mb: int = 0
    result: Optional[Result] = None  # of the last attempt
    spec: Optional[specs.TaskSpec] = None  # when asked for
    history: tuple[Attempt, ...] = ()  # when asked for
    array: Optional[dict[str, int]] = None  # of an array's id: how many of its tasks are in a state

    @property
    def ended(self) -> bool:
        return self.status in ENDED

    def as_dict(self) -> dict[str, Any]:
        """As get_status and wait return it: `result` is the decoded value."""
        answer = {name: getattr(self, name) for name in _STATUS_KEYS}
        result = self.result or Result(completed=False)
        answer.update(gpus=list(self.gpus), labels=dict(self.labels), result=result.value,
                      failure=result.failure, exit_status=result.exit_status,
                      message=result.message, simulated=result.simulated)
        return answer

    @classmethod
    def read(cls, message: pb.TaskStatus) -> "Task":
        return cls(
            task_id=message.task_id,
            task_no=message.task_no,
            user_id=message.user_id,
            task_type=message.task_type,
            status=enum_name(pb.TaskState, message.state),
            reason=Reason.read(message.reason),
            position=message.position if message.HasField("position") else None,
            attempts=message.attempts,
            gpus=tuple(message.gpus),
            submitted_at=instant(message.submitted_unix_ms),
            eligible_at=instant(message.eligible_unix_ms),
            started_at=instant(message.started_unix_ms),
            ended_at=instant(message.ended_unix_ms),
            expected_start_at=instant(message.expected_start_unix_ms),
            group=message.group,
            labels=dict(message.labels),
            priority=message.priority,
            tier=message.tier,
            gpu_memory_mb=message.gpu_memory_mb,
            result=Result.read(message.result) if message.HasField("result") else None,
            spec=specs.from_message(message.spec) if message.HasField("spec") else None,
            history=tuple(Attempt.read(attempt) for attempt in message.history),
            array=({enum_name(pb.TaskState, count.state): count.tasks
                    for count in message.array.states} if message.HasField("array") else None))


_STATUS_KEYS = ("task_id", "task_no", "user_id", "task_type", "status", "reason", "position",
                "attempts", "submitted_at", "eligible_at", "started_at", "ended_at",
                "expected_start_at", "group", "priority", "tier", "gpu_memory_mb")


@dataclass(frozen=True)
class Event:
    """A change of a task. The sequence grows from one to the next, in steps of any size."""

    sequence: int
    at: Optional[datetime]
    task_id: str
    task_no: int
    user_id: str
    task_type: str
    group: str
    status: str  # after the event
    reason: Optional[Reason]
    attempt: int
    gpus: tuple[str, ...]

    @property
    def ended(self) -> bool:
        return self.status in ENDED

    @classmethod
    def read(cls, message: pb.TaskEvent) -> "Event":
        return cls(message.sequence, instant(message.at_unix_ms), message.task_id, message.task_no,
                   message.user_id, message.task_type, message.group,
                   enum_name(pb.TaskState, message.state), Reason.read(message.reason),
                   message.attempt, tuple(message.gpus))


@dataclass(frozen=True)
class Explanation:
    """Why a task has not started: the nearest obstacle first."""

    task: Task
    binding: tuple[Reason, ...]
    ahead_in_flow: int
    ahead_in_queue: int
    holder_gpu: str  # whose end would help first
    holder_ends_at: Optional[datetime]
    expected_start_at: Optional[datetime]
    earliest_start_at: Optional[datetime]  # if all that remains took half as long as expected
    latest_start_at: Optional[datetime]  # if it took twice as long

    def __str__(self) -> str:
        why = "; ".join(str(reason) for reason in self.binding) or "nothing binds"
        return f"{self.task.task_id} is {self.task.status}: {why}"

    @classmethod
    def read(cls, message: pb.ExplainTaskResponse) -> "Explanation":
        reasons = (Reason.read(reason) for reason in message.binding)
        return cls(Task.read(message.status), tuple(reason for reason in reasons if reason),
                   message.ahead_in_flow, message.ahead_in_queue, message.holder_gpu,
                   instant(message.holder_ends_unix_ms), instant(message.expected_start_unix_ms),
                   instant(message.earliest_start_unix_ms), instant(message.latest_start_unix_ms))


@dataclass(frozen=True)
class Cancellation:
    """How many tasks a cancel found, how many it asked to end, and how many of these still run:
    they have ended when their processes have."""

    matched: int
    cancelled: int
    stopping: int = 0


@dataclass(frozen=True)
class LogChunk:
    """A piece of a task's output."""

    stream: str  # "stdout" or "stderr"
    data: bytes
    truncated: bool  # the output passed its cap; this is where it was cut

    @property
    def text(self) -> str:
        return self.data.decode(errors="replace")

    @classmethod
    def read(cls, message: pb.LogChunk) -> "LogChunk":
        stream = "stderr" if message.stream == pb.LogChunk.STDERR else "stdout"
        return cls(stream, message.data, message.truncated)
