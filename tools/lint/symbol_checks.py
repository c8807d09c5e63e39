"""Proves the core's purity from its objects: what do they leave to the linker?

Starts from every object of the core's archive, follows undefined symbols into base's archive as a
linker would, and compares what neither defines with ALLOWED_SYMBOLS of rules.py. Symbols are read
with readelf and not nm, because nm hands objects that also hold LTO bytecode to the compiler's
plugin, which lists the symbols before optimisation and without those of generated code.
"""

import re
import subprocess
from dataclasses import dataclass, field

import rules


@dataclass
class Member:
    """One object file of an archive."""

    name: str
    defined: set = field(default_factory=set)
    undefined: set = field(default_factory=set)


def check_symbols(core, base):
    """Returns the findings for the core's archive; `base` may be None."""
    core_members = read_archive(core)
    base_members = read_archive(base) if base else []
    if not core_members:
        return [f"{core}: holds no objects"]
    for member in core_members + base_members:
        if "__gnu_lto_slim" in member.defined:
            return [f"{member.name}: holds LTO bytecode only; compile with -ffat-lto-objects"]
    return judge(core_members, base_members)


def judge(core_members, base_members):
    providers = {}
    for member in base_members:
        for symbol in member.defined:
            providers.setdefault(symbol, member)
    core_defined = set().union(*(member.defined for member in core_members))

    # (member, how it came in), in the order a linker would pull them in.
    todo = [(member, "core") for member in core_members]
    seen = {id(member) for member in core_members}
    outside = []  # (symbol, member, how)
    while todo:
        member, how = todo.pop(0)
        for symbol in sorted(member.undefined):
            if symbol in core_defined:
                continue
            provider = providers.get(symbol)
            if provider is None:
                outside.append((symbol, member, how))
            elif id(provider) not in seen:
                seen.add(id(provider))
                todo.append((provider, f"base, pulled in by {member.name} ({how})"))

    demangled = demangle([symbol for symbol, _, _ in outside])
    findings = []
    for (symbol, member, how), name in zip(outside, demangled):
        if not is_allowed(name, member.name):
            findings.append(f"{member.name} [{how}] needs `{name}`: {advice_for(name)}")
    return findings


def is_allowed(name, object_name):
    patterns = rules.ALLOWED_SYMBOLS + rules.INSTRUMENTATION_SYMBOLS
    if any(re.match(pattern, name) for pattern in patterns):
        return True
    return any(object_name.startswith(allowed_object) and re.match(pattern, name)
               for allowed_object, pattern in rules.SYMBOL_EXCEPTIONS)


def advice_for(name):
    for pattern, advice in rules.SYMBOL_ADVICE:
        if re.match(pattern, name):
            return advice
    return rules.SYMBOL_ADVICE_DEFAULT


def read_archive(path):
    # One member follows another, each with its header line; -W keeps each symbol on one line.
    output = run(["readelf", "--symbols", "--wide", str(path)])
    members = []
    member = None
    for line in output.split("\n"):
        if line.startswith("File: "):
            name = re.search(r"\(([^)]*)\)$", line)
            member = Member(name.group(1) if name else line)
            members.append(member)
            continue
        fields = line.split()
        # Num: Value Size Type Bind Vis Ndx Name
        if member is None or len(fields) < 8 or not fields[0].rstrip(":").isdigit():
            continue
        bind, section, symbol = fields[4], fields[6], fields[7]
        if bind == "LOCAL":
            continue
        (member.undefined if section == "UND" else member.defined).add(symbol)
    return members


def demangle(symbols):
    if not symbols:
        return []
    return run(["c++filt"], "\n".join(symbols) + "\n").split("\n")[:len(symbols)]


def run(command, text=None):
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


def check_binary(path):
    """Returns the findings for the release binary: what it loads, and planted faults in it."""
    loaded = re.findall(r"^\s*(\S+)", run(["ldd", str(path)]), re.MULTILINE)
    findings = [f"{path}: loads {library}; link it statically, or load it by dlopen where it is "
                "needed"
                for library in loaded
                if not any(allowed in library for allowed in rules.BINARY_LIBRARIES)
                and library != "statically"]
    return findings + planted_faults(path)


def planted_faults(path):
    lines = run(["readelf", "--symbols", "--wide", str(path)]).split("\n")
    symbols = {fields[7] for fields in map(str.split, lines)
               if len(fields) >= 8 and fields[0].rstrip(":").isdigit()}
    content = path.read_bytes()
    found = [name for name in demangle(sorted(symbols))
             if any(re.match(pattern, name) for pattern in rules.BINARY_FORBIDDEN_SYMBOLS)]
    found += [text.decode() for text in rules.BINARY_FORBIDDEN_TEXTS if text in content]
    return [f"{path}: holds `{name}`; planted faults belong to berth_faulty, see "
            "src/main/planted_faults.h" for name in found]
