#!/usr/bin/env python3
"""What finds blocks and compares output finds and compares: no server needed."""

import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).parent))

from compare import difference  # noqa: E402
from documents import blocks_of_page, commands_in, console  # noqa: E402


class CompareTest(unittest.TestCase):
    def test_all_lines_count(self):
        self.assertEqual(difference(["a", "b"], ["a", "b"]), "")
        self.assertIn("nothing more", difference(["a", "b"], ["a"]))
        self.assertIn("also 'c'", difference(["a"], ["a", "c"]))
        self.assertIn("shows 'b'", difference(["a", "b"], ["a", "c"]))

    def test_an_ellipsis_stands_for_anything(self):
        self.assertEqual(difference(["a …", "c"], ["a long line", "c"]), "")
        self.assertEqual(difference(["a …"], ["a"]), "")
        self.assertEqual(difference(["a", "…", "d"], ["a", "b", "c", "d"]), "")
        self.assertEqual(difference(["a", "…"], ["a"]), "")
        self.assertNotEqual(difference(["a …"], ["b"]), "")

    def test_what_varies_keeps_its_form(self):
        self.assertEqual(difference(["on l4, 1.5s, done"], ["on l4, 12.0s, done"]), "")
        self.assertNotEqual(difference(["on l4, 1.5s, done"], ["on l4, long, done"]), "")
        self.assertEqual(difference(["x  running   7s  l4"], ["x    running  12s   l4"]), "")
        self.assertNotEqual(difference(["needs 2 GPUs"], ["needs 3 GPUs"]), "")

    def test_a_part_is_a_run_of_lines(self):
        self.assertEqual(difference(["b", "c"], ["a", "b", "c", "d"], part=True), "")
        self.assertNotEqual(difference(["b", "d"], ["a", "b", "c", "d"], part=True), "")
        self.assertNotEqual(difference(["b"], [], part=True), "")


class DocumentsTest(unittest.TestCase):
    def blocks(self, text):
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder, "page.md")
            page.write_text(text)
            return blocks_of_page(page)

    def test_blocks_are_named_by_their_heading(self):
        found = self.blocks("```\na\n```\n## Two words\n```toml\nb\nc\n```\n```\nd\n```\n")
        self.assertEqual([(block.name, block.language, block.lines) for block in found],
                         [("page/top/1", "", ("a",)), ("page/two-words/1", "toml", ("b", "c")),
                          ("page/two-words/2", "", ("d",))])

    def test_a_block_that_does_not_end_is_an_error(self):
        with self.assertRaises(ValueError):
            self.blocks("```\na\n")

    def test_commands_with_remarks_and_continued_lines(self):
        self.assertEqual(commands_in(("a -b      says b", "c \\", "  d")),
                         [("a -b", "says b"), ("c \\\n  d", "")])
        self.assertEqual(console(("$ a", "1", "2", "$ b")), [("a", ["1", "2"]), ("b", [])])


if __name__ == "__main__":
    unittest.main()
