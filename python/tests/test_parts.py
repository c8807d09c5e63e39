"""The parts that need no server: specs, durations, requests, the making of the blocking client."""

import importlib.util
import unittest
from datetime import datetime, timedelta, timezone
from pathlib import Path

from berth import channel, spec, timing
from berth.models import Reason
from berth.requests import REMEMBERED_TENANTS, Tenants, task_filter

TOOLS = Path(__file__).resolve().parents[1] / "tools"


class SpecTest(unittest.TestCase):
    def test_payloads(self) -> None:
        self.assertEqual(spec.encode_payload({"a": "é"}), '{"a":"é"}'.encode())
        self.assertEqual(spec.encode_payload([1, None]), b"[1,null]")
        self.assertEqual(spec.encode_payload("text"), b"text")
        self.assertEqual(spec.encode_payload(b"\x00\xff"), b"\x00\xff")
        with self.assertRaisesRegex(TypeError, "not JSON"):
            spec.encode_payload({"a": object()})

    def test_there_and_back(self) -> None:
        instant = datetime(2030, 1, 2, 3, 4, 5, tzinfo=timezone.utc)
        given: spec.TaskSpec = {
            "task_id": "a", "user_id": "b", "task_type": "c", "gpu_memory_mb": 5, "tier": 0,
            "payload": {"x": 1}, "env": {"K": "V"}, "workdir": "/tmp", "priority": -3, "gpus": 2,
            "share": 0.125, "cpus": 2.5, "memory_mb": 4096, "gpu_kinds": ["a100", "h100"],
            "groups": 2, "within": "node", "required": True, "mig_profile": "1g.10gb",
            "expected_run": 0.5, "not_before": instant, "tolerated_wait": 60.0,
            "checkpoint_interval": 600.0, "restart_cost": 30.0,
            "run_limit": 3600.0, "deadline": instant, "start": "at_least_once",
            "retry": {"attempts": 2, "backoff": 1.5}, "depends_on": ["d", "signal:s"],
            "run_after_failure": True, "group": "g", "array": "0-99%10", "labels": {"l": "m"},
            "result_ttl": 1.0,
            "stop_signal": "INT", "stop_grace": 2.0, "tokens": 7, "held": True}
        self.assertEqual(spec.from_message(spec.to_message(given)), given)
        self.assertEqual(spec.FIELDS - set(given), {"command"})
        command: spec.TaskSpec = {"command": ["echo", "a b"]}
        self.assertEqual(spec.from_message(spec.to_message(command)), command)

    def test_no_gpu_is_not_the_default(self) -> None:
        given: spec.TaskSpec = {"gpus": 0, "cpus": 4.0}
        message = spec.to_message(given)
        self.assertTrue(message.HasField("gpus"))
        self.assertEqual(message.cpus_milli, 4000)
        self.assertEqual(spec.from_message(message), given)
        self.assertFalse(spec.to_message({}).HasField("gpus"))

    def test_every_field_of_the_message_has_its_name(self) -> None:
        on_the_wire = {field.name.removesuffix("_ms").removesuffix("_unix").removesuffix("_milli")
                       for field in spec.to_message({}).DESCRIPTOR.fields}
        self.assertEqual(on_the_wire, spec.FIELDS)

    def test_a_line_for_a_shell_is_no_command(self) -> None:
        with self.assertRaisesRegex(TypeError, "command is a list"):
            spec.to_message({"command": "echo hi"})

    def test_one_kind_is_a_list_of_one(self) -> None:
        with self.assertRaisesRegex(TypeError, r"gpu_kinds is a list of strings, not one string"):
            spec.to_message({"gpu_kinds": "a100"})

    def test_none_is_absent(self) -> None:
        self.assertEqual(spec.to_message({"priority": None, "tier": None}), spec.to_message({}))


class TimingTest(unittest.TestCase):
    def test_durations(self) -> None:
        self.assertEqual(timing.milliseconds(1.5), 1500)
        self.assertEqual(timing.milliseconds(timedelta(minutes=1)), 60_000)
        self.assertEqual(timing.milliseconds(0.0001), 1)
        self.assertEqual(timing.milliseconds(0), 0)
        with self.assertRaises(ValueError):
            timing.milliseconds(-1)

    def test_patience_is_renewed_by_progress(self) -> None:
        patience = timing.Patience(0.0)
        self.assertIsNone(patience.pause())
        patience = timing.Patience(100.0)
        pauses = [patience.pause() or 0.0 for _ in range(10)]
        self.assertLess(pauses[0], pauses[-1])
        self.assertLessEqual(max(pauses), timing.LONGEST_PAUSE)
        patience.renew()
        self.assertLessEqual(patience.pause() or 1.0, timing.FIRST_PAUSE)
        self.assertEqual(patience.pause(at_least=50.0), 50.0)
        self.assertIsNone(patience.pause(at_least=200.0))


class RequestTest(unittest.TestCase):
    def test_tenants(self) -> None:
        tenants = Tenants("mine")
        tenants.remember("a", "red")
        self.assertEqual(tenants.of("a", None), "red")
        self.assertEqual(tenants.of("a", "blue"), "blue")
        self.assertEqual(tenants.of("b", None), "mine")
        tenants.remember("a", "mine")
        self.assertEqual(tenants.of("a", None), "mine")
        self.assertEqual(Tenants(None).of("a", None), "")

    def test_very_many_tenants_are_not_all_remembered(self) -> None:
        tenants = Tenants(None)
        for number in range(REMEMBERED_TENANTS + 1):
            tenants.remember(str(number), "red")
        self.assertEqual(tenants.of("0", None), "")
        self.assertEqual(tenants.of("1", None), "red")

    def test_states(self) -> None:
        self.assertEqual(len(task_filter(states=["pending", "running"]).states), 2)
        with self.assertRaisesRegex(ValueError, "no state 'done'; there are waiting, pending"):
            task_filter(states=["done"])
        with self.assertRaises(TypeError):
            task_filter(states="pending")

    def test_a_reason_reads_as_its_sentence(self) -> None:
        self.assertEqual(str(Reason("vram_short", "needs 8 GB")), "needs 8 GB")
        self.assertEqual(str(Reason("vram_short")), "vram_short")


class ChannelTest(unittest.TestCase):
    def test_no_proxy_stands_before_this_machine(self) -> None:
        off = ("grpc.enable_http_proxy", 0)
        for host in ("localhost:50051", "127.0.0.1:1", "[::1]:50051"):
            self.assertIn(off, channel.options(host))
        self.assertNotIn(off, channel.options("gpus.example:50051"))


class MakeSyncTest(unittest.TestCase):
    def test_words_go_and_strings_stay(self) -> None:
        place = importlib.util.spec_from_file_location("make_sync", TOOLS / "make_sync.py")
        assert place is not None and place.loader is not None
        tool = importlib.util.module_from_spec(place)
        place.loader.exec_module(tool)
        source = ('async def f(self) -> AsyncStream[int]:\n'
                  '    async with aclosing(g()) as x:  # await\n'
                  '        return await x.get("async await")\n')
        self.assertEqual(tool.without_async(source),
                         'def f(self) -> Stream[int]:\n'
                         '    with closing(g()) as x:  # await\n'
                         '        return x.get("async await")\n')


if __name__ == "__main__":
    unittest.main()
