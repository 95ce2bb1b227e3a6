"""Datasette over a SQLite file, which is changed under it."""
import os
import sqlite3

from serve import VENV
from walking import next_of_link, walk

ready = "/-/versions.json"
COUNT = 5000
WORDS = ["plain", "naïve", "東京", "Straße", '"quoted"', "O'Neil", "back\\slash", "🙂", "tab\there"]


def database(folder):
    return os.path.join(folder, "shop.sqlite")


def item(i, price=None):
    title = " ".join(WORDS[(i * step) % len(WORDS)] for step in (1, 2, 4))
    return (
        i, f"SKU-{i:06d}", title, price or (None if i % 7 == 0 else i * 31 % 100000), i / 8, i % 2,
        str(2**53 + i), f"2025-01-{1 + i % 28:02d}T{i % 24:02d}:{i % 60:02d}:07.{i % 1000:03d}Z",
        None if i % 3 else f"note {i}")


def prepare(folder, _port):
    with sqlite3.connect(database(folder)) as connection:
        connection.execute(
            """CREATE TABLE items (id INTEGER PRIMARY KEY, sku TEXT NOT NULL, title TEXT NOT NULL, price INTEGER,
            rating REAL NOT NULL, in_stock INTEGER NOT NULL, big TEXT NOT NULL, updated_at TEXT NOT NULL, note TEXT)""")
        connection.executemany(
            "INSERT INTO items VALUES (?,?,?,?,?,?,?,?,?)", (item(i) for i in range(1, COUNT + 1)))


def command(folder, port):
    return [
        os.path.join(VENV, "datasette"), "serve", database(folder), "--host", "127.0.0.1", "--port", str(port),
        "--setting", "max_returned_rows", "1000"], {}


def fill(_address, _folder):
    pass


def change(_address, folder):
    with sqlite3.connect(database(folder)) as connection:
        connection.execute("DELETE FROM items WHERE id % 200 = 3")
        connection.execute("UPDATE items SET price = 1, note = NULL WHERE id % 300 = 6")
        connection.executemany(
            "INSERT INTO items VALUES (?,?,?,?,?,?,?,?,?)", (item(i) for i in range(COUNT + 1, COUNT + 41)))


def listing(address, _folder):
    for page in walk(address + "/shop/items.json?_shape=array&_size=1000", next_of_link):
        for row in page:
            yield [
                row[name] for name in
                ("id", "sku", "title", "price", "rating", "in_stock", "big", "updated_at", "note")]
