"""What a client's streams are: generators, so that whoever stops early can close them."""

from typing import AsyncGenerator, Generator, TypeVar

Item = TypeVar("Item")

AsyncStream = AsyncGenerator[Item, None]
Stream = Generator[Item, None, None]
