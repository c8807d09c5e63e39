"""A private Berth on loopback, driven over HTTP by one connection that is kept open.

Knows nothing of Slurm. All it writes is below its folder; all it starts ends with close().
"""

import http.client
import json
import os
import re
import time

from children import Children, Failure, kill_with_setting, undisturbed, wait_for

# One task on a GPU at a time, and as many GPUs as Slurm has CPUs. No tenant is held back.
CONFIGURATION = """\
[gpus]
source = "simulated"

[[gpus.simulated]]
kind = "A100"
count = {slots}
vram = "40GB"

[policy]
max_live_tasks = 10_000_000

[tenant_defaults]
max_queue_size = 1_000_000_000
token_bucket_size = 1_000_000_000
token_refill_rate = 1_000_000_000
daily_token_limit = 1_000_000_000_000

[[queues]]
name = "bench"
executor = "{executor}"
max_batch_size = 1
"""
TASKS = {
    "process": {"task_type": "bench", "gpu_memory_mb": 256, "command": {"argv": ["/bin/true"]}},
    "simulated": {"task_type": "bench", "gpu_memory_mb": 256, "payload": "x"},
}
PER_MESSAGE = 500


class BerthServer:
    """A server for tasks of one executor: process or simulated."""

    def __init__(self, program, folder, slots, executor):
        folder.mkdir(parents=True)
        self._configuration = folder / "berth.toml"
        self._task = {"task": TASKS[executor]}
        self._children = Children()
        try:
            self._connection = self._start(program, folder, slots, executor)
        except BaseException:
            self.close()
            raise

    def _start(self, program, folder, slots, executor):
        log = folder / "berth.log"
        self._configuration.write_text(CONFIGURATION.format(slots=slots, executor=executor))
        self._children.start([program, "serve", "--data", str(folder / "data"),
                              "--grpc", "127.0.0.1:0", "--http", "127.0.0.1:0"],
                             log, {**os.environ, "BERTH_CONFIG": str(self._configuration),
                                   "BERTH_TIME_SCALE": "0"})
        wait_for("berth serve to serve", lambda: "  GPUs" in log.read_text(), 20, self._children)
        port = re.search(r"HTTP  http://127\.0\.0\.1:(\d+)", log.read_text()).group(1)
        return http.client.HTTPConnection("127.0.0.1", int(port), timeout=30)

    def _call(self, method, path, message=None):
        self._connection.request(method, path, message and json.dumps(message),
                                 {"Content-Type": "application/json"})
        response = self._connection.getresponse()
        answer = json.loads(response.read())
        if response.status != 200 or answer.get("refusals"):
            raise Failure(f"berth refused {method} {path}: {answer}")
        return answer

    def run_at_once(self, tasks, seconds):
        """Messages of many tasks."""
        def submit():
            for first in range(0, tasks, PER_MESSAGE):
                count = min(PER_MESSAGE, tasks - first)
                self._call("POST", "/api/v1/tasks:batch",
                           {"sequence": first + 1, "tasks": [self._task] * count})
        return self._run(tasks, seconds, submit)

    def run_one_by_one(self, tasks, seconds):
        """A call for each task."""
        def submit():
            for _ in range(tasks):
                self._call("POST", "/api/v1/tasks", self._task)
        return self._run(tasks, seconds, submit)

    def _run(self, tasks, seconds, submit):
        """(completed, seconds) from before the first submit to the last end, or to the limit."""
        before = self._completed()
        begin = time.monotonic()
        submit()
        completed = self._completed() - before
        while completed < tasks and time.monotonic() - begin < seconds:
            time.sleep(0.005)
            completed = self._completed() - before
        return completed, time.monotonic() - begin

    def _completed(self):
        queue = self._call("GET", "/api/v1/queues/bench")["queues"][0]
        failed = sum(int(queue[name]) for name in ("failed", "cancelled", "expired"))
        if failed > 0:
            raise Failure(f"{failed} tasks on Berth did not complete")
        return int(queue["completed"])

    def close(self):
        with undisturbed():
            self._children.end_all()
            # Each task has a shim of its own, which outlives the server.
            kill_with_setting("BERTH_CONFIG", self._configuration)
