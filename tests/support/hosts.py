"""Several hosts on one machine, for tests: each is a set of namespaces (network, mounts, name, processes, System V) with
an address, /sys, /run, /tmp and /dev/shm of its own, and sshd. All else of the file system is shared, as by NFS.

    with Hosts(3) as hosts:
        hosts.run("n1", ["ssh", "n2", "hostname"])

Only root can make them. `why_not()` says in a sentence why there can be none here. Nothing of a cluster is left when the
process that made it ends, however it ends: its processes die with it, and everything else is theirs.
"""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import threading
import time
import uuid

ROOT = pathlib.Path(__file__).resolve().parents[2]
HOME = ROOT / "build/hosts"
START = ROOT / "tests/hosts/start_host.sh"
TOOLS = ("ip", "nsenter", "unshare", "setpriv", "mount")
SECONDS = 60  # until something that takes a moment is taken for a failure
# Dies with who has started it.
WITH_ME = ["setpriv", "--pdeathsig", "KILL"]
NAMESPACES = ["unshare", "--net", "--mount", "--uts", "--ipc", "--pid", "--fork", "--kill-child", "--mount-proc"]


class Command(subprocess.Popen):
    """A command whose first lines may be read while it runs.

    `communicate` of its base reads from the pipe itself: what had come together with such a line would be lost.
    """

    def communicate(self, input=None, timeout=None):
        if self.stdin or not (self.stdout and self.stderr):
            return super().communicate(input, timeout)
        deadline = None if timeout is None else time.monotonic() + timeout
        said = {}
        readers = [threading.Thread(target=lambda stream=stream: said.update({stream: stream.read()}), daemon=True)
                   for stream in (self.stdout, self.stderr)]
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join(deadline and max(0, deadline - time.monotonic()))
            if reader.is_alive():
                raise subprocess.TimeoutExpired(self.args, timeout)
        self.wait(deadline and max(0, deadline - time.monotonic()))
        return said[self.stdout], said[self.stderr]


def why_not(need_ssh=True):
    """A sentence that says why there can be no hosts here; None if there can."""
    if os.geteuid() != 0:
        return "only root can make hosts of namespaces"
    missing = [tool for tool in TOOLS if not shutil.which(tool)]
    if need_ssh:
        missing += [tool for tool, found in (("ssh", shutil.which("ssh")), ("sshd", find_sshd())) if not found]
    if missing:
        return f"no {', '.join(missing)} here (Debian has iproute2, util-linux, openssh-client, openssh-server)"
    # A container may be root and yet must not.
    script = "mount -t tmpfs tmpfs /run && ip link add lan type bridge"
    tried = subprocess.run([*NAMESPACES, "sh", "-c", script], capture_output=True, text=True)
    return f"this root may not make namespaces: {tried.stderr.strip()}" if tried.returncode else None


def why_no_slurm():
    """The same for Slurm on them."""
    missing = [tool for tool in ("munged", "slurmctld", "slurmd", "srun") if not find_program(tool)]
    return f"no {', '.join(missing)} here (Debian has munge, slurmctld, slurmd, slurm-client)" if missing else None


def find_program(name):
    return shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")


def find_sshd():
    return find_program("sshd")


class Hosts:
    """A cluster of hosts n1, n2, ... with the addresses 10.77.0.1, 10.77.0.2, ..."""

    def __init__(self, count, ssh=True, slurm=False, cpus=4):
        self.names = [f"n{number}" for number in range(1, count + 1)]
        self.folder = HOME / uuid.uuid4().hex[:12]
        self.ssh, self.slurm, self.cpus = ssh, slurm, cpus
        self.outer = {}  # the process that holds the namespaces, by name
        self.first = {}  # the first process inside, as it is seen from here
        self.lab, self.lab_id = None, 0
        sweep()
        self.folder.mkdir(parents=True)
        try:
            self._make()
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    @staticmethod
    def address(name):
        number = int(name[1:])
        return f"10.77.{number // 250}.{number % 250}"

    # Making it

    def _make(self):
        (self.folder / "maker").write_text(str(os.getpid()))
        write_configuration(self)
        self.lab = subprocess.Popen(
            [*WITH_ME, "unshare", "--net", "sh", "-c", "echo up; exec sleep infinity"], stdout=subprocess.PIPE, text=True)
        self.lab_id = self.lab.pid
        sshd = find_sshd() if self.ssh else ""
        for name in self.names:
            command = ["sh", str(START), name, self.address(name), str(self.folder), sshd]
            with open(self.folder / f"said.{name}", "w") as said:
                self.outer[name] = subprocess.Popen(
                    [*WITH_ME, *NAMESPACES, *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said,
                    text=True, start_new_session=True)
        self._expect(self.lab, "up")
        for process in self.outer.values():
            self._expect(process, "mounted")
        self._connect()
        for name, process in self.outer.items():
            process.stdin.write("\n")
            process.stdin.close()
        for name, process in self.outer.items():
            self._expect(process, "up")
            self.first[name] = children_of(process.pid)[0]
        if self.slurm:
            start_slurm(self)

    def _expect(self, process, word):
        """Waits for a word of a process."""
        line = process.stdout.readline().strip()
        if line != word:
            said = "\n".join(file.read_text() for file in self.folder.glob("said.*"))
            raise RuntimeError(f"a host has not come up: it said {line!r} in the place of {word!r}\n{said}")

    def _connect(self):
        lines = ["link add name lan type bridge mcast_snooping 1", "link set lan up", "link set lo up"]
        for name, process in self.outer.items():
            lines += [f"link add p{name} type veth peer name e0 netns {process.pid}", f"link set p{name} master lan up"]
        self.in_lab("ip", "-batch", "-", input="\n".join(lines))

    # Using it

    def in_lab(self, *command, **options):
        """Runs a command where the cables of all hosts meet."""
        enter = ["nsenter", "-t", str(self.lab_id), "--net", "--"]
        return subprocess.run([*enter, *command], check=True, text=True, capture_output=True, **options)

    def command(self, name, command, cwd=None):
        """The command line that runs a command on a host."""
        folder = str(cwd or self.folder)
        return ["nsenter", "-t", str(self.first[name]), "-a", "--", "env", "-C", folder, *map(str, command)]

    def start(self, name, command, cwd=None, **options):
        """A command under way on a host, see Command."""
        options.setdefault("stdin", subprocess.DEVNULL)
        options.setdefault("stdout", subprocess.PIPE)
        options.setdefault("stderr", subprocess.PIPE)
        return Command(self.command(name, command, cwd), text=True, **options)

    def run(self, name, command, cwd=None, timeout=120, check=False, **options):
        """A command on a host that has ended: its status and what it wrote."""
        if "input" not in options:
            options.setdefault("stdin", subprocess.DEVNULL)
        return subprocess.run(
            self.command(name, command, cwd), text=True, capture_output=True, timeout=timeout, check=check, **options)

    def root(self, name):
        """The root of the file system of a host, as it is seen from here."""
        return pathlib.Path("/proc", str(self.first[name]), "root")

    def processes(self, name, mark=None):
        """Processes of a host, as they are numbered there, with their command lines; with a mark, those that have it in
        their environment."""
        found = {}
        for entry in (self.root(name) / "proc").iterdir():
            try:
                if entry.name.isdigit() and (mark is None or mark.encode() in (entry / "environ").read_bytes()):
                    found[int(entry.name)] = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode().strip()
            except OSError:
                pass
        return found

    def kill(self, name, process, sign=signal.SIGKILL):
        """Sends a signal to a process of a host, by its number there."""
        self.run(name, ["kill", f"-{int(sign)}", process], check=True)

    def files(self, name):
        """What lies where runtimes leave files behind."""
        root = self.root(name)
        return {str(entry.relative_to(root)) for place in ("tmp", "dev/shm") for entry in (root / place).iterdir()}

    # What can happen to it

    def unplug(self, name):
        self.in_lab("ip", "link", "set", f"p{name}", "down")

    def plug(self, name):
        self.in_lab("ip", "link", "set", f"p{name}", "up")

    def lose(self, name, per_mille):
        """Of packets that come to a host so many are lost; 0: none. Sending is left alone, so two calls make both ways."""
        self.run(name, ["nft", "delete", "table", "inet", "loss"])
        if per_mille:
            some = f"numgen random mod 1000 < {per_mille} " if per_mille < 1000 else ""
            rule = f'iif != "lo" {some}drop;'
            self.run(name, ["nft", f"table inet loss {{ chain in {{ type filter hook input priority 0; {rule} }}; }}"],
                     check=True)

    def cut(self, name, other, how="drop"):
        """Two hosts hear nothing from each other any more, but for ssh: packets are dropped, or (`blackhole`) have no route."""
        address = self.address(other)
        if how == "blackhole":
            self.run(name, ["ip", "route", "add", "blackhole", f"{address}/32"], check=True)
            return
        ssh = "tcp sport 22 accept; tcp dport 22 accept"
        chains = "".join(f"chain {way} {{ type filter hook {way}put priority 0; {ssh}; ip {end} {address} drop; }}; "
                         for way, end in (("in", "saddr"), ("out", "daddr")))
        self.run(name, ["nft", f"table inet cut_{other} {{ {chains} }}"], check=True)

    def mend(self, name, other):
        """What `cut` has dropped goes through again."""
        self.run(name, ["nft", "delete", "table", "inet", f"cut_{other}"], check=True)

    def limit(self, name, megabits, device="e0"):
        """A host sends no more than this a second, or (`lo`) its processes to each other."""
        self.run(name, ["tc", "qdisc", "replace", "dev", device, "root", "tbf", "rate", f"{megabits}mbit", "burst", "128kb",
                        "latency", "20ms"], check=True)

    def destroy(self, name):
        """A host loses its network and its power: nobody hears from it again."""
        self.unplug(name)
        os.kill(self.first[name], signal.SIGKILL)
        wait_for_the_end([self.first[name]])

    # One that another process has made

    def save(self, file):
        file.write_text(json.dumps([self.names, str(self.folder), self.lab_id, self.first]))

    @staticmethod
    def saved(file):
        hosts = object.__new__(Hosts)
        hosts.names, folder, hosts.lab_id, hosts.first = json.loads(file.read_text())
        hosts.folder, hosts.outer, hosts.lab = pathlib.Path(folder), {}, None
        return hosts

    def close(self):
        # The first processes go first, so that their parents are there to take their ends.
        for first in self.first.values():
            try:
                os.kill(first, signal.SIGKILL)
            except ProcessLookupError:
                pass
        wait_for_the_end(self.first.values())
        processes = [process for process in (*self.outer.values(), self.lab) if process]
        for process in processes:
            process.kill()
        for process in processes:
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe:
                    pipe.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def is_there(process):
    """Whether a process runs; one whose end nobody has taken yet does not."""
    try:
        return pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def wait_for_the_end(processes):
    deadline = time.monotonic() + SECONDS
    while any(is_there(process) for process in processes):
        assert time.monotonic() < deadline, "processes of the hosts do not end"
        time.sleep(0.005)


def children_of(process):
    return [int(child) for child in pathlib.Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def sweep():
    """Removes folders of clusters whose maker has been killed."""
    for folder in HOME.glob("*/maker"):
        try:
            if not is_there(folder.read_text()):
                shutil.rmtree(folder.parent, ignore_errors=True)
        except OSError:
            pass


def write_configuration(hosts):
    """What all hosts read: names, keys, sshd, Slurm."""
    folder = hosts.folder
    lines = ["127.0.0.1 localhost", *(f"{hosts.address(name)} {name}" for name in hosts.names)]
    (folder / "hosts").write_text("\n".join(lines) + "\n")
    if hosts.ssh:
        for key in ("host_key", "user_key"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / key], check=True)
        shutil.copy(folder / "user_key.pub", folder / "authorized_keys")
    (folder / "sshd_config").write_text(
        f"HostKey {folder}/host_key\nAuthorizedKeysFile {folder}/authorized_keys\nStrictModes no\nUsePAM no\nUseDNS no\n"
        # As of a shell within a shell: bash reads no start files of the user's then, which may take long or wait for others.
        f"SetEnv SHLVL=2 \"PATH={os.environ.get('PATH', os.defpath)}\"\n"
        "PidFile none\nPermitRootLogin yes\nMaxStartups 300\nMaxSessions 300\nPrintMotd no\n")
    (folder / "ssh_config").write_text(
        f"IdentityFile {folder}/user_key\nStrictHostKeyChecking no\nUserKnownHostsFile /dev/null\nLogLevel ERROR\n"
        # A session begins in two thirds of the time without keys that withstand quantum computers.
        "KexAlgorithms curve25519-sha256\nUpdateHostKeys no\n")
    if hosts.slurm:
        (folder / "slurm").mkdir()
        (folder / "slurm/slurm.conf").write_text(slurm_configuration(hosts))
        (folder / "munge_key").write_bytes(os.urandom(128))
        (folder / "munge_key").chmod(0o600)


def slurm_configuration(hosts):
    """One partition of all hosts; n1 has the controller. State is in /run, which is each host's own."""
    nodes = "\n".join(f"NodeName={name} NodeAddr={hosts.address(name)} CPUs={hosts.cpus} State=UNKNOWN"
                      for name in hosts.names)
    return f"""ClusterName=mini
SlurmctldHost={hosts.names[0]}({hosts.address(hosts.names[0])})
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
StateSaveLocation=/run/slurm/state
SlurmctldPidFile=/run/slurm/ctld.pid
SlurmdPidFile=/run/slurm/slurmd.pid
SlurmdSpoolDir=/run/slurm/spool
SlurmctldLogFile=/run/slurm/ctld.log
SlurmdLogFile=/run/slurm/slurmd.log
TmpFS=/run/tmp
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
MpiDefault=none
SwitchType=switch/none
JobAcctGatherType=jobacct_gather/none
SchedulerType=sched/builtin
ReturnToService=2
KillWait=2
{nodes}
PartitionName=p Nodes=ALL Default=YES MaxTime=10 State=UP OverSubscribe=YES
"""


def start_slurm(hosts):
    """munge and slurmd on each host, slurmctld on the first; returns when all hosts are idle."""
    script = (
        "mkdir -p /run/munge /run/tmp /run/slurm/state /run/slurm/spool && chmod 755 /run/munge && cd /run/munge && "
        f"munged --force --key-file={hosts.folder}/munge_key --socket=/run/munge/munge.socket.2 "
        "--pid-file=/run/munge/pid --log-file=/run/munge/log --seed-file=/run/munge/seed")
    path = {**os.environ, "PATH": os.environ.get("PATH", "") + ":/usr/sbin:/sbin"}
    for name in hosts.names:
        first = name == hosts.names[0]
        hosts.run(name, ["sh", "-c", script + (" && slurmctld -c" if first else "") + " && slurmd"], env=path, check=True)
    deadline = time.monotonic() + SECONDS
    while hosts.run(hosts.names[0], ["sinfo", "-h", "-t", "idle", "-o", "%D"]).stdout.strip() != str(len(hosts.names)):
        assert time.monotonic() < deadline, "Slurm does not come up: " + hosts.run(hosts.names[0], ["sinfo"]).stdout
        time.sleep(0.05)
