"""What a client's streams are: generators, so that whoever stops early can close them.

Python has aclosing and anext since 3.10; the client runs on 3.8 too, so they stand here.
"""

from __future__ import annotations

from contextlib import closing
from typing import (Any, AsyncGenerator, AsyncIterator, Generator, Generic, Iterator, Optional,
                    TypeVar)

Item = TypeVar("Item")

AsyncStream = AsyncGenerator[Item, None]
Stream = Generator[Item, None, None]

__all__ = ["AsyncStream", "Stream", "aclosing", "anext_or_none", "closing", "next_or_none"]


class aclosing(Generic[Item]):  # named as Python's
    """As contextlib.closing, for an asynchronous stream."""

    def __init__(self, stream: AsyncGenerator[Item, None]) -> None:
        self._stream = stream

    async def __aenter__(self) -> AsyncGenerator[Item, None]:
        return self._stream

    async def __aexit__(self, *error: object) -> None:
        await self._stream.aclose()


async def anext_or_none(stream: AsyncIterator[Any]) -> Optional[Any]:
    """The next item, None at the end."""
    try:
        return await stream.__anext__()
    except StopAsyncIteration:
        return None


def next_or_none(stream: Iterator[Any]) -> Optional[Any]:
    return next(stream, None)
