"""localstripe, Stripe's API in memory, behind a key."""
import os

from serve import VENV
from walking import ask, basic, walk, with_query

ready = "/v1/customers"
COUNT = 400
KEY = basic("sk_test_12345", "")

# It listens on every address; this is the program as it is, but for its one bind.
PROGRAM = """
import socket, sys
bind = socket.socket.bind
def on_loopback(self, address):
    everywhere = self.family == socket.AF_INET6 and address[0] in ("", "::")
    return bind(self, ("::ffff:127.0.0.1",) + tuple(address[1:]) if everywhere else address)
socket.socket.bind = on_loopback
from localstripe.server import start
sys.exit(start())
"""


def command(_folder, port):
    return [
        os.path.join(VENV, "python"), "-c", PROGRAM, "--from-scratch", "--port", str(port)], {}


def add(address, i):
    ask(address + "/v1/customers", "POST", headers=KEY, form={
        "name": f"Customer {i} ü", "email": f"c{i}@example.com", "metadata[n]": i})


def fill(address, _folder):
    for i in range(1, COUNT + 1):
        add(address, i)


def customers(address):
    def following(page, _fields, url):
        return with_query(url, starting_after=page["data"][-1]["id"]) if page["has_more"] else None

    for page in walk(address + "/v1/customers?limit=50", following, KEY):
        yield from page["data"]


def change(address, _folder):
    for i, row in enumerate(list(customers(address))):
        if i % 60 == 3:
            ask(f"{address}/v1/customers/{row['id']}", "DELETE", headers=KEY)
        elif i % 60 == 6:
            ask(f"{address}/v1/customers/{row['id']}", "POST", headers=KEY, form={"name": "Renamed"})
    for i in range(COUNT + 1, COUNT + 41):
        add(address, i)


def listing(address, _folder):
    for row in customers(address):
        yield [row["id"], row["name"], row["email"], row["metadata"]["n"], row["created"]]
