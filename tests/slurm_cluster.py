"""A real SLURM of one node on this machine's loopback, for as long as a test wants it.

    with slurm_cluster.running(folder, gpus=2) as cluster:
        subprocess.run([...], env=cluster.environment)

munged, slurmctld and slurmd are Debian's own (slurm 22.05), with their keys, state, sockets and logs in
``folder`` and on ports that were free, so that two clusters on a machine do not meet.  The daemons are
children of a process of their own, which stops them and their jobs when the test ends, however it ends: it
waits for the end of a pipe, and the kernel closes that of a process that is killed.

    python tests/slurm_cluster.py FOLDER GPUS       is that process; it stops at the end of its input
"""

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

PACKAGES = ("munge", "slurmctld", "slurmd", "slurm-client")
PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "scontrol", "squeue", "scancel")
# What stands for a GPU: SLURM counts devices by their files, and these are on any machine.
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random")
# The node says that it has more than this machine, so that jobs ask for what they ask for anywhere.
CPUS, MEMORY = 4, 64_000

CONFIGURATION = """\
ClusterName=loopback
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmdPort={daemon}
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerType=sched/builtin
SchedulerParameters=sched_interval=1,batch_sched_delay=0,sched_min_interval=0
TaskPlugin=task/none
ProctrackType=proctrack/linuxproc
# Memory is looked at every second, and a job that takes more than it asked for is killed, as by a cgroup.
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobAcctGatherParams=OverMemoryKill
AccountingStorageType=accounting_storage/none
MpiDefault=none
SwitchType=switch/none
ReturnToService=2
KillWait=2
GresTypes=gpu
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory={memory} Gres=gpu:{gpus} State=UNKNOWN
PartitionName=compute Nodes={host} Default=YES MaxTime=INFINITE State=UP
PartitionName=accelerated Nodes={host} MaxTime=INFINITE State=UP
PartitionName=brief Nodes={host} MaxTime=5 State=UP
"""


@dataclass(frozen=True)
class Cluster:
    """A SLURM that runs; ``environment`` is what its clients need.

    Its partitions are compute, accelerated and brief, which takes no job of more than five minutes.
    """

    folder: Path
    environment: Mapping[str, str]

    def ask(self, *command: str) -> str:
        """Return what a client of SLURM prints; `CalledProcessError` where it fails."""
        return subprocess.run(
            command, env=self.environment, check=True, capture_output=True, text=True, timeout=60
        ).stdout

    def queue(self, form: str, *options: str) -> list[list[str]]:
        """Return the jobs in the queue (those that wait or run, unless ``options`` ask for others).

        ``form`` are the letters of squeue's fields, as "iTb"; each is a column.
        """
        lines = self.ask("squeue", "-h", "-o", "|".join(f"%{letter}" for letter in form), *options)
        return [line.split("|") for line in lines.splitlines()]


def hindrance() -> str:
    """Say why no such SLURM can be started here; empty where one can.

    On a fresh machine of continuous integration (CI=true) the Debian packages are installed first.
    """
    if os.geteuid():
        return "SLURM's daemons are started by root alone"
    host = socket.gethostname()
    try:
        address = socket.gethostbyname(host)
    except OSError:
        address = ""
    if not address.startswith("127."):
        return f"this machine's name, {host}, is no name of the loopback (add 127.0.0.1 {host} to /etc/hosts)"
    if missing() and os.environ.get("CI") == "true" and shutil.which("apt-get"):
        _install()
    if absent := missing():
        return f"there is no {absent[0]} here (apt-get install {' '.join(PACKAGES)})"
    return ""


def missing() -> list[str]:
    """Return the programs of SLURM that are not installed here."""
    return [name for name in PROGRAMS if not shutil.which(name, path=_path())]


def _path() -> str:
    return f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"


def _install() -> None:
    quiet = {"env": os.environ | {"DEBIAN_FRONTEND": "noninteractive"}, "stdout": subprocess.DEVNULL}
    for command in (["update"], ["install", "-y", "--no-install-recommends", *PACKAGES]):
        subprocess.run(["apt-get", "-qq", *command], check=False, timeout=300, **quiet)


@contextmanager
def running(folder: Path, gpus: int) -> Iterator[Cluster]:
    """Start a SLURM under ``folder`` with this many GPUs that it counts, and stop it with all its jobs."""
    command = [sys.executable, __file__, str(folder), str(gpus)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    # In a session of its own: what kills the tests as a group leaves it time to stop the daemons.
    with subprocess.Popen(command, **pipes, text=True, start_new_session=True) as keeper:
        if keeper.stdout.readline() != "ready\n":
            raise RuntimeError(f"SLURM did not start; its logs are in {folder}")
        yield Cluster(folder, _environment(folder))
        keeper.stdin.close()
        keeper.wait(timeout=60)


def _environment(folder: Path) -> dict[str, str]:
    path = f"{folder}/bin:{_path()}"
    return os.environ | {"SLURM_CONF": f"{folder}/slurm.conf", "PATH": path}


def keep(folder: Path, gpus: int) -> None:
    """Start the daemons, say that they are ready, and stop them when the input ends."""
    _configure(folder, gpus)
    environment = _environment(folder)
    with ExitStack() as daemons:
        for command in _commands(folder):
            log = daemons.enter_context((folder / f"{command[0]}.log").open("w"))
            daemon = subprocess.Popen(
                command, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
            daemons.callback(_stop, daemon)
            if command[0] == "munged":
                _until(lambda: (folder / "munge.socket").exists())
        cluster = Cluster(folder, environment)
        daemons.callback(_clear, cluster)
        _until(lambda: cluster.ask("sinfo", "-h", "-o", "%T").split() == ["idle"])
        print("ready", flush=True)
        sys.stdin.read()


def _configure(folder: Path, gpus: int) -> None:
    for name in ("state", "spool", "bin"):
        (folder / name).mkdir(parents=True)
    # munged trusts no folder that others may write to.
    folder.chmod(0o755)
    key = folder / "munge.key"
    key.touch(0o600)
    key.write_bytes(os.urandom(1024))
    values = {"host": socket.gethostname(), "folder": folder, "cpus": CPUS, "memory": MEMORY, "gpus": gpus}
    controller, daemon = _free_ports(2)
    text = CONFIGURATION.format(**values, controller=controller, daemon=daemon)
    (folder / "slurm.conf").write_text(text)
    devices = [f"NodeName={values['host']} Name=gpu File={device}\n" for device in DEVICES[:gpus]]
    (folder / "gres.conf").write_text("".join(devices))
    # Snakemake takes SLURM's variables away before it starts a step, and elsewhere the step then finds the
    # configuration in /etc/slurm.
    srun = folder / "bin/srun"
    srun.write_text(f'#!/bin/sh\nSLURM_CONF={folder}/slurm.conf exec {shutil.which("srun")} "$@"\n')
    srun.chmod(0o755)


def _commands(folder: Path) -> list[list[str]]:
    munge = [f"--socket={folder}/munge.socket", f"--key-file={folder}/munge.key"]
    files = [f"--pid-file={folder}/munged.pid", f"--seed-file={folder}/munge.seed", "--log-file=/dev/stderr"]
    configuration = ["-D", "-f", f"{folder}/slurm.conf"]
    return [
        ["munged", "--foreground", "--force", *munge, *files],
        ["slurmctld", *configuration, "-i"],
        ["slurmd", *configuration],
    ]


def _free_ports(number: int) -> list[int]:
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(number)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


def _until(happened: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while True:
        try:
            if happened():
                return
        except subprocess.SubprocessError:
            pass  # the daemons are not up yet
        if time.monotonic() > end:
            raise TimeoutError("SLURM did not get there; its logs say why")
        time.sleep(0.1)


def _clear(cluster: Cluster) -> None:
    """Cancel all jobs and wait until their processes are gone."""
    cluster.ask("scancel", "--user=root")
    _until(lambda: not cluster.queue("i"), 20)


def _stop(daemon: subprocess.Popen) -> None:
    daemon.terminate()
    try:
        daemon.wait(timeout=10)
    except subprocess.TimeoutExpired:
        daemon.kill()
        daemon.wait()


if __name__ == "__main__":
    keep(Path(sys.argv[1]).resolve(), int(sys.argv[2]))
