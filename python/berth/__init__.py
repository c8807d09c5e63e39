"""Berth, a GPU scheduler: its client.

    from berth import Client

    with Client("localhost:50051") as client:
        task_id = client.submit_task(task_type="llm", payload={"prompt": "Hello"})
        print(client.wait(task_id)["result"])

AsyncClient has the same methods for asyncio. GPUClient is Client's other name.
"""

from berth.aio import AsyncClient
from berth.client import Client
from berth.cluster import Batch, Gpu, Ledger, Model, Queue, ServerInfo, Signal, Tenant, Usage
from berth.errors import (Aborted, AlreadyExists, BerthError, Cancelled, DataLoss,
                          DeadlineExceeded, FailedPrecondition, Internal, InvalidArgument,
                          NotFound, OutOfRange, PermissionDenied, ResourceExhausted, TaskFailed,
                          Unauthenticated, Unavailable, Unimplemented, WaitTimeout)
from berth.models import Attempt, Cancellation, Event, Explanation, LogChunk, Reason, Result, Task
from berth.outcome import Outcome
from berth.spec import Retry, TaskOptions, TaskSpec

GPUClient = Client

__all__ = [
    "Aborted", "AlreadyExists", "AsyncClient", "Attempt", "Batch", "BerthError", "Cancellation",
    "Cancelled", "Client", "DataLoss", "DeadlineExceeded", "Event", "Explanation",
    "FailedPrecondition", "GPUClient", "Gpu", "Internal", "InvalidArgument", "Ledger", "LogChunk",
    "Model", "NotFound", "Outcome", "OutOfRange", "PermissionDenied", "Queue", "Reason",
    "ResourceExhausted", "Result", "Retry", "ServerInfo", "Signal", "Task", "TaskFailed", "TaskOptions",
    "TaskSpec", "Tenant", "Unauthenticated", "Unavailable", "Unimplemented", "Usage",
    "WaitTimeout",
]
