"""Finds what a reader can run: the fenced blocks of README and guide, and the examples of the help.

Knows nothing of servers. A block's name is made of its page, its heading and its place below it,
`first-job/submit-it/2`, so that it stays when lines move.
"""

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

FENCE = re.compile(r"^```(\w*)$")


@dataclass(frozen=True)
class Block:
    name: str
    language: str  # as behind the fence; "help" for the examples of a command
    lines: tuple[str, ...]
    place: str  # file and line, for messages

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    @property
    def page(self) -> str:
        return self.name.split("/")[0]


def slug(heading: str) -> str:
    """As GitHub makes the anchors of headings."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")


def blocks_of_page(path: Path) -> list[Block]:
    blocks: list[Block] = []
    section, count, language, begin = "top", 0, None, 0
    inside: list[str] = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        fence = FENCE.match(line)
        if language is not None:
            if line == "```":
                count += 1
                blocks.append(Block(f"{path.stem}/{section}/{count}", language, tuple(inside),
                                    f"{path.name}:{begin}"))
                language = None
            else:
                inside.append(line)
        elif fence:
            language, begin, inside = fence.group(1), number, []
        elif line.startswith("## ") or line.startswith("### ") or line.startswith("#### "):
            section, count = slug(line.lstrip("#")), 0
    if language is not None:
        raise ValueError(f"{path.name}:{begin}: a block that does not end")
    return blocks


def pages(root: Path) -> list[Path]:
    return [root / "README.md", *sorted((root / "docs/guide").glob("*.md"))]


@dataclass(frozen=True)
class Help:
    command: str
    usage: tuple[str, ...]
    examples: tuple[str, ...]


def help_texts(berth: str) -> list[Help]:
    """Every command that `berth --help` lists, with what its own help shows."""
    def ask(*words: str) -> str:
        return subprocess.run([berth, *words, "--help"], check=True, stdout=subprocess.PIPE,
                              text=True, timeout=60).stdout

    overview = ask()
    commands = re.findall(r"^  ([a-z]+(?: [a-z]+)?)  +\S", overview, re.MULTILINE)
    found = []
    tried = re.search(r"^try: .*: (berth .*)$", overview, re.MULTILINE)
    if tried:
        found.append(Help("berth", (), (tried.group(1),)))
    for command in commands:
        text = ask(*command.split())
        usage = re.search(r"^usage: (.*(?:\n {7}\S.*)*)", text, re.MULTILINE)
        examples = re.search(r"^examples:\n((?:  .*\n?)*)", text, re.MULTILINE)
        found.append(Help(
            command,
            tuple(line.strip() for line in usage.group(1).splitlines()) if usage else (),
            tuple(line.strip() for line in examples.group(1).splitlines()) if examples else ()))
    return found


def help_block(help_text: Help) -> Block:
    name = "help/" + help_text.command.replace(" ", "-")
    return Block(name, "help", help_text.examples, f"berth {help_text.command} --help")


def commands_in(lines: tuple[str, ...]) -> list[tuple[str, str]]:
    """One entry for each command, continued lines joined, with its remark behind three spaces."""
    commands: list[tuple[str, str]] = []
    going_on = False
    for line in lines:
        if going_on:
            commands[-1] = (commands[-1][0] + "\n" + line, "")
        elif line.strip():
            command, _, remark = re.sub(r" {3,}", "\t", line.strip(), count=1).partition("\t")
            commands.append((command, remark))
        going_on = line.endswith("\\")
    return commands


def console(lines: tuple[str, ...]) -> list[tuple[str, list[str]]]:
    """`$ command` lines, each with the output shown below it."""
    pairs: list[tuple[str, list[str]]] = []
    for line in lines:
        if line.startswith("$ "):
            pairs.append((line[2:], []))
        else:
            pairs[-1][1].append(line)
    return pairs
