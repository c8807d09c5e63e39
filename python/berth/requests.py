"""Requests from arguments: what both clients share before a call. Knows no transport."""

from __future__ import annotations

import threading
import uuid
from typing import Any, Iterable, Mapping, Optional, Sequence

from berth import spec as specs
from berth.v1 import scheduler_pb2 as pb
from berth.v1 import task_pb2

REMEMBERED_TENANTS = 100_000
SIGNAL = "signal:"


class Tenants:
    """Whose tasks these are: an id alone does not say, and the client has submitted it."""

    def __init__(self, default: Optional[str]) -> None:
        self._default = default
        self._of_task: dict[str, str] = {}
        self._lock = threading.Lock()

    def of(self, task_id: str, user_id: Optional[str]) -> str:
        """The tenant to ask for; empty: the server's default, or the token's."""
        return user_id or self._of_task.get(task_id) or self._default or ""

    def or_default(self, user_id: Optional[str]) -> str:
        return user_id or self._default or ""

    def remember(self, task_id: str, user_id: str) -> None:
        """The oldest are forgotten when there are very many."""
        with self._lock:
            self._of_task.pop(task_id, None)
            if user_id and user_id != self._default:
                self._of_task[task_id] = user_id
            if len(self._of_task) > REMEMBERED_TENANTS:
                del self._of_task[next(iter(self._of_task))]


def new_id() -> str:
    return str(uuid.uuid4())


def task_message(spec: Mapping[str, Any], tenants: Tenants) -> task_pb2.TaskSpec:
    message = specs.to_message(spec)
    message.user_id = tenants.or_default(message.user_id)
    return message


def numbered_submit(spec: Mapping[str, Any], tenants: Tenants) -> pb.SubmitTaskRequest:
    """For the stream, whose answers name no ids: a task without one gets it here."""
    message = task_message(spec, tenants)
    message.task_id = message.task_id or new_id()
    return pb.SubmitTaskRequest(task=message, request_id=new_id())


def task_filter(user_id: Optional[str] = None, task_type: Optional[str] = None,
                group: Optional[str] = None, states: Iterable[str] = (),
                labels: Optional[Mapping[str, str]] = None,
                task_ids: Sequence[str] = ()) -> pb.TaskFilter:
    if isinstance(states, str) or isinstance(task_ids, str):
        raise TypeError("states and task_ids are lists of strings, not one string")
    return pb.TaskFilter(user_id=user_id or "", task_type=task_type or "", group=group or "",
                         states=[_state(state) for state in states], labels=dict(labels or {}),
                         task_ids=list(task_ids))


def _state(name: str) -> Any:
    try:
        return pb.TaskState.Value(name.upper())
    except ValueError:
        known = ", ".join(state.lower() for state in pb.TaskState.keys()[1:])
        raise ValueError(f"no state {name!r}; there are {known}") from None


def cancel_request(task_id: Optional[str], tenant: str, group: Optional[str],
                   chosen: pb.TaskFilter, dry_run: bool) -> pb.CancelTaskRequest:
    """One task, a group, or all that match; never everything by an oversight."""
    by_filter = bool(chosen.task_type or chosen.states or chosen.labels or chosen.task_ids)
    if task_id is not None and (group or by_filter):
        raise TypeError("cancel takes a task_id or a filter, not both")
    if task_id is not None:
        return pb.CancelTaskRequest(task_id=task_id, user_id=tenant, dry_run=dry_run)
    if by_filter:
        return pb.CancelTaskRequest(filter=chosen, dry_run=dry_run)
    if group:
        return pb.CancelTaskRequest(group=group, user_id=tenant, dry_run=dry_run)
    raise TypeError("cancel needs a task_id, a group, or a filter")


def signal_name(signal: str) -> str:
    """As the API has it: without the prefix that tells it from a task's id in depends_on."""
    return signal[len(SIGNAL):] if signal.startswith(SIGNAL) else signal


def events_request(chosen: pb.TaskFilter, after: int, follow: bool) -> pb.TaskEventsRequest:
    """Behind `after`. On the wire 0 means from now on, so the very beginning has its own word."""
    return pb.TaskEventsRequest(filter=chosen, after_sequence=after, from_start=after == 0,
                                follow=follow)
