#!/usr/bin/env python3
"""The training script of the first job does what docs/guide/first-job.md says of it, without a server."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TRAIN = ROOT / "examples/first-job/train.py"


class TrainTest(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)

    def start(self, *arguments, attempt="1"):
        environment = {**os.environ, "BERTH_TASK_ID": "job", "BERTH_ATTEMPT": attempt}
        return subprocess.Popen([sys.executable, str(TRAIN), *arguments], cwd=self.folder, text=True,
                                env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def run_to_end(self, *arguments, **named):
        process = self.start(*arguments, **named)
        out, _ = process.communicate(timeout=60)
        return process.returncode, out.splitlines()

    def epoch(self):
        return json.loads((self.folder / "checkpoint-job.json").read_text())["epoch"]

    def test_an_attempt_goes_on_where_the_one_before_failed(self):
        code, lines = self.run_to_end("--epochs", "3", "--crash-at", "1")
        self.assertEqual((code, self.epoch()), (1, 1))
        code, lines = self.run_to_end("--epochs", "3", "--crash-at", "1", attempt="2")
        self.assertEqual((code, self.epoch()), (0, 3))
        self.assertEqual(lines[1:4], ["going on behind epoch 1", "epoch 2 of 3, loss 2.0899",
                                      "epoch 3 of 3, loss 1.2598"])

    def test_the_stop_signal_saves(self):
        process = self.start("--epochs", "1000")
        for line in process.stdout:
            if line.startswith("epoch 1 "):
                break
        process.send_signal(signal.SIGTERM)
        rest, _ = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 143)
        self.assertEqual(rest.splitlines()[-1],
                         f"told to stop; checkpoint-job.json has epoch {self.epoch()}")


if __name__ == "__main__":
    unittest.main()
