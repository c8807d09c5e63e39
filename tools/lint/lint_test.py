#!/usr/bin/env python3
"""The test of the lint: each rule is broken once in a temporary tree and must be noticed.

Runs the lint as its users do, as a program. Needs g++ and binutils, as the build does.
"""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

LINT = Path(__file__).resolve().parent / "lint.py"
HEADER = "// A file.\n#pragma once\n"
SOURCE = "// A file.\n"


class Tree(unittest.TestCase):
    """A temporary source tree and the means to lint and compile it."""

    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.root = Path(holder.name)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def lint(self, *arguments):
        done = subprocess.run([sys.executable, str(LINT), *map(str, arguments)],
                              capture_output=True, text=True, check=False)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        findings = done.stdout.splitlines()
        self.assertEqual(done.returncode, 1 if findings else 0)
        return findings

    def sources(self):
        # Stale exceptions concern the real tree, not this one.
        return [line for line in self.lint("sources", "--root", self.root)
                if not line.startswith("tools/lint/rules.py")]

    def assert_clean(self):
        self.assertEqual(self.sources(), [])

    def assert_one(self, *parts):
        findings = self.sources()
        self.assertEqual(len(findings), 1, findings)
        for part in parts:
            self.assertIn(part, findings[0])

    def archive(self, name, sources, *flags):
        """Compiles {file: text} into the archive lib<name>.a and returns its path."""
        objects = []
        for file, text in sources.items():
            self.write(f"{name}/{file}", text)
            source = self.root / name / file
            objects.append(source.with_suffix(".cpp.o"))
            subprocess.run(["g++", "-std=c++20", "-O1", *flags, "-c", source, "-o", objects[-1]],
                           check=True)
        path = self.root / f"lib{name}.a"
        subprocess.run(["ar", "rcs", path, *objects], check=True)
        return path


class Layers(Tree):
    def test_an_orderly_tree_is_clean(self):
        self.write("src/base/id.h", HEADER + "#include <cstdint>\n")
        self.write("src/core/model/task.h", HEADER + '#include "base/id.h"\n')
        self.write("src/core/event.h", HEADER + '#include "core/model/task.h"\n')
        self.write("src/core/state/table.h", HEADER + '#include "core/event.h"\n')
        self.write("src/core/queue/lane.h", HEADER + '#include "core/state/table.h"\n')
        self.write("src/core/queue/lane.cpp", SOURCE + '#include "core/queue/lane.h"\n')
        self.write("src/core/engine.h", HEADER + '#include "core/queue/lane.h"\n')
        self.write("src/core/engine_apply.cpp", SOURCE + '#include "core/queue/lane.h"\n')
        self.write("src/journal/codec.h", HEADER + '#include "core/event.h"\n')
        self.write("src/cli/sim.cpp", SOURCE + '#include "sim/run.h"\n#include "berth/v1/a.pb.h"\n')
        self.write("src/main/main.cpp", SOURCE + '#include "api/server.h"\n')
        self.assert_clean()

    def test_a_lower_layer_may_not_include_a_higher_one(self):
        self.write("src/core/engine.h", HEADER + '#include "journal/codec.h"\n')
        self.assert_one("src/core/engine.h:3", "core may not include journal")

    def test_a_test_keeps_to_its_layer_too(self):
        self.write("src/base/id_test.cpp", SOURCE + '#include "core/event.h"\n')
        self.assert_one("base may not include core")

    def test_siblings_may_not_include_each_other(self):
        self.write("src/sim/run.h", HEADER + '#include "store/segment.h"\n')
        self.assert_one("sim may not include store")

    def test_the_agent_does_not_know_the_core(self):
        self.write("src/agent/run.h", HEADER + '#include "core/event.h"\n')
        self.assert_one("agent may not include core")

    def test_nobody_includes_main(self):
        self.write("src/api/server.h", HEADER + '#include "main/options.h"\n')
        self.assert_one("api may not include main")

    def test_a_stage_may_not_include_another(self):
        self.write("src/core/queue/lane.cpp", SOURCE + '#include "core/policy/fair.h"\n')
        self.assert_one("stage queue may not include stage policy")

    def test_a_test_of_a_stage_may(self):
        self.write("src/core/queue/lane_test.cpp", SOURCE + '#include "core/policy/fair.h"\n')
        self.assert_clean()

    def test_a_stage_may_not_include_the_engine(self):
        self.write("src/core/queue/lane.cpp", SOURCE + '#include "core/engine.h"\n')
        self.assert_one("core/queue may not include core/engine")

    def test_state_may_not_include_a_stage(self):
        self.write("src/core/state/table.h", HEADER + '#include "core/queue/lane.h"\n')
        self.assert_one("core/state may not include core/queue")

    def test_the_model_includes_nothing_but_base(self):
        self.write("src/core/model/task.h", HEADER + '#include "core/event.h"\n')
        self.assert_one("core/model may not include core/event")

    def test_an_event_may_not_include_state(self):
        self.write("src/core/event.h", HEADER + '#include "core/state/table.h"\n')
        self.assert_one("core/event may not include core/state")

    def test_an_unknown_part_of_the_core_asks_for_a_rule(self):
        self.write("src/core/misc/a.h", HEADER + '#include "core/model/task.h"\n')
        self.assert_one("core/misc has no rule")

    def test_an_unknown_layer_is_refused(self):
        self.write("src/util/a.h", HEADER)
        self.assert_one("no layer of this name")

    def test_includes_are_written_from_src(self):
        self.write("src/core/queue/lane.cpp", SOURCE + '#include "lane.h"\n')
        self.assert_one("write our includes from src/")

    def test_our_headers_are_quoted(self):
        self.write("src/core/queue/lane.cpp", SOURCE + "#include <base/id.h>\n")
        self.assert_one("included with quotes")


class Purity(Tree):
    def test_each_banned_header_is_refused_with_its_replacement(self):
        for header, advice in {
            "chrono": "carries its `now`", "mutex": "concurrency belongs", "thread": "concurrency",
            "atomic": "concurrency", "random": "generator", "iostream": "print", "cstdio": "print",
            "fstream": "I/O", "filesystem": "I/O", "unordered_map": "std::map",
            "unordered_set": "std::map", "ctime": "now", "sys/mman.h": "edges", "unistd.h": "edges",
            "future": "concurrency", "condition_variable": "concurrency",
        }.items():
            with self.subTest(header=header):
                self.write("src/core/queue/a.cpp", SOURCE + f"#include <{header}>\n")
                self.assert_one(f"<{header}> is banned", advice)

    def test_base_is_held_to_the_same(self):
        self.write("src/base/a.cpp", SOURCE + "#include <mutex>\n")
        self.assert_one("<mutex> is banned")

    def test_other_layers_and_tests_are_free(self):
        self.write("src/store/a.cpp", SOURCE + "#include <fstream>\n#include <mutex>\n")
        self.write("src/core/queue/a_test.cpp", SOURCE + "#include <fstream>\n")
        self.assert_clean()

    def test_a_clock_is_refused_by_name(self):
        self.write("src/core/queue/a.cpp", SOURCE + "auto t = std::chrono::steady_clock::now();\n")
        self.assert_one("steady_clock", "`now`")

    def test_order_by_pointer_is_refused(self):
        self.write("src/core/state/a.h", HEADER + "std::map<const Task*, int> m;\n")
        self.assert_one("never order by a pointer")
        self.write("src/core/state/a.h", HEADER + "std::map<TaskNo, Task*> m;\n")
        self.assert_clean()

    def test_comments_and_literals_are_not_code(self):
        self.write("src/core/queue/a.cpp",
                   SOURCE + '// No steady_clock here.\n/* nor\nvolatile */ auto s = "_clock";\n'
                   "auto n = 1'000'000; auto t = 2'000;\n")
        self.assert_clean()


class Tidiness(Tree):
    def test_each_rule(self):
        for text, finding in {
            "#pragma once\n": "starts without a comment",
            "// A file.\n": "has no `#pragma once`",
            HEADER + "\tint a;\n": "has a tab",
            HEADER + "int a; \n": "ends with white space",
            HEADER + "// " + "a" * 98 + "\n": "has 101 columns",
            HEADER + "// TO" + "DO: later\n": "finish it or open an issue",
            HEADER + "// FIX" + "ME\n": "finish it or open an issue",
            HEADER + "int a;": "does not end with a newline",
            HEADER + "\n" * 599: "has 601 lines",
            HEADER + 'auto a = "{\\"b\\":1}";\n': "writes JSON by hand",
            HEADER + 'auto a = "\\\\u00";\n': "writes JSON by hand",
        }.items():
            with self.subTest(finding=finding):
                self.write("src/core/model/a.h", text)
                self.assert_one("src/core/model/a.h", finding)

    def test_the_limits_themselves_are_allowed(self):
        self.write("src/core/model/a.h", HEADER + "// " + "a" * 97 + "\n" + "\n" * 597)
        self.assert_clean()


PURE = """
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>
struct Shape { virtual ~Shape() = default; virtual int area() const { return 1; } };
int measure(const Shape& shape) { return shape.area(); }
std::string work(std::vector<int>& v, std::map<int, std::string>& m, std::variant<int, char>& x) {
  std::stable_sort(v.begin(), v.end());
  v.push_back(std::get<int>(x));
  m[v.at(0)] += std::to_string(v.size());
  Shape shape;
  return m.begin()->second + std::to_string(measure(shape));
}
__int128 divide(__int128 a, __int128 b) { return a / b; }
"""


class Symbols(Tree):
    def check(self, core, base=None, flags=()):
        arguments = ["symbols", "--core", self.archive("core", core, *flags)]
        if base:
            arguments += ["--base", self.archive("base", base, *flags)]
        return self.lint(*arguments)

    def test_ordinary_code_is_pure_in_each_kind_of_build(self):
        for flags in (("-O2", "-D_FORTIFY_SOURCE=2", "-fstack-protector-all"),
                      ("-O0", "-D_GLIBCXX_ASSERTIONS", "--coverage"),
                      ("-fsanitize=address,undefined",), ("-fsanitize=thread",)):
            with self.subTest(flags=flags):
                self.assertEqual(self.check({"a.cpp": PURE}, flags=flags), [])

    def test_a_clock_and_a_lock_are_found(self):
        findings = self.check({"a.cpp": """
            #include <chrono>
            #include <mutex>
            std::mutex lock;
            long long f() {
              std::lock_guard guard(lock);
              return std::chrono::steady_clock::now().time_since_epoch().count();
            }"""})
        self.assertEqual(len(findings), 3, findings)  # now, lock, unlock
        text = "\n".join(findings)
        self.assertIn("a.cpp.o", text)
        self.assertIn("std::chrono::_V2::steady_clock::now()", text)
        self.assertIn("pthread_mutex_lock", text)
        self.assertIn("each event carries its `now`", text)
        self.assertIn("concurrency belongs to", text)

    def test_they_are_found_in_every_kind_of_build(self):
        source = {"a.cpp": "#include <ctime>\nlong f() { return time(nullptr); }"}
        for flags in (("-flto", "-ffat-lto-objects"), ("-fsanitize=address,undefined",),
                      ("--coverage",)):
            with self.subTest(flags=flags):
                findings = self.check(source, flags=flags)
                self.assertEqual(len(findings), 1, findings)
                self.assertIn("needs `time`", findings[0])

    def test_each_impurity_is_found(self):
        # One file for all: most of the time goes into parsing the headers.
        cases = {
            "getenv": "char* a() { return getenv(\"A\"); }",
            "printf": "void b(int n) { printf(\"%d\", n); }",
            "rand": "int c() { return rand(); }",
            "std::random_device": "unsigned d() { return std::random_device{}(); }",
            "std::thread": "void e() { std::thread([] {}).join(); }",
            "std::cout": "void f() { std::cout << 1; }",
            "std::__detail::_Prime_rehash_policy":
                "int g(std::unordered_map<int, int>& m) { return m[1]; }",
            "read": "long h(int n, char* to) { return read(n, to, 1); }",
            "socket": "int i() { return socket(1, 1, 1); }",
            "log2": "double j(double n) { return std::log2(n); }",
        }
        headers = ("cmath", "cstdio", "cstdlib", "iostream", "random", "thread", "unordered_map",
                   "sys/socket.h", "unistd.h")
        text = "".join(f"#include <{header}>\n" for header in headers) + "\n".join(cases.values())
        findings = self.check({"a.cpp": text})
        for symbol in cases:
            with self.subTest(symbol=symbol):
                self.assertTrue(any(f"needs `{symbol}" in line for line in findings), findings)

    def test_base_is_followed_as_far_as_the_core_pulls_it_in(self):
        core = {"a.cpp": "int first(); int f() { return first(); }"}
        base = {
            "first.cpp": "int second(); int first() { return second(); }",
            "second.cpp": "#include <ctime>\nint second() { return (int)clock(); }",
            "unused.cpp": "#include <cstdlib>\nint unused() { return rand(); }",
        }
        findings = self.check(core, base)
        self.assertEqual(len(findings), 1, findings)
        self.assertIn("second.cpp.o [base, pulled in by first.cpp.o (base, pulled in by a.cpp.o",
                      findings[0])
        self.assertIn("needs `clock`", findings[0])

    def test_objects_of_bytecode_alone_are_refused(self):
        findings = self.check({"a.cpp": PURE}, flags=("-flto", "-fno-fat-lto-objects"))
        self.assertEqual(len(findings), 1, findings)
        self.assertIn("-ffat-lto-objects", findings[0])


class Binary(Tree):
    def build(self, *flags, more=""):
        self.write("main.cpp", "#include <string>\n" + more + "\nint main(int n, char** v) "
                   "{ return std::string(v[0]).size() == std::to_string(n).size(); }")
        subprocess.run(["g++", "-std=c++20", *flags, self.root / "main.cpp",
                        "-o", self.root / "program"], check=True)
        return self.lint("binary", self.root / "program")

    def test_a_static_runtime_is_clean(self):
        self.assertEqual(self.build("-static-libstdc++", "-static-libgcc"), [])

    def test_a_shared_runtime_is_found(self):
        self.assertTrue(any("libstdc++.so" in line for line in self.build()))

    def test_planted_faults_are_found_by_symbol_and_by_text(self):
        findings = self.build("-static-libstdc++", "-static-libgcc", more="""
            namespace berth::store {
            void arm_faults(std::string_view) {}
            extern const char name[];
            const char name[] = "crash=store.after_append@5";
            }""")
        self.assertEqual(len(findings), 2, findings)
        self.assertIn("berth::store::arm_faults(", findings[0])
        self.assertIn("crash=store.", findings[1])


if __name__ == "__main__":
    unittest.main()
