#!/usr/bin/env python3
"""The packages that script/package makes: their fields, their files, and that what is in them works.

    package_test.py [--binary FILE]    packs build/release/berth, built if need be, or FILE

Nothing is installed: the package is unpacked into a temporary folder and the server runs from there;
the maintainer scripts run with stand-ins for every program they call.
"""

import configparser
import gzip
import os
import re
import signal
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BINARY = []  # arguments for script/package


def output(*command, **options):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, timeout=600,
                          **options).stdout


def project_version():
    text = (ROOT / "CMakeLists.txt").read_text()
    return re.search(r"^project\(berth VERSION ([0-9.]+)", text, re.MULTILINE).group(1)


class PackageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        output(str(ROOT / "script/package"), *BINARY)
        cls.version = project_version()
        (cls.deb,) = (ROOT / "build/package").glob("*.deb")
        (cls.tarball,) = (ROOT / "build/package").glob("*.tar.gz")
        cls.holder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.holder.cleanup)
        cls.files = Path(cls.holder.name, "files")
        cls.control = Path(cls.holder.name, "control")
        output("dpkg-deb", "-x", str(cls.deb), str(cls.files))
        output("dpkg-deb", "-e", str(cls.deb), str(cls.control))
        cls.berth = str(cls.files / "usr/bin/berth")

    # ---- What it says of itself ------------------------------------------------------------------

    def test_the_version_is_the_projects(self):
        architecture = output("dpkg", "--print-architecture").strip()
        self.assertEqual(self.deb.name, f"berth_{self.version}_{architecture}.deb")
        self.assertEqual(output("dpkg-deb", "-f", str(self.deb), "Version").strip(), self.version)
        self.assertEqual(output(self.berth, "--version").strip(), f"berth {self.version}")

    def test_the_fields(self):
        text = (self.control / "control").read_text()
        self.assertNotIn("@", re.sub(r"<[^>]*>", "", text))
        fields = dict(re.findall(r"^(\w[\w-]*): (.*)$", text, re.MULTILINE))
        self.assertEqual(fields["Package"], "berth")
        self.assertRegex(fields["Maintainer"], r"^[^<]+ <[^@]+@[^>]+>$")
        self.assertRegex(fields["Depends"], r"libc6 \(>= 2\.\d+\)")
        self.assertRegex(fields["Depends"], r"\bpasswd\b")  # useradd, which the scripts call
        self.assertGreater(int(fields["Installed-Size"]), 10_000)

    def test_what_the_operator_may_change_is_a_conffile(self):
        below_etc = sorted("/" + path.relative_to(self.files).as_posix()
                           for path in (self.files / "etc").rglob("*") if path.is_file())
        self.assertEqual((self.control / "conffiles").read_text().split(), below_etc)

    def test_the_checksums(self):
        output("md5sum", "--check", "--quiet", str(self.control / "md5sums"), cwd=self.files)

    def test_nothing_is_open_to_others(self):
        for path in self.files.rglob("*"):
            self.assertEqual(path.stat().st_mode & 0o7022, 0, path)

    # ---- What is in it ---------------------------------------------------------------------------

    def commands(self):
        return re.findall(r"^  ([a-z]+(?: [a-z]+)?)  +\S", output(self.berth, "--help"), re.M)

    def test_a_man_page_for_each_command(self):
        man = self.files / "usr/share/man/man1"
        names = {"berth.1.gz", *(f"berth-{name.replace(' ', '-')}.1.gz"
                                 for name in self.commands())}
        self.assertEqual({path.name for path in man.iterdir()}, names)
        page = gzip.decompress((man / "berth-submit.1.gz").read_bytes()).decode()
        self.assertIn("\\-\\-queue", page)

    def test_the_completions_are_what_the_binary_prints(self):
        share = self.files / "usr/share"
        for shell, path in (("bash", "bash-completion/completions/berth"),
                            ("zsh", "zsh/vendor-completions/_berth"),
                            ("fish", "fish/vendor_completions.d/berth.fish")):
            with self.subTest(shell=shell):
                self.assertEqual((share / path).read_text(), output(self.berth, "completion", shell))

    def test_the_wheel(self):
        (wheel,) = (self.files / "usr/share/berth/python").glob("*.whl")
        self.assertTrue(wheel.name.startswith(f"berth-{self.version}-"))
        with zipfile.ZipFile(wheel) as content:
            self.assertIn("gpu_scheduler/__init__.py", content.namelist())
            self.assertIn("berth/client.py", content.namelist())
            metadata = content.read(f"berth-{self.version}.dist-info/METADATA").decode()
        self.assertIn("Requires-Python: >=3.8", metadata)

    def test_the_guide_and_the_examples(self):
        doc = self.files / "usr/share/doc/berth"
        for name in ("docs/guide/operate.md", "examples/berth.toml", "examples/first-run.toml",
                     "copyright", "changelog.gz"):
            self.assertTrue((doc / name).is_file(), name)
        notices = gzip.decompress((doc / "libraries.copyright.gz").read_bytes()).decode()
        for library in ("libgrpc-dev", "libssl-dev", "libsqlite3-dev"):
            self.assertIn(f"==== {library} ====", notices)

    def test_the_unit(self):
        unit = configparser.ConfigParser(strict=False, interpolation=None)
        unit.optionxform = str
        unit.read(self.files / "lib/systemd/system/berth.service")
        service = unit["Service"]
        self.assertEqual(service["KillMode"], "process")  # commands outlive the server
        self.assertEqual(service["User"], "berth")
        program, *arguments = service["ExecStart"].split()
        self.assertTrue((self.files / program.lstrip("/")).is_file())
        self.assertEqual(arguments, ["serve", "--config", "/etc/berth/berth.toml"])
        for broken in ("PrivateTmp", "PrivateDevices", "ProtectHome", "NoNewPrivileges"):
            self.assertNotIn(broken, service)

    # ---- That it works ---------------------------------------------------------------------------

    def test_the_configuration_is_good(self):
        said = output(self.berth, "config", "check", str(self.files / "etc/berth/berth.toml"))
        self.assertIn("good", said)

    def test_it_serves_and_runs_a_command(self):
        folder = Path(self.holder.name, "state")
        folder.mkdir()
        arguments = [self.berth, "serve", "--config", str(self.files / "etc/berth/berth.toml"),
                     "--grpc", "127.0.0.1:0", "--http", "127.0.0.1:0", "--data", str(folder / "data"),
                     "--set", f"tasks.folder={folder / 'tasks'}"]
        server = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                  text=True)
        try:
            for line in server.stdout:
                address = re.match(r" *gRPC +(\S+)", line)
                if address:
                    break
            said = output(self.berth, "submit", "--server", address.group(1), "--queue", "llm",
                          "--wait", "--timeout", "60s", "--", "/bin/echo", "unpacked",
                          stderr=subprocess.DEVNULL)
            self.assertEqual(said, "unpacked\n")
        finally:
            server.send_signal(signal.SIGTERM)
            server.stdout.close()
            self.assertEqual(server.wait(timeout=60), 0)

    def test_the_tarball(self):
        top = f"berth-{self.version}"
        with tarfile.open(self.tarball) as tarball:
            names = tarball.getnames()
            self.assertEqual({name.split("/")[0] for name in names}, {top})
            for name in ("INSTALL", "bin/berth", "etc/berth/berth.toml",
                         "lib/systemd/system/berth.service", "share/man/man1/berth.1.gz"):
                self.assertIn(f"{top}/{name}", names)
            self.assertEqual({member.uname + str(member.uid) for member in tarball}, {"0"})
            unit = tarball.extractfile(f"{top}/lib/systemd/system/berth.service").read().decode()
            install = tarball.extractfile(f"{top}/INSTALL").read().decode()
        self.assertIn("ExecStart=/usr/local/bin/berth serve", unit)
        self.assertIn(self.version, install)

    # ---- The maintainer scripts ------------------------------------------------------------------

    def run_script(self, name, *arguments, has_user):
        """Runs it with stand-ins alone, and returns the commands it gave."""
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder, "log")
            for program in ("useradd", "usermod", "install", "rm", "rmdir", "systemctl",
                            "deb-systemd-helper", "deb-systemd-invoke"):
                self.stand_in(Path(folder, program), f'echo "{program} $*" >>{log}\n')
            known = "exit 0" if has_user else '[ "$1" = group ] && [ "$2" = video ]'
            self.stand_in(Path(folder, "getent"), known + "\n")
            subprocess.run(["/bin/sh", str(self.control / name), *arguments], check=True,
                           env={"PATH": folder}, timeout=60)
            return log.read_text().splitlines() if log.exists() else []

    @staticmethod
    def stand_in(path, text):
        path.write_text("#!/bin/sh\n" + text)
        path.chmod(0o755)

    def assert_service(self, commands, action):
        """The running service is touched only where systemd runs, and never in a chroot."""
        expected = [f"deb-systemd-invoke {action} berth.service"]
        touched = [line for line in commands if line.startswith("deb-systemd-invoke")]
        self.assertEqual(touched, expected if os.path.isdir("/run/systemd/system") else [])

    def test_the_scripts_are_good_shell(self):
        for name in ("postinst", "prerm", "postrm"):
            text = (self.control / name).read_text()
            self.assertTrue(text.startswith("#!/bin/sh\n"), name)
            self.assertIn("\nset -e\n", text, name)
            subprocess.run(["/bin/sh", "-n", str(self.control / name)], check=True)

    def test_the_first_installation_makes_user_and_folders(self):
        commands = self.run_script("postinst", "configure", "", has_user=False)
        (made,) = [line for line in commands if line.startswith("useradd ")]
        self.assertIn("--system", made)
        self.assertIn("--shell /usr/sbin/nologin", made)
        self.assertIn("usermod --append --groups video berth", commands)
        self.assertNotIn("usermod --append --groups render berth", commands)  # it is not there
        if not os.path.exists("/var/lib/berth"):
            self.assertIn("install -d -o berth -g berth -m 0700 /var/lib/berth/data", commands)
            self.assertIn("install -d -o berth -g berth -m 0711 /var/lib/berth/tasks", commands)
        self.assertIn("deb-systemd-helper enable berth.service", commands)
        self.assert_service(commands, "start")

    def test_an_upgrade_restarts_and_stops_nothing_before(self):
        self.assertEqual(self.run_script("prerm", "upgrade", "9", has_user=True), [])
        commands = self.run_script("postinst", "configure", "0.0.1", has_user=True)
        self.assertEqual([line for line in commands if line.startswith("useradd ")], [])
        self.assert_service(commands, "restart")

    def test_removal_keeps_the_data_and_purge_takes_it(self):
        self.assert_service(self.run_script("prerm", "remove", has_user=True), "stop")
        removed = self.run_script("postrm", "remove", has_user=True)
        self.assertEqual([line for line in removed if line.startswith("rm")], [])
        purged = self.run_script("postrm", "purge", has_user=True)
        self.assertIn("rm -rf /var/lib/berth", purged)
        self.assertEqual([line for line in purged if line.startswith(("userdel", "deluser"))], [])


if __name__ == "__main__":
    if sys.argv[1:2] == ["--binary"]:
        BINARY = [sys.argv[1], str(Path(sys.argv[2]).resolve())]
        del sys.argv[1:3]
    unittest.main()
