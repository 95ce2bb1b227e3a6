"""httpbin: encodings, redirects, credentials, slow and streamed answers."""
import os

from serve import VENV

ready = "/status/200"


def command(_folder, port):
    return [
        os.path.join(VENV, "gunicorn"), "--workers", "1", "--threads", "8", "--no-control-socket", "--bind",
        f"127.0.0.1:{port}", "httpbin:app"], {}


def fill(_address, _folder):
    pass
