"""Checks that read source text: includes, banned headers, tidiness. Data: rules.py."""

import re
from pathlib import Path

import rules

CPP_SUFFIXES = (".h", ".cpp")
TIDY_FOLDERS = ("src", "tests", "bench")
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')


def check_sources(root):
    """Returns the findings, one line of text each, sorted by file and line."""
    findings = []
    for folder in TIDY_FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in CPP_SUFFIXES or not path.is_file():
                continue
            name = path.relative_to(root).as_posix()
            text = path.read_text(encoding="utf-8", errors="replace")
            findings += check_tidy(name, text)
            if folder == "src":
                findings += check_includes(name, text)
                findings += check_purity(name, text)
                findings += check_json(name, text)
    return findings


# ---- Includes ------------------------------------------------------------------------------------


def includes_of(text):
    """Yields (line number, quote, included name)."""
    for number, line in enumerate(text.split("\n"), 1):
        match = INCLUDE.match(line)
        if match:
            yield number, match.group(1), match.group(2)


def check_includes(name, text):
    findings = []
    inside = name.removeprefix("src/")
    layer = inside.split("/")[0]
    if layer not in rules.LAYERS or "/" not in inside:
        return [f"{name}:1: no layer of this name; LAYERS in tools/lint/rules.py lists them"]

    for number, quote, target in includes_of(text):
        where = f"{name}:{number}"
        target_layer = layer_of(target)
        if quote == "<":
            # `<thread>` is the library's; `<core/engine.h>` would be ours.
            if "/" in target and target_layer is not None and target_layer != "proto":
                findings.append(f'{where}: our own headers are included with quotes: "{target}"')
            continue
        if target_layer is None:
            findings.append(f'{where}: "{target}": write our includes from src/, '
                            'others\' with <...>')
        elif target_layer != layer and target_layer not in rules.LAYERS[layer]:
            allowed = ", ".join(sorted(rules.LAYERS[layer])) or "nothing else"
            findings.append(f'{where}: "{target}": {layer} may not include {target_layer} '
                            f"(it may include {allowed})")
        elif layer == "core" and target_layer == "core":
            findings += check_core_include(name, where, target)
    return findings


def layer_of(target):
    """The layer a header belongs to, or None if it is not named from src/."""
    if target.startswith(rules.PROTO_PREFIX):
        return "proto"
    first, slash, _ = target.partition("/")
    return first if slash and first in rules.LAYERS else None


def core_part(inside):
    """`core/queue/lane.h` -> queue; `core/event.h` -> event; `core/engine_apply.cpp` -> engine."""
    pieces = inside.split("/")[1:]
    if len(pieces) > 1:
        return pieces[0]
    stem = pieces[0].rsplit(".", 1)[0]
    return "engine" if stem == "engine" or stem.startswith("engine_") else stem


def check_core_include(name, where, target):
    if name.endswith("_test.cpp"):
        return []
    part, wanted = core_part(name.removeprefix("src/")), core_part(target)
    if part not in rules.CORE_PARTS:
        return [f"{where}: core/{part} has no rule; add it to CORE_PARTS in tools/lint/rules.py"]
    allowed = rules.CORE_PARTS[part]
    if wanted == part or "*" in allowed or wanted in allowed:
        return []
    if part in rules.CORE_STAGES and wanted in rules.CORE_STAGES:
        return [f'{where}: "{target}": stage {part} may not include stage {wanted}; share the '
                "data through core/state, or let the engine pass it"]
    listed = ", ".join(sorted(allowed)) or "base only"
    return [f'{where}: "{target}": core/{part} may not include core/{wanted} '
            f"(of the core it may include {listed})"]


# ---- Purity --------------------------------------------------------------------------------------


def check_purity(name, text):
    inside = name.removeprefix("src/")
    if inside.split("/")[0] not in rules.PURE_LAYERS or name.endswith("_test.cpp"):
        return []
    findings = []
    layers = ", ".join(sorted(rules.PURE_LAYERS))
    for number, quote, target in includes_of(text):
        advice = banned_header(target) if quote == "<" else None
        if advice and (inside, target) not in rules.HEADER_EXCEPTIONS:
            findings.append(f"{name}:{number}: <{target}> is banned in {layers}: {advice}")
    for number, line in enumerate(strip_comments(text).split("\n"), 1):
        for pattern, advice in rules.BANNED_PATTERNS.items():
            match = re.search(pattern, line)
            if match:
                findings.append(f"{name}:{number}: `{match.group(0)}` is banned in {layers}: {advice}")
    return findings


def banned_header(target):
    if target in rules.BANNED_HEADERS:
        return rules.BANNED_HEADERS[target]
    for prefix, advice in rules.BANNED_HEADERS.items():
        if prefix.endswith("/") and target.startswith(prefix):
            return advice
    return None


TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)


def strip_comments(text):
    """The text with comments and literals blanked; line numbers stay."""
    # A quote between digits (1'000) is a separator, not a literal.
    text = re.sub(r"(?<=[0-9a-fA-F])'(?=[0-9a-fA-F])", "_", text)
    return TOKEN.sub(lambda match: "\n" * match.group(0).count("\n"), text)


# ---- Tidiness ------------------------------------------------------------------------------------


def check_tidy(name, text):
    findings = []
    lines = text.split("\n")
    first = next((line for line in lines if line.strip()), "")
    if not first.startswith(("//", "/*")):
        findings.append(f"{name}:1: starts without a comment that says what the file is")
    if name.endswith(".h") and not re.search(r"^#pragma once$", text, re.MULTILINE):
        findings.append(f"{name}:1: has no `#pragma once`")
    if text and not text.endswith("\n"):
        findings.append(f"{name}:{len(lines)}: does not end with a newline")

    words = re.compile(r"\b(" + "|".join(rules.UNFINISHED_WORDS) + r")\b")
    for number, line in enumerate(lines, 1):
        if "\t" in line:
            findings.append(f"{name}:{number}: has a tab; indent with spaces")
        if line != line.rstrip():
            findings.append(f"{name}:{number}: ends with white space")
        if len(line) > rules.COLUMNS_MAX and "://" not in line:
            findings.append(f"{name}:{number}: has {len(line)} columns, "
                            f"{rules.COLUMNS_MAX} are allowed")
        match = words.search(line)
        if match:
            findings.append(f"{name}:{number}: {match.group(0)}: finish it or open an issue")

    if name.startswith("src/"):
        count = text.count("\n")
        limit = rules.LINES_EXCEPTIONS.get(name, (rules.LINES_MAX, ""))[0]
        if count > limit:
            findings.append(f"{name}:{limit}: has {count} lines, {limit} are allowed; split it, or "
                            "add it to LINES_EXCEPTIONS in tools/lint/rules.py with the reason")
    return findings


def check_json(name, text):
    """JSON is quoted in one place."""
    if name in rules.JSON_EXCEPTIONS or name.endswith("_test.cpp"):
        return []
    return [f"{name}:{number}: writes JSON by hand; use JsonWriter of base/json.h"
            for number, line in enumerate(text.split("\n"), 1)
            if re.search(rules.JSON_BY_HAND, line.split("//")[0])]


def stale_exceptions(root):
    """Exceptions for files that are gone; an exception must not outlive its reason."""
    names = [f"src/{file}" for file, _ in rules.HEADER_EXCEPTIONS] + list(rules.LINES_EXCEPTIONS)
    names += list(rules.JSON_EXCEPTIONS)
    return [f"tools/lint/rules.py: exception for {name}, which does not exist"
            for name in names if not Path(root, name).exists()]
