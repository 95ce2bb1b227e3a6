"""A network of this machine's own: namespaces with an address each, on a bridge that has one too.

Needs root and iproute2. Everything has the same prefix and is taken away at the end, and before the start what an earlier
run has left, its processes too.
"""
import fcntl
import ipaddress
import json
import os
import shutil
import signal
import subprocess

PREFIX = "syncdw"
BRIDGE = PREFIX + "br"
# Set aside for tests of networks (RFC 2544): it is nobody's.
RANGE = ipaddress.ip_network("198.18.0.0/15")


def ip(*words):
    result = subprocess.run(["ip", *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            text=True)
    if result.returncode:
        raise OSError("ip %s: %s" % (" ".join(words), result.stdout.strip()))
    return result.stdout


def free_network():
    """A network of which this machine knows nothing."""
    known = [ipaddress.ip_network("%s/%d" % (address["local"], address["prefixlen"]), strict=False)
             for link in json.loads(ip("-j", "-4", "address")) for address in link["addr_info"]]
    known += [ipaddress.ip_network(route["dst"]) for route in json.loads(ip("-j", "-4", "route", "show", "table", "all"))
              if route["dst"] != "default"]
    return next(network for network in RANGE.subnets(new_prefix=24)
                if not any(network.overlaps(other) for other in known))


class Network:
    """As many namespaces as are asked for, numbered from 1.

    Raises OSError where this machine does not allow it.
    """

    def __init__(self, count):
        if not shutil.which("ip"):
            raise OSError("there is no ip; Scripts/setup installs it (apt: iproute2)")
        if os.getuid() != 0:
            raise OSError("namespaces of the network need root")
        # Of two that run at the same time the second one waits.
        self.lock = open("/run/%s.lock" % PREFIX, "w")
        fcntl.flock(self.lock, fcntl.LOCK_EX)
        self.clear()
        try:
            self.make(count)
        except OSError:
            self.close()
            raise

    def make(self, count):
        network = free_network()
        hosts = list(network.hosts())
        self.cidr, self.address = str(network), str(hosts[0])
        self.addresses = {number: str(hosts[number]) for number in range(1, count + 1)}
        ip("link", "add", BRIDGE, "type", "bridge")
        ip("address", "add", "%s/%d" % (self.address, network.prefixlen), "dev", BRIDGE)
        ip("link", "set", BRIDGE, "up")
        for number, address in self.addresses.items():
            space = self.space(number)
            ip("netns", "add", space)
            ip("link", "add", self.link(number), "type", "veth", "peer", "name", "eth0", "netns", space)
            ip("-n", space, "address", "add", "%s/%d" % (address, network.prefixlen), "dev", "eth0")
            ip("-n", space, "link", "set", "lo", "up")
            ip("-n", space, "link", "set", "eth0", "up")
            self.mend(number)

    def space(self, number):
        return "%s%d" % (PREFIX, number)

    def link(self, number):
        """The end of a namespace's cable that is here."""
        return "%sv%d" % (PREFIX, number)

    def words(self, number):
        """What comes before a command, to run it there; the process stays the one that was started."""
        return ["ip", "netns", "exec", self.space(number)]

    def cut(self, number, silently=False):
        """Cuts a namespace off: its link goes down, or silently nothing arrives any more."""
        if silently:
            ip("link", "set", self.link(number), "nomaster")
        else:
            ip("link", "set", self.link(number), "down")

    def mend(self, number):
        ip("link", "set", self.link(number), "master", BRIDGE, "up")

    def clear(self):
        """Takes away everything that has the prefix."""
        for space in json.loads(ip("-j", "netns", "list") or "[]"):
            if space["name"].startswith(PREFIX):
                for process in ip("netns", "pids", space["name"]).split():
                    try:
                        os.kill(int(process), signal.SIGKILL)
                    except ProcessLookupError:
                        pass
                ip("netns", "delete", space["name"])
        for link in json.loads(ip("-j", "link")):
            # The end of a cable goes with its other end, and that with its namespace, a moment later.
            if link["ifname"].startswith(PREFIX):
                try:
                    ip("link", "delete", link["ifname"])
                except OSError:
                    if os.path.exists("/sys/class/net/" + link["ifname"]):
                        raise

    def close(self):
        self.clear()
        self.lock.close()
