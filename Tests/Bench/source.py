#!/usr/bin/env python3
"""Writes what the benchmark serves, as static files: one JSON document for each page.

source.py books FOLDER [--rows 200000] [--page 1000] [--change 0.01] [--drop 0.01] [--base URL] [--csv FILE]
source.py wide FOLDER [--rows 10000] [--page 250]
source.py documents FOLDER [--rows 5000] [--page 100]
source.py parts FOLDER [--rows 100]           a thousand files, one for each entity
source.py tiny FOLDER

FOLDER/books/7.json is {"data": {"total": 200000, "results": [{…}, …]}, "next": "/books/8.json"}, and "next" is null on
the last page. The same words make the same files. With --change a share of the books has another price and another
updated_at, with --drop a share is not there; --base is put before the addresses of the next pages; --csv writes the
books as rows of a table, too.

FOLDER/sums.json says what a table has to hold: the rows, the sum of their keys and, of books, that of pages and
prices in cents.
"""
import argparse
import csv
import itertools
import json
import os
import random
import sys

WORDS = (
    "amber basil cedar daisy ember fennel ginger hazel iris jasmine kelp laurel maple nettle olive poppy quince rowan "
    "sorrel thistle").split()
TITLES = [word.title() for word in WORDS]
GENRES = ["Drama", "Myth", "Satire", "Novel", "Poetry"]
COUNTRIES = ['"DE"', '"FR"', '"JP"', '"KR"', "null"]
TAGS = ['["%s","%s","%s"]' % three for three in itertools.permutations(WORDS, 3)]

BOOK = (
    '{"id":%d,"title":"%s","autor":{"name":"Author %d","country":%s},"genre":"%s","price":%s,"pages":%d,"in_stock":%s,'
    '"published":"%s","updated_at":"%s","isbn":"978-%010d","tags":%s,'
    '"thumbnail":{"path":"http://i.example/%x","extension":"jpg"},"summary":"%s"}')


def books(first, last, change, drop):
    """The books of one page, each as (id, cents, pages, text of the JSON, row of a table)."""
    # Two generators: what changes or goes does not alter the others.
    content, fate = random.Random(first), random.Random(-first)
    choices, below, number = content.choices, content.random, content.randrange
    for i in range(first, last + 1):
        clock = "%02d-%02dT%02d:%02d" % (i % 12 + 1, i % 28 + 1, i % 24, i % 60)
        published, updated = "20%02d-%s:00Z" % (i % 25, clock), "2026-%s:%02d.%03dZ" % (clock, i % 60, i % 1000)
        title, summary = " ".join(choices(TITLES, k=4)), " ".join(choices(WORDS, k=18))
        cents, pages, stock = number(10_000), 50 + number(1151), "true" if below() < 0.8 else "false"
        country, genre, tags = COUNTRIES[number(5)], GENRES[number(5)], TAGS[number(len(TAGS))]
        lot = fate.random()
        if lot < drop:
            continue
        if lot < drop + change:
            cents, updated = cents + 100, "2026-12-31T00:00:00.000Z"
        price = "%d.%02d" % divmod(cents, 100)
        price = price[:-1] if price[-1] == "0" else price
        yield i, cents, pages, BOOK % (
            i, title, i % 997, country, genre, price, pages, stock, published, updated, i, tags, i, summary), (
            i, title, "Author %d" % (i % 997), "" if country == "null" else country[1:-1], genre, price, pages, stock,
            published, updated, "978-%010d" % i, tags, "http://i.example/%x.jpg" % i, summary)


def write_pages(folder, name, numbers, rows, size, envelope_of):
    """Writes pages numbers of name; envelope_of gives the results and the sums of (first, last)."""
    sums = [0, 0, 0, 0]
    for page in numbers:
        texts, part = envelope_of((page - 1) * size + 1, min(rows, page * size))
        sums = [a + b for a, b in zip(sums, part)]
        with open("%s/%s/%d.json" % (folder, name, page), "w") as file:
            # The total is known when all pages are: it has as many places everywhere, and is filled in then.
            file.write('{"data":{"total":%s,"results":[' % TOTAL)
            file.write(",".join(texts))
            following = '"%s/%s/%d.json"' % (BASE, name, page + 1) if page * size < rows else "null"
            file.write(']},"next":%s}' % following)
    return sums


TOTAL = " " * 9 + "0"
BASE = ""


def book_page(arguments, table, first, last):
    texts, ids, pages, prices = [], 0, 0, 0
    for i, cents, length, text, row in books(first, last, arguments.change, arguments.drop):
        texts.append(text)
        ids, pages, prices = ids + i, pages + length, prices + cents
        if table:
            table.writerow(row)
    return texts, [len(texts), ids, pages, prices]


def wide_page(first, last):
    texts = []
    for i in range(first, last + 1):
        chance = random.Random(i)
        record = {"id": i}
        for k in range(1, 34):
            record["number%d" % k] = chance.randrange(1_000_000)
            record["text%d" % k] = " ".join(chance.choices(WORDS, k=2))
            record["ratio%d" % k] = round(chance.random() * 1000, 3)
        texts.append(json.dumps(record, separators=(",", ":")))
    return texts, [len(texts), sum(range(first, last + 1)), 0, 0]


def document_page(first, last):
    texts = []
    for i in range(first, last + 1):
        words = " ".join(random.Random(i).choices(WORDS, k=1900))[:10_000]
        # Some characters are escaped, as in any text.
        text = words[:5000] + '"\n\u00e9' + words[5003:]
        texts.append(json.dumps({"id": i, "title": "Document %d" % i, "body": text}, separators=(",", ":")))
    return texts, [len(texts), sum(range(first, last + 1)), 0, 0]


def in_parallel(work, count):
    """Runs work(numbers) for the pages 1…count in a process for each core, and adds what they return."""
    shares, sums = os.cpu_count() or 1, []
    readers = []
    for share in range(shares):
        lo, hi = count * share // shares + 1, count * (share + 1) // shares
        out, into = os.pipe()
        if os.fork() == 0:
            status = 1
            try:
                os.write(into, json.dumps(work(range(lo, hi + 1), share)).encode())
                status = 0
            finally:
                os._exit(status)
        os.close(into)
        readers.append(open(out, "rb"))
    for reader in readers:
        sums.append(json.loads(reader.read() or b"null"))
    if any(os.waitstatus_to_exitcode(os.wait()[1]) for _ in readers) or None in sums:
        sys.exit("the source could not be written")
    return [sum(parts) for parts in zip(*sums)]


def fill_in_total(folder, name, count, total):
    for page in range(1, count + 1):
        with open("%s/%s/%d.json" % (folder, name, page), "r+b") as file:
            file.seek(len('{"data":{"total":'))
            file.write(b"%10d" % total)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("kind", choices=["books", "wide", "documents", "parts", "tiny"])
    parser.add_argument("folder")
    parser.add_argument("--rows", type=int)
    parser.add_argument("--page", type=int)
    parser.add_argument("--change", type=float, default=0)
    parser.add_argument("--drop", type=float, default=0)
    parser.add_argument("--base", default="")
    parser.add_argument("--csv")
    arguments = parser.parse_args()
    global BASE
    BASE = arguments.base.rstrip("/")
    kind, folder = arguments.kind, arguments.folder
    rows, size = {
        "books": (200_000, 1000), "wide": (10_000, 250), "documents": (5_000, 100), "parts": (100, 100),
        "tiny": (5, 5)}[kind]
    rows, size = arguments.rows or rows, arguments.page or size

    if kind in ("parts", "tiny"):
        os.makedirs(folder + "/parts", exist_ok=True)
        names = ["parts/%03d" % n for n in range(1000)] if kind == "parts" else ["tiny"]
        for number, name in enumerate(names):
            chance = random.Random(number)
            records = [
                {"id": i, "name": " ".join(chance.choices(TITLES, k=2)), "price": chance.randrange(10_000) / 100,
                 "stock": chance.randrange(100), "updated_at": "2026-%02d-%02dT10:00:00Z" % (i % 12 + 1, i % 28 + 1)}
                for i in range(1, rows + 1)]
            with open("%s/%s.json" % (folder, name), "w") as file:
                json.dump(records, file, separators=(",", ":"))
        sums = [rows * len(names), rows * (rows + 1) // 2 * len(names), 0, 0]
    else:
        os.makedirs("%s/%s" % (folder, kind), exist_ok=True)
        count = (rows + size - 1) // size

        def work(numbers, share):
            if kind != "books":
                page = wide_page if kind == "wide" else document_page
                return write_pages(folder, kind, numbers, rows, size, page)
            if not arguments.csv:
                return write_pages(folder, kind, numbers, rows, size, lambda a, b: book_page(arguments, None, a, b))
            with open("%s.%d" % (arguments.csv, share), "w", newline="") as file:
                table = csv.writer(file)
                return write_pages(folder, kind, numbers, rows, size, lambda a, b: book_page(arguments, table, a, b))

        sums = in_parallel(work, count)
        fill_in_total(folder, kind, count, sums[0])
        if arguments.csv:
            with open(arguments.csv, "wb") as whole:
                for share in range(os.cpu_count() or 1):
                    part = "%s.%d" % (arguments.csv, share)
                    with open(part, "rb") as file:
                        whole.write(file.read())
                    os.remove(part)
    with open(folder + "/sums.json", "w") as file:
        json.dump(dict(zip(("rows", "keys", "pages", "cents"), sums)), file)


main()
