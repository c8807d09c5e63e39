"""Calls with deadlines and safe retries, for AsyncClient; streams that outlive a lost server.

connection.py is made from this file by tools/make_sync.py: the same code without `await`.
A call is repeated only where a second one changes nothing: it reads, or its request_id makes it
the same submit.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from itertools import islice
from typing import Any, Iterator, Optional

import grpc

from berth import channel
from berth.errors import BerthError, DeadlineExceeded, Unavailable, from_refusal, from_rpc
from berth.streams import AsyncStream, anext_or_none
from berth.timing import Deadline, Patience
from berth.v1 import scheduler_pb2 as pb

LARGEST_PACK = 64  # tasks in one message of the submit stream


class AsyncConnection:
    """One server and the way to it."""

    def __init__(self, host: str, token: Optional[str], timeout: float,
                 security: channel.Security) -> None:
        self.host = host
        self.timeout = timeout
        self._security = security
        self._metadata = channel.metadata(token)
        self._channel: Any = None
        self._made_stub: Any = None
        self._making = threading.Lock()

    def _stub(self) -> Any:
        """Made at the first call: an asynchronous channel belongs to the loop that runs then."""
        with self._making:
            if self._made_stub is None:
                self._channel = channel.open_aio_channel(self.host, self._security)
                self._made_stub = channel.make_stub(self._channel)
            return self._made_stub

    async def close(self) -> None:
        if self._channel is not None:
            await self._channel.close()
        self._channel = self._made_stub = None

    async def call(self, method: str, request: Any, *, repeatable: bool = True,
                   within: Optional[Deadline] = None) -> Any:
        """One answer. While the server is unavailable the call is repeated, if it may be."""
        limit = within or Deadline(self.timeout)
        patience = Patience(self._patience(limit))
        while True:
            try:
                return await getattr(self._stub(), method)(
                    request, timeout=limit.left(), metadata=self._metadata)
            except grpc.RpcError as error:
                problem = from_rpc(error, self.host)
            if not repeatable or not isinstance(problem, Unavailable):
                raise problem
            await self._pause(patience, problem)

    async def stream(self, method: str, request: Any) -> AsyncStream[Any]:
        """Answers until the server ends the stream; a broken one is not taken up again."""
        call = getattr(self._stub(), method)(request, metadata=self._metadata)
        try:
            async for answer in call:
                yield answer
        except grpc.RpcError as error:
            raise from_rpc(error, self.host) from None
        finally:
            call.cancel()

    async def follow(self, request: pb.TaskEventsRequest,
                     within: Deadline) -> AsyncStream[pb.TaskEvent]:
        """Each event behind the request's start once, in order, across broken streams."""
        position = pb.TaskEventsRequest()
        position.CopyFrom(request)
        patience = Patience(self._patience(within))
        while True:
            call = self._stub().TaskEvents(position, timeout=within.left(),
                                           metadata=self._metadata)
            try:
                async for event in call:
                    if event.sequence > position.after_sequence:
                        position.after_sequence = event.sequence
                        position.from_start = False
                        patience.renew()
                        yield event
                if not request.follow:
                    return
                problem: BerthError = Unavailable(f"{self.host} ended the stream of events")
            except grpc.RpcError as error:
                problem = from_rpc(error, self.host)
            finally:
                call.cancel()
            if not isinstance(problem, Unavailable):
                raise problem
            await self._pause(patience, problem)

    async def submit_all(
        self, requests: Iterator[pb.SubmitTaskRequest], window: int
    ) -> AsyncStream[tuple[pb.SubmitTaskRequest, Optional[BerthError]]]:
        """Each request with its refusal or None, in order, once it is decided and on disk.

        At most `window` are on their way. After a lost stream those are sent again: their request
        ids make a second one the same task.
        """
        pack = max(1, min(LARGEST_PACK, window // 4))
        undecided: deque[pb.SubmitTaskRequest] = deque()
        decided = 0  # tasks are numbered from 1
        more = True
        patience = Patience(self.timeout)
        while more or undecided:
            progress = False
            refusals: dict[int, BerthError] = {}
            outbox: asyncio.Queue[Optional[pb.SubmitTasksRequest]] = asyncio.Queue()
            call = self._stub().SubmitTasks(_outgoing(outbox), timeout=self.timeout,
                                            metadata=self._metadata)
            try:
                again = list(undecided)
                for first in range(0, len(again), pack):
                    outbox.put_nowait(pb.SubmitTasksRequest(sequence=decided + first + 1,
                                                            tasks=again[first:first + pack]))
                answers = call.__aiter__()
                while more or undecided:
                    while more and len(undecided) + pack <= window:
                        tasks = list(islice(requests, pack))
                        more = len(tasks) == pack
                        if tasks:
                            outbox.put_nowait(pb.SubmitTasksRequest(
                                sequence=decided + len(undecided) + 1, tasks=tasks))
                            undecided.extend(tasks)
                            progress = True
                    if not undecided:
                        return
                    answer = await anext_or_none(answers)
                    if answer is None:
                        break
                    refusals.update((refusal.sequence, from_refusal(refusal))
                                    for refusal in answer.refusals)
                    while undecided and decided < answer.durable:
                        decided += 1
                        progress = True
                        yield undecided.popleft(), refusals.pop(decided, None)
                problem: BerthError = Unavailable(f"{self.host} ended the stream of submits")
            except grpc.RpcError as error:
                problem = from_rpc(error, self.host)
            finally:
                outbox.put_nowait(None)
                call.cancel()
            if progress:
                patience.renew()
            # A stream whose time is up, and which got somewhere, goes on in a new one.
            if isinstance(problem, DeadlineExceeded) and progress:
                continue
            if not isinstance(problem, Unavailable):
                raise problem
            await self._pause(patience, problem)

    def _patience(self, within: Deadline) -> float:
        left = within.left()
        return self.timeout if left is None else left

    async def _pause(self, patience: Patience, problem: BerthError) -> None:
        """Waits before the next try, or gives up with the problem."""
        pause = patience.pause(problem.retry_after)
        if pause is None:
            raise problem
        await asyncio.sleep(pause)


async def _outgoing(
    outbox: asyncio.Queue[Optional[pb.SubmitTasksRequest]]
) -> AsyncStream[pb.SubmitTasksRequest]:
    while True:
        message = await outbox.get()
        if message is None:
            return
        yield message
