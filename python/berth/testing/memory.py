"""The tasks of a FakeServer: their states, events and output, in memory. Knows no transport.

All state is guarded by `changed`, which is notified whenever something happens. A task moves only
through `_move`, which also writes its event. There is one order, that of arrival, and no VRAM.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Iterable, Mapping, Optional

from berth.v1 import scheduler_pb2 as pb
from berth.v1 import task_pb2

ENDED = frozenset({pb.COMPLETED, pb.FAILED, pb.CANCELLED, pb.EXPIRED})
SIGNAL = "signal:"


class Refused(Exception):
    """A request that the server does not carry out, as status code and details."""

    def __init__(self, code: str, message: str, reason: str, *,
                 fields: Optional[Mapping[str, str]] = None, retry_after: Optional[float] = None,
                 metadata: Optional[Mapping[str, str]] = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.reason = reason
        self.fields = dict(fields or {})
        self.retry_after = retry_after
        self.metadata = dict(metadata or {})


@dataclass
class Record:
    """A task and its status, which is told as it is."""

    spec: task_pb2.TaskSpec
    status: pb.TaskStatus
    content: bytes
    history: list[pb.Attempt] = field(default_factory=list)
    output: list[pb.LogChunk] = field(default_factory=list)

    @property
    def key(self) -> tuple[str, str]:
        return self.status.user_id, self.status.task_id

    @property
    def ended(self) -> bool:
        return self.status.state in ENDED


def now_ms() -> int:
    return int(time.time() * 1000)


def content_of(spec: task_pb2.TaskSpec) -> bytes:
    """Equal for equal tasks; the id is the server's to make where it is absent."""
    copy = task_pb2.TaskSpec()
    copy.CopyFrom(spec)
    copy.task_id = ""
    content: bytes = copy.SerializeToString(deterministic=True)
    return content


class Memory:
    def __init__(self, queues: Iterable[str], max_queue_size: int) -> None:
        self.changed = threading.Condition()
        self.queues = tuple(queues)
        self.events: list[pb.TaskEvent] = []
        self.records: dict[tuple[str, str], Record] = {}
        self._in_state: defaultdict[int, dict[tuple[str, str], Record]] = defaultdict(dict)
        self._live: Counter[str] = Counter()  # tasks of a tenant that have not ended
        self._requests: dict[tuple[str, str], tuple[str, ...]] = {}
        self._signals: set[tuple[str, str]] = set()
        self._max_queue_size = max_queue_size
        self._last_no = 0

    # ---- Submit ----------------------------------------------------------------------------------

    def submit(self, request: pb.SubmitTaskRequest, tenant: str) -> pb.SubmitTaskResponse:
        """One task; what was submitted before with the same content is the same task."""
        with self.changed:
            known = self._known(request, tenant)
            duplicate = known is not None
            record = known or self._add(request.task, tenant)
            self._requests[tenant, request.request_id] = (record.status.task_id,)
            return pb.SubmitTaskResponse(task_id=record.status.task_id,
                                         task_no=record.status.task_no, duplicate=duplicate)

    def submit_workflow(self, request: pb.SubmitWorkflowRequest,
                        tenant: str) -> pb.SubmitWorkflowResponse:
        with self.changed:
            before = None
            if request.request_id:
                before = self._requests.get((tenant, request.request_id))
            ids = before or self._add_workflow(request, tenant)
            return pb.SubmitWorkflowResponse(
                task_ids=ids, task_nos=[self.records[tenant, name].status.task_no for name in ids],
                duplicate=before is not None)

    def _add_workflow(self, request: pb.SubmitWorkflowRequest, tenant: str) -> tuple[str, ...]:
        """All or none: every task is looked at before the first is added."""
        inside = {spec.task_id: spec for spec in request.tasks if spec.task_id}
        for spec in request.tasks:
            self._check(spec, tenant, inside)
        _refuse_cycles(inside)
        added = [self._add(spec, tenant, inside) for spec in request.tasks]
        ids = tuple(record.status.task_id for record in added)
        self._requests[tenant, request.request_id] = ids
        for record in added:
            self._settle(record)
        return ids

    # ---- Administration --------------------------------------------------------------------------

    def put_queue(self, name: str) -> bool:
        """Whether it is new."""
        with self.changed:
            created = name not in self.queues
            self.queues += (name,) if created else ()
            return created

    def delete_queue(self, name: str) -> None:
        with self.changed:
            if name not in self.queues:
                raise Refused("NOT_FOUND", f'there is no queue "{name}"', "unknown_queue")
            live = sum(not record.ended and record.status.task_type == name
                       for record in self.records.values())
            if live:
                raise Refused("FAILED_PRECONDITION", f'queue "{name}" has {live} unfinished tasks',
                              "queue_in_use", metadata={"have": str(live), "unit": "tasks"})
            self.queues = tuple(queue for queue in self.queues if queue != name)

    # ---- What is known ---------------------------------------------------------------------------

    def _known(self, request: pb.SubmitTaskRequest, tenant: str) -> Optional[Record]:
        ids = self._requests.get((tenant, request.request_id)) if request.request_id else None
        name, what = (ids[0], "request_id") if ids else (request.task.task_id, "task_id")
        record = self.records.get((tenant, name))
        if record is None:
            return None
        if record.content != content_of(request.task):
            raise Refused("ALREADY_EXISTS", f"the {what} was used before, with other content",
                          "other_content", fields={what: "used before, with other content"})
        return record

    def _check(self, spec: task_pb2.TaskSpec, tenant: str, inside: Mapping[str, object]) -> None:
        wrong: dict[str, str] = {}
        if not spec.task_type:
            wrong["task.task_type"] = "is required: the queue of the task"
        if spec.gpu_memory_mb < 0:
            wrong["task.gpu_memory_mb"] = f"is {spec.gpu_memory_mb}, below 0"
        if spec.payload and spec.HasField("command"):
            wrong["task.command"] = "a task has a payload or a command, not both"
        if not spec.payload and not spec.HasField("command"):
            wrong["task.payload"] = "is empty and there is no command: the task would do nothing"
        if wrong:
            said = "; ".join(f"{name} {text}" for name, text in wrong.items())
            raise Refused("INVALID_ARGUMENT", said, "bad_spec", fields=wrong)
        if spec.task_type not in self.queues:
            raise Refused("NOT_FOUND", f"there is no queue {spec.task_type}", "unknown_queue")
        for name in spec.depends_on:
            if not (name.startswith(SIGNAL) or name in inside or (tenant, name) in self.records):
                raise Refused("FAILED_PRECONDITION", f"depends on {name}, which is not known",
                              "dependency_unknown")
        live = self._live[tenant]
        if live >= self._max_queue_size:
            raise Refused("RESOURCE_EXHAUSTED", f"{tenant} has {live} live tasks and may have no "
                          "more", "tenant_queue_full", retry_after=1.0,
                          metadata={"need": str(live + 1), "have": str(self._max_queue_size)})

    def _add(self, spec: task_pb2.TaskSpec, tenant: str,
             inside: Optional[Mapping[str, object]] = None) -> Record:
        self._check(spec, tenant, inside or {})
        self._last_no += 1
        name = spec.task_id or f"t-{self._last_no}"
        status = pb.TaskStatus(task_id=name, task_no=self._last_no, user_id=tenant,
                               task_type=spec.task_type, submitted_unix_ms=now_ms(),
                               group=spec.group, labels=spec.labels, priority=spec.priority,
                               tier=spec.tier, gpu_memory_mb=spec.gpu_memory_mb)
        record = Record(task_pb2.TaskSpec(), status, content_of(spec))
        record.spec.CopyFrom(spec)
        record.spec.task_id, record.spec.user_id = name, tenant
        self.records[record.key] = record
        self._live[tenant] += 1
        if inside is None:
            self._settle(record)
        return record

    # ---- States ----------------------------------------------------------------------------------

    def _settle(self, record: Record) -> None:
        """Gives a task that has not started the state that its dependencies allow."""
        obstacle = self._obstacle(record)
        if obstacle is not None and obstacle.code == "dependency_failed":
            self._move(record, pb.CANCELLED, obstacle)
        elif obstacle is not None:
            self._move(record, pb.WAITING, obstacle)
        else:
            record.status.eligible_unix_ms = now_ms()
            self._move(record, pb.PENDING)

    def _obstacle(self, record: Record) -> Optional[pb.Reason]:
        tenant = record.status.user_id
        if record.spec.held:
            return pb.Reason(code="task_held", message="held until released")
        for name in record.spec.depends_on:
            if name.startswith(SIGNAL):
                if (tenant, name) not in self._signals:
                    return pb.Reason(code="waits_for_signal", message=f"waits for {name}",
                                     subject=name[len(SIGNAL):])
                continue
            other = self.records[tenant, name]
            if not other.ended:
                return pb.Reason(code="waits_for_task", message=f"waits for {name}", subject=name)
            if other.status.state != pb.COMPLETED and not record.spec.run_after_failure:
                return pb.Reason(code="dependency_failed", subject=name, never=True,
                                 message=f"depends on {name}, which did not complete")
        return None

    def _move(self, record: Record, state: pb.TaskState,
              reason: Optional[pb.Reason] = None) -> None:
        status = record.status
        if status.state == state == pb.WAITING and status.reason == (reason or pb.Reason()):
            return
        self._in_state[status.state].pop(record.key, None)
        self._in_state[state][record.key] = record
        status.state = state
        status.reason.CopyFrom(reason or pb.Reason())
        if record.ended:
            status.ended_unix_ms = now_ms()
            self._live[status.user_id] -= 1
        self.events.append(pb.TaskEvent(
            sequence=len(self.events) + 1, at_unix_ms=now_ms(), task_id=status.task_id,
            task_no=status.task_no, user_id=status.user_id, task_type=status.task_type,
            group=status.group, state=state, reason=status.reason, attempt=status.attempts,
            gpus=status.gpus))
        self.changed.notify_all()
        if record.ended:
            self._settle_waiting()

    def _settle_waiting(self) -> int:
        """Looks again at the tasks that wait; returns how many wait no longer."""
        waiting = list(self._in_state[pb.WAITING].values())
        for record in waiting:
            if record.status.state == pb.WAITING:
                self._settle(record)
        return sum(1 for record in waiting if record.status.state != pb.WAITING)

    def next_pending(self) -> Optional[Record]:
        return next(iter(self._in_state[pb.PENDING].values()), None)

    def start(self, record: Record) -> None:
        with self.changed:
            record.status.attempts += 1
            record.status.started_unix_ms = now_ms()
            record.status.gpus[:] = ["fake-0"]
            self._move(record, pb.RUNNING)

    def finish(self, record: Record, result: task_pb2.TaskResult) -> None:
        """Ends the running attempt. A task that was cancelled meanwhile stays so."""
        with self.changed:
            if record.ended:
                return
            status = record.status
            status.result.CopyFrom(result)
            record.history.append(pb.Attempt(
                number=status.attempts, gpus=status.gpus, started_unix_ms=status.started_unix_ms,
                ended_unix_ms=now_ms(), result=result))
            if result.completed:
                self._move(record, pb.COMPLETED)
            elif status.attempts < record.spec.retry.attempts:
                self._move(record, pb.PENDING)
            else:
                self._move(record, pb.FAILED, pb.Reason(
                    code="attempts_spent", message="failed and has no attempt left", never=True,
                    need=status.attempts + 1, have=status.attempts, unit="attempts"))

    def cancel(self, records: Iterable[Record]) -> int:
        with self.changed:
            live = [record for record in records if not record.ended]
            for record in live:
                self._move(record, pb.CANCELLED, pb.Reason(
                    code="by_request", message="cancelled by request", never=True))
            return len(live)

    def update(self, record: Record, request: pb.UpdateTaskRequest) -> None:
        with self.changed:
            if record.status.state not in (pb.WAITING, pb.PENDING):
                raise Refused("FAILED_PRECONDITION", "the task has started", "already_started")
            for name in ("task_type", "priority", "gpu_memory_mb"):
                if request.HasField(name):
                    setattr(record.status, name, getattr(request, name))

    def set_held(self, record: Record, held: bool) -> None:
        with self.changed:
            if record.status.state not in (pb.WAITING, pb.PENDING):
                raise Refused("FAILED_PRECONDITION", "the task has started", "already_started")
            record.spec.held = held
            self._settle(record)

    def resolve(self, signal: str, tenant: str) -> int:
        with self.changed:
            self._signals.add((tenant, SIGNAL + signal))
            return self._settle_waiting()

    def signals(self, tenant: str) -> list[pb.Signal]:
        """Those that are given, and those that tasks wait for; of all tenants if none is named."""
        with self.changed:
            waiters: dict[tuple[str, str], int] = {key: 0 for key in self._signals}
            for (owner, _), record in self.records.items():
                for name in record.spec.depends_on:
                    if name.startswith(SIGNAL) and not record.ended:
                        key = (owner, name)
                        waiters[key] = waiters.get(key, 0) + (key not in self._signals)
            return [pb.Signal(name=name[len(SIGNAL):], user_id=owner, waiters=count,
                              given=(owner, name) in self._signals)
                    for (owner, name), count in sorted(waiters.items()) if tenant in ("", owner)]

    def reset_signal(self, signal: str, tenant: str) -> bool:
        with self.changed:
            known = (tenant, SIGNAL + signal) in self._signals
            self._signals.discard((tenant, SIGNAL + signal))
            return known

    def write(self, record: Record, data: bytes, stream: pb.LogChunk.Stream) -> None:
        with self.changed:
            record.output.append(pb.LogChunk(stream=stream, data=data))
            self.changed.notify_all()

    # ---- Reading ---------------------------------------------------------------------------------

    def find(self, task_id: str, tenant: str) -> Record:
        """By its id, or as "t-NUMBER"."""
        with self.changed:
            if (tenant, task_id) in self.records:
                return self.records[tenant, task_id]
            for record in self.records.values():
                if record.status.user_id == tenant and f"t-{record.status.task_no}" == task_id:
                    return record
        raise Refused("NOT_FOUND", f"tenant {tenant} has no task {task_id}", "unknown_task")

    def ahead(self, record: Record) -> int:
        with self.changed:
            return sum(1 for other in self._in_state[pb.PENDING].values()
                       if other.status.task_type == record.status.task_type
                       and other.status.task_no < record.status.task_no)

    def status(self, record: Record, with_spec: bool = False,
               with_history: bool = False) -> pb.TaskStatus:
        with self.changed:
            answer = pb.TaskStatus()
            answer.CopyFrom(record.status)
            if answer.state == pb.PENDING:
                answer.position = self.ahead(record) + 1
            if with_spec:
                answer.spec.CopyFrom(record.spec)
            if with_history:
                answer.history.extend(record.history)
            return answer

    def matching(self, wanted: pb.TaskFilter) -> list[Record]:
        with self.changed:
            return [record for record in self.records.values() if matches(wanted, record.status)]


def matches(wanted: pb.TaskFilter, status: pb.TaskStatus) -> bool:
    return ((not wanted.user_id or wanted.user_id == status.user_id)
            and (not wanted.task_type or wanted.task_type == status.task_type)
            and (not wanted.group or wanted.group == status.group)
            and (not wanted.states or status.state in wanted.states)
            and (not wanted.task_ids or status.task_id in wanted.task_ids)
            and all(status.labels.get(key) == value for key, value in wanted.labels.items()))


def _refuse_cycles(inside: Mapping[str, task_pb2.TaskSpec]) -> None:
    """Takes away tasks that depend on none of the rest, until none is left or none can go."""
    left = dict(inside)
    while left:
        free = [name for name, spec in left.items()
                if not any(other in left for other in spec.depends_on)]
        if not free:
            raise Refused("INVALID_ARGUMENT", f"the dependencies of {', '.join(sorted(left))} form "
                          "a cycle", "dependency_cycle", fields={"tasks": "form a cycle"})
        for name in free:
            del left[name]
