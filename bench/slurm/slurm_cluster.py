"""A private Slurm of one node on loopback: munged, slurmctld and slurmd, from an unpacked tree.

Knows nothing of Berth. All it writes is below its folder; all it starts ends with close().
"""

import getpass
import os
import socket
import subprocess
import time

from children import Children, Failure, kill_with_setting, undisturbed, wait_for

# The scheduler is asked to look at once and often; the defaults save work on large clusters.
CONFIGURATION = """\
ClusterName=bench
SlurmctldHost={host}({address})
SlurmctldPort={controller_port}
SlurmdPort={node_port}
SlurmUser={user}
SlurmdUser={user}
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
PluginDir={plugins}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldDebug=error
SlurmdDebug=error
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/backfill
SchedulerParameters={scheduler}
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
SlurmdParameters=config_overrides
ReturnToService=2
MaxJobCount=1000000
MaxArraySize=1000001
NodeName={host} NodeAddr={address} CPUs={slots} State=UNKNOWN
PartitionName=bench Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""
SCHEDULER = "batch_sched_delay=0,sched_min_interval=0,sched_interval=1,bf_interval=1"
UNFINISHED = "pending,configuring,running,suspended"


def free_ports(count, address):
    """Ports that were free a moment ago; Slurm cannot choose them itself."""
    sockets = [socket.create_server((address, 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def loopback_address(host):
    """Slurm listens on what the machine's name stands for; this must be loopback."""
    try:
        address = socket.gethostbyname(host)
    except OSError:
        address = "nothing"
    if not address.startswith("127."):
        raise Failure(f"Slurm listens on the address of this machine's name, and {host} stands for "
                      f"{address}, not for loopback; try: unshare --uts sh -c "
                      "'hostname localhost && script/bench slurm'")
    return address


class SlurmCluster:
    """Starts in the constructor; close() also when that failed half way."""

    def __init__(self, root, folder, slots):
        self._root, self._folder, self._slots = root, folder, slots
        self._libraries = next((root / "usr/lib").glob("*/slurm-wlm"))
        self._children = Children()
        self._environment = {
            "PATH": "/usr/bin:/bin",
            "LD_LIBRARY_PATH": f"{self._libraries.parent}:{self._libraries}",
            "SLURM_CONF": str(folder / "slurm.conf"),
        }
        try:
            self._start()
        except BaseException:
            self.close()
            raise

    def _start(self):
        folder, programs = self._folder, self._root / "usr/sbin"
        for name in ("state", "spool"):
            (folder / name).mkdir(parents=True)
        self._write_configuration()
        self._start_munged(programs / "munged")
        self._start_daemon(programs / "slurmctld-wlm", "-D", "-c")
        wait_for("slurmctld to answer", lambda: self._ask("sinfo") is not None, 20, self._children)
        self._start_daemon(programs / "slurmd-wlm", "-D", "-d", programs / "slurmstepd-wlm")
        wait_for("Slurm's node to become idle",
                 lambda: (self._ask("sinfo", "-h", "-o", "%T") or "").strip() == "idle",
                 20, self._children)

    def _write_configuration(self):
        host = socket.gethostname().split(".")[0]
        address = loopback_address(host)
        controller_port, node_port = free_ports(2, address)
        (self._folder / "slurm.conf").write_text(CONFIGURATION.format(
            host=host, address=address, controller_port=controller_port, node_port=node_port,
            user=getpass.getuser(), folder=self._folder, plugins=self._libraries,
            scheduler=SCHEDULER, slots=self._slots))

    def _start_munged(self, program):
        key = self._folder / "munge.key"
        key.touch(0o600)
        key.write_bytes(os.urandom(1024))
        munge_socket = self._folder / "munge.socket"
        # --force: the socket is within reach of this user alone.
        self._start_daemon(program, "--foreground", "--force", f"--key-file={key}",
                           f"--socket={munge_socket}", f"--pid-file={self._folder}/munged.pid",
                           f"--seed-file={self._folder}/munged.seed")
        wait_for("munged's socket", munge_socket.exists, 10, self._children)

    def _start_daemon(self, program, *arguments):
        self._children.start([str(program), *map(str, arguments)],
                             self._folder / f"{program.name}.log", self._environment)

    def _ask(self, program, *arguments):
        """What a client program prints, or nothing when it cannot."""
        try:
            done = subprocess.run([str(self._root / "usr/bin" / program), *arguments],
                                  capture_output=True, text=True, env=self._environment,
                                  cwd=self._folder, timeout=30, check=False)
        except subprocess.TimeoutExpired:
            return None
        return done.stdout if done.returncode == 0 else None

    def version(self):
        return (self._ask("sinfo", "--version") or "slurm").strip().removeprefix("slurm-wlm ")

    def run_at_once(self, tasks, seconds):
        """One job array."""
        return self._run(tasks, seconds, lambda script: self._submit(f"--array=1-{tasks}", script))

    def run_one_by_one(self, tasks, seconds):
        """An sbatch call for each task."""
        deadline = time.monotonic() + seconds

        def submit(script):
            for _ in range(tasks):
                self._submit(script)
                if time.monotonic() > deadline:
                    return
        return self._run(tasks, seconds, submit)

    def _submit(self, *arguments):
        if self._ask("sbatch", "--output=/dev/null", *arguments) is None:
            self._children.check()
            raise Failure("sbatch refused a task; its daemons run")

    def _run(self, tasks, seconds, submit):
        """(completed, seconds) from before the first submit to the last end, or to the limit.

        A task counts as ended when its process has; Slurm may still be clearing up.
        """
        script = self._folder / "no-op"
        script.write_text("#!/bin/true\n")
        before = self._completed()
        begin = time.monotonic()
        submit(str(script))
        while self._count(UNFINISHED) > 0 and time.monotonic() - begin < seconds:
            time.sleep(0.1)
        taken = time.monotonic() - begin
        completed = self._completed() - before
        self._cancel_all()
        if completed < tasks and taken < seconds:
            raise Failure(f"{tasks - completed} of {tasks} Slurm tasks did not complete")
        return completed, taken

    def _count(self, states):
        listed = self._ask("squeue", "--noheader", "--states", states, "--format=%i")
        if listed is None:
            self._children.check()
            raise Failure("squeue gives no answer")
        return len(listed.splitlines())

    # Those that ended are remembered for MinJobAge, five minutes.
    def _completed(self):
        return self._count("completed,completing")

    def _cancel_all(self):
        self._ask("scancel", "--user", getpass.getuser())
        wait_for("Slurm to clear up", lambda: self._count(UNFINISHED + ",completing") == 0,
                 30, self._children, pause=0.2)

    def close(self):
        with undisturbed():
            self._children.end_all()
            # Each task has a slurmstepd of its own, which outlives slurmd.
            kill_with_setting("SLURM_CONF", self._environment["SLURM_CONF"])
