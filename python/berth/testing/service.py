"""The gRPC service of a FakeServer over its Memory, with the faults that a test has ordered.

Refusals and faults leave by one door, `_guard`, with the details of a real server.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Iterator, Mapping, Optional

import grpc

from berth.errors import DETAILS_KEY
from berth.rpc import error_details_pb2, status_pb2
from berth.testing.memory import Memory, Refused, matches, now_ms
from berth.v1 import scheduler_pb2 as pb
from berth.v1.scheduler_pb2_grpc import SchedulerServicer

DEFAULT_TENANT = "default"
DEFAULT_PAGE = 50


@dataclass
class Fault:
    """What the next calls of a method answer instead."""

    times: int
    refusal: Optional[Refused]  # None: the stream ends without an error
    after: int  # messages of a stream that still get through
    reply_lost: bool  # the work is done and only the answer fails


class Service(SchedulerServicer):
    def __init__(self, memory: Memory, tokens: Optional[Mapping[str, str]]) -> None:
        self.memory = memory
        self.calls: Counter[str] = Counter()
        self.faults: dict[str, list[Fault]] = {}
        self.epoch = 1
        self.broken_streams = 0  # streams opened before this count went up are broken
        self._tokens = tokens
        self._started_ms = now_ms()
        self._lock = threading.Lock()

    # ---- Faults and refusals ---------------------------------------------------------------------

    @contextmanager
    def _guard(self, method: str, context: Any) -> Iterator[Optional[Fault]]:
        fault = self._enter(method)
        unary = fault is not None and fault.after == 0
        if fault and unary and fault.refusal and not fault.reply_lost:
            _abort(context, fault.refusal)
        try:
            yield fault
        except Refused as refusal:
            _abort(context, refusal)
        if fault and fault.refusal and fault.reply_lost:
            _abort(context, fault.refusal)

    def _enter(self, method: str) -> Optional[Fault]:
        with self._lock:
            self.calls[method] += 1
            ordered = self.faults.get(method, [])
            if not ordered:
                return None
            fault = ordered[0]
            fault.times -= 1
            if fault.times == 0:
                ordered.pop(0)
            return fault

    def _tenant(self, context: Any, user_id: str) -> str:
        """The tenant of a call; under authentication the token's, and no other."""
        if self._tokens is None:
            return user_id or DEFAULT_TENANT
        metadata = dict(context.invocation_metadata())
        token = metadata.get("authorization", "").rpartition("Bearer ")[2]
        if token not in self._tokens:
            raise Refused("UNAUTHENTICATED", "there is no valid token", "token_unknown")
        tenant = self._tokens[token]
        if user_id not in ("", tenant):
            raise Refused("PERMISSION_DENIED", f"the token is of tenant {tenant}, not {user_id}",
                          "other_tenant")
        return tenant

    def _own(self, context: Any, wanted: pb.TaskFilter) -> pb.TaskFilter:
        """The filter; under authentication, over the tenant's own tasks."""
        if self._tokens is not None:
            wanted.user_id = self._tenant(context, wanted.user_id)
        return wanted

    # ---- Work ------------------------------------------------------------------------------------

    def SubmitTask(self, request: pb.SubmitTaskRequest, context: Any) -> pb.SubmitTaskResponse:
        with self._guard("SubmitTask", context):
            answer = self.memory.submit(request, self._tenant(context, request.task.user_id))
        return answer

    def SubmitTasks(self, requests: Iterator[pb.SubmitTasksRequest],
                    context: Any) -> Iterator[pb.SubmitTasksResponse]:
        with self._guard("SubmitTasks", context) as fault:
            for count, request in enumerate(requests, 1):
                answer = pb.SubmitTasksResponse(
                    durable=request.sequence + len(request.tasks) - 1)
                for sequence, task in enumerate(request.tasks, request.sequence):
                    try:
                        self.memory.submit(task, self._tenant(context, task.task.user_id))
                    except Refused as refusal:
                        answer.refusals.append(_refusal(sequence, refusal))
                if fault and count > fault.after:  # its work is done, its answer is lost
                    if fault.refusal:
                        raise fault.refusal
                    return
                yield answer

    def SubmitWorkflow(self, request: pb.SubmitWorkflowRequest,
                       context: Any) -> pb.SubmitWorkflowResponse:
        with self._guard("SubmitWorkflow", context):
            user_id = request.tasks[0].user_id if request.tasks else ""
            answer = self.memory.submit_workflow(request, self._tenant(context, user_id))
        return answer

    def GetTaskStatus(self, request: pb.GetTaskStatusRequest, context: Any) -> pb.TaskStatus:
        with self._guard("GetTaskStatus", context):
            record = self.memory.find(request.task_id, self._tenant(context, request.user_id))
            answer = self.memory.status(record, request.with_spec, request.with_history)
        return answer

    def ListTasks(self, request: pb.ListTasksRequest, context: Any) -> pb.ListTasksResponse:
        with self._guard("ListTasks", context):
            found = [record for record in self.memory.matching(self._own(context, request.filter))
                     if request.ended or not record.ended]
            if request.ended:
                found.reverse()
            first = int(request.page_token or 0)
            size = min(request.page_size or DEFAULT_PAGE, 1000)
            answer = pb.ListTasksResponse(
                tasks=[self.memory.status(record) for record in found[first:first + size]],
                next_page_token=str(first + size) if first + size < len(found) else "")
        return answer

    def ExplainTask(self, request: pb.ExplainTaskRequest, context: Any) -> pb.ExplainTaskResponse:
        with self._guard("ExplainTask", context):
            record = self.memory.find(request.task_id, self._tenant(context, request.user_id))
            status = self.memory.status(record)
            answer = pb.ExplainTaskResponse(status=status)
            if status.state in (pb.WAITING, pb.PENDING):
                answer.ahead_in_queue = self.memory.ahead(record)
                if status.reason.code:
                    answer.binding.append(status.reason)
                elif answer.ahead_in_queue:
                    ahead = answer.ahead_in_queue
                    tasks = "1 task" if ahead == 1 else f"{ahead} tasks"
                    answer.binding.append(pb.Reason(
                        code="behind_in_order", need=ahead, unit="tasks",
                        message=f"others come first in the order: {tasks}"))
        return answer

    def CancelTask(self, request: pb.CancelTaskRequest, context: Any) -> pb.CancelTaskResponse:
        with self._guard("CancelTask", context):
            if request.task_id:
                tenant = self._tenant(context, request.user_id)
                chosen = [self.memory.find(request.task_id, tenant)]
            else:
                wanted = request.filter
                if request.group:
                    wanted = pb.TaskFilter(group=request.group, user_id=request.user_id)
                chosen = [record for record in self.memory.matching(self._own(context, wanted))
                          if not record.ended]
            answer = pb.CancelTaskResponse(matched=len(chosen))
            if not request.dry_run:
                answer.cancelled = self.memory.cancel(chosen)
        return answer

    def UpdateTask(self, request: pb.UpdateTaskRequest, context: Any) -> pb.UpdateTaskResponse:
        with self._guard("UpdateTask", context):
            tenant = self._tenant(context, request.user_id)
            record = self.memory.find(request.task_id, tenant)
            self.memory.update(record, request)
            return pb.UpdateTaskResponse(status=record.status)

    def HoldTask(self, request: pb.HoldTaskRequest, context: Any) -> pb.HoldTaskResponse:
        with self._guard("HoldTask", context):
            tenant = self._tenant(context, request.user_id)
            self.memory.set_held(self.memory.find(request.task_id, tenant), True)
        return pb.HoldTaskResponse()

    def ReleaseTask(self, request: pb.ReleaseTaskRequest,
                    context: Any) -> pb.ReleaseTaskResponse:
        with self._guard("ReleaseTask", context):
            tenant = self._tenant(context, request.user_id)
            self.memory.set_held(self.memory.find(request.task_id, tenant), False)
        return pb.ReleaseTaskResponse()

    def ResolveDependency(self, request: pb.ResolveDependencyRequest,
                          context: Any) -> pb.ResolveDependencyResponse:
        with self._guard("ResolveDependency", context):
            released = self.memory.resolve(request.signal,
                                           self._tenant(context, request.user_id))
        return pb.ResolveDependencyResponse(released=released)

    def ListSignals(self, request: pb.ListSignalsRequest, context: Any) -> pb.ListSignalsResponse:
        with self._guard("ListSignals", context):
            wanted = self._own(context, pb.TaskFilter(user_id=request.user_id))
            return pb.ListSignalsResponse(signals=self.memory.signals(wanted.user_id))

    def ResetSignal(self, request: pb.ResetSignalRequest, context: Any) -> pb.ResetSignalResponse:
        with self._guard("ResetSignal", context):
            tenant = self._tenant(context, request.user_id)
            if not self.memory.reset_signal(request.signal, tenant):
                raise Refused("NOT_FOUND", f'there is no signal "{request.signal}"',
                              "unknown_signal")
        return pb.ResetSignalResponse()

    # ---- Administration --------------------------------------------------------------------------

    def PutQueue(self, request: pb.PutQueueRequest, context: Any) -> pb.PutQueueResponse:
        with self._guard("PutQueue", context):
            created = self.memory.put_queue(request.name)
        return pb.PutQueueResponse(created=created)

    def DeleteQueue(self, request: pb.DeleteQueueRequest, context: Any) -> pb.DeleteQueueResponse:
        with self._guard("DeleteQueue", context):
            self.memory.delete_queue(request.name)
        return pb.DeleteQueueResponse()

    # ---- Streams ---------------------------------------------------------------------------------

    def GetTaskLogs(self, request: pb.GetTaskLogsRequest, context: Any) -> Iterator[pb.LogChunk]:
        with self._guard("GetTaskLogs", context) as fault:
            record = self.memory.find(request.task_id, self._tenant(context, request.user_id))

            def wanted(chunk: pb.LogChunk) -> bool:
                other = pb.LogChunk.STDOUT if request.stderr_only else pb.LogChunk.STDERR
                return chunk.stream != other or not (request.stderr_only or request.stdout_only)

            yield from self._cut(fault, self._grown(
                context, record.output, 0, lambda: request.follow and not record.ended, wanted))

    def TaskEvents(self, request: pb.TaskEventsRequest, context: Any) -> Iterator[pb.TaskEvent]:
        with self._guard("TaskEvents", context) as fault:
            wanted = self._own(context, request.filter)
            with self.memory.changed:
                last = len(self.memory.events)
            if request.after_sequence > last:
                raise Refused("OUT_OF_RANGE", f"the last event is {last}", "sequence_unknown",
                              metadata={"oldest": "1"})
            first = 0 if request.from_start else (request.after_sequence or last)

            def matching(event: pb.TaskEvent) -> bool:
                record = self.memory.records[event.user_id, event.task_id]
                return matches(wanted, pb.TaskStatus(
                    task_id=event.task_id, user_id=event.user_id, task_type=event.task_type,
                    group=event.group, state=event.state, labels=record.status.labels))

            yield from self._cut(fault, self._grown(
                context, self.memory.events, first, lambda: request.follow, matching))

    def _grown(self, context: Any, items: list[Any], first: int, goes_on: Any,
               wanted: Any) -> Iterator[Any]:
        """The items of a growing list from `first` on, while it goes on; then what is left."""
        changed = self.memory.changed
        context.add_callback(self.wake)
        opened = self.broken_streams
        while True:
            with changed:
                while (len(items) == first and goes_on() and context.is_active()
                       and self.broken_streams == opened):
                    changed.wait()
                ends, fresh = not goes_on(), items[first:]
            if not context.is_active():
                return
            if self.broken_streams != opened:
                raise Refused("UNAVAILABLE", "the stream was broken", "stream_broken")
            yield from (item for item in fresh if wanted(item))
            first += len(fresh)
            if ends and len(items) == first:
                return

    def _cut(self, fault: Optional[Fault], answers: Iterator[Any]) -> Iterator[Any]:
        """Lets as many answers through as the fault allows."""
        for count, answer in enumerate(answers):
            if fault and count >= fault.after:
                break
            yield answer
        if fault and fault.refusal:
            raise fault.refusal

    def wake(self) -> None:
        with self.memory.changed:
            self.memory.changed.notify_all()

    # ---- The cluster -----------------------------------------------------------------------------

    def GetGPUStatus(self, request: pb.GetGPUStatusRequest,
                     context: Any) -> pb.GetGPUStatusResponse:
        with self._guard("GetGPUStatus", context):
            running = self.memory.matching(pb.TaskFilter(states=[pb.RUNNING]))
            gpu = pb.GpuStatus(
                name="fake-0", uuid="GPU-fake-0", kind="fake", node="memory", simulated=True,
                state="up", total_mb=40960, usable_mb=36864,
                promised_mb=sum(record.status.gpu_memory_mb for record in running), used_mb=-1,
                utilisation_percent=100 if running else 0, temperature_c=40, power_w=-1,
                load_milli=1000 if running else 0,
                running=[pb.RunningBatch(lease=record.status.task_no,
                                         task_type=record.status.task_type,
                                         task_ids=[record.status.task_id],
                                         gpu_memory_mb=record.status.gpu_memory_mb,
                                         started_unix_ms=record.status.started_unix_ms)
                         for record in running])
        return pb.GetGPUStatusResponse(gpus=[gpu])

    def GetQueueStatus(self, request: pb.GetQueueStatusRequest,
                       context: Any) -> pb.GetQueueStatusResponse:
        with self._guard("GetQueueStatus", context):
            queues = []
            for name in self.memory.queues:
                if request.task_type in ("", name):
                    count = self._counts(pb.TaskFilter(task_type=name))
                    queues.append(pb.QueueStatus(name=name, batches=count.pop("started"), **count))
        return pb.GetQueueStatusResponse(queues=queues)

    def GetModelStatus(self, request: pb.GetModelStatusRequest,
                       context: Any) -> pb.GetModelStatusResponse:
        with self._guard("GetModelStatus", context):
            pass
        return pb.GetModelStatusResponse()

    def GetTenantStatus(self, request: pb.GetTenantStatusRequest,
                        context: Any) -> pb.GetTenantStatusResponse:
        with self._guard("GetTenantStatus", context):
            wanted = self._own(context, pb.TaskFilter(user_id=request.user_id))
            names = sorted({record.status.user_id for record in self.memory.matching(wanted)})
            tenants = []
            for name in names:
                count = self._counts(pb.TaskFilter(user_id=name))
                del count["started"]
                tenants.append(pb.TenantStatus(name=name, **count))
        return pb.GetTenantStatusResponse(tenants=tenants)

    def _counts(self, wanted: pb.TaskFilter) -> dict[str, Any]:
        records = self.memory.matching(wanted)
        states = Counter(record.status.state for record in records)
        return {"ready": states[pb.PENDING], "waiting": states[pb.WAITING],
                "running": states[pb.RUNNING], "completed": states[pb.COMPLETED],
                "failed": states[pb.FAILED], "cancelled": states[pb.CANCELLED],
                "expired": states[pb.EXPIRED],
                "started": sum(record.status.attempts for record in records)}

    def GetUsage(self, request: pb.GetUsageRequest, context: Any) -> pb.GetUsageResponse:
        with self._guard("GetUsage", context):
            wanted = self._own(context, pb.TaskFilter(user_id=request.user_id))
            lines: dict[tuple[str, str], pb.UsageLine] = {}
            for record in self.memory.matching(wanted):
                status = record.status
                line = lines.setdefault((status.user_id, status.task_type), pb.UsageLine(
                    user_id=status.user_id, task_type=status.task_type,
                    day=time.strftime("%Y-%m-%d", time.gmtime())))
                line.tasks += 1
                line.completed += status.state == pb.COMPLETED
                line.subtree_tasks, line.subtree_completed = line.tasks, line.completed
        return pb.GetUsageResponse(lines=lines.values())

    def GetServerInfo(self, request: pb.GetServerInfoRequest, context: Any) -> pb.ServerInfo:
        with self._guard("GetServerInfo", context), self.memory.changed:
            answer = pb.ServerInfo(
                version="fake", epoch=self.epoch, started_unix_ms=self._started_ms,
                sequence=len(self.memory.events), events=len(self.memory.events),
                live_tasks=sum(not record.ended for record in self.memory.records.values()),
                authentication=self._tokens is not None, simulated_gpus=True)
        return answer


def _refusal(sequence: int, refusal: Refused) -> pb.SubmitRefusal:
    retry_at = now_ms() + round(refusal.retry_after * 1000) if refusal.retry_after else 0
    return pb.SubmitRefusal(
        sequence=sequence, code=grpc.StatusCode[refusal.code].value[0], message=refusal.message,
        reason=pb.Reason(code=refusal.reason, message=refusal.message, retry_at_unix_ms=retry_at))


def _abort(context: Any, refusal: Refused) -> None:
    """Ends the call with the status and its google.rpc details."""
    code = grpc.StatusCode[refusal.code]
    status = status_pb2.Status(code=code.value[0], message=refusal.message)
    _pack(status, "ErrorInfo", error_details_pb2.ErrorInfo(
        reason=refusal.reason, domain="berth", metadata=refusal.metadata))
    if refusal.fields:
        _pack(status, "BadRequest", error_details_pb2.BadRequest(field_violations=[
            error_details_pb2.BadRequest.FieldViolation(field=name, description=text)
            for name, text in refusal.fields.items()]))
    if refusal.retry_after is not None:
        delay = error_details_pb2.RetryInfo()
        delay.retry_delay.FromNanoseconds(round(refusal.retry_after * 1e9))
        _pack(status, "RetryInfo", delay)
    context.set_trailing_metadata(((DETAILS_KEY, status.SerializeToString()),))
    context.abort(code, refusal.message)


def _pack(status: status_pb2.Status, name: str, detail: Any) -> None:
    status.details.add(type_url=f"type.googleapis.com/google.rpc.{name}",
                       value=detail.SerializeToString())
