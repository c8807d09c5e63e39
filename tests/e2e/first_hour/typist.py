"""Types the Python blocks of a page into one interpreter, and compares what each says it prints.

    typist.py BLOCKS.json    [[name, place, text], ...]

`print(...)  # text` promises that line; `...` in it stands for anything. Ends with 1, and says why,
if a block raises or a promise is not kept.
"""

import contextlib
import io
import json
import re
import sys
import traceback

PROMISE = re.compile(r"^ *print\(.*\)  # (.*)$", re.MULTILINE)


def missing(text, printed):
    """The first promise of the block that was not printed, or None."""
    lines = iter(printed.splitlines())
    for promise in PROMISE.findall(text):
        pattern = ".*".join(re.escape(part) for part in promise.split("..."))
        if not any(re.fullmatch(pattern, line) for line in lines):
            return promise
    return None


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        blocks = json.load(file)
    names = {"__name__": "__main__"}
    failed = 0
    for name, place, text in blocks:
        printed = io.StringIO()
        try:
            with contextlib.redirect_stdout(printed):
                exec(compile(text, place, "exec"), names)  # as typed
        except Exception:
            failed += 1
            print(f"{place} ({name}):\n{text}\n{traceback.format_exc()}")
            continue
        promise = missing(text, printed.getvalue())
        if promise is not None:
            failed += 1
            print(f"{place} ({name}): {promise!r} was not printed:\n{printed.getvalue()}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
