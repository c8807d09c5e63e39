#!/usr/bin/env python3
"""Makes the blocking client from the asynchronous one: the same code without `await`.

    make_sync.py PACKAGE_DIR

aio.py becomes client.py, aio_connection.py becomes connection.py. It works on Python's tokens:
the words `async` and `await` go, names are replaced from a table, all else stays as it is.
"""

import io
import sys
import tokenize
from pathlib import Path

FILES = {"aio.py": "client.py", "aio_connection.py": "connection.py"}
DROPPED = {"async", "await"}
NAMES = {
    "AsyncClient": "Client",
    "AsyncConnection": "Connection",
    "AsyncStream": "Stream",
    "__aenter__": "__enter__",
    "__aexit__": "__exit__",
    "__aiter__": "__iter__",
    "aclosing": "closing",
    "aio_connection": "connection",
    "anext_or_none": "next_or_none",
    "open_aio_channel": "open_channel",
}
# Whole phrases, where one name is not enough.
PHRASES = {
    "import asyncio\nimport threading\n": "import queue\nimport threading\nimport time\n",
    "import asyncio\nfrom types": "import time\nfrom types",
    "asyncio.sleep": "time.sleep",
    "asyncio.Queue": "queue.SimpleQueue",
    "`async with`": "`with`",
    "for asyncio.": "for code that waits.",
}


def without_async(source: str) -> str:
    """Removes from the text what its tokens say; the places are kept by cutting from the end."""
    lines = source.splitlines(keepends=True)
    for token in reversed(list(tokenize.generate_tokens(io.StringIO(source).readline))):
        if token.type != tokenize.NAME:
            continue
        row, begin = token.start[0] - 1, token.start[1]
        line = lines[row]
        if token.string in DROPPED:
            lines[row] = line[:begin] + line[token.end[1]:].lstrip(" ")
        elif token.string in NAMES:
            lines[row] = line[:begin] + NAMES[token.string] + line[token.end[1]:]
    return "".join(lines)


def make_sync(source: str, name: str) -> str:
    text = without_async(source)
    for phrase, other in PHRASES.items():
        text = text.replace(phrase, other)
    first, _, rest = text.partition("\n\n")
    title = first.replace("AsyncClient", "Client")
    body = rest[rest.index("from __future__"):]
    note = f"Made from {name} by tools/make_sync.py; change that file, not this one."
    return f'{title}\n\n{note}\n"""\n\n{body}'


def main(package: Path) -> None:
    for source, target in FILES.items():
        (package / target).write_text(make_sync((package / source).read_text(), source))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
