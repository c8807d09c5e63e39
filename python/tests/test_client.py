"""Both clients against a server: the fake one, or the one that BERTH_TEST_SERVER names."""

import unittest
from datetime import datetime, timedelta, timezone

import berth
import gpu_scheduler
from support import REAL_SERVER, ClientCase, with_both_clients


@with_both_clients
class TaskTest(ClientCase):
    def test_the_first_lines_of_the_documents(self) -> None:
        client = self.client()
        task_id = client.submit_task(task_id=self.name, user_id="user-123", task_type="llm",
                                     gpu_memory_mb=8192, payload={"prompt": "Hello, world!"})
        status = client.get_status(task_id)
        self.assertIn(status["status"], ("waiting", "pending", "starting", "running", "completed"))
        result = client.wait(task_id, timeout=60)
        self.assertEqual(task_id, self.name)
        self.assertEqual(result["status"], "completed")
        self.assertEqual(result["user_id"], "user-123")
        self.assertIn("result", result)

    def test_a_status_has_its_times(self) -> None:
        client = self.client()
        before = datetime.now(timezone.utc)
        status = client.wait(client.submit_task(task_type="llm", payload="hello"))
        for key in ("submitted_at", "started_at", "ended_at"):
            self.assertLess(abs((status[key] - before).total_seconds()), 60, key)
        self.assertEqual(status["attempts"], 1)
        self.assertIsNone(status["reason"])
        self.assertIsNone(status["position"])

    def test_a_task_is_found_by_its_number(self) -> None:
        client = self.client()
        client.submit_task(self.name, task_type="llm", payload="x")
        number = client.get_task(self.name).task_no
        self.assertEqual(client.wait(f"t-{number}")["task_id"], self.name)
        unnamed = client.submit_task(task_type="llm", payload="x")
        self.assertEqual(unnamed, f"t-{client.get_task(unnamed).task_no}")

    def test_what_was_submitted_is_told(self) -> None:
        client = self.client()
        task_id = client.submit_task(
            self.name, task_type="llm", payload={"prompt": "é"}, gpu_memory_mb=1024, held=True,
            priority=3, share=0.25, run_limit=1.5, group=self.name, labels={"team": "a"},
            depends_on=["signal:go"], retry={"attempts": 3, "backoff": 0.5, "on": ["timeout"]},
            start="at_least_once", checkpoint_interval=600, restart_cost=timedelta(seconds=30))
        spec = client.get_task(task_id, with_spec=True).spec
        self.assertEqual(spec["payload"], {"prompt": "é"})
        self.assertEqual(spec["share"], 0.25)
        self.assertEqual(spec["run_limit"], 1.5)
        self.assertEqual(spec["checkpoint_interval"], 600)
        self.assertEqual(spec["restart_cost"], 30)
        self.assertEqual(spec["labels"], {"team": "a"})
        self.assertEqual(spec["depends_on"], ["signal:go"])
        self.assertEqual(spec["retry"], {"attempts": 3, "backoff": 0.5, "on": ["timeout"]})
        self.assertEqual(spec["start"], "at_least_once")
        client.cancel(task_id)

    def test_a_gang_says_how_its_gpus_lie_together(self) -> None:
        client = self.client()
        kinds = sorted({gpu.kind for gpu in client.gpus()})
        client.submit_task(self.name, task_type="llm", payload="x", gpus=2, groups=2, within="node",
                           required=True, gpu_kinds=kinds)
        self.assertEqual(client.wait(self.name)["status"], "completed")
        spec = client.get_task(self.name, with_spec=True).spec
        self.assertEqual(spec["gpus"], 2)
        self.assertEqual(spec["groups"], 2)
        self.assertEqual(spec["within"], "node")
        self.assertTrue(spec["required"])
        self.assertEqual(spec["gpu_kinds"], kinds)

    @unittest.skipUnless(REAL_SERVER, "the fake server has no hardware to ask for")
    def test_all_that_contradicts_itself_is_said(self) -> None:
        with self.assertRaises(berth.InvalidArgument) as caught:
            self.client().submit_task(task_type="llm", payload="x", gpus=0, mig_profile="1g.10gb",
                                      gpu_kinds=["A100"])
        self.assertEqual(list(caught.exception.fields),
                         ["task.gpus", "task.gpu_kinds", "task.mig_profile"])
        with self.assertRaises(berth.NotFound) as unknown:
            self.client().submit_task(task_type="llm", payload="x", gpu_kinds=["abacus"])
        self.assertEqual(unknown.exception.reason.code, "unknown_gpu_kind")

    def test_an_id_is_looked_for_at_its_tenant(self) -> None:
        client = self.client()
        client.submit_task(self.name, user_id="red", task_type="llm", payload="x", held=True)
        self.assertEqual(client.get_status(self.name)["user_id"], "red")
        other = self.client()
        with self.assertRaises(berth.NotFound):
            other.get_status(self.name)
        self.assertEqual(other.get_status(self.name, user_id="red")["status"], "waiting")
        self.assertEqual(self.client(user_id="red").get_status(self.name)["user_id"], "red")
        client.cancel(self.name)

    def test_the_same_task_twice_is_one(self) -> None:
        client = self.client()
        first = client.submit_task(task_type="llm", request_id=self.name, payload="a")
        self.assertEqual(client.submit_task(task_type="llm", request_id=self.name, payload="a"),
                         first)
        with self.assertRaises(berth.AlreadyExists) as caught:
            client.submit_task(task_type="llm", request_id=self.name, payload="b")
        self.assertEqual(caught.exception.code, "ALREADY_EXISTS")
        self.assertFalse(caught.exception.retryable)

    def test_a_wrong_task_is_refused_by_field(self) -> None:
        with self.assertRaises(berth.InvalidArgument) as caught:
            self.client().submit_task()
        self.assertTrue(any(name.endswith("task_type") for name in caught.exception.fields),
                        caught.exception.fields)
        self.assertTrue(caught.exception.reason.code)

    def test_a_task_with_nothing_to_do_is_refused(self) -> None:
        client = self.client()
        for empty in ({}, {"payload": ""}, {"payload": b""}):
            with self.subTest(empty), self.assertRaises(berth.InvalidArgument) as caught:
                client.submit_task(task_type="llm", **empty)
            self.assertEqual(list(caught.exception.fields), ["task.payload"])
        self.assertTrue(client.submit_task(task_type="llm", payload={}))
        outcomes = list(client.submit_many([{"task_type": "llm"}]))
        self.assertIsInstance(outcomes[0].error, berth.InvalidArgument)
        with self.assertRaises(berth.InvalidArgument):
            client.submit_workflow([{"task_type": "llm"}])

    def test_a_field_that_is_not_there_is_named(self) -> None:
        with self.assertRaisesRegex(TypeError, "'priorty'; did you mean 'priority'"):
            self.client().submit_task(task_type="llm", payload="x", priorty=3)

    def test_an_unknown_task(self) -> None:
        for ask in ("get_status", "wait", "explain", "cancel"):
            with self.subTest(ask), self.assertRaises(berth.NotFound):
                getattr(self.client(), ask)(self.name)

    def test_a_cancelled_task_raises_at_its_waiter(self) -> None:
        client = self.client()
        client.submit_task(self.name, task_type="llm", payload="x", held=True)
        self.assertEqual(client.cancel(self.name, dry_run=True).matched, 1)
        self.assertEqual(client.get_status(self.name)["status"], "waiting")
        self.assertEqual(client.cancel(self.name).cancelled, 1)
        with self.assertRaises(berth.TaskFailed) as caught:
            client.wait(self.name)
        self.assertEqual(caught.exception.status, "cancelled")
        self.assertEqual(caught.exception.reason.code, "by_request")

    def test_waiting_has_an_end(self) -> None:
        client = self.client()
        client.submit_task(self.name, task_type="llm", payload="x", held=True)
        with self.assertRaises(berth.WaitTimeout) as caught:
            client.wait(self.name, timeout=0.3)
        self.assertIsInstance(caught.exception, TimeoutError)
        self.assertEqual(caught.exception.status, "waiting")
        self.assertTrue(caught.exception.retryable)
        client.release(self.name)
        self.assertEqual(client.wait(self.name)["status"], "completed")

    def test_cancel_by_group_and_never_by_nothing(self) -> None:
        client = self.client()
        for _ in range(3):
            client.submit_task(task_type="llm", payload="x", group=self.name, held=True)
        self.assertEqual(client.cancel(group=self.name, dry_run=True).matched, 3)
        self.assertEqual(client.cancel(group=self.name, task_type="embedding").cancelled, 0)
        self.assertEqual(client.cancel(group=self.name).cancelled, 3)
        with self.assertRaises(TypeError):
            client.cancel()

    def test_a_signal_is_explained_and_given(self) -> None:
        client = self.client()
        client.submit_task(self.name, task_type="llm", payload="x",
                           depends_on=[f"signal:{self.name}"])
        why = client.explain(self.name)
        self.assertEqual(why.binding[0].code, "waits_for_signal")
        self.assertIn(self.name, str(why))
        self.assertEqual(client.resolve(self.name), 1)
        self.assertEqual(client.wait(self.name)["status"], "completed")

    def test_a_signal_stays_given_until_it_is_reset(self) -> None:
        client = self.client()
        client.submit_task(self.name, task_type="llm", payload="x",
                           depends_on=[f"signal:{self.name}"])
        found = {signal.name: signal for signal in client.signals()}
        self.assertEqual((found[self.name].given, found[self.name].waiters), (False, 1))
        client.resolve(self.name)
        client.wait(self.name)
        found = {signal.name: signal for signal in client.signals()}
        self.assertEqual((found[self.name].given, found[self.name].waiters), (True, 0))
        client.reset_signal(self.name)
        self.assertNotIn(self.name, {signal.name for signal in client.signals()})
        with self.assertRaises(berth.NotFound):
            client.reset_signal(self.name)

    def test_a_task_that_waits_can_be_changed(self) -> None:
        client = self.client()
        client.submit_task(self.name, task_type="llm", held=True, payload={"n": 1})
        changed = client.update(self.name, priority=5, tolerated_wait=3600)
        self.assertEqual((changed.priority, changed.status), (5, "waiting"))
        client.release(self.name)
        self.assertEqual(client.wait(self.name)["status"], "completed")

    def test_a_held_task_waits_until_released(self) -> None:
        client = self.client()
        client.submit_task(self.name, task_type="llm", payload="x",
                           depends_on=[f"signal:{self.name}"])
        client.hold(self.name)
        client.resolve(self.name)
        self.assertEqual(client.get_status(self.name)["status"], "waiting")
        client.release(self.name)
        self.assertEqual(client.wait(self.name)["status"], "completed")

    def test_output(self) -> None:
        client = self.client()
        client.submit_task(self.name, task_type="llm", command=["echo", "hi"])
        text = "".join(chunk.text for chunk in client.logs(self.name, follow=True))
        self.assertIn("hi\n", text)
        self.assertEqual(client.wait(self.name)["status"], "completed")
        self.assertEqual(list(client.logs(self.name, stream="stderr")), [])


@with_both_clients
class ManyTasksTest(ClientCase):
    def test_a_list_comes_in_pages(self) -> None:
        client = self.client()
        for _ in range(7):
            client.submit_task(task_type="llm", payload="x", group=self.name, held=True)
        tasks = list(client.list_tasks(group=self.name, page_size=3))
        self.assertEqual(len({task.task_id for task in tasks}), 7)
        self.assertEqual({task.status for task in tasks}, {"waiting"})
        client.cancel(group=self.name)
        self.assertEqual(list(client.list_tasks(group=self.name)), [])
        ended = list(client.list_tasks(group=self.name, ended=True, states=["cancelled"]))
        self.assertEqual(len(ended), 7)

    def test_many_are_submitted_in_order(self) -> None:
        client = self.client()
        outcomes = list(client.submit_many(
            ({"task_type": "llm", "task_id": f"{self.name}-{number}", "user_id": "many",
              "payload": "x"}
             for number in range(300)), window=50))
        self.assertEqual([outcome.task_id for outcome in outcomes],
                         [f"{self.name}-{number}" for number in range(300)])
        self.assertEqual([outcome.index for outcome in outcomes], list(range(300)))
        self.assertTrue(all(outcome.accepted for outcome in outcomes))
        self.assertEqual(client.wait(outcomes[-1].task_id)["user_id"], "many")

    def test_a_refusal_among_many(self) -> None:
        good = {"task_type": "llm", "payload": "x"}
        specs = [good, {"payload": "no queue"}, good]
        for window in (1, 2, 100):
            with self.subTest(window):
                outcomes = list(self.client().submit_many(specs, window=window))
                self.assertEqual([outcome.accepted for outcome in outcomes], [True, False, True])
                self.assertIsInstance(outcomes[1].error, berth.InvalidArgument)
                self.assertTrue(all(outcome.task_id for outcome in outcomes))

    def test_none_and_half_of_many(self) -> None:
        client = self.client()
        self.assertEqual(list(client.submit_many([])), [])
        outcomes = client.submit_many({"task_type": "llm", "payload": "x"} for _ in range(100))
        self.assertTrue(next(outcomes).accepted)
        outcomes.close()
        self.assertTrue(client.queues())

    def test_a_workflow_runs_in_its_order(self) -> None:
        client = self.client()
        first, second = f"{self.name}-1", f"{self.name}-2"
        ids = client.submit_workflow([
            {"task_id": second, "task_type": "llm", "payload": "x", "depends_on": [first]},
            {"task_id": first, "task_type": "embedding", "payload": "x"}])
        self.assertEqual(ids, [second, first])
        later, sooner = client.wait(second), client.wait(first)
        self.assertLessEqual(sooner["ended_at"], later["started_at"])

    def test_a_cycle_is_refused_whole(self) -> None:
        client = self.client()
        with self.assertRaises(berth.BerthError) as caught:
            client.submit_workflow([
                {"task_id": "a", "task_type": "llm", "payload": "x", "depends_on": ["b"],
                 "group": self.name},
                {"task_id": "b", "task_type": "llm", "payload": "x", "depends_on": ["a"],
                 "group": self.name}])
        self.assertEqual(caught.exception.reason.code, "dependency_cycle")
        self.assertEqual(list(client.list_tasks(group=self.name, ended=True)), [])


@with_both_clients
class EventTest(ClientCase):
    def test_events_from_a_number_on(self) -> None:
        client = self.client()
        before = client.server_info().sequence
        client.wait(client.submit_task(self.name, task_type="llm", payload="x", group=self.name))
        events = list(client.events(group=self.name, after=before, follow=False))
        self.assertEqual({event.task_id for event in events}, {self.name})
        self.assertEqual(events[-1].status, "completed")
        self.assertTrue(events[-1].ended)
        numbers = [event.sequence for event in events]
        self.assertEqual(numbers, sorted(set(numbers)))
        middle = numbers[len(numbers) // 2]
        rest = list(client.events(group=self.name, after=middle, follow=False))
        self.assertEqual([event.sequence for event in rest],
                         [number for number in numbers if number > middle])

    def test_each_event_of_a_batch_is_given_once(self) -> None:
        client = self.client()
        before = client.server_info().sequence
        for number in range(32):
            client.submit_task(f"{self.name}-{number}", task_type="llm", payload="x",
                               group=self.name)
        for number in range(32):
            client.wait(f"{self.name}-{number}")
        events = list(client.events(group=self.name, after=before, follow=False))
        numbers = [event.sequence for event in events]
        self.assertEqual(numbers, sorted(set(numbers)))
        for number in range(32):
            steps = [event.status for event in events
                     if event.task_id == f"{self.name}-{number}" and event.status != "starting"]
            self.assertEqual(steps, ["pending", "running", "completed"])
        for place in range(0, len(events), 13):
            rest = list(client.events(group=self.name, after=numbers[place], follow=False))
            self.assertEqual(rest, events[place + 1:])
        running = list(client.events(group=self.name, states=["running"], after=before,
                                     follow=False))
        self.assertEqual(running, [event for event in events if event.status == "running"])

    def test_events_are_followed(self) -> None:
        client = self.client()
        before = client.server_info().sequence
        client.submit_task(self.name, task_type="llm", payload="x", group=self.name, held=True)
        events = client.events(group=self.name, after=before)
        self.assertEqual(next(events).status, "waiting")
        self.client().release(self.name)
        seen = []
        for event in events:
            seen.append(event.status)
            if event.ended:
                break
        self.assertEqual(seen[-1], "completed")


@with_both_clients
class ClusterTest(ClientCase):
    def test_what_the_cluster_is(self) -> None:
        client = self.client()
        client.wait(client.submit_task(task_type="llm", payload="x"))
        self.assertLessEqual({"llm", "embedding", "diffusion"},
                             {queue.name for queue in client.queues()})
        self.assertGreater(sum(queue.completed for queue in client.queues()), 0)
        self.assertTrue(all(0 < gpu.usable_mb <= gpu.total_mb for gpu in client.gpus()))
        self.assertGreater(len(client.gpus()), 0)
        self.assertIn("default", {tenant.name for tenant in client.tenants()})
        self.assertIsInstance(client.models(), list)
        self.assertIsInstance(client.usage(days=1), list)
        self.assertGreater(client.server_info().sequence, 0)

    def test_a_queue_is_put_and_deleted(self) -> None:
        client = self.client()
        with self.assertRaises(berth.NotFound):
            client.delete_queue(self.name)
        self.assertTrue(client.put_queue(self.name, max_batch_size=3))
        self.assertFalse(client.put_queue(self.name, max_batch_size=4))
        task_id = client.submit_task(task_type=self.name, payload="x", held=True)
        with self.assertRaisesRegex(berth.FailedPrecondition, "1 unfinished task") as caught:
            client.delete_queue(self.name)
        self.assertEqual(caught.exception.metadata["have"], "1")
        client.cancel(task_id)
        client.delete_queue(self.name)
        self.assertNotIn(self.name, {queue.name for queue in client.queues()})
        with self.assertRaises(berth.NotFound):
            client.submit_task(task_type=self.name, payload="x")
        with self.assertRaises(ValueError):
            client.put_queue(self.name, max_batch_sise=3)

    @unittest.skipUnless(REAL_SERVER, "the fake server has only queues to put")
    def test_tenants_and_models_are_put_and_deleted(self) -> None:
        client = self.client()
        self.assertTrue(client.put_tenant(self.name, weight=2.5))
        self.assertTrue(client.put_model(self.name, weights_mb=100))
        client.delete_tenant(self.name)
        client.delete_model(self.name)
        for ask in ("delete_tenant", "delete_model"):
            with self.subTest(ask), self.assertRaises(berth.NotFound):
                getattr(client, ask)(self.name)


class NamesTest(unittest.TestCase):
    def test_both_clients_have_the_same_methods(self) -> None:
        def public(kind: type) -> set[str]:
            return {name for name in dir(kind) if not name.startswith("_")}

        self.assertEqual(public(berth.Client), public(berth.AsyncClient))

    def test_the_other_names(self) -> None:
        self.assertIs(gpu_scheduler.GPUClient, berth.GPUClient)
        self.assertIs(berth.GPUClient, berth.Client)
        for name in berth.__all__:
            self.assertIs(getattr(gpu_scheduler, name), getattr(berth, name))


if __name__ == "__main__":
    unittest.main()
