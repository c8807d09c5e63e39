"""What the tests share: a server, and both clients behind one face.

Each test of a client runs twice, with Client and with AsyncClient. BERTH_TEST_SERVER=HOST:PORT
names a server, without authentication, for the tests that need no fake; the others keep to theirs.
"""

import asyncio
import atexit
import inspect
import os
import sys
import unittest
import uuid
from typing import Any, Callable, Iterator, Optional

from berth import AsyncClient, Client
from berth.testing import FakeServer

REAL_SERVER = os.environ.get("BERTH_TEST_SERVER")


# One loop for all tests, as a program has one. A stream that is broken off is cancelled at once, but
# gRPC hears of its end a moment later; in a loop that is closed by then it would have nobody to
# tell, and would complain in the next one.
LOOP = asyncio.new_event_loop()
atexit.register(LOOP.close)


class Blocking:
    """An AsyncClient that is called like a Client: a test says once what both must do."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        self._client = AsyncClient(*arguments, **named)

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._client, name)

        def call(*arguments: Any, **named: Any) -> Any:
            answer = method(*arguments, **named)
            return self._taken(answer) if inspect.isasyncgen(answer) else self._run(answer)

        return call

    def _taken(self, stream: Any) -> Iterator[Any]:
        try:
            while True:
                try:
                    item = self._run(anext(stream))
                except StopAsyncIteration:
                    return
                yield item
        finally:
            self._run(stream.aclose())

    def _run(self, work: Any) -> Any:
        return LOOP.run_until_complete(work)

    def close(self) -> None:
        self._run(self._client.close())


class ClientCase(unittest.TestCase):
    """A test of a client: a server of its own unless a real one is named and will do."""

    make_client: Callable[..., Any] = Client
    needs_fake = False

    def setUp(self) -> None:
        self.fake: Optional[FakeServer] = None
        self.name = f"test-{uuid.uuid4().hex[:12]}"  # of groups and tasks: a real server keeps them
        if REAL_SERVER and not self.needs_fake:
            self.host = REAL_SERVER
        else:
            self.fake = self.serve()
            self.host = self.fake.host

    def serve(self, *arguments: Any, **named: Any) -> FakeServer:
        server = FakeServer(*arguments, **named)
        self.addCleanup(server.stop)
        return server

    def client(self, **named: Any) -> Any:
        named.setdefault("host", self.host)
        named.setdefault("timeout", 10.0)
        client = type(self).make_client(**named)
        self.addCleanup(client.close)
        return client


class FakeCase(ClientCase):
    """A test that orders faults, or moves tasks by hand."""

    needs_fake = True

    @property
    def server(self) -> FakeServer:
        assert self.fake is not None
        return self.fake


def with_both_clients(cases: type[ClientCase]) -> type[ClientCase]:
    """Puts a second class beside the cases, which runs them with AsyncClient."""
    name = f"Async{cases.__name__}"
    twin = type(name, (cases,), {"make_client": Blocking, "__module__": cases.__module__})
    setattr(sys.modules[cases.__module__], name, twin)
    return cases
