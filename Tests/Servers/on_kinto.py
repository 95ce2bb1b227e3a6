"""Kinto, its records in memory, behind a password."""
import os

from serve import VENV
from walking import ask, basic, walk

ready = "/v1/"
COUNT = 2000
RECORDS = "/v1/buckets/shop/collections/items/records"
USER = basic("user", "secret")


def prepare(folder, port):
    with open(os.path.join(folder, "kinto.ini"), "w") as file:
        file.write(f"""
[app:main]
use = egg:kinto
kinto.storage_backend = kinto.core.storage.memory
kinto.cache_backend = kinto.core.cache.memory
kinto.permission_backend = kinto.core.permission.memory
multiauth.policies = basicauth
multiauth.policy.basicauth.use = kinto.core.authentication.BasicAuthAuthenticationPolicy
kinto.userid_hmac_secret = made-up
kinto.bucket_create_principals = system.Authenticated
kinto.paginate_by = 500
kinto.batch_max_requests = 500
[server:main]
use = egg:waitress#main
host = 127.0.0.1
port = {port}
[loggers]
keys = root
[handlers]
keys = console
[formatters]
keys = plain
[logger_root]
level = WARN
handlers = console
[handler_console]
class = StreamHandler
args = (sys.stderr,)
formatter = plain
[formatter_plain]
format = %(message)s
""")


def command(folder, port):
    return [os.path.join(VENV, "kinto"), "start", "--ini", "kinto.ini", "--port", str(port)], {}


def item(i, price=None):
    return {
        "title": f"Title {i} ü", "count": i, "price": price or i * 1.25, "tags": ["a", "b"] if i % 2 else [],
        "nested": {"deep": None if i % 5 == 0 else i}, "big": 2**53 + i}


def batch(address, requests):
    for at in range(0, len(requests), 500):
        answer, _ = ask(address + "/v1/batch", "POST", {"requests": requests[at:at + 500]}, headers=USER)
        assert all(part["status"] < 300 for part in answer["responses"]), answer


def put(i, price=None):
    return {"method": "PUT", "path": f"{RECORDS}/item-{i:05d}", "body": {"data": item(i, price)}}


def fill(address, _folder):
    ask(address + "/v1/buckets/shop", "PUT", {}, headers=USER)
    ask(address + "/v1/buckets/shop/collections/items", "PUT", {}, headers=USER)
    batch(address, [put(i) for i in range(1, COUNT + 1)])


def change(address, _folder):
    batch(
        address,
        [{"method": "DELETE", "path": f"{RECORDS}/item-{i:05d}"} for i in range(3, COUNT, 200)]
        + [put(i, 0.5) for i in range(6, COUNT, 300)] + [put(i) for i in range(COUNT + 1, COUNT + 41)])


def listing(address, _folder):
    for page in walk(
            address + RECORDS + "?_limit=1000&_sort=id", lambda page, fields, url: fields.get("Next-Page"), USER):
        for row in page["data"]:
            yield [
                row["id"], row["title"], row["count"], row["price"], len(row["tags"]), row["nested"]["deep"],
                row["big"], row["last_modified"]]
