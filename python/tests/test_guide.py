"""Runs every example of docs/guide/python.md, in order, and compares what it says it prints.

`print(...)  # text` promises that line; `...` in it stands for anything.
"""

import contextlib
import io
import re
import unittest
from pathlib import Path
from typing import Any

from berth.testing import FakeServer

GUIDE = Path(__file__).resolve().parents[2] / "docs/guide/python.md"
EXAMPLE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PROMISE = re.compile(r"^ *print\(.*\)  # (.*)$", re.MULTILINE)


class GuideTest(unittest.TestCase):
    def test_the_examples(self) -> None:
        text = GUIDE.read_text()
        examples = list(EXAMPLE.finditer(text))
        self.assertGreater(len(examples), 15)
        promised = 0
        with FakeServer() as server:
            names: dict[str, Any] = {"__name__": "guide"}
            for example in examples:
                line = text[:example.start(1)].count("\n") + 1
                with self.subTest(line=line):
                    promised += self._run(example.group(1), server.host, line, names)
            for value in list(names.values()):
                if hasattr(value, "_connection"):
                    value.close()
        self.assertGreater(promised, 15)

    def _run(self, code: str, host: str, line: int, names: dict[str, Any]) -> int:
        promises = PROMISE.findall(code)
        place = "\n" * (line - 1)  # errors then name the guide's own lines
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(place + code.replace("localhost:50051", host), str(GUIDE), "exec"), names)
        lines = iter(printed.getvalue().splitlines())
        for promise in promises:
            pattern = ".*".join(re.escape(part) for part in promise.split("..."))
            found = any(re.fullmatch(pattern, printed_line) for printed_line in lines)
            self.assertTrue(found, f"line {promise!r} was not printed:\n{printed.getvalue()}")
        return len(promises)


if __name__ == "__main__":
    unittest.main()
