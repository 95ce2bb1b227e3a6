"""A plain client on urllib: what the engine's tables are compared with."""
import base64
import json
import re
import urllib.parse
import urllib.request


def basic(user, password):
    return {"Authorization": "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()}


def ask(url, method="GET", body=None, form=None, headers={}):
    """The parsed answer and its header fields."""
    headers, data = dict(headers), None
    if body is not None:
        data = json.dumps(body).encode()
        headers.setdefault("Content-Type", "application/json")
    if form is not None:
        data = urllib.parse.urlencode(form).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data, headers, method=method)) as answer:
        content = answer.read()
        return (json.loads(content) if content else None), answer.headers


def walk(url, following, headers={}):
    """All pages; following(page, header fields, url) is the next address, or None."""
    while url:
        page, fields = ask(url, headers=headers)
        yield page
        after = following(page, fields, url)
        url = urllib.parse.urljoin(url, after) if after else None


def next_of_link(_page, fields, _url):
    found = re.search(r'<([^>]*)>\s*;\s*rel="?next"?', fields.get("Link", ""))
    return found.group(1) if found else None


def with_query(url, **items):
    parts = urllib.parse.urlsplit(url)
    kept = [item for item in urllib.parse.parse_qsl(parts.query) if item[0] not in items]
    return urllib.parse.urlunsplit(parts._replace(query=urllib.parse.urlencode(kept + list(items.items()))))
