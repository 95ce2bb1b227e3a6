"""What the rows of a document must be, worked out a second time from the documented contract.

Usage: oracle.py MAPPINGS DOCUMENTS RESULTS. Prints the differences and ends with a line of counts.

MAPPINGS has a mapping as JSON on each line. DOCUMENTS has, for each document, the line `MAPPING LENGTH`, the bytes and a
newline. RESULTS has a line for each document: `refused` (no JSON), `unusable` (no records where they are declared), or
`ERROR ROWS BAD`: whether there is an error member, the rows (cells split by `,`, rows by `;`, `.` for none), and
`POSITION:COLUMN` for each bad record. A cell is `-` (missing), `n` (null), `i` with an integer, `d` with the bits of a
double, `t` with the bytes of a text, in hexadecimal digits.

A type is one function: it is given a value that is not null (str, Integer, Fraction, bool, Pairs for an object, list)
and its column, and returns the cell, or BAD, or a set of those where the contract leaves a choice.
"""

import collections
import datetime
import json
import re
import struct
import sys
import unicodedata

BAD, MISSING, TWICE = "bad", "-", "twice"


class Pairs(list):
    """An object: its members in their order, doubled keys among them."""


class Number(str):
    """A number as its token."""


class Integer(Number):
    pass


class Fraction(Number):
    """A number with a fraction or an exponent."""


def refuse(word):
    raise ValueError(word)


DECODER = json.JSONDecoder(
    object_pairs_hook=Pairs, parse_int=Integer, parse_float=Fraction, parse_constant=refuse)


def is_text(value):
    return isinstance(value, str) and not isinstance(value, Number)


def is_lone(text):
    return any("\ud800" <= c <= "\udfff" for c in text)


def text_cell(text):
    return "t" + text.encode().hex()


# Numbers ------------------------------------------------------------------------------------------------------------

NUMBER = re.compile(r"(-?)(0|[1-9][0-9]*)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?\Z", re.ASCII)


def digits(value):
    """A number or a text that holds one: sign, digits, power of ten; None for all else."""
    if not isinstance(value, str):
        return None
    match = NUMBER.match(value)
    if not match:
        return None
    sign, whole, fraction, exponent = match.groups()
    fraction = fraction or ""
    power = int(exponent or 0) - len(fraction)
    all_digits = (whole + fraction).lstrip("0")
    kept = all_digits.rstrip("0")
    return (-1 if sign else 1), int(kept or 0), power + len(all_digits) - len(kept)


BEYOND = 10**60


def whole(parts):
    """The value as an integer; None where it has a fraction. Beyond 60 digits only the sign counts."""
    sign, number, power = parts
    if number == 0:
        return 0
    if power < 0:
        return None
    return sign * BEYOND if power > 60 else sign * number * 10**power


def floored(parts, shift):
    """The value times 10^shift, rounded down."""
    sign, number, power = parts
    power += shift
    if number == 0:
        return 0
    if power >= 0:
        return sign * BEYOND if power > 60 else sign * number * 10**power
    if -power > len(str(number)) + 1:
        return 0 if sign > 0 else -1
    return sign * number // 10**-power


# Types --------------------------------------------------------------------------------------------------------------

TYPES = {}


def reads(*names):
    def register(function):
        for name in names:
            TYPES[name] = function
        return function

    return register


RANGES = {
    **{f"int{n}": (-(2 ** (n - 1)), 2 ** (n - 1) - 1) for n in (8, 16, 32, 64)},
    **{f"uint{n}": (0, min(2**n, 2**63) - 1) for n in (8, 16, 32, 64)},
}


@reads(*RANGES)
def integer(value, column):
    parts = digits(value)
    number = None if parts is None else whole(parts)
    low, high = RANGES[column["type"]]
    if number is None or not low <= number <= high:
        return BAD
    return f"i{number}"


@reads("double")
def double(value, column):
    parts = digits(value)
    if parts is None:
        return BAD
    nearest = float(value)
    if nearest in (float("inf"), float("-inf")) or (nearest == 0 and parts[1] != 0):
        return BAD
    cell = "d" + struct.pack(">d", nearest).hex()
    if abs(nearest) >= 2**53:
        number = whole(parts)
        if number is not None and number != int(nearest):
            # Of integers beyond 64 bits the contract can be read both ways.
            return BAD if -(2**63) <= number < 2**63 else {cell, BAD}
    return cell


@reads("bool")
def boolean(value, column):
    if isinstance(value, bool):
        return "i1" if value else "i0"
    if isinstance(value, Integer) or is_text(value):
        word = value.lower() if value.isascii() else value
        words = {"0": "i0", "1": "i1"}
        if is_text(value):
            words |= {"true": "i1", "false": "i0"}
        return words.get(word, BAD)
    return BAD


def as_text(value):
    """A scalar as text; None for a list or an object."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, str) else None


@reads("text")
def text(value, column):
    found = as_text(value)
    return BAD if found is None else text_cell(found)


@reads("textEnum")
def text_enum(value, column):
    found = as_text(value)
    if found is None or unicodedata.normalize("NFC", found) not in column["cases"]:
        return BAD
    # A case written with other code points is equal to Swift, and nowhere else.
    return text_cell(found) if found in column["cases"] else {text_cell(found), BAD}


@reads("integerEnum")
def integer_enum(value, column):
    cell = integer(value, {"type": "int8"})
    return cell if cell in [f"i{case}" for case in column["cases"]] else BAD


EPOCH = datetime.date(1970, 1, 1).toordinal()
FIRST = (datetime.date(1, 1, 1).toordinal() - EPOCH) * 86_400_000
LAST = (datetime.date(9999, 12, 31).toordinal() - EPOCH + 1) * 86_400_000 - 1


def instant(milliseconds):
    return f"i{milliseconds}" if FIRST <= milliseconds <= LAST else BAD


def day_number(year, month, day):
    try:
        return datetime.date(int(year), int(month), int(day)).toordinal() - EPOCH
    except ValueError:
        return None


ISO = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d+))?)?"
    r"(?:[Zz]|([+-])(\d\d)(?::?(\d\d))?)\Z", re.ASCII)


@reads("iso8601")
def iso8601(value, column):
    match = ISO.match(value) if is_text(value) else None
    if not match:
        return BAD
    year, month, day, hour, minute, second, fraction, sign, offset_hour, offset_minute = match.groups()
    days = day_number(year, month, day)
    hour, minute, second = int(hour), int(minute), int(second or 0)
    offset_hour, offset_minute = int(offset_hour or 0), int(offset_minute or 0)
    if days is None or hour > 23 or minute > 59 or second > 60 or offset_hour > 23 or offset_minute > 59:
        return BAD
    offset = (offset_hour * 60 + offset_minute) * (-1 if sign == "-" else 1)
    minutes = days * 1440 + hour * 60 + minute - offset
    if second == 60 and minutes % 1440 != 1439:
        return BAD  # A leap second ends a day of UTC.
    return instant(minutes * 60_000 + second * 1000 + int(((fraction or "") + "000")[:3]))


@reads("unixSeconds", "unixMilliseconds")
def unix(value, column):
    parts = digits(value)
    return BAD if parts is None else instant(floored(parts, 3 if column["type"] == "unixSeconds" else 0))


FIELDS = {"yyyy": 4, "MM": 2, "dd": 2, "HH": 2, "mm": 2, "ss": 2, "SSS": 3}


@reads("pattern")
def pattern(value, column):
    if not (is_text(value) or isinstance(value, Integer)):
        return BAD
    parts = re.split("(yyyy|MM|dd|HH|mm|ss|SSS)", column["pattern"])
    form = "".join(f"(?P<{p}>[0-9]{{{FIELDS[p]}}})" if p in FIELDS else re.escape(p) for p in parts)
    match = re.match(form + r"\Z", value)
    if not match:
        return BAD
    found = {"MM": "1", "dd": "1", "HH": "0", "mm": "0", "ss": "0", "SSS": "0", **match.groupdict()}
    found = {name: int(number) for name, number in found.items()}
    days = day_number(found["yyyy"], found["MM"], found["dd"])
    if days is None or found["HH"] > 23 or found["mm"] > 59 or found["ss"] > 59:
        return BAD
    seconds = (days * 24 + found["HH"]) * 3600 + found["mm"] * 60 + found["ss"]
    return instant(seconds * 1000 + found["SSS"])


SURELY_A_URL = re.compile(
    r"(?:https?|ftp)://[a-z0-9]+(?:[.-][a-z0-9]+)*(?::[0-9]{1,4})?(?:/(?:[A-Za-z0-9._~-]|%[0-9A-F]{2})*)*"
    r"(?:\?(?:[A-Za-z0-9._~=&-]|%[0-9A-F]{2})*)?(?:#[A-Za-z0-9]*)?\Z")


@reads("url")
def url(value, column):
    if not is_text(value) or value == "":
        return BAD
    cell = text_cell(value)
    # What else is a URL is Foundation's judgement; it is kept byte for byte.
    return cell if SURELY_A_URL.match(value) else {cell, BAD}


class JSONCell:
    """A cell that holds a JSON text, compared by all that it says and by its spelling in the document."""

    def __init__(self, value):
        self.value = value

    def matches(self, cell, document):
        if not cell.startswith("t"):
            return False
        text = bytes.fromhex(cell[1:])
        return text in minified(document) and show(DECODER.decode(text.decode())) == show(self.value)

    def __repr__(self):
        return "JSON " + show(self.value)


@reads("json")
def json_value(value, column):
    return JSONCell(value)


def show(value):
    """A value with its number tokens and the order of its members."""
    if isinstance(value, Pairs):
        return "{" + ",".join(ascii(k) + ":" + show(v) for k, v in value) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(show, value)) + "]"
    if isinstance(value, Number):
        return str(value)
    return ascii(value)


PIECES = re.compile(rb'"(?:[^"\\]|\\.)*"|[^ \t\n\r"]+', re.DOTALL)


def minified(document):
    return b"".join(PIECES.findall(document))


# Records ------------------------------------------------------------------------------------------------------------

PARENT = json.JSONDecoder(parse_int=Integer, parse_float=Fraction)


def walk(value, path, is_key=False):
    """The value at a path: a JSON value, MISSING, BAD, or TWICE for a doubled key on the way to a key."""
    for step in path:
        if value is None:
            return None
        if isinstance(step, int):
            if type(value) is not list:
                return BAD_VALUE
            if step >= len(value):
                return MISSING_VALUE
            value = value[step]
        else:
            if not isinstance(value, Pairs):
                return BAD_VALUE
            found = [v for k, v in value if k == step]
            if not found:
                return MISSING_VALUE
            if is_key and len(found) > 1:
                return TWICE_VALUE
            value = found[-1]
    return value


class Outcome:
    pass


# Objects of their own: a document may hold the words.
MISSING_VALUE, BAD_VALUE, TWICE_VALUE = Outcome(), Outcome(), Outcome()


def sources(place, mapping, record, key, is_key=False):
    """The values that a column may be given, as a list of JSON values and outcomes."""
    kind, what = place
    if kind == "path":
        return [walk(record, what, is_key)]
    if kind == "recordKey":
        return [MISSING_VALUE if key is None else key]
    if kind == "parent":
        return [mapping["parent"][what]]
    if kind == "literal":
        return [what]
    assert kind == "template", kind
    parts = [found for part in what for found in sources(part, mapping, record, key)]
    parts = [BAD_VALUE if isinstance(p, list) or (is_text(p) and is_lone(p)) else p for p in parts]
    ends = [end for end in (BAD_VALUE, MISSING_VALUE) if end in parts]
    if ends:
        return ends
    return [None if None in parts else "".join(map(as_text, parts))]


def cells(column, mapping, record, key):
    """The cells that a column may have: a list of cells, JSONCells and BAD."""
    is_key, options = column["role"] == "key", column["options"]
    allowed = []
    for value in sources(column["place"], mapping, record, key, is_key):
        if value is TWICE_VALUE:
            allowed.append(TWICE)
        elif value is BAD_VALUE:
            allowed.append(BAD)
        elif value is MISSING_VALUE:
            allowed.append(BAD if is_key else MISSING)
        elif value is None or (is_text(value) and value == "" and "emptyAsNull" in options):
            if is_key:
                allowed.append(BAD)
            elif "nullAsDefault" in options and column["default"] is not None:
                allowed.append(column["default"])
            else:
                allowed.append("n" if column["nullable"] and "required" not in options else BAD)
        elif column["type"] != "json" and is_text(value) and is_lone(value):
            allowed.append(BAD)
        else:
            cell = TYPES[column["type"]](value, column)
            allowed += cell if isinstance(cell, set) else [cell]
    return allowed


def fits(allowed, cell, document):
    return any(a.matches(cell, document) if isinstance(a, JSONCell) else a == cell for a in allowed)


def record_fault(mapping, record, key, row, bad, document):
    """Why the row, or the name of the bad column, is not what the record must give; None if it is."""
    columns = mapping["columns"]
    if not isinstance(record, Pairs):
        return None if bad == "" else "a bad record without a column"
    allowed = [cells(column, mapping, record, key) for column in columns]
    if [TWICE] in allowed:
        keys = [c["name"] for c in columns if c["role"] == "key"]
        return None if bad in keys else "a key that stands twice"
    for column, allowed_cells, position in zip(columns, allowed, range(len(columns))):
        if bad is None:
            counts[column["type"]] += row[position] not in "-n"
            if not fits(allowed_cells, row[position], document):
                return f"column {column['name']} ({column['type']}): {allowed_cells}"
        elif column["name"] == bad:
            counts[column["type"] + ":bad"] += 1
            return None if BAD in allowed_cells else f"column {bad} ({column['type']}): {allowed_cells}"
        elif allowed_cells == [BAD]:
            return f"column {column['name']} ({column['type']}) is bad"
    return None


def error_member(root, path):
    """Whether a non-empty `error` or `errors` stands on the way to the records."""
    value = root
    for step in path or [None]:
        if not isinstance(value, Pairs):
            return False
        for name in ("error", "errors"):
            found = [v for k, v in value if k == name]
            empty = not found or found[-1] in (None, False) or found[-1] == [] or (
                found[-1] == "" or (isinstance(found[-1], Integer) and int(found[-1]) == 0))
            if step != name and not empty:
                return True
        found = [v for k, v in value if k == step]
        if not found:
            return False
        value = found[-1]
    return False


# What came up: the outcomes of documents, and of each type the cells and the bad records.
counts = collections.Counter(refused=0, unusable=0)


def fault(mapping, document, got):
    """Why a result is wrong; None if it is right."""
    try:
        body = document[3:] if document.startswith(b"\xef\xbb\xbf") else document
        root = DECODER.decode(body.decode("utf-8"))
    except ValueError:
        counts["refused"] += 1
        return None if got == "refused" else "refused"
    rows = mapping["rows"]
    records = walk(root, rows["path"], is_key=True)
    is_list, is_object = type(records) is list, isinstance(records, Pairs)
    shape = rows["shape"]
    # A null on the way is nothing; one at the end may be declared to be an empty list.
    empty = False
    if records is None and rows["nullIsEmpty"]:
        empty = walk(root, rows["path"][:-1]) is not None or not rows["path"]
    usable = {"list": is_list, "object": is_object, "byKey": is_object, "listOrObject": is_list or is_object}[shape]
    if not usable and not empty:
        counts["unusable"] += 1
        return None if got == "unusable" else "unusable"
    if got in ("refused", "unusable"):
        return "rows"
    has_error, got_rows, got_bad = got.split(" ")
    if has_error != str(int(error_member(root, rows["path"]))):
        return "the other error member"
    if empty:
        entries = []
    elif shape == "byKey":
        entries = [(key, record) for key, record in records]
    elif shape == "object" or is_object:
        entries = [(None, records)]
    else:
        entries = [(None, record) for record in records]
    got_rows = [row.split(",") for row in got_rows.split(";")] if got_rows != "." else []
    got_bad = dict(entry.split(":") for entry in got_bad.split(",")) if got_bad != "." else {}
    if len(entries) != len(got_rows) + len(got_bad):
        return f"{len(entries)} records"
    following = iter(got_rows)
    for position, (key, record) in enumerate(entries, 1):
        bad = got_bad.get(str(position))
        row = next(following, None) if bad is None else None
        if bad is None and row is None:
            return f"record {position} neither row nor bad"
        why = record_fault(mapping, record, key, row, bad, document)
        if why:
            return f"record {position}: {why}"
    return None


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        lines = file.read().splitlines()
    mappings = []
    for line in lines:
        mapping = json.loads(line)
        # Their numbers are tokens as well.
        mapping["parent"] = PARENT.decode(line)["parent"]
        mappings.append(mapping)
    with open(sys.argv[2], "rb") as file:
        documents = file.read()
    with open(sys.argv[3], encoding="ascii") as file:
        results = file.read().splitlines()
    start, shown = 0, 0
    for number, got in enumerate(results):
        end = documents.index(b"\n", start)
        mapping, length = map(int, documents[start:end].split())
        document = documents[end + 1 : end + 1 + length]
        start = end + length + 2
        why = fault(mappings[mapping], document, got)
        if why and shown < 5:
            shown += 1
            print(f"document {number}: expected {ascii(why)}\n  got:      {got}\n  mapping:  {ascii(lines[mapping])}")
            print(f"  document: {document!r}")
    assert start == len(documents), "documents without a result"
    for mapping in mappings:
        for column in mapping["columns"]:
            counts.update({column["type"]: 0, column["type"] + ":bad": 0})
    print(" ".join(f"{name} {count}" for name, count in sorted(counts.items())))


main()
