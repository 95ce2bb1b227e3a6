#!/usr/bin/env python3
"""Prints the routes of the sample server: the answers of Tests/Fixtures at the addresses of the four seed programs."""
import json, os

fixtures = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "Fixtures")


def route(path, file, **query):
    return {"path": path, "query": query, "file": os.path.join(fixtures, file)}


routes = [route("/books", "books/books.json"), route("/posts", "posts/posts.json")]
routes += [route("/articlesearch.json", "articles/page%d.json" % n, page=str(n)) for n in range(3)]
routes += [route("/characters", "characters/offset%d.json" % n, offset=str(n)) for n in (0, 100, 200)]
for r in routes[-3:]:
    r["replace"] = {"http://i.example.com": "{{base}}"}
routes += [{"path": "/u/prod/%x/52.jpg" % n, "body": "picture %d" % n} for n in range(1, 251)]
routes += [route("/posts/%d/comments" % n, "posts/comments-%d.json" % n) for n in range(1, 5)]
print(json.dumps(routes, indent=1))
