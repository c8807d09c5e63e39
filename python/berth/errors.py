"""What can go wrong, as exceptions named after the API's status codes.

Every one is a BerthError and says whether a retry can help. The details (the reason's name, wrong
fields, when to come back) are read from the google.rpc.Status that the server sends along.
"""

from __future__ import annotations

import time
from typing import Any, Iterable, Mapping, Optional

from berth.models import Reason, Task
from berth.rpc import error_details_pb2, status_pb2
from berth.v1 import scheduler_pb2 as pb

DETAILS_KEY = "grpc-status-details-bin"


class BerthError(Exception):
    """Something was refused or failed. `code` is the status code's name: "NOT_FOUND"."""

    code = "UNKNOWN"

    def __init__(self, message: str, *, reason: Optional[Reason] = None, retryable: bool = False,
                 retry_after: Optional[float] = None, fields: Optional[Mapping[str, str]] = None,
                 metadata: Optional[Mapping[str, str]] = None) -> None:
        super().__init__(message)
        self.message = message
        self.reason = reason or Reason("")  # its code is empty where there is none
        self.retryable = retryable  # the same call may succeed later
        self.retry_after = retry_after  # seconds, where the server knows
        self.fields = dict(fields or {})  # what is wrong with each field of the request
        self.metadata = dict(metadata or {})  # further facts, as the server names them


class Cancelled(BerthError):
    """The call was given up by one of its sides."""

    code = "CANCELLED"


class InvalidArgument(BerthError):
    """The request is wrong; `fields` says where."""

    code = "INVALID_ARGUMENT"


class DeadlineExceeded(BerthError):
    """No answer came in time. Whether the server acted is not known."""

    code = "DEADLINE_EXCEEDED"


class NotFound(BerthError):
    """There is no such task, queue, GPU, ..."""

    code = "NOT_FOUND"


class AlreadyExists(BerthError):
    """The id was used before, with other content."""

    code = "ALREADY_EXISTS"


class PermissionDenied(BerthError):
    """The token does not allow this."""

    code = "PERMISSION_DENIED"


class ResourceExhausted(BerthError):
    """A queue is full or tokens are short; `retry_after` says when to come back."""

    code = "RESOURCE_EXHAUSTED"


class FailedPrecondition(BerthError):
    """Something else has to change first."""

    code = "FAILED_PRECONDITION"


class Aborted(BerthError):
    """A race was lost."""

    code = "ABORTED"


class OutOfRange(BerthError):
    """The events asked for are no longer kept."""

    code = "OUT_OF_RANGE"


class Unimplemented(BerthError):
    """The server does not know this method or field."""

    code = "UNIMPLEMENTED"


class Internal(BerthError):
    """A defect in the server."""

    code = "INTERNAL"


class Unavailable(BerthError):
    """The server cannot be reached, or is going down."""

    code = "UNAVAILABLE"


class DataLoss(BerthError):
    """The server found damage in what it keeps."""

    code = "DATA_LOSS"


class Unauthenticated(BerthError):
    """There is no valid token."""

    code = "UNAUTHENTICATED"


class TaskFailed(BerthError):
    """A task that was waited for has ended, and not well: see `status`, `reason`, `result`."""

    code = "TASK_FAILED"

    def __init__(self, task: Task) -> None:
        result = task.result
        why = str(task.reason or "") or (result.message if result else "")
        if result is not None and result.message and task.reason is not None:
            why += f" ({result.message})"
        super().__init__(f"task {task.task_id} {task.status}{': ' + why if why else ''}",
                         reason=task.reason)
        self.task = task
        self.status = task.status
        self.result: Any = result.value if result is not None else None


class WaitTimeout(BerthError, TimeoutError):
    """A task did not end in the time given to wait. It goes on."""

    code = "WAIT_TIMEOUT"

    def __init__(self, task_id: str, seconds: float, task: Optional[Task]) -> None:
        state = f"it is {task.status}" if task else "nothing was heard of it"
        super().__init__(f"task {task_id} did not end within {seconds:g} s; {state}",
                         reason=task.reason if task else None, retryable=True)
        self.task = task
        self.status = task.status if task else None


_BY_CODE: dict[str, type[BerthError]] = {
    kind.code: kind
    for kind in (Cancelled, InvalidArgument, DeadlineExceeded, NotFound, AlreadyExists,
                 PermissionDenied, ResourceExhausted, FailedPrecondition, Aborted, OutOfRange,
                 Unimplemented, Internal, Unavailable, DataLoss, Unauthenticated)
}
_NUMBERS = {1: "CANCELLED", 3: "INVALID_ARGUMENT", 4: "DEADLINE_EXCEEDED", 5: "NOT_FOUND",
            6: "ALREADY_EXISTS", 7: "PERMISSION_DENIED", 8: "RESOURCE_EXHAUSTED",
            9: "FAILED_PRECONDITION", 10: "ABORTED", 11: "OUT_OF_RANGE", 12: "UNIMPLEMENTED",
            13: "INTERNAL", 14: "UNAVAILABLE", 15: "DATA_LOSS", 16: "UNAUTHENTICATED"}
_RETRYABLE = frozenset({"UNAVAILABLE", "ABORTED", "DEADLINE_EXCEEDED"})


def make_error(code: str, message: str, *, reason: Optional[Reason] = None,
               retry_after: Optional[float] = None, fields: Optional[Mapping[str, str]] = None,
               metadata: Optional[Mapping[str, str]] = None) -> BerthError:
    """The exception of a status code. A time to come back means that coming back helps."""
    kind = _BY_CODE.get(code, BerthError)
    never = reason is not None and reason.never
    # Without a reason RESOURCE_EXHAUSTED is the transport's: a message over its size limit.
    waiting_helps = (code in _RETRYABLE or retry_after is not None
                     or (code == "RESOURCE_EXHAUSTED" and reason is not None))
    retryable = waiting_helps and not never
    return kind(message, reason=reason, retryable=retryable, retry_after=retry_after,
                fields=fields, metadata=metadata)


def from_refusal(refusal: pb.SubmitRefusal) -> BerthError:
    """The exception of a task that the submit stream refused."""
    reason = Reason.read(refusal.reason)
    retry_after = None
    if reason is not None and reason.retry_at is not None:
        retry_after = max(0.0, reason.retry_at.timestamp() - time.time())
    return make_error(_NUMBERS.get(refusal.code, "UNKNOWN"), refusal.message or str(reason or ""),
                      reason=reason, retry_after=retry_after)


def from_rpc(error: Any, host: str) -> BerthError:
    """The exception of a failed call, from its code and the details in its trailing metadata."""
    code, message = error.code().name, error.details() or ""
    packed = _details(error.trailing_metadata() or ())
    if packed is not None:
        return _from_status(code, packed, message)
    # Nothing from the server's hand: the transport speaks. A connection that went away under the
    # call is reported by some versions of gRPC as UNKNOWN.
    if code == "UNAVAILABLE" or (code == "UNKNOWN" and "Stream removed" in message):
        return make_error("UNAVAILABLE",
                          f"no answer from {host}: {message}; does the server run there?")
    if code == "DEADLINE_EXCEEDED":
        return make_error(code, f"no answer from {host} in time")
    return make_error(code, message)


def _details(metadata: Iterable[tuple[str, Any]]) -> Optional[status_pb2.Status]:
    for key, value in metadata:
        if key == DETAILS_KEY:
            try:
                status: status_pb2.Status = status_pb2.Status.FromString(value)
                return status
            except Exception:  # protobuf's DecodeError differs between its versions
                return None
    return None


def _from_status(code: str, status: status_pb2.Status, message: str) -> BerthError:
    text = status.message or message
    reason: Optional[Reason] = None
    retry_after: Optional[float] = None
    fields: dict[str, str] = {}
    metadata: dict[str, str] = {}
    for detail in status.details:
        kind = detail.type_url.rpartition("/")[2]
        if kind == "google.rpc.ErrorInfo":
            info = error_details_pb2.ErrorInfo.FromString(detail.value)
            metadata = dict(info.metadata)
            reason = _reason(info.reason, text, metadata)
        elif kind == "google.rpc.RetryInfo":
            delay = error_details_pb2.RetryInfo.FromString(detail.value).retry_delay
            retry_after = delay.seconds + delay.nanos / 1e9
        elif kind == "google.rpc.BadRequest":
            for wrong in error_details_pb2.BadRequest.FromString(detail.value).field_violations:
                said = fields.get(wrong.field)
                fields[wrong.field] = f"{said}; {wrong.description}" if said else wrong.description
    return make_error(code, text, reason=reason, retry_after=retry_after, fields=fields,
                      metadata=metadata)


def _reason(code: str, message: str, metadata: Mapping[str, str]) -> Reason:
    """ErrorInfo names the reason; its numbers, where there are any, stand in the metadata."""
    def number(name: str) -> int:
        text = metadata.get(name, "")
        return int(text) if text.lstrip("-").isdigit() else 0

    return Reason(code.lower(), message, number("need"), number("have"), metadata.get("unit", ""),
                  metadata.get("subject", ""), metadata.get("never") == "true")
