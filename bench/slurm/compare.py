#!/usr/bin/env python3
"""Runs the same no-op tasks on Slurm and on Berth, one after the other, and compares the rates.

Run by script/bench slurm, which unpacks Slurm first. Everything runs on loopback, below a temporary
folder, and ends with this program, also by Ctrl-C.
"""

import argparse
import json
import os
import signal
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True

from berth_server import BerthServer  # noqa: E402
from children import Failure  # noqa: E402
from slurm_cluster import SCHEDULER, SlurmCluster  # noqa: E402

SECONDS = 45  # the most that one measurement may take; what completed until then counts
WAYS = ("at_once", "one_by_one")
SIDES = ("slurm", "berth_process", "berth_simulated")
NOTES = """\
Rates are tasks per second from the first submit to the last end. On both sides {slots} tasks may
run at once, all on this machine of {cores} cores (load {load:.1f} before the run).
  Slurm {version}: slurmctld, slurmd and munged on loopback; starts a slurmstepd and under it a
    /bin/true for each task. At once: one job array. One by one: an sbatch for each, a process that
    ends before the next begins. No accounting, no cgroups; the scheduler tuned for speed:
    {scheduler}.
  Berth, processes: forks a shim and under it starts a /bin/true for each task. At once: messages of many
    tasks. One by one: an HTTP call for each, over one connection. Every answer waits for the disk.
  Berth, simulated: the same calls; the work is simulated, takes no time and starts no process, so
    this is the scheduler and its journal alone.
The ratios compare the better way of each side. A rate that took less than a second is rough."""


def rates(side, tasks):
    """Measures both ways of submitting, and tells how far each came."""
    measured = {}
    for way in WAYS:
        completed, seconds = getattr(side, "run_" + way)(tasks, SECONDS)
        measured[way] = {"tasks_per_s": round(completed / seconds, 1), "completed": completed,
                         "seconds": round(seconds, 3)}
    measured["tasks_per_s"] = max(measured[way]["tasks_per_s"] for way in WAYS)
    return measured


def measure(make_side, tasks, what):
    print(f"{what} …", file=sys.stderr, flush=True)
    side = make_side()
    try:
        return rates(side, tasks), getattr(side, "version", str)()
    finally:
        side.close()


def compare(options, folder):
    result = {"tasks": options.tasks, "slots": options.slots, "cores": os.cpu_count(),
              "load": os.getloadavg()[0]}
    root = Path(options.slurm).resolve()
    result["slurm"], result["slurm_version"] = measure(
        lambda: SlurmCluster(root, folder / "slurm", options.slots), options.tasks, "Slurm")
    for executor in ("process", "simulated"):
        result["berth_" + executor], _ = measure(
            lambda: BerthServer(options.berth, folder / executor, options.slots, executor),
            options.tasks, f"Berth, {executor}")
        result[f"ratio_{executor}"] = round(
            result["berth_" + executor]["tasks_per_s"] / result["slurm"]["tasks_per_s"], 1)
    return result


def print_table(result):
    row = "{:<20}{:>16}{:>16}{:>14}".format
    print(row(f"{result['tasks']} no-op tasks", "at once", "one by one", "ratio"))
    names = ("Slurm", "Berth, processes", "Berth, simulated")
    ratios = (1, result["ratio_process"], result["ratio_simulated"])
    for side, name, ratio in zip(SIDES, names, ratios):
        print(row(name, *(f"{result[side][way]['tasks_per_s']:,.1f}/s" for way in WAYS),
                  f"{ratio:,.1f}"))
    for side, name in zip(SIDES, names):
        for way in WAYS:
            completed = result[side][way]["completed"]
            if completed < result["tasks"]:
                print(f"{name}, {way.replace('_', ' ')}: only {completed} of {result['tasks']} "
                      f"tasks ended within {SECONDS} s; their rate is shown")
    print()
    print(NOTES.format(version=result["slurm_version"], scheduler=SCHEDULER, **{
        name: result[name] for name in ("slots", "cores", "load")}))


def parse(arguments):
    parser = argparse.ArgumentParser(prog="script/bench slurm", description=__doc__)
    parser.add_argument("--tasks", type=int, default=500, help="how many (default 500)")
    parser.add_argument("--slots", type=int, default=256,
                        help="how many may run at once, on both sides (default 256)")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument("--berth", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--slurm", required=True, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.tasks < 1 or options.slots < 1:
        parser.error("--tasks and --slots: expected a number above 0")
    return options


def main(arguments):
    options = parse(arguments)
    # Both clear up, also where a shell in the background lets Ctrl-C be ignored.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    try:
        with tempfile.TemporaryDirectory(prefix="berth-slurm-") as folder:
            result = compare(options, Path(folder))
            print("clearing up …", file=sys.stderr, flush=True)
    except Failure as failure:
        print(f"script/bench slurm: {failure}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    if options.json:
        print(json.dumps(result, indent=1))
    else:
        print_table(result)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
