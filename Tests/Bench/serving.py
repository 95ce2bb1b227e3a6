"""The servers of the benchmark, on loopback and on ports that are free."""
import os
import shutil
import socket
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))

CONFIGURATION = """
daemon off; worker_processes 1; pid {state}/pid; error_log stderr error; {user}
events {{ worker_connections 512; }}
http {{
  access_log off; default_type application/json; sendfile on; tcp_nopush on; keepalive_requests 1000000;
  client_body_temp_path {state}/body; proxy_temp_path {state}/proxy; fastcgi_temp_path {state}/fastcgi;
  uwsgi_temp_path {state}/uwsgi; scgi_temp_path {state}/scgi;
  server {{ listen 127.0.0.1:{port}; root {root}; }}
}}
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Files:
    """nginx over a folder: it answers with an ETag, and with 304 where nothing changed."""

    def __init__(self, root, state):
        nginx = shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin:/usr/local/sbin")
        if not nginx:
            sys.exit("there is no nginx; Scripts/setup installs it (apt: nginx-light)")
        os.makedirs(state, exist_ok=True)
        port = free_port()
        configuration = os.path.join(state, "nginx.conf")
        with open(configuration, "w") as file:
            file.write(CONFIGURATION.format(
                state=state, port=port, root=root, user="user root;" if os.getuid() == 0 else ""))
        self.url = "http://127.0.0.1:%d" % port
        self.process = subprocess.Popen([nginx, "-c", configuration, "-e", "stderr"], stdin=subprocess.DEVNULL)
        for _ in range(500):
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                return
            except OSError:
                if self.process.poll() is not None:
                    break
                time.sleep(0.01)
        self.stop()
        sys.exit("nginx did not start")

    def stop(self):
        self.process.terminate()
        self.process.wait()


class Following:
    """A program that serves until its standard input ends, and says in its first line where."""

    def __init__(self, *words):
        self.process = subprocess.Popen(
            [sys.executable, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.line = self.process.stdout.readline().split()
        if not self.line:
            sys.exit("%s did not start" % words[0])

    def stop(self):
        self.process.stdin.close()
        self.process.wait()


def slow_pages():
    """Pages after 50 ms each."""
    server = Following(os.path.join(HERE, "slow.py"))
    server.url = "http://127.0.0.1:" + server.line[0]
    return server


def postgres():
    """A cluster of the benchmark's own."""
    server = Following(os.path.join(HERE, "..", "Support", "postgres.py"), "serve")
    server.url = server.line[1].rsplit("/", 1)[0]
    return server
