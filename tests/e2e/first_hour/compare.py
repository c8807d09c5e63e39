"""Compares what a text shows with what was printed.

`…` in a text stands for anything: inside a line for the rest of it or a part, alone on a line for
any number of lines. What differs from run to run is in VARIES, the one place for it; all else must
be the same, letter for letter.
"""

import re

# What may differ: where a text has one of these, the output has another of the same form.
VARIES = [
    r"bth_[0-9a-f]{64}",  # the secret of a token
    r"token [0-9a-f]{8} made",  # and its name
    r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ",  # an instant
    r"(?:uid|gid|groups)=\d+",  # numbers that the system gives
    r"\d+ CPUs?, \d+ GB of memory",  # the machine
    r"after \d+ ms",  # how long a command ran
    r"\b\d+\.\ds\b",  # the same, in a table
    r" +\d+(?:ms|s|min)\b",  # an age
    r"behind epoch \d+",  # where a job was stopped
    r"has epoch \d+",
    r"epoch \d+ of 40, loss \d\.\d+",  # and where it went on
    r'"run_ms":\d+',  # of simulated work
    r" +(?== )",  # columns, as wide as what stands in them
    r" {2,}",
]


# The log, which a server writes to stderr beside what it says on stdout; no text shows it.
LOG = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} (?:info|warning) ")


def pattern_of(line: str) -> str:
    """A regular expression for one line of a text."""
    if not line:
        return ""
    for form in VARIES:
        found = re.search(form, line)
        if found:
            return pattern_of(line[:found.start()]) + form + pattern_of(line[found.end():])
    if line.endswith(" …"):
        return pattern_of(line[:-2]) + r"(?: .*)?"
    return ".*".join(re.escape(part) for part in line.split("…"))


def difference(shown: list[str], printed: list[str], part: bool = False) -> str:
    """Empty if `printed` is what `shown` says, else the first line that is not.

    With `part` the text shows lines out of the middle: they must follow one another somewhere.
    """
    printed = [line for line in printed if not LOG.match(line)]
    if part:
        starts = range(len(printed)) if printed else range(1)
        if any(not _difference(shown, printed[start:], whole=False) for start in starts):
            return ""
        return f"nowhere are lines like {shown[0]!r} and what follows it"
    return _difference(shown, printed, whole=True)


def _difference(shown: list[str], printed: list[str], whole: bool) -> str:
    place = 0
    gap = False  # a line `…` has been seen: any lines may come
    for line in shown:
        if line.strip() == "…":
            gap = True
            continue
        pattern = re.compile(pattern_of(line.rstrip()))
        while gap and place < len(printed) and not pattern.fullmatch(printed[place].rstrip()):
            place += 1
        gap = False
        if place == len(printed):
            return f"the text shows {line!r}, and nothing more was printed"
        if not pattern.fullmatch(printed[place].rstrip()):
            return f"the text shows {line!r}, printed was {printed[place]!r}"
        place += 1
    if whole and not gap and place < len(printed):
        return f"printed was also {printed[place]!r}"
    return ""
