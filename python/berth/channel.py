"""How a client reaches its server: options of the channel, credentials, metadata."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional, Union

import grpc

from berth.v1 import scheduler_pb2_grpc

File = Union[str, Path]
Tls = Union[bool, str, Path]


@dataclass(frozen=True)
class Security:
    """Whom the client trusts, and what it shows of itself. Files hold PEM."""

    tls: Tls = False  # False: nothing is encrypted; True: the roots that gRPC knows; or a file
    certificate: Optional[File] = None  # for a server that asks for one
    key: Optional[File] = None

    def __post_init__(self) -> None:
        if (self.certificate is None) != (self.key is None):
            raise ValueError("a client's certificate and its key belong together: give both")
        if self.certificate is not None and self.tls is False:
            raise ValueError("a client's certificate needs TLS: give tls as well")

    def credentials(self) -> Any:
        """None: nothing is encrypted."""
        if self.tls is False:
            return None
        return grpc.ssl_channel_credentials(
            root_certificates=None if self.tls is True else _bytes_of(str(self.tls)),
            private_key=_bytes_of(self.key), certificate_chain=_bytes_of(self.certificate))


def _bytes_of(file: Optional[File]) -> Optional[bytes]:
    return None if file is None else Path(file).read_bytes()


OPTIONS = (
    # A server that restarts is found again quickly; gRPC would wait for up to two minutes.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 1000),
    ("grpc.max_reconnect_backoff_ms", 2000),
    # A quiet stream notices that its server has vanished. Servers by default take a ping every
    # five minutes and close the connection on more.
    ("grpc.keepalive_time_ms", 310_000),
    ("grpc.keepalive_timeout_ms", 20_000),
    ("grpc.http2.max_pings_without_data", 0),
    # A page of a thousand tasks with their results is larger than gRPC's 4 MiB.
    ("grpc.max_receive_message_length", 64 << 20),
)


LOOPBACK = ("localhost:", "127.", "[::1]:")

# Its code comes from protoc, without types.
make_stub: Any = scheduler_pb2_grpc.SchedulerStub


def metadata(token: Optional[str]) -> tuple[tuple[str, str], ...]:
    return () if token is None else (("authorization", f"Bearer {token}"),)


def options(host: str) -> tuple[tuple[str, int], ...]:
    """A proxy of the environment is for the world outside: gRPC would send loopback there too."""
    if host.startswith(LOOPBACK):
        return (*OPTIONS, ("grpc.enable_http_proxy", 0))
    return OPTIONS


def open_channel(host: str, security: Security) -> Any:
    """For the blocking client."""
    credentials = security.credentials()
    if credentials is None:
        return grpc.insecure_channel(host, options=options(host))
    return grpc.secure_channel(host, credentials, options=options(host))


def open_aio_channel(host: str, security: Security) -> Any:
    """For the asynchronous client; belongs to the event loop that runs now."""
    credentials = security.credentials()
    if credentials is None:
        return grpc.aio.insecure_channel(host, options=options(host))
    return grpc.aio.secure_channel(host, credentials, options=options(host))
