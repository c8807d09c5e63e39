"""FakeServer: a real gRPC server on a free port of 127.0.0.1 that keeps everything in memory."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, Callable, Mapping, Optional, Sequence

import grpc

from berth import spec as specs
from berth.testing.memory import Memory, Record, Refused
from berth.testing.service import DEFAULT_TENANT, Fault, Service
from berth.v1 import scheduler_pb2 as pb
from berth.v1 import task_pb2
from berth.v1 import scheduler_pb2_grpc

# Its code comes from protoc, without types.
add_service: Any = scheduler_pb2_grpc.add_SchedulerServicer_to_server

THREADS = 64  # an open stream takes one


def simulate(task: specs.TaskSpec) -> Any:
    """What a task gives when the test has not said otherwise."""
    return {"simulated": True, "task_type": task["task_type"]}


class FakeServer:
    """Starts at once; stop it, or use it in `with`.

    run makes a task's result from its spec, and fails the task by an exception. Tasks run one at a
    time in the order of arrival, each for `delay` seconds; with manual=True they stay pending until
    start_task and finish_task. tokens, where given, maps the bearer tokens to their tenants.
    credentials, where given, are gRPC's for a server with TLS.
    """

    def __init__(self, run: Callable[[specs.TaskSpec], Any] = simulate, *, manual: bool = False,
                 delay: float = 0.0, tokens: Optional[Mapping[str, str]] = None,
                 queues: Sequence[str] = ("llm", "embedding", "diffusion"),
                 max_queue_size: int = 1_000_000, credentials: Any = None) -> None:
        self._memory = Memory(queues, max_queue_size)
        self._service = Service(self._memory, tokens)
        self._run = run
        self._delay = delay
        self._stopping = threading.Event()
        self._credentials = credentials
        self._server: Any = None
        self.port = 0
        self._listen()
        self._runner = threading.Thread(target=self._run_tasks, daemon=True)
        if not manual:
            self._runner.start()

    @property
    def host(self) -> str:
        """For Client(host=...)."""
        return f"127.0.0.1:{self.port}"

    @property
    def calls(self) -> Mapping[str, int]:
        """How often each method was called: calls["SubmitTask"]."""
        return self._service.calls

    def __enter__(self) -> "FakeServer":
        return self

    def __exit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.stop()

    def stop(self) -> None:
        self._stopping.set()
        self._close()
        self._service.wake()
        if self._runner.is_alive():
            self._runner.join()

    # ---- Faults ----------------------------------------------------------------------------------

    def fail_next(self, method: str, *, times: int = 1, code: str = "UNAVAILABLE",
                  message: str = "ordered by the test", reason: str = "ordered", after: int = 0,
                  reply_lost: bool = False, retry_after: Optional[float] = None,
                  fields: Optional[Mapping[str, str]] = None) -> None:
        """Makes the next calls of a method fail; with code="OK" a stream ends without an error.

        A stream lets `after` messages through first. With reply_lost the work is done and only the
        answer fails.
        """
        refusal = None if code == "OK" else Refused(code, message, reason, fields=fields,
                                                    retry_after=retry_after)
        self._service.faults.setdefault(method, []).append(
            Fault(times, refusal, after, reply_lost))

    def break_streams(self) -> None:
        """Ends the open streams of events and logs with UNAVAILABLE."""
        self._service.broken_streams += 1
        self._service.wake()

    def restart(self) -> None:
        """Closes every connection and listens again on the same port; the tasks are kept."""
        self._close()
        self._service.epoch += 1
        self._listen()

    # ---- By hand ---------------------------------------------------------------------------------

    def start_task(self, task_id: str, user_id: str = DEFAULT_TENANT) -> None:
        self._memory.start(self._memory.find(task_id, user_id))

    def finish_task(self, task_id: str, result: Any = None, *, user_id: str = DEFAULT_TENANT,
                    failure: Optional[str] = None, message: str = "",
                    exit_status: int = 0) -> None:
        """Completes a task with a result, or fails it: failure="error", "out_of_memory", ..."""
        record = self._memory.find(task_id, user_id)
        self._memory.finish(record, _result(result, failure, message, exit_status))

    def write_log(self, task_id: str, text: str, *, user_id: str = DEFAULT_TENANT,
                  stream: str = "stdout") -> None:
        self._memory.write(self._memory.find(task_id, user_id), text.encode(),
                           pb.LogChunk.Stream.Value(stream.upper()))

    # ---- Inside ----------------------------------------------------------------------------------

    def _listen(self) -> None:
        self._server = grpc.server(ThreadPoolExecutor(THREADS), options=(("grpc.so_reuseport", 0),))
        add_service(self._service, self._server)
        address = f"127.0.0.1:{self.port}"
        self.port = (self._server.add_insecure_port(address) if self._credentials is None else
                     self._server.add_secure_port(address, self._credentials))
        if self.port == 0:
            raise OSError("the port of the fake server was taken while it was closed")
        self._server.start()

    def _close(self) -> None:
        self._server.stop(grace=None).wait()

    def _run_tasks(self) -> None:
        while not self._stopping.is_set():
            with self._memory.changed:
                record = self._memory.next_pending()
                if record is None:
                    self._memory.changed.wait(timeout=1.0)
                    continue
                self._memory.start(record)
            self._stopping.wait(self._delay)
            self._memory.finish(record, self._outcome(record))

    def _outcome(self, record: Record) -> task_pb2.TaskResult:
        spec = specs.from_message(record.spec)
        if "command" in spec:
            line = "simulated: " + " ".join(spec["command"]) + "\n"
            self._memory.write(record, line.encode(), pb.LogChunk.STDOUT)
        try:
            return _result(self._run(spec), None, "", 0)
        except Exception as error:
            return _result(None, "error", f"{type(error).__name__}: {error}", 1)


def _result(value: Any, failure: Optional[str], message: str,
            exit_status: int) -> task_pb2.TaskResult:
    return task_pb2.TaskResult(
        completed=failure is None, message=message, exit_status=exit_status, simulated=True,
        failure=task_pb2.FailureKind.Value(failure.upper() if failure else
                                           "FAILURE_KIND_UNSPECIFIED"),
        result=b"" if value is None else specs.encode_payload(value))
