"""What is installed runs on the oldest Python that pyproject.toml promises, as far as can be seen here.

script/python lets mypy check the names of the standard library for that version; this is about
what mypy does not see: how the files read in that version's grammar, and expressions that are types
and are computed when a module is loaded.
"""

import ast
import re
import unittest
from pathlib import Path
from typing import Iterator, Set, Tuple

import berth
import gpu_scheduler

PROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"
PLAIN_GENERICS = {"dict", "list", "tuple", "set", "frozenset", "type", "deque", "defaultdict"}


def oldest() -> Tuple[int, int]:
    found = re.search(r'^requires-python = ">=(\d+)\.(\d+)"$', PROJECT.read_text(), re.MULTILINE)
    assert found is not None
    return int(found.group(1)), int(found.group(2))


def installed() -> Iterator[Path]:
    for package in (berth, gpu_scheduler):
        assert package.__file__ is not None
        yield from sorted(Path(package.__file__).parent.rglob("*.py"))


def computed_generics(text: str, version: Tuple[int, int]) -> Iterator[int]:
    """Lines with list[int] and the like where Python computes them: 3.9 has these."""
    tree = ast.parse(text, feature_version=version)
    unread: Set[ast.AST] = set()  # with the future import annotations are kept as text
    if "from __future__ import annotations" in text:
        for node in ast.walk(tree):
            for name in ("annotation", "returns"):
                kept = getattr(node, name, None)
                unread.update(ast.walk(kept) if isinstance(kept, ast.AST) else ())
    for node in ast.walk(tree):
        if (isinstance(node, ast.Subscript) and node not in unread
                and isinstance(node.value, ast.Name) and node.value.id in PLAIN_GENERICS):
            yield node.lineno


class OldestPythonTest(unittest.TestCase):
    def test_every_installed_file_reads(self) -> None:
        self.assertEqual(oldest(), (3, 8))
        files = list(installed())
        self.assertGreater(len(files), 15)
        for file in files:
            with self.subTest(file=file.name):
                text = file.read_text()
                self.assertEqual(list(computed_generics(text, oldest())), [])

    def test_newer_code_is_noticed(self) -> None:
        for text in ("match x:\n    case 1: pass\n",
                     "with (open(a) as b, open(c) as d):\n    pass\n",
                     "try:\n    pass\nexcept* E:\n    pass\n"):
            with self.subTest(text=text), self.assertRaises(SyntaxError):
                list(computed_generics(text, (3, 8)))
        self.assertEqual(list(computed_generics("x = 1\nA = list[int]\n", (3, 8))), [2])
        self.assertEqual(list(computed_generics("def f(a: dict[str, int]): pass\n", (3, 8))), [1])
        future = "from __future__ import annotations\n"
        self.assertEqual(list(computed_generics(future + "x: dict[str, int] = {}\n", (3, 8))), [])


if __name__ == "__main__":
    unittest.main()
