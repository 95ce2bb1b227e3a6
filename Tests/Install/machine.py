"""This machine's file system with a layer above it that is thrown away: what a package does to it leaves no trace."""
import os
import shutil
import subprocess
import tempfile


class Machine:
    """A mount namespace whose root is an overlay of the real one. Needs root and overlayfs."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="syncd-machine-")
        script = (
            f"mount -t tmpfs tmpfs {self.folder} && cd {self.folder} && mkdir upper work root && "
            f"mount -t overlay overlay -o lowerdir=/,upperdir={self.folder}/upper,workdir={self.folder}/work root && "
            "mount --rbind /dev root/dev && mount -t proc proc root/proc && "
            "echo ready && read _"
        )
        # The namespace and its mounts end with the shell, and the shell with its standard input.
        self.shell = subprocess.Popen(
            ["unshare", "--mount", "sh", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True)
        if self.shell.stdout.readline() != "ready\n":
            reason = self.shell.stderr.read().strip()
            self.close()
            raise OSError(reason)

    def run(self, command):
        """A shell's command there: its status and all that it printed."""
        words = ["nsenter", "--mount", "--target", str(self.shell.pid), "chroot", self.folder + "/root",
                 "env", "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C.UTF-8",
                 "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "sh", "-c", f"cd / && {command}"]
        result = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                stdin=subprocess.DEVNULL)
        return result.returncode, result.stdout

    def copy(self, path, place):
        """A file from outside."""
        with open(path, "rb") as file:
            subprocess.run(
                ["nsenter", "--mount", "--target", str(self.shell.pid), "tee", self.folder + "/root" + place],
                stdin=file, stdout=subprocess.DEVNULL, check=True)

    def changed(self):
        """Paths in the layer above, without those that were taken away."""
        _, text = subprocess.getstatusoutput(
            f"nsenter --mount --target {self.shell.pid} find {self.folder}/upper -not -type c -printf '/%P\\n'")
        return text.splitlines()

    def close(self):
        self.shell.stdin.close()
        self.shell.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
