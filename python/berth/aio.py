"""AsyncClient: the API of Berth for asyncio.

client.py, the blocking Client, is made from this file by tools/make_sync.py: the same methods
without `await`. Requests are built in requests.py and spec.py, answers read in models.py and
cluster.py, calls made by the connection; what stands here is the shape that users see.
"""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import TYPE_CHECKING, Any, Iterable, Mapping, Optional, Sequence

from berth import channel, cluster, requests
from berth.aio_connection import AsyncConnection
from berth.errors import BerthError, DeadlineExceeded, TaskFailed, Unavailable, WaitTimeout
from berth.models import Cancellation, Event, Explanation, LogChunk, Task
from berth.outcome import Outcome
from berth.spec import Payload, TaskOptions, TaskSpec
from berth.streams import AsyncStream, aclosing
from berth.timing import Backoff, Deadline
from berth.v1 import scheduler_pb2 as pb

if TYPE_CHECKING:  # newer than the oldest Python that runs this
    from typing_extensions import Self, Unpack


class AsyncClient:
    """A client of one server. Safe to share; close it, or use it in `async with`.

    user_id is the tenant of calls that name none; without it, the server's "default" or, under
    authentication, the token's. timeout, in seconds, bounds each call, its retries included.
    tls: True, or the path of a file with the certificates to trust. tls_certificate and tls_key are
    the files of the client's own, for a server that asks for one.
    """

    def __init__(self, host: str = "localhost:50051", token: Optional[str] = None, *,
                 user_id: Optional[str] = None, timeout: float = 30.0,
                 tls: channel.Tls = False, tls_certificate: Optional[channel.File] = None,
                 tls_key: Optional[channel.File] = None) -> None:
        security = channel.Security(tls, tls_certificate, tls_key)
        self._connection = AsyncConnection(host, token, timeout, security)
        self._tenants = requests.Tenants(user_id)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: Optional[type[BaseException]],
                        error: Optional[BaseException],
                        trace: Optional[TracebackType]) -> None:
        await self.close()

    async def close(self) -> None:
        await self._connection.close()

    # ---- Submit ----------------------------------------------------------------------------------

    async def submit_task(self, task_id: Optional[str] = None, user_id: Optional[str] = None,
                          task_type: str = "", gpu_memory_mb: int = 0, payload: Payload = None, *,
                          request_id: Optional[str] = None,
                          **options: Unpack[TaskOptions]) -> str:
        """Submits a task and returns its id once the task is on the server's disk.

        A call that is repeated with the same request_id never makes a second task; without one,
        each call has its own and only its own retries are covered by it.
        """
        spec: dict[str, Any] = {**options, "task_id": task_id, "user_id": user_id,
                                "task_type": task_type, "gpu_memory_mb": gpu_memory_mb,
                                "payload": payload}
        message = requests.task_message(spec, self._tenants)
        answer: pb.SubmitTaskResponse = await self._connection.call(
            "SubmitTask",
            pb.SubmitTaskRequest(task=message, request_id=request_id or requests.new_id()))
        self._tenants.remember(answer.task_id, message.user_id)
        return answer.task_id

    async def submit_many(self, specs: Iterable[TaskSpec],
                          window: int = 1000) -> AsyncStream[Outcome]:
        """Submits many tasks over one stream; yields an outcome for each, in order.

        At most `window` tasks are unacknowledged at a time. A refusal is an outcome with an error;
        the others go on. Tasks without an id are given one here.
        """
        if window < 1:
            raise ValueError(f"a window of {window} lets no task pass; give 1 or more")
        numbered = (requests.numbered_submit(spec, self._tenants) for spec in specs)
        index = 0
        async with aclosing(self._connection.submit_all(numbered, window)) as decided:
            async for request, error in decided:
                if error is None:
                    self._tenants.remember(request.task.task_id, request.task.user_id)
                yield Outcome(index, request.task.task_id, error)
                index += 1

    async def submit_workflow(self, specs: Iterable[TaskSpec], *,
                              request_id: Optional[str] = None) -> list[str]:
        """Submits tasks that may depend on one another by task_id: all of them, or none."""
        tasks = [requests.task_message(spec, self._tenants) for spec in specs]
        answer: pb.SubmitWorkflowResponse = await self._connection.call(
            "SubmitWorkflow",
            pb.SubmitWorkflowRequest(tasks=tasks, request_id=request_id or requests.new_id()))
        for task_id, task in zip(answer.task_ids, tasks):
            self._tenants.remember(task_id, task.user_id)
        return list(answer.task_ids)

    # ---- Tasks -----------------------------------------------------------------------------------

    async def get_task(self, task_id: str, *, user_id: Optional[str] = None,
                       with_spec: bool = False, with_history: bool = False) -> Task:
        """The task as it stands, with its spec and its attempts where wanted."""
        return await self._get_task(task_id, user_id, None, with_spec, with_history)

    async def get_status(self, task_id: str, user_id: Optional[str] = None) -> dict[str, Any]:
        """The task as a dict: status, reason, submitted_at, started_at, result, ..."""
        return (await self._get_task(task_id, user_id, None)).as_dict()

    async def wait(self, task_id: str, timeout: Optional[float] = 60,
                   user_id: Optional[str] = None) -> dict[str, Any]:
        """Waits until the task has ended and returns its status, with `result` decoded.

        Raises TaskFailed when it has failed, was cancelled or has expired, and WaitTimeout after
        `timeout` seconds (None: waits without end); the task itself goes on then.
        """
        task = await self._wait_until_ended(task_id, user_id, timeout)
        if task.status != "completed":
            raise TaskFailed(task)
        return task.as_dict()

    async def list_tasks(self, *, user_id: Optional[str] = None, task_type: Optional[str] = None,
                         group: Optional[str] = None, states: Iterable[str] = (),
                         labels: Optional[Mapping[str, str]] = None,
                         task_ids: Sequence[str] = (), ended: bool = False,
                         page_size: int = 0) -> AsyncStream[Task]:
        """The tasks that match, page by page as they are taken; with `ended` also ended ones."""
        request = pb.ListTasksRequest(
            filter=requests.task_filter(self._tenants.or_default(user_id), task_type, group,
                                        states, labels, task_ids),
            page_size=page_size, ended=ended)
        while True:
            answer: pb.ListTasksResponse = await self._connection.call("ListTasks", request)
            for task in answer.tasks:
                yield Task.read(task)
            if not answer.next_page_token:
                return
            request.page_token = answer.next_page_token

    async def explain(self, task_id: str, *,
                      user_id: Optional[str] = None) -> Explanation:
        """Why the task has not started."""
        return Explanation.read(await self._connection.call(
            "ExplainTask",
            pb.ExplainTaskRequest(task_id=task_id, user_id=self._tenants.of(task_id, user_id))))

    async def cancel(self, task_id: Optional[str] = None, *, user_id: Optional[str] = None,
                     group: Optional[str] = None, task_type: Optional[str] = None,
                     states: Iterable[str] = (), labels: Optional[Mapping[str, str]] = None,
                     task_ids: Sequence[str] = (), dry_run: bool = False) -> Cancellation:
        """Cancels one task, a group, or all that match; with dry_run only counts them.

        A cancel of several tasks is not repeated on its own: between two tries more tasks may have
        come to match.
        """
        tenant = (self._tenants.or_default(user_id) if task_id is None
                  else self._tenants.of(task_id, user_id))
        chosen = requests.task_filter(tenant, task_type, group, states, labels, task_ids)
        answer: pb.CancelTaskResponse = await self._connection.call(
            "CancelTask", requests.cancel_request(task_id, tenant, group, chosen, dry_run),
            repeatable=task_id is not None or dry_run)
        return Cancellation(answer.matched, answer.cancelled, answer.stopping)

    async def update(self, task_id: str, *, task_type: Optional[str] = None,
                     priority: Optional[int] = None, gpu_memory_mb: Optional[int] = None,
                     tolerated_wait: Optional[float] = None, run_limit: Optional[float] = None,
                     user_id: Optional[str] = None) -> Task:
        """Changes a task that has not started; what is None stays. Times are in seconds, 0: none."""
        request = pb.UpdateTaskRequest(
            task_id=task_id, user_id=self._tenants.of(task_id, user_id), task_type=task_type,
            priority=priority, gpu_memory_mb=gpu_memory_mb)
        if tolerated_wait is not None:
            request.tolerated_wait_ms = round(tolerated_wait * 1000)
        if run_limit is not None:
            request.run_limit_ms = round(run_limit * 1000)
        answer: pb.UpdateTaskResponse = await self._connection.call("UpdateTask", request)
        return Task.read(answer.status)

    async def hold(self, task_id: str, *, user_id: Optional[str] = None) -> None:
        """Keeps a task that has not started from starting."""
        await self._connection.call("HoldTask", pb.HoldTaskRequest(
            task_id=task_id, user_id=self._tenants.of(task_id, user_id)))

    async def release(self, task_id: str, *, user_id: Optional[str] = None) -> None:
        """Lets a held task start."""
        await self._connection.call("ReleaseTask", pb.ReleaseTaskRequest(
            task_id=task_id, user_id=self._tenants.of(task_id, user_id)))

    async def resolve(self, signal: str, *, user_id: Optional[str] = None) -> int:
        """Gives the signal that tasks with depends_on "signal:NAME" wait for; returns how many."""
        answer: pb.ResolveDependencyResponse = await self._connection.call(
            "ResolveDependency", pb.ResolveDependencyRequest(
                signal=requests.signal_name(signal), user_id=self._tenants.or_default(user_id)))
        return answer.released

    async def signals(self, *, user_id: Optional[str] = None) -> list[cluster.Signal]:
        """The signals that are awaited or given; an administrator sees those of all tenants."""
        request = pb.ListSignalsRequest(user_id=self._tenants.or_default(user_id), page_size=1000)
        found: list[cluster.Signal] = []
        while True:
            page: pb.ListSignalsResponse = await self._connection.call("ListSignals", request)
            found += [cluster.Signal.read(signal) for signal in page.signals]
            if not page.next_page_token:
                return found
            request.page_token = page.next_page_token

    async def reset_signal(self, signal: str, *, user_id: Optional[str] = None) -> None:
        """Takes back a signal that was given: tasks that come wait for it again."""
        await self._connection.call("ResetSignal", pb.ResetSignalRequest(
            signal=requests.signal_name(signal),
            user_id=self._tenants.or_default(user_id)), repeatable=False)

    # ---- Streams ---------------------------------------------------------------------------------

    async def logs(self, task_id: str, *, follow: bool = False, user_id: Optional[str] = None,
                   attempt: int = 0, stream: Optional[str] = None) -> AsyncStream[LogChunk]:
        """The output of the last attempt or a given one; with follow until the task ends.

        stream: "stdout" or "stderr" for only that one.
        """
        if stream not in (None, "stdout", "stderr"):
            raise ValueError(f"no stream {stream!r}; there are stdout and stderr")
        request = pb.GetTaskLogsRequest(
            task_id=task_id, user_id=self._tenants.of(task_id, user_id), follow=follow,
            attempt=attempt, stderr_only=stream == "stderr", stdout_only=stream == "stdout")
        async with aclosing(self._connection.stream("GetTaskLogs", request)) as chunks:
            async for chunk in chunks:
                yield LogChunk.read(chunk)

    async def events(self, *, user_id: Optional[str] = None, task_type: Optional[str] = None,
                     group: Optional[str] = None, states: Iterable[str] = (),
                     labels: Optional[Mapping[str, str]] = None, task_ids: Sequence[str] = (),
                     after: Optional[int] = None,
                     follow: bool = True) -> AsyncStream[Event]:
        """Changes of the tasks that match, each once, in order, also across a server's restart.

        Begins behind the event number `after` (0: with the oldest kept), else with what happens
        from now on. Without follow it ends when it has caught up.
        """
        chosen = requests.task_filter(self._tenants.or_default(user_id), task_type, group, states,
                                      labels, task_ids)
        start = await self._last_sequence(None) if after is None else after
        request = requests.events_request(chosen, start, follow)
        async with aclosing(self._connection.follow(request, Deadline(None))) as events:
            async for event in events:
                yield Event.read(event)

    # ---- The cluster -----------------------------------------------------------------------------

    async def gpus(self) -> list[cluster.Gpu]:
        """The GPUs: VRAM, utilisation, temperature, what runs."""
        answer: pb.GetGPUStatusResponse = await self._connection.call(
            "GetGPUStatus", pb.GetGPUStatusRequest())
        return [cluster.Gpu.read(gpu) for gpu in answer.gpus]

    async def queues(self) -> list[cluster.Queue]:
        """The queues: ready, waiting and running tasks, batches, resident models."""
        answer: pb.GetQueueStatusResponse = await self._connection.call(
            "GetQueueStatus", pb.GetQueueStatusRequest())
        return [cluster.Queue.read(queue) for queue in answer.queues]

    async def models(self) -> list[cluster.Model]:
        """The models: where they are resident, loads and evictions."""
        answer: pb.GetModelStatusResponse = await self._connection.call(
            "GetModelStatus", pb.GetModelStatusRequest())
        return [cluster.Model.read(model) for model in answer.models]

    async def tenants(self) -> list[cluster.Tenant]:
        """The tenants: their tasks and the GPU time charged to them."""
        answer: pb.GetTenantStatusResponse = await self._connection.call(
            "GetTenantStatus", pb.GetTenantStatusRequest())
        return [cluster.Tenant.read(tenant) for tenant in answer.tenants]

    async def usage(self, *, user_id: Optional[str] = None, days: int = 7) -> list[cluster.Usage]:
        """What was used, by tenant, queue and day."""
        answer: pb.GetUsageResponse = await self._connection.call(
            "GetUsage", pb.GetUsageRequest(user_id=self._tenants.or_default(user_id), days=days))
        return [cluster.Usage.read(line) for line in answer.lines]

    async def server_info(self) -> cluster.ServerInfo:
        """The server: version, epoch, number of the last event."""
        return cluster.ServerInfo.read(await self._connection.call(
            "GetServerInfo", pb.GetServerInfoRequest()))

    # ---- Administration --------------------------------------------------------------------------

    async def put_tenant(self, name: str, **config: Any) -> bool:
        """Makes a tenant or changes it, by the fields of TenantConfig; whether it is new."""
        answer: pb.PutTenantResponse = await self._connection.call(
            "PutTenant", pb.PutTenantRequest(name=name, config=pb.TenantConfig(**config)))
        return answer.created

    async def put_queue(self, name: str, **config: Any) -> bool:
        """Makes a queue or changes it, by the fields of QueueConfig; whether it is new."""
        answer: pb.PutQueueResponse = await self._connection.call(
            "PutQueue", pb.PutQueueRequest(name=name, config=pb.QueueConfig(**config)))
        return answer.created

    async def put_model(self, name: str, *, force: bool = False, **config: Any) -> bool:
        """Makes a model or changes it, by the fields of ModelConfig; whether it is new.

        force: put it although no GPU could hold it.
        """
        answer: pb.PutModelResponse = await self._connection.call(
            "PutModel", pb.PutModelRequest(name=name, config=pb.ModelConfig(**config), force=force))
        return answer.created

    async def delete_tenant(self, name: str) -> None:
        """Deletes a tenant that has neither unfinished tasks nor tenants below it."""
        await self._connection.call("DeleteTenant", pb.DeleteTenantRequest(name=name))

    async def delete_queue(self, name: str) -> None:
        """Deletes a queue that has no unfinished tasks."""
        await self._connection.call("DeleteQueue", pb.DeleteQueueRequest(name=name))

    async def delete_model(self, name: str) -> None:
        """Deletes a model that no queue names and no GPU holds."""
        await self._connection.call("DeleteModel", pb.DeleteModelRequest(name=name))

    # ---- Waiting ---------------------------------------------------------------------------------

    async def _get_task(self, task_id: str, user_id: Optional[str], within: Optional[Deadline],
                        with_spec: bool = False, with_history: bool = False) -> Task:
        request = pb.GetTaskStatusRequest(
            task_id=task_id, user_id=self._tenants.of(task_id, user_id), with_spec=with_spec,
            with_history=with_history)
        return Task.read(
            await self._connection.call("GetTaskStatus", request, within=within))

    async def _last_sequence(self, within: Optional[Deadline]) -> int:
        info: pb.ServerInfo = await self._connection.call(
            "GetServerInfo", pb.GetServerInfoRequest(), within=within)
        return info.sequence

    async def _wait_until_ended(self, task_id: str, user_id: Optional[str],
                                timeout: Optional[float]) -> Task:
        """The stream of events says when to look; only the status decides."""
        within = Deadline(timeout)
        bounded = None if timeout is None else within
        task: Optional[Task] = None
        try:
            start = await self._last_sequence(bounded)
            task = await self._get_task(task_id, user_id, bounded)
            if not task.ended and task.array is None:  # events are those of single tasks
                await self._watch(task, start, within)
            backoff = Backoff()
            while True:
                if not task.ended:
                    task = await self._get_task(task_id, user_id, bounded)
                if task.ended:
                    return task
                pause, left = backoff.next(), within.left()
                await asyncio.sleep(pause if left is None else min(pause, left))
        except (DeadlineExceeded, Unavailable) as error:
            if timeout is None:
                raise
            raise WaitTimeout(task_id, timeout, task) from error

    async def _watch(self, task: Task, start: int, within: Deadline) -> None:
        """Returns when the task's end was announced, or when no stream is to be had."""
        chosen = requests.task_filter(task.user_id, task_ids=[task.task_id])
        request = requests.events_request(chosen, start, follow=True)
        try:
            async with aclosing(self._connection.follow(request, within)) as events:
                async for event in events:
                    if Event.read(event).ended:
                        return
        except BerthError:
            return  # the status is polled then
