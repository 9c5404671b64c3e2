"""A real SLURM cluster of one node on loopback, with Debian's munged, slurmctld and
slurmd (22.05).

Keys, state, sockets and logs are in a folder that the caller names.  Free ports are
used.
"""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

PROGRAMS = "munged slurmctld slurmd sbatch srun scontrol squeue scancel".split()
SEARCH = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
# The node states more CPUs and memory than this machine has; two devices of every
# machine count as its GPUs.
CONFIGURATION = """\
ClusterName=loopback
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmdPort={daemon}
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
SlurmUser=root
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
# A job that takes more memory than it asked for is killed, as by a cgroup.
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobAcctGatherParams=OverMemoryKill
KillWait=2
GresTypes=gpu
NodeName={host} NodeAddr=127.0.0.1 CPUs=4 RealMemory=64000 Gres=gpu:2 State=UNKNOWN
PartitionName=compute Nodes={host} Default=YES MaxTime=INFINITE State=UP
PartitionName=accelerated Nodes={host} MaxTime=INFINITE State=UP
"""


class Cluster:
    """A cluster; ``environment`` has the variables that SLURM's clients need."""

    def __init__(self, folder: Path) -> None:
        path = f"{folder}/bin:{SEARCH}"
        self.environment = os.environ | {
            "SLURM_CONF": f"{folder}/slurm.conf",
            "PATH": path,
        }

    def ask(self, *command: str) -> str:
        """Run a SLURM client and return its output."""
        return subprocess.check_output(
            command, env=self.environment, text=True, timeout=60
        )

    def queue(self, form: str, *options: str) -> list[list[str]]:
        """Return a row for each job; ``form`` has the letters of squeue's fields."""
        lines = self.ask(
            "squeue", "-h", "-o", "|".join(f"%{letter}" for letter in form), *options
        )
        return [line.split("|") for line in lines.splitlines()]


def missing() -> str:
    """Return the reason why SLURM cannot be started on this machine; empty if it
    can.
    """
    for name in PROGRAMS:
        if not shutil.which(name, path=SEARCH):
            return f"there is no {name} here (apt-get install munge slurmctld slurmd slurm-client)"
    with suppress(OSError):  # the name of the host has no address
        address = socket.gethostbyname(socket.gethostname())
        if os.geteuid() == 0 and address.startswith("127."):
            return ""
    return "SLURM's daemons need root, and a host name of the loopback interface"


@contextmanager
def running(folder: Path) -> Iterator[Cluster]:
    """Start a cluster in ``folder``; at the end, cancel its jobs and stop it."""
    configure(folder)
    cluster = Cluster(folder)
    munge = ["munged", "--foreground", "--force", f"--socket={folder}/munge.socket"]
    munge += [
        f"--{name}-file={folder}/munge.{name}" for name in ("key", "pid", "seed", "log")
    ]
    slurm = ["-D", "-f", f"{folder}/slurm.conf"]
    with ExitStack() as daemons:
        for command in (munge, ["slurmctld", *slurm, "-i"], ["slurmd", *slurm]):
            log = daemons.enter_context((folder / f"{command[0]}.out").open("w"))
            daemon = subprocess.Popen(
                command, env=cluster.environment, stdout=log, stderr=log
            )
            daemons.callback(daemon.wait, 30)
            daemons.callback(daemon.terminate)
            until(lambda: (folder / "munge.socket").exists())
        until(lambda: cluster.ask("sinfo", "-h", "-o", "%T").split() == ["idle"])
        yield cluster
        cluster.ask("scancel", "--user=root")
        until(lambda: not cluster.queue("i"))


def configure(folder: Path) -> None:
    """Write keys and configuration files into ``folder``, with two free ports."""
    for name in ("state", "spool", "bin"):
        (folder / name).mkdir(parents=True)
    folder.chmod(0o755)  # munged rejects folders that others may write to
    (folder / "munge.key").touch(0o600)
    (folder / "munge.key").write_bytes(os.urandom(1024))
    host = socket.gethostname()
    with socket.socket() as controller, socket.socket() as daemon:
        for each in (controller, daemon):
            each.bind(("127.0.0.1", 0))
        ports = {
            "controller": controller.getsockname()[1],
            "daemon": daemon.getsockname()[1],
        }
    (folder / "slurm.conf").write_text(
        CONFIGURATION.format(host=host, folder=folder, **ports)
    )
    devices = [
        f"NodeName={host} Name=gpu File={device}\n"
        for device in ("/dev/null", "/dev/zero")
    ]
    (folder / "gres.conf").write_text("".join(devices))
    # Snakemake removes SLURM's variables before a job step; without them, srun looks
    # for /etc/slurm.
    srun = folder / "bin/srun"
    srun.write_text(
        f'#!/bin/sh\nSLURM_CONF={folder}/slurm.conf exec {shutil.which("srun")} "$@"\n'
    )
    srun.chmod(0o755)


def until(condition: Callable[[], object], seconds: float = 200) -> object:
    """Wait until a condition is true, and return its value."""
    end = time.monotonic() + seconds
    while True:
        with suppress(subprocess.SubprocessError):  # daemons that are still starting
            value = condition()
            if value:
                return value
        assert time.monotonic() < end
        time.sleep(0.2)
