"""Checks that what the documents name is there: files, headings, commands, flags, keys, variables.

It reads the documents and asks the built binary (`berth COMMAND --help`, `berth config check`, …).
What a sentence claims beyond names is not looked at. Data: rules.py.
"""

import re
import subprocess
import tempfile
from pathlib import Path

import rules

FENCE = re.compile(r"^ *```(\w*)\s*$")
INLINE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
LINK = re.compile(r"\[[^\]\n]*\]\(([^)\s]+)\)")
FLAG = re.compile(r"^(--[a-z][a-z0-9-]*|-[a-zA-Z](?!\w))")
VARIABLE = re.compile(r"\bBERTH_[A-Z][A-Z0-9_]*\b(?![*…])")
KEY = re.compile(r"^([a-z_]+)\.([a-z_]+)$")
# What ends a command in a line for a shell.
SEPARATORS = {"|", "||", "&&", ";", "&", ">", ">>", "<", "2>", "2>&1", "#", ")"}


class Document:
    """A page: its lines outside code, its spans of inline code, its blocks of code."""

    def __init__(self, name, text):
        self.name = name
        self.prose, self.inline, self.blocks = [], [], []
        language, block = None, []
        for number, line in enumerate(text.split("\n"), 1):
            fence = FENCE.match(line)
            if fence and language is None:
                language, block = fence.group(1), []
                self.blocks.append((number, language, block))
            elif fence:
                language = None
            elif language is not None:
                block.append((number, line))
            else:
                self.prose.append((number, line))
                self.inline += [(number, span) for span in INLINE.findall(line)]

    def headings(self):
        return {slug(line.lstrip("#")) for _, line in self.prose if line.startswith("#")}

    def shell_lines(self):
        """(number, line) of blocks in no language or a shell's, with continued lines joined."""
        for _, language, block in self.blocks:
            if language not in rules.DOC_SHELL_LANGUAGES:
                continue
            first, joined = None, ""
            for number, line in block:
                first = first or number
                if line.endswith("\\"):
                    joined += line[:-1] + " "
                    continue
                yield first, joined + line
                first, joined = None, ""


def slug(heading):
    """The anchor of a heading, as forges make it."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


# ---- What the binary and the sources know --------------------------------------------------------


class Program:
    """The built binary, asked for what it knows."""

    def __init__(self, binary):
        self._binary = str(Path(binary).resolve())
        self.flags = {name: flags_in(self._ask(*name.split(), "--help"))
                      for name in commands_in(self._ask("--help"))}
        keys = re.findall(r"^(\S+) += ", self._ask("config", "show", "--origin"), re.MULTILINE)
        self.keys = {key for key in keys if re.fullmatch(r"[a-z_.]+", key)}

    def command_in(self, words):
        """The longest name of a command that the words begin with, or None."""
        for count in (2, 1):
            name = " ".join(words[:count])
            if len(words) >= count and name in self.flags:
                return name
        return None

    def knows(self, word):
        """Whether a command begins with this word."""
        return word in rules.DOC_HIDDEN_COMMANDS or any(word == name.split()[0]
                                                        for name in self.flags)

    def complaints(self, schema, text):
        """What is wrong with a piece of TOML, wherever it may stand: (line, message)."""
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "block.toml")
            file.write_text(text)
            said = self._ask(*(word.replace("FILE", str(file)) for word in rules.DOC_TOML[schema]))
        found = re.findall(r"^[^\n]*?block\.toml:(\d+):\d+: ([^\n]*)$", said, re.MULTILINE)
        return [(int(line), message) for line, message in found
                if re.search(rules.DOC_TOML_FAULTS, message)]

    def _ask(self, *arguments):
        answer = subprocess.run([self._binary, *arguments], stdin=subprocess.DEVNULL, timeout=60,
                                capture_output=True, text=True, check=False, env={"PATH": "/bin"})
        return answer.stdout + answer.stderr


def commands_in(help_text):
    return re.findall(r"^  ([a-z]+(?: [a-z]+)?)  +\S", help_text, re.MULTILINE)


def flags_in(help_text):
    return set(re.findall(r"^ +(--?[a-z][a-z0-9-]*)", help_text, re.MULTILINE)) | {"--help"}


# ---- The checks ----------------------------------------------------------------------------------


def check_documents(root, binary):
    """Returns the findings, one line of text each."""
    root = Path(root)
    program = Program(binary)
    names = sorted({path.relative_to(root).as_posix() for pattern in rules.DOC_FILES
                    for path in root.glob(pattern)})
    documents = {name: Document(name, Path(root, name).read_text(encoding="utf-8"))
                 for name in names}
    findings = []
    for document in documents.values():
        findings += check_links(root, document, documents)
        findings += check_paths(root, document)
        findings += check_commands(root, document, program)
        findings += check_flags(root, document, program)
        findings += check_keys(document, program)
        findings += check_toml(document, program)
        findings += check_figures(document)
        findings += check_variables(root, document, program)
    return findings + check_makefile(root)


def check_makefile(root):
    """Each line of a recipe calls a script that is there, with flags that it knows."""
    findings, file = [], Path(root, "Makefile")
    lines = file.read_text(encoding="utf-8").split("\n") if file.exists() else []
    for number, line in enumerate(lines, 1):
        if line.startswith("\t"):
            script, *flags = line.split()
            if not Path(root, script).exists():
                findings.append(f"Makefile:{number}: {script}: no such file")
            else:
                findings += [f"Makefile:{number}: {script} has no flag {flag}"
                             for flag in wrong_script_flags(root, script, flags)]
    return findings


def check_links(root, document, documents):
    findings = []
    for number, line in document.prose:
        for target in LINK.findall(line):
            if re.match(r"[a-z]+:", target):
                continue
            path, _, anchor = target.partition("#")
            file = (Path(root, document.name).parent / path if path
                    else Path(root, document.name)).resolve()
            if not file.exists():
                findings.append(f"{document.name}:{number}: link to {target}: no such file")
                continue
            name = file.relative_to(Path(root).resolve()).as_posix()
            if anchor and name in documents and anchor not in documents[name].headings():
                findings.append(f"{document.name}:{number}: link to {target}: no such heading")
    return findings


def check_paths(root, document):
    """Paths of the repository, in inline code and as words of commands."""
    words = list(document.inline)
    for _, _, block in document.blocks:
        words += [(number, word) for number, line in block for word in line.split()]
    findings = []
    for number, word in words:
        path = word.strip("`\"'(),;:").removeprefix("./").rstrip("/")
        top = path.split("/")[0]
        looks = "/" in path and top in rules.DOC_FOLDERS and re.fullmatch(r"[\w./*+-]+", path)
        # Capitals, and x, stand for a name.
        if not looks or re.search(r"[A-Z]{2,}", path.removesuffix("README.md")) \
                or Path(path).stem == "x" or path in rules.DOC_PATHS_ELSEWHERE:
            continue
        if not any(Path(root).glob(path)):
            findings.append(f"{document.name}:{number}: {path}: no such file")
    return findings


def berth_calls(line):
    """Yields the words behind each `berth` that is called in a line for a shell."""
    words = re.sub(r"[\[\]]|\$\(", " ", line).split()
    for place, word in enumerate(words):
        before = words[place - 1] if place else ""
        # A path that ends so, or the bare name where a command may stand.
        called = word.endswith(("/berth", "bin/berth")) or word == "berth"
        if not called or before.startswith("-") and before != "--" or before in rules.DOC_NO_CALL:
            continue
        call = []
        for follower in words[place + 1:]:
            if follower in SEPARATORS or follower == "--":
                break
            call.append(follower.rstrip(");"))
            if follower.endswith((";", ")")):
                break
        yield call


def check_commands(root, document, program):
    lines = [*document.shell_lines(),
             *((number, span) for number, span in document.inline
               if re.match(r"(\S*/)?berth |script/", span))]
    findings = []
    for number, line in lines:
        for call in berth_calls(line):
            findings += [f"{document.name}:{number}: {finding}" for finding in
                         faults_of_call(call, program)]
        words = line.split()
        for place, word in enumerate(words):
            if re.fullmatch(r"script/[a-z]+", word) and Path(root, word).exists():
                findings += [f"{document.name}:{number}: {word} has no flag {flag}"
                             for flag in wrong_script_flags(root, word, words[place + 1:])]
    return findings


def faults_of_call(call, program):
    if not call or not re.fullmatch(r"[a-z][a-z,]*", call[0]):
        return []
    # "berth tasks, status, explain": names in a list.
    if call[0].endswith(","):
        listed = [word.rstrip(",") for word in call if re.fullmatch(r"[a-z]+,?", word)]
        last = next((place for place, word in enumerate(call) if not word.endswith(",")), 0)
        return [f"there is no command berth {name}" for name in listed[:last + 1]
                if not program.knows(name)]
    name = program.command_in(call)
    if name is None:
        return [] if program.knows(call[0]) else [f"there is no command berth {call[0]}"]
    # What follows the name of a script is the script's.
    script = next((place for place, word in enumerate(call) if word.endswith((".sh", ".py"))), None)
    flags = (FLAG.match(word) for word in call[:script if name == "submit" else None])
    return [f"berth {name} has no flag {flag.group(0)}" for flag in flags
            if flag and flag.group(0) not in program.flags[name]]


def wrong_script_flags(root, script, words):
    text = Path(root, script).read_text(encoding="utf-8")
    for word in words:
        if word in SEPARATORS or not word.startswith("-"):
            return
        flag = FLAG.match(word)
        # The server's flags are those of `berth serve`.
        if flag and flag.group(0) not in text and script not in rules.DOC_SCRIPTS_THAT_PASS_ON:
            yield flag.group(0)


def check_flags(root, document, program):
    """A flag that stands alone belongs to a command, a script, an example or a program of others."""
    known = set().union(*program.flags.values()) | rules.DOC_FLAGS_OF_OTHERS
    files = [*Path(root, "script").glob("*"), *Path(root, "examples").rglob("*.py")]
    scripts = "".join(path.read_text(encoding="utf-8") for path in files)
    findings = []
    for number, span in document.inline:
        flag = FLAG.match(span)
        if flag and flag.group(0).startswith("--") and flag.group(0) not in known \
                and flag.group(0) not in scripts:
            findings.append(f"{document.name}:{number}: no command and no script has the flag "
                            f"{flag.group(0)}")
    return findings


def check_keys(document, program):
    """`section.key` in inline code."""
    sections = {key.split(".")[0] for key in program.keys if "." in key}
    findings = []
    for number, span in document.inline:
        key = KEY.match(span.split(" = ")[0])
        if key and key.group(1) in sections and key.group(0) not in program.keys \
                and key.group(0) not in rules.DOC_NO_KEYS:
            findings.append(f"{document.name}:{number}: the configuration has no key "
                            f"{key.group(0)}")
    return findings


def check_toml(document, program):
    schema = rules.DOC_SCHEMAS.get(Path(document.name).name, "config")
    findings = []
    for number, language, block in document.blocks:
        if language == "toml":
            text = "\n".join(line for _, line in block) + "\n"
            findings += [f"{document.name}:{number + line}: {message}"
                         for line, message in program.complaints(schema, text)]
    return findings


def check_figures(document):
    """Every section of a page of measurements names the command that measures it."""
    if document.name not in rules.DOC_MEASURED:
        return []
    findings, heading, figures, command = [], (1, ""), False, False
    for number, line in [*document.prose, (0, "## ")]:
        if line.startswith("## "):
            if figures and not command:
                findings.append(f"{document.name}:{heading[0]}: \"{heading[1]}\" has figures and no "
                                "command that gives them")
            heading, figures, command = (number, line[3:].strip()), False, False
            continue
        figures = figures or heading[1] != "" and re.search(r"\d", line) is not None
        command = command or any(re.search(rules.DOC_MEASURES, span) for span in INLINE.findall(line))
    return findings


def check_variables(root, document, program):
    of_keys = {"BERTH_" + key.upper().replace(".", "_") for key in program.keys}
    findings = []
    lines = [*document.prose, *(line for _, _, block in document.blocks for line in block)]
    for number, line in lines:
        for name in VARIABLE.findall(line):
            if name not in of_keys and not is_in_sources(root, name):
                findings.append(f"{document.name}:{number}: nothing reads {name}")
    return findings


SOURCES = {}


def is_in_sources(root, word):
    """Whether any source, script or CMake file has the word."""
    if root not in SOURCES:
        files = [path for folder in ("src", "script", "python", "tests", "bench")
                 for path in Path(root, folder).rglob("*")
                 if path.is_file() and path.suffix in (".cpp", ".h", ".py", ".sh", "")]
        files += [Path(root, name) for name in ("CMakeLists.txt", "CMakePresets.json")
                  if Path(root, name).exists()]
        SOURCES[root] = "\n".join(path.read_text(encoding="utf-8", errors="replace")
                                  for path in files)
    return re.search(rf"\b{word}\b", SOURCES[root]) is not None
