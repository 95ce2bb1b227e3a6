#!/usr/bin/env python3
"""Writes what the benchmark serves, as static files: one JSON document for each page.

source.py books FOLDER [--rows 200000] [--page 1000] [--change 0.01] [--drop 0.01] [--base URL] [--csv FILE]
source.py wide FOLDER [--rows 10000] [--page 250]
source.py documents FOLDER [--rows 5000] [--page 100]
source.py parts FOLDER [--rows 100]           a thousand files, one for each entity
source.py tiny FOLDER

FOLDER/books/7.json is {"data": {"total": 200000, "results": [{…}, …]}, "next": "/books/8.json"}; "next" is null on
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
import shutil
import sys

WORDS = (
    "amber basil cedar daisy ember fennel ginger hazel iris jasmine kelp laurel maple nettle olive poppy quince rowan "
    "sorrel thistle").split()
TITLES = [word.title() for word in WORDS]
GENRES = ["Drama", "Myth", "Satire", "Novel", "Poetry"]
COUNTRIES = ['"DE"', '"FR"', '"JP"', '"KR"', "null"]
TAGS = ['["%s","%s","%s"]' % three for three in itertools.permutations(WORDS, 3)]

# Rows and rows on a page.
SIZES = {
    "books": (200_000, 1000), "wide": (10_000, 250), "documents": (5_000, 100), "parts": (100, 100), "tiny": (5, 5)}

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


def book_page(arguments, table, first, last):
    """The texts of a page of books, and the sums of their columns."""
    texts, ids, lengths, prices = [], 0, 0, 0
    for i, cents, length, text, row in books(first, last, arguments.change, arguments.drop):
        texts.append(text)
        ids, lengths, prices = ids + i, lengths + length, prices + cents
        if table:
            table.writerow(row)
    return texts, [len(texts), ids, lengths, prices]


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


def write_pages(arguments, numbers, page):
    """Writes the pages of some numbers and returns their sums; page makes one of its first and last record."""
    kind, rows, size, sums = arguments.kind, arguments.rows, arguments.page, [0, 0, 0, 0]
    for number in numbers:
        texts, part = page((number - 1) * size + 1, min(rows, number * size))
        sums = [a + b for a, b in zip(sums, part)]
        following = '"%s/%s/%d.json"' % (arguments.base, kind, number + 1) if number * size < rows else "null"
        with open("%s/%s/%d.json" % (arguments.folder, kind, number), "w") as file:
            # How many there are is known at the end: there is room for it.
            file.write('{"data":{"total":%10d,"results":[%s]},"next":%s}' % (0, ",".join(texts), following))
    return sums


def write_total(arguments, count, total):
    for number in range(1, count + 1):
        with open("%s/%s/%d.json" % (arguments.folder, arguments.kind, number), "r+b") as file:
            file.seek(len('{"data":{"total":'))
            file.write(b"%10d" % total)


def in_parallel(work, count, shares):
    """Runs work(numbers, share) over the numbers 1…count in that many processes, and adds what they return."""
    pipes, processes = [], []
    for share in range(shares):
        numbers = range(count * share // shares + 1, count * (share + 1) // shares + 1)
        out, into = os.pipe()
        process = os.fork()
        if process == 0:
            try:
                os.write(into, json.dumps(work(numbers, share)).encode())
                os._exit(0)
            except BaseException as failure:
                print(repr(failure), file=sys.stderr, flush=True)
                os._exit(1)
        os.close(into)
        pipes.append(open(out))
        processes.append(process)
    sums = [pipe.read() for pipe in pipes]
    if any([os.waitpid(process, 0)[1] for process in processes]):
        sys.exit("the source could not be written")
    return [sum(parts) for parts in zip(*map(json.loads, sums))]


def write_lists(arguments):
    """A list in a file for each entity, and one alone."""
    names = ["tiny"]
    if arguments.kind == "parts":
        names = ["parts/%03d" % number for number in range(1000)]
        os.makedirs(arguments.folder + "/parts", exist_ok=True)
    for name in names:
        chance = random.Random(name)
        records = [
            {"id": i, "name": " ".join(chance.choices(TITLES, k=2)), "price": chance.randrange(10_000) / 100,
             "stock": chance.randrange(100), "updated_at": "2026-%02d-%02dT10:00:00Z" % (i % 12 + 1, i % 28 + 1)}
            for i in range(1, arguments.rows + 1)]
        with open("%s/%s.json" % (arguments.folder, name), "w") as file:
            json.dump(records, file, separators=(",", ":"))
    return [arguments.rows * len(names), arguments.rows * (arguments.rows + 1) // 2 * len(names), 0, 0]


def write_linked(arguments):
    """Pages that lead from one to the next."""
    os.makedirs("%s/%s" % (arguments.folder, arguments.kind), exist_ok=True)
    count, shares = -(-arguments.rows // arguments.page), os.cpu_count() or 1

    def work(numbers, share):
        if arguments.kind != "books":
            return write_pages(arguments, numbers, wide_page if arguments.kind == "wide" else document_page)
        with open("%s.%d" % (arguments.csv, share) if arguments.csv else os.devnull, "w", newline="") as file:
            table = csv.writer(file) if arguments.csv else None
            return write_pages(arguments, numbers, lambda first, last: book_page(arguments, table, first, last))

    sums = in_parallel(work, count, shares)
    write_total(arguments, count, sums[0])
    if arguments.csv:
        with open(arguments.csv, "wb") as whole:
            for share in range(shares):
                part = "%s.%d" % (arguments.csv, share)
                with open(part, "rb") as file:
                    shutil.copyfileobj(file, whole)
                os.remove(part)
    return sums


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("kind", choices=list(SIZES))
    parser.add_argument("folder")
    parser.add_argument("--rows", type=int)
    parser.add_argument("--page", type=int)
    parser.add_argument("--change", type=float, default=0)
    parser.add_argument("--drop", type=float, default=0)
    parser.add_argument("--base", default="")
    parser.add_argument("--csv")
    arguments = parser.parse_args()
    rows, page = SIZES[arguments.kind]
    arguments.rows, arguments.page = arguments.rows or rows, arguments.page or page
    os.makedirs(arguments.folder, exist_ok=True)
    sums = write_lists(arguments) if arguments.kind in ("parts", "tiny") else write_linked(arguments)
    with open(arguments.folder + "/sums.json", "w") as file:
        json.dump(dict(zip(("rows", "keys", "pages", "cents"), sums)), file)


main()
