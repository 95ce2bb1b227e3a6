"""mitmproxy in front of the server whose address is in $SYNCD_UPSTREAM, with the faults of faults.py."""
import os

from serve import VENV

ready = "/"


def command(folder, port):
    return [
        os.path.join(VENV, "mitmdump"), "--quiet", "--mode", "reverse:" + os.environ["SYNCD_UPSTREAM"],
        "--listen-host", "127.0.0.1", "--listen-port", str(port), "--set", "confdir=" + folder + "/mitmproxy",
        "--scripts", os.path.join(os.path.dirname(os.path.abspath(__file__)), "faults.py")], {}


def fill(_address, _folder):
    pass
