#!/usr/bin/env python3
"""Berth's own lint: what no general tool knows about this code base.

    lint.py sources [--root DIR]              layers, banned headers, tidiness of src/ and tests/
    lint.py symbols --core LIB [--base LIB]   the core's objects need nothing impure
    lint.py binary FILE                       the release binary loads libc and libm only,
                                              and holds no planted faults
    lint.py docs --binary FILE [--root DIR]   what the documents name is there: files, flags, keys

Prints one line per finding (file:line: what, and what to do) and ends with 1 if there are any.
The rules are data: tools/lint/rules.py. The test of this test: tools/lint/lint_test.py.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.dont_write_bytecode = True

import docs_checks  # noqa: E402
import source_checks  # noqa: E402
import symbol_checks  # noqa: E402


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    sources = commands.add_parser("sources")
    sources.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[2])
    symbols = commands.add_parser("symbols")
    symbols.add_argument("--core", type=Path, required=True)
    symbols.add_argument("--base", type=Path)
    binary = commands.add_parser("binary")
    binary.add_argument("file", type=Path)
    docs = commands.add_parser("docs")
    docs.add_argument("--binary", type=Path, required=True)
    docs.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[2])
    options = parser.parse_args(arguments)

    if options.command == "sources":
        findings = (source_checks.check_sources(options.root)
                    + source_checks.stale_exceptions(options.root))
    elif options.command == "symbols":
        findings = symbol_checks.check_symbols(options.core, options.base)
    elif options.command == "docs":
        findings = docs_checks.check_documents(options.root, options.binary)
    else:
        findings = symbol_checks.check_binary(options.file)

    for finding in findings:
        print(finding)
    if findings:
        print(f"lint {options.command}: {len(findings)} found", file=sys.stderr)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
