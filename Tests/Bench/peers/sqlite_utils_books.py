"""Books with sqlite-utils, page by page. Usage: sqlite_utils_books.py DATABASE URL    (pip: sqlite-utils)"""
import json
import sys
import urllib.parse
import urllib.request

import sqlite_utils

database = sqlite_utils.Database(sys.argv[1])
database.enable_wal()
url, rows = sys.argv[2], 0
while url:
    with urllib.request.urlopen(url) as answer:
        page = json.load(answer)
    books = page["data"]["results"]
    database["book"].upsert_all(books, pk="id")
    rows += len(books)
    url = page["next"] and urllib.parse.urljoin(url, page["next"])
database.close()
print("sqlite-utils: %d rows" % rows)
