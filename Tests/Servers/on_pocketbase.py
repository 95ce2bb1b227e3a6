"""PocketBase, its records open to everybody."""
import os
import subprocess

from serve import VENV
from walking import ask, walk, with_query

ready = "/api/health"
COUNT = 3000
USER = {"identity": "admin@example.com", "password": "secret12345"}
RECORDS = "/api/collections/items/records"


def prepare(folder, _port):
    subprocess.run(
        [os.path.join(VENV, "pocketbase"), "superuser", "upsert", *USER.values(), "--dir", folder + "/data"],
        check=True, stdout=subprocess.DEVNULL)


def command(folder, port):
    return [os.path.join(VENV, "pocketbase"), "serve", "--http", f"127.0.0.1:{port}", "--dir", folder + "/data"], {}


def item(i):
    return {
        "id": f"item{i:011d}", "title": f"Title {i} ñ", "count": i, "price": i / 8, "ok": i % 2 == 0,
        "extra": {"tags": ["x", i]} if i % 3 else None, "day": f"2024-05-{i % 28 + 1:02d}" if i % 4 else ""}


def login(address):
    answer, _ = ask(address + "/api/collections/_superusers/auth-with-password", "POST", USER)
    return {"Authorization": answer["token"]}


def batch(address, requests, user):
    for at in range(0, len(requests), 500):
        ask(address + "/api/batch", "POST", {"requests": requests[at:at + 500]}, headers=user)


def added(i):
    return {"method": "POST", "url": RECORDS, "body": item(i)}


def fill(address, _folder):
    user = login(address)
    kinds = {"title": "text", "count": "number", "price": "number", "ok": "bool", "extra": "json", "day": "date"}
    ask(address + "/api/collections", "POST", headers=user, body={
        "name": "items", "type": "base", "listRule": "",
        "fields": [{"name": name, "type": kind} for name, kind in kinds.items()]})
    ask(address + "/api/settings", "PATCH", {"batch": {"enabled": True, "maxRequests": 500, "timeout": 30}}, headers=user)
    batch(address, [added(i) for i in range(1, COUNT + 1)], user)


def change(address, _folder):
    batch(
        address,
        [{"method": "DELETE", "url": f"{RECORDS}/item{i:011d}"} for i in range(3, COUNT, 200)]
        + [{"method": "PATCH", "url": f"{RECORDS}/item{i:011d}", "body": {"title": "changed", "day": ""}}
           for i in range(6, COUNT, 300)]
        + [added(i) for i in range(COUNT + 1, COUNT + 41)], login(address))


def listing(address, _folder):
    def following(page, _fields, url):
        return with_query(url, page=page["page"] + 1) if page["page"] < page["totalPages"] else None

    for page in walk(address + RECORDS + "?perPage=1000&page=1&sort=id", following):
        for row in page["items"]:
            day = row["day"].replace(" ", "T") if row["day"] else None
            yield [row["id"], row["title"], row["count"], float(row["price"]), row["ok"], day]
