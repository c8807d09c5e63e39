"""A reader who goes through one page, block by block, and types what stands there.

Works inside the sandbox. plan.py says what a page needs around its blocks; compare.py judges what
is printed. What went wrong is collected, so that one run shows all of it.
"""

import json
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import plan
from compare import difference, pattern_of
from documents import Block, commands_in, console, pages
from sandbox import HOME, REPOSITORY
from shell import Ended, Running, Terminal

PROGRAMS = {"apt-get", "berth", "cd", "chown", "cp", "curl", "export", "git", "install", "mv",
            "openssl", "python3", "runuser", "systemctl", "tar", "useradd"}
COMMAND_LIMIT_S = 60
HERE = REPOSITORY / "tests/e2e/first_hour"
LOG = Path("/var/log/berth.log")  # of the service, as the stand-in of systemctl writes it
TOKEN = re.compile(r"bth_[0-9a-f]{64}")


def is_commands(block: Block) -> bool:
    if block.language == "help":
        return True
    word = block.lines[0].split()[0]
    return block.language == "" and (word in PROGRAMS or word.startswith("script/"))


class Reader:
    def __init__(self, page: str, scratch: Path) -> None:
        self.page = page
        self.problems: list[str] = []
        self.ran: set[str] = set()  # names of blocks, and keys of plan.py that were used
        self.commands = 0
        self.slow: list[tuple[float, str]] = []  # seconds of each command
        self._scratch = scratch / page
        self._terminals = 0
        self._server: Running | None = None
        self._last: Ended | None = None
        self._token = ""
        self._environment = {
            "HOME": str(HOME), "LANG": "C.UTF-8", "USER": "root", "LOGNAME": "root",
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
        if page not in plan.BARE_PATH:
            self._environment["PATH"] = (f"{REPOSITORY}/build/release:" + self._environment["PATH"])
        self._folder = REPOSITORY
        if page in plan.FOLDERS:
            self._folder = HOME / "work"
            shutil.copytree(plan.FOLDERS[page], self._folder)
            (self._folder / "examples").symlink_to(REPOSITORY / "examples")
        for path, content in plan.STAND_IN_FILES.items():
            beside = HERE / content if "\n" not in content else None
            Path(path).write_text(beside.read_text() if beside else content)
            Path(path).chmod(0o755)
        self._terminal = self._new_terminal()

    # ---- A page ----------------------------------------------------------------------------------

    def read(self, blocks: list[Block]) -> None:
        server = plan.SERVERS.get(self.page, plan.DEFAULT_SERVER)
        if server is not None:
            self._serve(server, "the server of this page")
        python = [block for block in blocks if block.language == "python"]
        for block in blocks:
            if block.name in plan.EXCEPT:
                self.ran.add(block.name)
                continue
            try:
                self._before(block.name)
                if block.language == "python":
                    if block is python[0]:
                        self._python(python)
                elif block.language in ("toml", "sql") or block.name in plan.CHECKED_BY:
                    self._check(block)
                elif block.lines[0].startswith("$ "):
                    self._console(block)
                elif is_commands(block):
                    self._commands(block)
                else:
                    self._shown(block)
                self._after(block)
                self.ran.add(block.name)
            except (TimeoutError, ConnectionError, subprocess.TimeoutExpired) as error:
                self._problem(block, str(error))

    def close(self) -> None:
        self._stop_server()
        self._terminal.close()

    # ---- Blocks ----------------------------------------------------------------------------------

    def _console(self, block: Block) -> None:
        for command, shown in console(block.lines):
            ended = self._type(block, command)
            if ended is None:
                continue
            wrong = difference(shown, ended.lines, part=block.name in plan.PART)
            if wrong:
                self._problem(block, f"{command}\n{wrong}", ended)

    def _commands(self, block: Block) -> None:
        printed, status = "", 0
        for command, remark in commands_in(block.lines):
            ended = self._type(block, command)
            if f"{block.name}: {command}" in plan.REMARKS and ended is not None:
                self.ran.add(f"{block.name}: {command}")
                wrong = difference([remark], ended.lines, part=True)
                if wrong:
                    self._problem(block, f"{command}\n{wrong}", ended)
            if ended is not None:
                printed, status = printed + ended.output, ended.status
        self._last = Ended(status, printed)

    def _shown(self, block: Block) -> None:
        """Output, of the block before or of a command in the prose."""
        command = plan.SHOWN_BY.get(block.name)
        if command is not None:
            self._last = self._type(block, command, typed=False)
        if self._last is None:
            self._problem(block, "if it is output, no command comes before it; see SHOWN_BY")
            return
        wrong = difference(list(block.lines), self._last.lines, part=block.name in plan.PART)
        if wrong:
            self._problem(block, wrong, self._last)
        self._last = None

    def _after(self, block: Block) -> None:
        """What the prose behind the block says one will see."""
        if block.name not in plan.AFTER:
            return
        page = next(path for path in pages(REPOSITORY) if path.stem == self.page).read_text()
        for command, said in plan.AFTER[block.name]:
            if command not in page or said not in page:
                self._problem(block, f"the page does not name {command!r} and {said!r}; see AFTER")
            ended = self._type(block, command, typed=False)
            if said and ended is not None:
                pattern = re.compile(".*" + pattern_of(said) + ".*")
                if not any(pattern.fullmatch(line) for line in ended.lines):
                    self._problem(block, f"{command}\ndoes not print {said!r}", ended)

    def _check(self, block: Block) -> None:
        """A file, or a part of one: a command says whether it is good."""
        how = plan.CHECKED_BY.get(block.name) or plan.CHECKED_BY.get(
            f"{block.page}.{block.language}")
        if how is None:
            self._problem(block, "nothing in CHECKED_BY of plan.py says how to try it")
            return
        if block.name not in plan.CHECKED_BY:
            self.ran.add(f"{block.page}.{block.language}")
        self._terminals += 1
        file = self._scratch / f"block-{self._terminals}"
        file.write_text(block.text + "\n")
        ended = self._terminal.run(f"BLOCK={file}\n{how}", COMMAND_LIMIT_S)
        self.commands += 1
        if ended.status != plan.STATUS.get(block.name, 0):
            self._problem(block, f"{how}\nended with {ended.status}", ended)

    def _python(self, blocks: list[Block]) -> None:
        """All of a page in one interpreter, as a reader would who goes on typing."""
        self._scratch.joinpath("blocks.json").write_text(json.dumps(
            [(block.name, block.place, block.text) for block in blocks]))
        ran = subprocess.run([REPOSITORY / ".venv/bin/python", HERE / "typist.py",
                              self._scratch / "blocks.json"], stdout=subprocess.PIPE, text=True,
                             stderr=subprocess.STDOUT, timeout=COMMAND_LIMIT_S, cwd=REPOSITORY)
        self.commands += len(blocks)
        if ran.returncode != 0:
            self._problem(blocks[0], "the page's Python does not do what it says:\n" + ran.stdout)

    # ---- Commands --------------------------------------------------------------------------------

    def _type(self, block: Block, command: str, typed: bool = True) -> Ended | None:
        """Runs one command; None if plan.py excepts it, or if it failed, which is noted."""
        key = f"{block.name}: {command.splitlines()[0]}"
        if key in plan.EXCEPT:
            self.ran.add(key)
            return None
        if typed:
            self._before(key)
        if key in plan.INSTEAD:
            self.ran.add(key)
        text = self._filled(plan.INSTEAD.get(key, command))
        self.commands += 1
        if text.startswith(plan.SERVES):
            self.ran.add(key)
            return self._serve(text, key)
        until = plan.UNTIL.get(key)
        if until is not None:
            self.ran.add(key)
            return self._watch(block, text, until)
        begin = time.monotonic()
        ended = self._terminal.run(text, COMMAND_LIMIT_S)
        self.slow.append((round(time.monotonic() - begin, 1), key))
        tokens = TOKEN.findall(ended.output)
        if tokens and "--role admin" in command:
            self._token = tokens[-1]
        expected = plan.STATUS.get(key, plan.STATUS.get(block.name, 0))
        if key in plan.STATUS:
            self.ran.add(key)
        if ended.status != expected:
            self._problem(block, f"{command}\nended with {ended.status}, not {expected}", ended)
            return None
        return ended

    def _filled(self, command: str) -> str:
        for begin, instead in plan.STAND_INS.items():
            if begin in command:
                self.ran.add(begin)
                command = command.replace(begin, instead)
        return command.replace("bth_8dfd…", self._token)

    def _watch(self, block: Block, command: str, until: str) -> Ended:
        running = self._terminal.start(command)
        end = time.monotonic() + COMMAND_LIMIT_S
        while not re.search(until, running.output()):
            if time.monotonic() > end or running.ended():
                self._problem(block, f"{command}\nprinted nothing like {until!r}",
                              Ended(0, running.output()))
                break
            time.sleep(0.05)
        running.interrupt(signal.SIGINT)
        return running.wait(COMMAND_LIMIT_S)

    def _before(self, key: str) -> None:
        for command in plan.BEFORE.get(key, ()):
            self.ran.add(key)
            text = self._filled(command)
            if text == plan.STOP:
                self._stop_server()
                continue
            if text.startswith(plan.SERVES):
                self._serve(text, key)
                continue
            ended = self._terminal.run(text, COMMAND_LIMIT_S)
            if ended.status != 0:
                self.problems.append(f"{key}: what plan.py does before it failed: {command}\n"
                                     + ended.output)

    # ---- Servers ---------------------------------------------------------------------------------

    def _serve(self, command: str, what: str) -> Ended:
        self._stop_server()
        terminal = self._new_terminal()
        folder = self._terminal.run("pwd", COMMAND_LIMIT_S).output.strip()
        self._server = terminal.start(f"cd {folder}; {command}")
        end = time.monotonic() + COMMAND_LIMIT_S
        while not ready():
            if self._server.ended() or time.monotonic() > end:
                raise ConnectionError(f"{what}: {command} does not serve; it printed:\n"
                                      + self._server.output())
            time.sleep(0.05)
        return Ended(0, self._server.output())

    def _stop_server(self) -> None:
        if self._server is not None and not self._server.ended():
            self._server.interrupt(signal.SIGTERM)
            self._server.wait(COMMAND_LIMIT_S)
        self._server = None

    # ---- Helpers ---------------------------------------------------------------------------------

    def _new_terminal(self) -> Terminal:
        self._terminals += 1
        return Terminal(self._folder, self._environment,
                        self._scratch / f"terminal-{self._terminals}")

    def _problem(self, block: Block, what: str, ended: Ended | None = None) -> None:
        text = f"{block.place} ({block.name}): {what}"
        if ended is not None:
            text += "\n  printed was:\n" + "".join(f"  | {line}\n" for line in ended.lines[-40:])
        if LOG.exists():
            text += "\n  the service's log ends:\n" + "".join(
                f"  | {line}\n" for line in LOG.read_text().splitlines()[-12:])
        self.problems.append(text)


def ready() -> bool:
    """Whether a server takes work at the default address, with TLS or without."""
    for scheme in ("http", "https"):
        asked = subprocess.run(["curl", "--silent", "--insecure", "--max-time", "2", "--output",
                                "/dev/null", "--write-out", "%{http_code}",
                                f"{scheme}://127.0.0.1:8080/readyz"], stdout=subprocess.PIPE,
                               text=True)
        if asked.stdout == "200":
            return True
    return False
