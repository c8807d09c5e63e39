"""A terminal: one bash that keeps its folder and variables from command to command.

Knows nothing of documents. What a command prints, to stdout and stderr, comes back in order.
"""

import os
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path


@dataclass
class Ended:
    status: int
    output: str

    @property
    def lines(self) -> list[str]:
        return self.output.splitlines()


class Terminal:
    def __init__(self, folder: Path, environment: dict[str, str], scratch: Path) -> None:
        scratch.mkdir(parents=True)
        self._scratch = scratch
        self._count = 0
        self._bash = subprocess.Popen(["bash", "--noprofile", "--norc"], cwd=folder,
                                      env=environment, stdin=subprocess.PIPE, text=True,
                                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def start(self, command: str) -> "Running":
        """Gives the command to the shell, and does not wait for it."""
        self._count += 1
        base = self._scratch / str(self._count)
        base.with_suffix(".sh").write_text(command + "\n")
        self._bash.stdin.write(f". {base}.sh >{base}.out 2>&1 </dev/null\n"
                               f"echo $? >{base}.new && mv {base}.new {base}.status\n")
        self._bash.stdin.flush()
        return Running(self._bash.pid, base)

    def run(self, command: str, timeout_s: float) -> Ended:
        return self.start(command).wait(timeout_s)

    def close(self) -> None:
        self._bash.kill()
        self._bash.wait()


class Running:
    def __init__(self, shell: int, base: Path) -> None:
        self._shell = shell
        self._out = base.with_suffix(".out")
        self._status = base.with_suffix(".status")

    def output(self) -> str:
        try:
            return self._out.read_text(errors="replace")
        except FileNotFoundError:
            return ""

    def ended(self) -> bool:
        return self._status.exists()

    def wait(self, timeout_s: float) -> Ended:
        end = time.monotonic() + timeout_s
        while not self.ended():
            if time.monotonic() > end:
                self.interrupt(signal.SIGKILL)
                raise TimeoutError(f"did not end within {timeout_s:.0f} s; it printed:\n"
                                   + self.output())
            time.sleep(0.02)
        return Ended(int(self._status.read_text()), self.output())

    def interrupt(self, number: int) -> None:
        """As Ctrl-C does: what runs in the terminal gets it, the shell does not."""
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                parent = int((folder / "stat").read_text().rsplit(")", 1)[1].split()[1])
                if parent == self._shell:
                    os.kill(int(folder.name), number)
            except (FileNotFoundError, ProcessLookupError):
                pass
