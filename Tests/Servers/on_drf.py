"""Django REST framework with its own paginators and those of JSON:API."""
import datetime
import os
import subprocess

from serve import VENV
from walking import ask, walk

ready = "/page/?page_size=1"
COUNT = 3000
HERE = os.path.dirname(os.path.abspath(__file__))


def environment(folder):
    return {"DRF_DATABASE": os.path.join(folder, "shop.sqlite")}


def prepare(folder, _port):
    subprocess.run(
        [os.path.join(VENV, "python"), os.path.join(HERE, "drf_app.py"), str(COUNT)], check=True,
        env={**os.environ, **environment(folder)})


def command(folder, port):
    return [
        os.path.join(VENV, "gunicorn"), "--chdir", HERE, "--workers", "1", "--threads", "4", "--no-control-socket", "--bind",
        f"127.0.0.1:{port}", "drf_app:application"], environment(folder)


def fill(_address, _folder):
    pass


def change(address, _folder):
    for i in range(3, COUNT, 200):
        ask(f"{address}/page/{i}/", "DELETE")
    for i in range(6, COUNT, 300):
        ask(f"{address}/page/{i}/", "PATCH", {"price": "0.50", "published": None})
    for i in range(COUNT + 1, COUNT + 41):
        ask(f"{address}/page/", "POST", {
            "title": f"New {i}", "price": "9.99", "created": "2025-01-01T00:00:00.123456+01:00", "big": 2**62 + i})


def listing(address, _folder):
    for page in walk(address + "/page/?page_size=500", lambda page, fields, url: page["next"]):
        for row in page["results"]:
            created = datetime.datetime.fromisoformat(row["created"]).astimezone(datetime.timezone.utc)
            yield [
                row["id"], row["title"], row["price"], row["published"],
                created.strftime("%Y-%m-%dT%H:%M:%S.") + f"{created.microsecond // 1000:03d}Z", row["big"]]
