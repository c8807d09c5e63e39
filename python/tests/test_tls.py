"""Clients and TLS: whom they trust, and what they show of themselves. Handshakes are real."""

import subprocess
import tempfile
import unittest
from pathlib import Path
from typing import Any

import grpc

from berth import Unavailable
from support import ClientCase, with_both_clients


def openssl(*words: str) -> None:
    subprocess.run(("openssl", *words), check=True, capture_output=True)


class Certificates:
    """An authority in a folder, and what it signs for 127.0.0.1."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder = folder
        self.authority = folder / f"{name}.pem"
        self._key = folder / f"{name}.key"
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                "-days", "1", "-subj", f"/CN={name}", "-keyout", str(self._key),
                "-out", str(self.authority))

    def issue(self, name: str) -> tuple[Path, Path]:
        """The files of a certificate and its key."""
        certificate, key = self.folder / f"{name}.pem", self.folder / f"{name}.key"
        request, names = self.folder / f"{name}.csr", self.folder / "names"
        names.write_text("subjectAltName=IP:127.0.0.1\n")
        openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                "-subj", f"/CN={name}", "-keyout", str(key), "-out", str(request))
        openssl("x509", "-req", "-in", str(request), "-CA", str(self.authority), "-CAkey",
                str(self._key), "-days", "1", "-extfile", str(names), "-out", str(certificate))
        return certificate, key


@with_both_clients
class TlsTest(ClientCase):
    needs_fake = True

    servers: Certificates
    clients: Certificates
    own: tuple[Path, Path]
    server_files: tuple[Path, Path]

    @classmethod
    def setUpClass(cls) -> None:
        folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.servers = Certificates(folder, "servers")
        cls.clients = Certificates(folder, "clients")
        cls.own = cls.clients.issue("client")
        cls.server_files = cls.servers.issue("server")

    def serve_tls(self, asks_clients: bool) -> str:
        certificate, key = (file.read_bytes() for file in self.server_files)
        credentials = grpc.ssl_server_credentials(
            [(key, certificate)],
            root_certificates=self.clients.authority.read_bytes() if asks_clients else None,
            require_client_auth=asks_clients)
        return self.serve(credentials=credentials).host

    def submit(self, host: str, **named: Any) -> str:
        client = self.client(host=host, timeout=5.0, tls=self.servers.authority, **named)
        return str(client.submit_task(task_type="llm", payload="x"))

    def test_a_server_that_the_file_vouches_for(self) -> None:
        self.assertTrue(self.submit(self.serve_tls(asks_clients=False)))

    def test_a_server_that_asks_gets_the_certificate(self) -> None:
        certificate, key = self.own
        host = self.serve_tls(asks_clients=True)
        self.assertTrue(self.submit(host, tls_certificate=certificate, tls_key=key))

    def test_without_one_it_does_not_answer(self) -> None:
        host = self.serve_tls(asks_clients=True)
        client = self.client(host=host, timeout=0.5, tls=self.servers.authority)
        with self.assertRaises(Unavailable):
            client.server_info()

    def test_half_of_a_certificate(self) -> None:
        with self.assertRaisesRegex(ValueError, "give both"):
            type(self).make_client(tls=True, tls_certificate=self.own[0])
        with self.assertRaisesRegex(ValueError, "needs TLS"):
            type(self).make_client(tls_certificate=self.own[0], tls_key=self.own[1])


if __name__ == "__main__":
    unittest.main()
