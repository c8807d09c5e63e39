"""A Berth server in memory, for tests of programs that use Berth.

    from berth import Client
    from berth.testing import FakeServer

    with FakeServer(run=lambda task: {"answer": task["payload"]["n"] * 2}) as server:
        with Client(server.host) as client:
            task_id = client.submit_task(task_type="llm", payload={"n": 21})
            assert client.wait(task_id)["result"] == {"answer": 42}
"""

from berth.testing.server import FakeServer

__all__ = ["FakeServer"]
