"""Child processes of the comparison: started apart from the terminal, ended by their pids.

Knows neither Slurm nor Berth. Invariant: whatever was started here has ended when end_all returns.
"""

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path


class Failure(Exception):
    """A sentence: what was tried, why it failed, what to do."""


class Children:
    """The daemons of one side, in the order they were started."""

    def __init__(self):
        self._started = []

    def start(self, command, log, environment):
        """Starts a daemon in a session of its own, so that Ctrl-C reaches this program alone."""
        with open(log, "wb") as output:
            child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output,
                                     stderr=subprocess.STDOUT, env=environment,
                                     start_new_session=True)
        self._started.append((child, Path(log)))
        return child

    def check(self):
        """Fails with the last words of a daemon that ended by itself."""
        for child, log in self._started:
            if child.poll() is not None:
                words = log.read_text(errors="replace").strip().splitlines()[-5:]
                raise Failure(f"{Path(child.args[0]).name} ended with {child.returncode}: "
                              + " / ".join(words))

    def end_all(self):
        """The last one started goes first: it may need the others."""
        for child, _ in reversed(self._started):
            child.terminate()
            try:
                child.wait(10)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
        self._started.clear()


def wait_for(what, condition, seconds, children, pause=0.05):
    """Asks `condition` until it holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        children.check()
        if time.monotonic() > deadline:
            raise Failure(f"waited {seconds} s in vain for {what}")
        time.sleep(pause)


def kill_with_setting(name, value):
    """Kills what inherited NAME=VALUE and outlived its daemon, and waits until it is gone."""
    while left := processes_with_setting(f"{name}={value}".encode()):
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:  # it has ended meanwhile
                continue
        time.sleep(0.02)


def processes_with_setting(setting):
    """Pids of this user's processes with `setting` in the environment they were started with."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if setting in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
        except OSError:  # it has ended meanwhile, or is another user's
            continue
    return found


@contextlib.contextmanager
def undisturbed():
    """Clearing up is not interrupted; a Ctrl-C meanwhile counts afterwards."""
    signals = {signal.SIGINT, signal.SIGTERM}
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, signals)
