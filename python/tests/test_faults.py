"""Both clients against a server that fails as it is told: retries, broken streams, details."""

import threading
import time
import unittest
from typing import Any

import berth
from berth.testing import FakeServer
from support import FakeCase, with_both_clients

# The last try was refused, or was still under way when the time was up, as on a busy machine.
TIME_IS_UP = (berth.Unavailable, berth.DeadlineExceeded)


@with_both_clients
class RetryTest(FakeCase):
    def test_an_unavailable_server_is_asked_again(self) -> None:
        self.server.fail_next("SubmitTask", times=2)
        task_id = self.client().submit_task(task_type="llm", payload="x")
        self.assertEqual(self.server.calls["SubmitTask"], 3)
        self.assertEqual(self.client().wait(task_id)["status"], "completed")

    def test_a_lost_reply_makes_no_second_task(self) -> None:
        client = self.client()
        self.server.fail_next("SubmitTask", times=2, reply_lost=True)
        task_id = client.submit_task(task_type="llm", payload="x")
        self.server.fail_next("SubmitWorkflow", reply_lost=True)
        ids = client.submit_workflow([{"task_type": "llm", "payload": "x"}] * 2)
        tasks = list(client.list_tasks(ended=True))
        self.assertEqual(sorted(task.task_id for task in tasks), sorted([task_id, *ids]))

    def test_retries_end_with_the_time_given(self) -> None:
        self.server.fail_next("SubmitTask", times=1000)
        begin = time.monotonic()
        with self.assertRaises(TIME_IS_UP) as caught:
            self.client(timeout=0.5).submit_task(task_type="llm", payload="x")
        self.assertLess(time.monotonic() - begin, 30)
        self.assertTrue(caught.exception.retryable)

    def test_nobody_listens(self) -> None:
        self.server.stop()
        with self.assertRaisesRegex(TIME_IS_UP, self.host):
            self.client(timeout=0.3).get_status("x")

    def test_only_what_is_safe_is_repeated(self) -> None:
        client = self.client()
        client.submit_task("a", task_type="llm", payload="x", held=True, group="g")
        self.server.fail_next("CancelTask")
        with self.assertRaises(berth.Unavailable):
            client.cancel(group="g")
        self.server.fail_next("CancelTask")
        self.assertEqual(client.cancel("a").cancelled, 1)

    def test_other_errors_are_not_repeated(self) -> None:
        for code in ("RESOURCE_EXHAUSTED", "INTERNAL", "ABORTED", "FAILED_PRECONDITION"):
            with self.subTest(code):
                before = self.server.calls["SubmitTask"]
                self.server.fail_next("SubmitTask", code=code)
                with self.assertRaises(berth.BerthError) as caught:
                    self.client().submit_task(task_type="llm", payload="x")
                self.assertEqual(caught.exception.code, code)
                self.assertEqual(self.server.calls["SubmitTask"], before + 1)

    def test_a_restarted_server_is_found_again(self) -> None:
        client = self.client()
        task_id = client.submit_task(task_type="llm", payload="x")
        self.server.restart()
        self.assertEqual(client.wait(task_id)["status"], "completed")
        self.assertEqual(client.server_info().epoch, 2)


@with_both_clients
class DetailTest(FakeCase):
    def test_a_full_queue_says_when_to_come_back(self) -> None:
        host = self.serve(manual=True, max_queue_size=1).host
        client = self.client(host=host)
        client.submit_task(task_type="llm", payload="x")
        with self.assertRaises(berth.ResourceExhausted) as caught:
            client.submit_task(task_type="llm", payload="x")
        error = caught.exception
        self.assertEqual(error.retry_after, 1.0)
        self.assertTrue(error.retryable)
        self.assertEqual((error.reason.code, error.reason.need, error.reason.have),
                         ("tenant_queue_full", 2, 1))
        refused = list(client.submit_many([{"task_type": "llm", "payload": "x"}]))[0].error
        self.assertIsInstance(refused, berth.ResourceExhausted)
        self.assertTrue(refused.retryable)
        self.assertAlmostEqual(refused.retry_after, 1.0, delta=0.9)

    def test_every_code_has_its_exception(self) -> None:
        kinds = [kind for kind in vars(berth).values()
                 if isinstance(kind, type) and issubclass(kind, berth.BerthError)
                 and kind not in (berth.BerthError, berth.TaskFailed, berth.WaitTimeout,
                                  berth.Unavailable)]
        self.assertEqual(len(kinds), 14)
        for kind in kinds:
            with self.subTest(kind.code):
                self.server.fail_next("GetGPUStatus", code=kind.code, message="because",
                                      reason="some_reason", fields={"a": "bad"})
                with self.assertRaises(kind) as caught:
                    self.client().gpus()
                self.assertEqual(caught.exception.message, "because")
                self.assertEqual(caught.exception.reason.code, "some_reason")
                self.assertEqual(caught.exception.fields, {"a": "bad"})

    def test_tokens(self) -> None:
        host = self.serve(tokens={"secret": "red"}).host
        with self.assertRaises(berth.Unauthenticated):
            self.client(host=host).submit_task(task_type="llm", payload="x")
        client = self.client(host=host, token="secret")
        task_id = client.submit_task(task_type="llm", payload="x")
        self.assertEqual(client.wait(task_id)["user_id"], "red")
        with self.assertRaises(berth.PermissionDenied):
            client.submit_task(task_type="llm", payload="x", user_id="blue")

    def test_a_failed_task_says_why(self) -> None:
        def run(task: Any) -> Any:
            raise MemoryError("model too large")

        client = self.client(host=self.serve(run=run).host)
        task_id = client.submit_task(task_type="llm", payload="x", retry={"attempts": 2})
        with self.assertRaisesRegex(berth.TaskFailed, "model too large") as caught:
            client.wait(task_id)
        self.assertEqual(caught.exception.status, "failed")
        self.assertEqual(caught.exception.reason.code, "attempts_spent")
        self.assertEqual(caught.exception.task.attempts, 2)
        history = client.get_task(task_id, with_history=True).history
        self.assertEqual([attempt.number for attempt in history], [1, 2])
        self.assertEqual([attempt.result.failure for attempt in history], ["error", "error"])

    def test_results_are_decoded(self) -> None:
        for given, told in (({"a": [1]}, {"a": [1]}), ("text", "text"), (b"\xff\x00", b"\xff\x00"),
                            (None, None)):
            with self.subTest(told):
                client = self.client(host=self.serve(run=lambda task: given).host)
                task_id = client.submit_task(task_type="llm", payload="x")
                self.assertEqual(client.wait(task_id)["result"], told)


@with_both_clients
class StreamTest(FakeCase):
    def test_events_are_neither_lost_nor_doubled(self) -> None:
        client = self.client()
        for number in range(20):
            client.submit_task(f"t{number}", task_type="llm", payload="x")
        client.wait("t19")
        total = client.server_info().sequence
        streams = self.server.calls["TaskEvents"]
        # Each stream breaks after 7 events, every second one without an error.
        for _ in range(total // 14 + 1):
            self.server.fail_next("TaskEvents", after=7)
            self.server.fail_next("TaskEvents", after=7, code="OK")
        events = []
        for event in client.events(after=0):
            events.append(event)
            if len(events) == total:
                break
        self.assertEqual([event.sequence for event in events], list(range(1, total + 1)))
        self.assertEqual(self.server.calls["TaskEvents"] - streams, -(-total // 7))

    def test_a_quiet_stream_loses_nothing_when_it_breaks(self) -> None:
        client, other = self.client(), self.client()
        events = client.events(task_ids=["late"])
        submitted = threading.Event()

        def break_then_submit() -> None:
            while self.server.calls["TaskEvents"] == 0:
                time.sleep(0.01)
            self.server.fail_next("TaskEvents", times=2)
            self.server.break_streams()
            # While the client is away.
            with berth.Client(self.host) as own:
                own.submit_task("late", task_type="llm", payload="x")
            submitted.set()

        thread = threading.Thread(target=break_then_submit)
        thread.start()
        statuses = [next(events).status for _ in range(3)]
        thread.join()
        events.close()
        self.assertTrue(submitted.is_set())
        self.assertEqual(statuses, ["pending", "running", "completed"])
        self.assertEqual(other.get_status("late")["status"], "completed")

    def test_events_that_are_gone(self) -> None:
        with self.assertRaises(berth.OutOfRange) as caught:
            next(self.client().events(after=10_000))
        self.assertEqual(caught.exception.metadata["oldest"], "1")

    def test_waiting_survives_broken_streams(self) -> None:
        server = self.serve(manual=True)
        client = self.client(host=server.host)
        client.submit_task("slow", task_type="llm", payload="x")

        def break_and_finish() -> None:
            server.break_streams()
            server.start_task("slow")
            server.restart()
            server.finish_task("slow", {"n": 1})

        self._later(server, break_and_finish)
        self.assertEqual(client.wait("slow", timeout=20)["result"], {"n": 1})

    def test_waiting_without_a_stream_polls(self) -> None:
        server = self.serve(manual=True)
        client = self.client(host=server.host)
        client.submit_task("slow", task_type="llm", payload="x")
        server.fail_next("TaskEvents", times=1000, code="UNIMPLEMENTED")
        self._later(server, lambda: server.finish_task("slow"))
        self.assertEqual(client.wait("slow", timeout=20)["status"], "completed")
        self.assertEqual(server.calls["TaskEvents"], 1)

    def test_a_wait_times_out_on_a_server_that_is_away(self) -> None:
        client = self.client()
        client.submit_task("held", task_type="llm", payload="x", held=True)
        self.server.stop()
        with self.assertRaises(berth.WaitTimeout):
            client.wait("held", timeout=0.5)

    def test_a_followed_log_ends_with_its_task(self) -> None:
        server = self.serve(manual=True)
        client = self.client(host=server.host)
        client.submit_task("talks", task_type="llm", payload="x")
        server.write_log("talks", "one\n")
        chunks = client.logs("talks", follow=True)
        self.assertEqual(next(chunks).text, "one\n")
        server.write_log("talks", "two\n", stream="stderr")
        self.assertEqual(next(chunks).stream, "stderr")
        server.finish_task("talks")
        self.assertEqual(list(chunks), [])

    def _later(self, server: FakeServer, work: Any) -> None:
        """Does the work once a client follows the events."""
        def run() -> None:
            while server.calls["TaskEvents"] == 0:
                time.sleep(0.01)
            work()

        thread = threading.Thread(target=run)
        thread.start()
        self.addCleanup(thread.join)


@with_both_clients
class ManyTest(FakeCase):
    def test_broken_streams_lose_and_double_no_task(self) -> None:
        for after in (0, 1, 3):
            self.server.fail_next("SubmitTasks", after=after)
            self.server.fail_next("SubmitTasks", after=after, code="OK")
        outcomes = list(self.client().submit_many(
            ({"task_type": "llm", "payload": str(number)} for number in range(500)), window=64))
        self.assertTrue(all(outcome.accepted for outcome in outcomes))
        tasks = list(self.client().list_tasks(ended=True, page_size=1000))
        self.assertEqual(sorted(task.task_id for task in tasks),
                         sorted(outcome.task_id for outcome in outcomes))
        self.assertEqual(self.server.calls["SubmitTasks"], 7)

    def test_a_server_that_never_comes_back(self) -> None:
        self.server.fail_next("SubmitTasks", times=1000)
        with self.assertRaises(TIME_IS_UP):
            list(self.client(timeout=0.5).submit_many([{"task_type": "llm", "payload": "x"}]))

    def test_a_slow_reader_keeps_its_stream(self) -> None:
        outcomes = self.client(timeout=0.3).submit_many(
            ({"task_type": "llm", "payload": "x"} for _ in range(20)), window=4)
        count = 0
        for outcome in outcomes:
            self.assertTrue(outcome.accepted)
            count += 1
            time.sleep(0.08)
        self.assertEqual(count, 20)


if __name__ == "__main__":
    unittest.main()
