"""What is submitted: the fields of a task in Python's types, and their way to the wire and back.

Names are the API's without the unit: durations are seconds or timedelta, instants datetime, a share
is a part of 1, CPUs are cores. What is absent has the server's default. Only shapes are checked here; the server
alone knows what is allowed.
"""

from __future__ import annotations

import difflib
import json
from datetime import datetime
from typing import Any, Literal, Mapping, Optional, Sequence, TypedDict, Union

from berth.timing import Seconds, instant, milliseconds, unix_milliseconds
from berth.v1 import task_pb2

Payload = Union[bytes, str, Mapping[str, Any], Sequence[Any], None]
Failure = Literal["error", "out_of_memory", "timeout", "crash", "infrastructure"]
Start = Literal["at_least_once", "at_most_once"]
Level = Literal["island", "node", "rack", "cluster"]


class Retry(TypedDict, total=False):
    """When a failed attempt is followed by another."""

    attempts: int  # in all, the first included
    backoff: Seconds  # before the second; doubled after each
    on: Sequence[Failure]  # default: every kind


class TaskOptions(TypedDict, total=False):
    """What a task may say beside the arguments that submit_task names."""

    command: Sequence[str]  # a program and its arguments, never a line for a shell
    env: Mapping[str, str]
    workdir: str
    tier: int
    priority: int
    gpus: int  # default 1; 0: CPUs and memory alone
    share: float  # of each GPU: 0.25
    cpus: float  # cores, for the whole task
    memory_mb: int  # of the node's memory, for the whole task
    gpu_kinds: Sequence[str]  # that each of its GPUs may be of; default: any
    groups: int  # its GPUs in so many groups of equal size
    within: Level  # each group lies in one domain of this level
    required: bool  # within is a must; else a wider domain will do
    mig_profile: str  # one MIG instance of one GPU: "3g.40gb"
    expected_run: Seconds
    not_before: datetime
    tolerated_wait: Seconds
    checkpoint_interval: Seconds  # its work is saved each time it has run this long; default: never
    restart_cost: Seconds  # what starting it again costs besides
    run_limit: Seconds
    deadline: datetime
    retry: Retry
    start: Start
    depends_on: Sequence[str]  # ids of tasks; "signal:NAME" for a signal
    run_after_failure: bool
    group: str
    array: str  # many tasks that differ in a number: "0-99", "0-99%10": ten at once; needs task_id
    labels: Mapping[str, str]
    result_ttl: Seconds
    stop_signal: str
    stop_grace: Seconds
    tokens: int
    held: bool


class TaskSpec(TaskOptions, total=False):
    """A whole task, for submit_many and submit_workflow."""

    task_id: str
    user_id: str  # the tenant
    task_type: str  # the queue
    gpu_memory_mb: int
    payload: Payload


_PLAIN = ("task_id", "user_id", "task_type", "gpu_memory_mb", "workdir", "tier", "priority", "gpus",
          "run_after_failure", "group", "stop_signal", "tokens", "held", "memory_mb", "groups",
          "within", "required", "mig_profile")
_OPTIONAL = ("tier", "gpus")  # 0 is not the same as absent
_DURATIONS = ("expected_run", "tolerated_wait", "run_limit", "result_ttl", "stop_grace",
              "checkpoint_interval", "restart_cost")
_INSTANTS = ("not_before", "deadline")
_MAPS = ("env", "labels")
_THOUSANDTHS = ("share", "cpus")
_LISTS = ("depends_on", "gpu_kinds")
_OTHERS = ("payload", "command", "retry", "start", "array")
FIELDS = frozenset(_PLAIN + _DURATIONS + _INSTANTS + _MAPS + _THOUSANDTHS + _LISTS + _OTHERS)


def to_message(spec: Mapping[str, Any]) -> task_pb2.TaskSpec:
    """The spec on the wire. A field that is None is as good as absent."""
    check_names(spec)
    given = {name: value for name, value in spec.items() if value is not None}
    message = task_pb2.TaskSpec()
    for name in _PLAIN:
        if name in given:
            setattr(message, name, given[name])
    for name in _DURATIONS:
        if name in given:
            setattr(message, f"{name}_ms", milliseconds(given[name]))
    for name in _INSTANTS:
        if name in given:
            setattr(message, f"{name}_unix_ms", unix_milliseconds(given[name]))
    for name in _MAPS:
        getattr(message, name).update(given.get(name, {}))
    for name in _THOUSANDTHS:
        if name in given:
            setattr(message, f"{name}_milli", round(given[name] * 1000))
    for name in _LISTS:
        getattr(message, name).extend(_words(name, given.get(name, ())))
    _fill_others(message, given)
    return message


def _fill_others(message: task_pb2.TaskSpec, given: Mapping[str, Any]) -> None:
    if "payload" in given:
        message.payload = encode_payload(given["payload"])
    if "command" in given:
        message.command.argv.extend(_words("command", given["command"]))
    if "start" in given:
        message.start = task_pb2.StartRule.Value(given["start"].upper())
    if "array" in given:
        indices, _, at_once = given["array"].partition("%")
        message.array.indices = indices
        message.array.at_once = int(at_once or 0)
    if "retry" in given:
        rule = given["retry"]
        message.retry.attempts = rule.get("attempts", 1)
        message.retry.backoff_ms = milliseconds(rule.get("backoff", 0))
        message.retry.on.extend(task_pb2.FailureKind.Value(kind.upper())
                                for kind in rule.get("on", ()))


def from_message(message: task_pb2.TaskSpec) -> TaskSpec:
    """The spec as it could be submitted again; fields with the server's default are left out."""
    spec: dict[str, Any] = {}
    for name in _PLAIN:
        if message.HasField(name) if name in _OPTIONAL else getattr(message, name):
            spec[name] = getattr(message, name)
    for name in _DURATIONS:
        if getattr(message, f"{name}_ms"):
            spec[name] = getattr(message, f"{name}_ms") / 1000
    for name in _INSTANTS:
        if getattr(message, f"{name}_unix_ms"):
            spec[name] = instant(getattr(message, f"{name}_unix_ms"))
    for name in _MAPS:
        if getattr(message, name):
            spec[name] = dict(getattr(message, name))
    for name in _THOUSANDTHS:
        if getattr(message, f"{name}_milli"):
            spec[name] = getattr(message, f"{name}_milli") / 1000
    for name in _LISTS:
        if getattr(message, name):
            spec[name] = list(getattr(message, name))
    if message.payload:
        spec["payload"] = decode(message.payload)
    if message.HasField("command"):
        spec["command"] = list(message.command.argv)
    if message.start:
        spec["start"] = task_pb2.StartRule.Name(message.start).lower()
    if message.HasField("array"):
        limit = f"%{message.array.at_once}" if message.array.at_once else ""
        spec["array"] = message.array.indices + limit
    if message.HasField("retry"):
        spec["retry"] = Retry(attempts=message.retry.attempts,
                              backoff=message.retry.backoff_ms / 1000)
        if message.retry.on:
            spec["retry"]["on"] = [task_pb2.FailureKind.Name(kind).lower()
                                   for kind in message.retry.on]
    return spec  # type: ignore[return-value]  # its names come from the tables above


def encode_payload(payload: Payload) -> bytes:
    """Bytes as they are, text as UTF-8, everything else as JSON."""
    if isinstance(payload, (bytes, bytearray, memoryview)):
        return bytes(payload)
    if isinstance(payload, str):
        return payload.encode()
    try:
        return json.dumps(payload, separators=(",", ":"), ensure_ascii=False).encode()
    except TypeError as error:
        raise TypeError(f"the payload is neither bytes nor text, and not JSON: {error}") from None


def decode(data: bytes) -> Any:
    """What JSON says, where it is JSON; else the text, where it is UTF-8; else the bytes."""
    if not data:
        return None
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return data
    try:
        return json.loads(text)
    except ValueError:
        return text


def check_names(spec: Mapping[str, Any]) -> None:
    for name in spec:
        if name not in FIELDS:
            near: Optional[str] = next(iter(difflib.get_close_matches(name, FIELDS, 1)), None)
            hint = f"; did you mean {near!r}?" if near else ""
            raise TypeError(f"a task has no field {name!r}{hint}")


def _words(name: str, value: Any) -> Sequence[str]:
    """A lone string is a sequence too, of letters: never what was meant."""
    if isinstance(value, (str, bytes)):
        raise TypeError(f"{name} is a list of strings, not one string: [{value!r}]")
    return list(value)
