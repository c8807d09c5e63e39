#!/usr/bin/env python3
"""The test of the lint of documents: each kind of mistake is planted once and must be noticed.

The binary here is a stand-in that answers as `berth` does; the real one is asked by the lint itself.
"""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

LINT = Path(__file__).resolve().parent / "lint.py"

BERTH = """#!/bin/sh
case "$*" in
  --help) printf 'work:\\n  submit       submit a task\\n  sim compare  side by side\\n' ;;
  'submit --help') printf 'options:\\n  --queue QUEUE  the queue\\n  -o json  how\\n' ;;
  'sim compare --help') printf 'options:\\n  --seeds N  so many\\n' ;;
  'config show --origin') printf 'server.data = "./var"  # default\\n' ;;
  'config check '*) if grep -q datta "$3"; then echo "$3:2:1: unknown key \\"datta\\" in server"; fi
    echo "$3:1:1: tenants.parent: no tenant is named \\"lab\\"" ;;
esac
"""

GOOD = """# A page

See [the other](docs/other.md#a-part-of-it), [this](#a-page) and `script/go --fast`.
`server.data` holds, also as `BERTH_SERVER_DATA`; `BERTH_READ` is read. `--queue` is a flag.

```
$ berth submit --queue llm -o json -- python3 train.py --lr 0.1
BERTH_READ=1 build/release/berth sim compare a.toml --seeds 3 | grep --color x
runuser -u berth -- berth submit --queue llm; script/go --fast
berth submit, sim               what there is
berth submit --queue -best train.sh --lr 0.1
systemctl stop berth
```

```toml
[server]
data = "/srv"
```
"""


class DocumentsTest(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.root = Path(holder.name)
        self.write("build/berth", BERTH)
        (self.root / "build/berth").chmod(0o755)
        self.write("script/go", "# script/go [--fast]\n")
        self.write("src/a.cpp", 'read("BERTH_READ");\n')
        self.write("docs/other.md", "# Other\n\n## A part of `it`\n")

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def findings(self, page):
        self.write("README.md", page)
        done = subprocess.run(
            [sys.executable, str(LINT), "docs", "--root", str(self.root), "--binary",
             str(self.root / "build/berth")], capture_output=True, text=True, check=False)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return done.stdout.splitlines()

    def assert_one(self, right, wrong, *parts):
        """The good page with one thing made wrong."""
        self.assertIn(right, GOOD)
        found = self.findings(GOOD.replace(right, wrong, 1))
        self.assertEqual(len(found), 1, found)
        for part in parts:
            self.assertIn(part, found[0])

    def test_a_good_page(self):
        self.assertEqual(self.findings(GOOD), [])

    def test_links(self):
        self.assert_one("docs/other.md#a-part-of-it", "docs/gone.md", "README.md:3", "no such file")
        self.assert_one("#a-part-of-it", "#another-part", "README.md:3", "no such heading")
        self.assert_one("(#a-page)", "(#no-page)", "README.md:3", "no such heading")

    def test_paths(self):
        self.assert_one("`script/go --fast`", "`script/gone`", "README.md:3", "script/gone")
        self.assert_one("; script/go --fast", "; script/gone", "README.md:9", "script/gone")

    def test_commands(self):
        self.assert_one("berth sim compare a.toml", "berth simulate a.toml", "README.md:8",
                        "no command berth simulate")
        self.assert_one("berth submit, sim", "berth submit, simulate", "README.md:10", "simulate")

    def test_flags(self):
        self.assert_one("--queue llm -o json", "--qeueu llm -o json", "README.md:7",
                        "berth submit has no flag --qeueu")
        self.assert_one("-- berth submit --queue llm", "-- berth submit --pool llm", "README.md:9",
                        "--pool")
        self.assert_one("--seeds 3", "--queue llm", "README.md:8",
                        "berth sim compare has no flag --queue")
        self.assert_one("`--queue` is", "`--lane` is", "README.md:4", "--lane")
        self.assert_one("; script/go --fast", "; script/go --slow", "README.md:9",
                        "script/go has no flag --slow")
        self.assert_one("`script/go --fast`", "`script/go --slow`", "README.md:3", "--slow")

    def test_keys(self):
        self.assert_one("`server.data`", "`server.datta`", "README.md:4", "no key server.datta")
        self.assert_one('data = "/srv"', 'datta = "/srv"', "README.md:17", "unknown key")

    def test_figures_without_a_command(self):
        self.write("docs/benchmarks.md", "# B\n\n1 of 2.\n\n## Told\n\n`script/test`: 3 s\n\n"
                   "## Alone\n\n| 4 | 5 |\n")
        self.write("script/test", "")
        (found,) = self.findings(GOOD)
        self.assertIn('docs/benchmarks.md:9: "Alone" has figures and no command', found)

    def test_makefile(self):
        self.write("Makefile", "go:\n\tscript/go --fast\n\nslow:\n\tscript/go --slow\n\tscript/gone\n")
        self.assertEqual(self.findings(GOOD), ["Makefile:5: script/go has no flag --slow",
                                               "Makefile:6: script/gone: no such file"])

    def test_variables(self):
        self.assert_one("`BERTH_READ` is", "`BERTH_RED` is", "README.md:4", "nothing reads BERTH_RED")
        self.assert_one("`BERTH_SERVER_DATA`", "`BERTH_SERVER_DATTA`", "README.md:4",
                        "BERTH_SERVER_DATTA")


if __name__ == "__main__":
    unittest.main()
