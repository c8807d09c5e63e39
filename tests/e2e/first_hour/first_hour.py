#!/usr/bin/env python3
"""The first hour of a newcomer: what README, guide and help texts show is run as it stands there.

    first_hour.py --binary FILE            all pages, three at once
    first_hour.py --binary FILE PAGE...    some: README, first-job, …; help: the help texts

Each page is read in a sandbox (sandbox.py) with a server of its own at the default ports. Every
fenced block is run or checked, and what the text shows as output is compared with what comes
(compare.py). plan.py names the few blocks that cannot be run, each with its reason. Fails for a
block that is neither run nor named, for an entry of plan.py that fits nothing, and for whatever
does not do what the text says. Needs root; without it, it says so and does nothing.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True

import plan  # noqa: E402
import sandbox  # noqa: E402
from documents import Block, blocks_of_page, help_block, help_texts, pages  # noqa: E402
from reader import Reader  # noqa: E402

ROOT = Path(__file__).resolve().parents[3]
AT_ONCE = 3
REPORT = "first-hour report: "


def all_blocks(berth: str, root: Path) -> dict[str, list[Block]]:
    """What there is to run, by page. The reference in cli.md is the help texts, word for word."""
    helps = help_texts(berth)
    known = {section.usage for section in helps} | {section.examples for section in helps}
    found: dict[str, list[Block]] = {}
    for page in pages(root):
        blocks = blocks_of_page(page)
        if page.stem == "cli":
            blocks = [block for block in blocks
                      if not block.name.startswith("cli/berth-") or block.lines not in known]
        if blocks:
            found[page.stem] = blocks
    found["help"] = [help_block(section) for section in helps if section.examples]
    return found


# ---- Inside the sandbox --------------------------------------------------------------------------

def read_page(page: str, binary: Path) -> None:
    sandbox.enter(ROOT, binary)
    blocks = all_blocks("build/release/berth", sandbox.REPOSITORY)[page]
    begin = time.monotonic()
    reader = Reader(page, Path("/run/first-hour"))
    try:
        reader.read(blocks)
    except (TimeoutError, ConnectionError) as error:
        reader.problems.append(f"{page}: {error}")
    reader.close()
    print(REPORT + json.dumps({"page": page, "problems": reader.problems,
                               "ran": sorted(reader.ran), "commands": reader.commands,
                               "slow": [entry for entry in sorted(reader.slow) if entry[0] > 5],
                               "seconds": round(time.monotonic() - begin, 1)}))


# ---- Outside -------------------------------------------------------------------------------------

def read_all(chosen: list[str], binary: Path) -> list[dict]:
    """Each page in a sandbox of its own, the longest first."""
    waiting = sorted(chosen, key=lambda page: plan.LONGEST.index(page)
                     if page in plan.LONGEST else len(plan.LONGEST))
    running: dict[str, subprocess.Popen] = {}
    reports = []
    while waiting or running:
        while waiting and len(running) < AT_ONCE:
            page = waiting.pop(0)
            running[page] = sandbox.start([str(Path(__file__).resolve()), "--binary", str(binary),
                                           "--inside", page])
        time.sleep(0.1)
        for page, process in list(running.items()):
            if process.poll() is None:
                continue
            del running[page]
            said = process.stdout.read()
            lines = [line for line in said.splitlines() if line.startswith(REPORT)]
            report = json.loads(lines[-1][len(REPORT):]) if lines else {
                "page": page, "ran": [], "commands": 0, "seconds": 0, "slow": [],
                "problems": [f"{page}: the reader ended with {process.returncode}:\n{said}"]}
            reports.append(report)
            print(f"{report['page']:15} {len(report['problems'])} problems, {report['commands']} "
                  f"commands and files, {report['seconds']} s", flush=True)
            for seconds, key in report["slow"]:
                print(f"{'':15} {seconds} s of them: {key}")
    return reports


def unused_entries(ran: set[str], chosen: list[str]) -> list[str]:
    """Entries of plan.py that fit nothing any more."""
    stale = []
    for table in ("EXCEPT", "INSTEAD", "BEFORE", "UNTIL", "STATUS", "SHOWN_BY", "CHECKED_BY",
                  "AFTER", "PART", "REMARKS"):
        for key in getattr(plan, table):
            page = key.split("/")[0].split(".")[0]
            block = key.split(": ")[0]
            if page in chosen and key not in ran and (": " in key or block not in ran):
                stale.append(f"plan.py: {table} has {key!r}, which fits no block")
    if "help" in chosen and "README" in chosen:  # all pages, or nearly
        stale += [f"plan.py: STAND_INS has {part!r}, which no command has"
                  for part in plan.STAND_INS if part not in ran]
    return stale


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__,
                                      formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--binary", type=Path, required=True)
    options.add_argument("--inside", help=argparse.SUPPRESS)
    options.add_argument("pages", nargs="*", metavar="PAGE")
    given = options.parse_args()
    binary = given.binary.resolve()
    if given.inside:
        read_page(given.inside, binary)
        return 0
    reason = sandbox.why_not()
    if reason:
        print(f"skipped: {reason}")
        return 0
    subprocess.run([ROOT / "script/python", "--quiet"], check=True)

    blocks = all_blocks(str(binary), ROOT)
    unknown = [page for page in given.pages if page not in blocks]
    if unknown:
        print(f"no page {unknown[0]}; there are {', '.join(blocks)}")
        return 2
    chosen = given.pages or list(blocks)
    reports = read_all(chosen, binary)
    ran = {key for report in reports for key in report["ran"]}
    problems = [problem for report in reports for problem in report["problems"]]
    problems += unused_entries(ran, chosen)
    there = [block for page in chosen for block in blocks[page]]
    problems += [f"{block.place} ({block.name}): neither run nor excepted" for block in there
                 if block.name not in ran and not any(block.name in text for text in problems)]

    for problem in problems:
        print("\n" + problem.rstrip())
    excepted = [key for key in plan.EXCEPT if key in ran]
    whole = [key for key in excepted if ": " not in key]
    print(f"\n{len(there)} blocks: {len(there) - len(whole)} run or checked, with "
          f"{sum(report['commands'] for report in reports)} commands and files; excepted "
          f"{len(whole)} blocks and {len(excepted) - len(whole)} single commands; "
          f"{len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
