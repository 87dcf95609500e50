"""Network namespaces for the topology tests: machines on one switch, whose cables can be pulled.

Everything is inside the namespaces, including the switch, so the network of the host is not touched. Needs root.
"""
import os
import shutil
import subprocess
import sys
from pathlib import Path

# The user of the processes, which is also the user of the containers.
USER = 65532
# The names of machines, for `ip netns exec`, which puts these files over those in /etc.
FILES = Path("/etc/netns")
# The addresses of the machines.
SUBNET = "10.77.31"

def ip(*words):
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


class Network:
    """Machines with names, each in a namespace, connected by a switch."""

    def __init__(self, stage, names):
        self.stage, self.prefix = stage, f"weft{os.getpid()}"
        self.names = {name: f"{SUBNET}.{number}" for number, name in enumerate(names, 10)}
        stage.at_exit(self.close)
        self.switch = f"{self.prefix}-switch"
        ip("netns", "add", self.switch)
        ip("-n", self.switch, "link", "add", "switch", "type", "bridge")
        ip("-n", self.switch, "link", "set", "switch", "up")
        hosts = "127.0.0.1 localhost\n" + "".join(f"{address} {name}\n" for name, address in self.names.items())
        for number, (name, address) in enumerate(self.names.items()):
            space = self.space(name)
            ip("netns", "add", space)
            (FILES / space).mkdir(parents=True)
            (FILES / space / "hosts").write_text(hosts)
            ip("-n", self.switch, "link", "add", f"port{number}", "type", "veth", "peer", "name", "eth0", "netns", space)
            ip("-n", self.switch, "link", "set", f"port{number}", "master", "switch", "up")
            ip("-n", space, "link", "set", "lo", "up")
            ip("-n", space, "addr", "add", f"{address}/24", "dev", "eth0")
            ip("-n", space, "link", "set", "eth0", "up")

    def space(self, name):
        return f"{self.prefix}-{name}"

    def on(self, name, *words, root=False):
        """The command line that runs a program on a machine, by default as the user of the containers."""
        become = [] if root else ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", "--no-new-privs",
                                  "--bounding-set=-all", "--"]
        return ["ip", "netns", "exec", self.space(name), *become, *map(str, words)]

    def cut(self, name, cut=True):
        """Pulls the cable of a machine, or plugs it in again. Open connections stay open."""
        number = list(self.names).index(name)
        ip("-n", self.switch, "link", "set", f"port{number}", "down" if cut else "up")

    def forward(self, name, port, target):
        """Makes a port of the loopback device reachable from other machines."""
        return self.stage.start(f"forward-{name}-{port}",
                                *self.on(name, sys.executable, Path(__file__).with_name("forward.py"),
                                         f"{self.names[name]}:{port}", target, root=True))

    def close(self):
        for name in [*self.names, "switch"]:
            subprocess.run(["ip", "netns", "del", self.space(name)], capture_output=True)
            shutil.rmtree(FILES / self.space(name), ignore_errors=True)

    @staticmethod
    def missing():
        """The reason why such a network cannot be created on this machine, or None."""
        if os.getuid() != 0:
            return "network namespaces need root"
        for program in ("ip", "setpriv"):
            if shutil.which(program) is None:
                return f"{program} is not installed"
        probe = f"weft{os.getpid()}-probe"
        done = subprocess.run(["ip", "netns", "add", probe], capture_output=True, text=True)
        if done.returncode != 0:
            return f"network namespaces cannot be made: {done.stderr.strip()}"
        done = subprocess.run(["ip", "-n", probe, "link", "add", "switch", "type", "bridge"], capture_output=True, text=True)
        subprocess.run(["ip", "netns", "del", probe], capture_output=True)
        return None if done.returncode == 0 else f"bridges cannot be made: {done.stderr.strip()}"
