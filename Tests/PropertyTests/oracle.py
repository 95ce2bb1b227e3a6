"""What the rows of a document must be, worked out a second time from the documented contract.

Usage: oracle.py MAPPINGS DOCUMENTS RESULTS. Prints the differences and ends with a line of counts.

MAPPINGS has a mapping as JSON on each line. DOCUMENTS has, for each document, the line `MAPPING LENGTH`, the bytes and a
newline. RESULTS has a line for each document: `refused` (no JSON), `unusable` (no records where they are declared), or
`ERROR COUNT ROWS BAD`: whether there is an error member, the number of records, the rows (cells split by `,`, rows by
`;`, `.` for none), and `POSITION:COLUMN` for each bad record. For each table of nested records, owners before what they
own, `ROWS OWNERS LISTS` follow: the rows, the owner's row of each, and the owners' rows whose lists came. A cell is `-` (missing), `n` (null), `i` with an integer, `d` with the bits of a
double, `t` with the bytes of a text, in hexadecimal digits.

A type is one function: it is given a value that is not null (str, Integer, Fraction, bool, Pairs for an object, list)
and its column, and returns the cell, or BAD, or a set of those where the contract leaves a choice.
"""

import binascii
import collections
import datetime
import fractions
import json
import re
import string
import struct
import sys
import unicodedata
import zoneinfo

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


BEYOND = 10**400


def whole(parts):
    """The value as an integer; None where it has a fraction. Beyond 400 digits only the sign counts."""
    sign, number, power = parts
    if number == 0:
        return 0
    if power < 0:
        return None
    return sign * BEYOND if power > 400 else sign * number * 10**power


def floored(parts, shift):
    """The value times 10^shift, rounded down."""
    sign, number, power = parts
    power += shift
    if number == 0:
        return 0
    if power >= 0:
        return sign * BEYOND if power > 400 else sign * number * 10**power
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
LONGEST = RANGES["int64"]


@reads(*RANGES)
def integer(value, column):
    parts = digits(value)
    number = None if parts is None else whole(parts)
    low, high = RANGES[column["type"]]
    if number is None or not low <= number <= high:
        return BAD
    return f"i{number}"


def real_cell(number):
    return "d" + struct.pack(">d", number).hex()


@reads("double")
def double(value, column):
    parts = digits(value)
    if parts is None:
        return BAD
    nearest = float(value)
    if nearest in (float("inf"), float("-inf")) or (nearest == 0 and parts[1] != 0):
        return BAD
    number = whole(parts)
    if number is not None and number != int(nearest):
        if "e" not in value.lower() or -(2**63) <= number < 2**63:
            return BAD
        # "Up to 64 bits", with a sign or without one.
        return {real_cell(nearest), BAD} if abs(number) < 2**64 else real_cell(nearest)
    return real_cell(nearest)


SMALLEST_SINGLE, LARGEST_SINGLE = 2.0**-149, (2 - 2**-23) * 2.0**127


@reads("float")
def single(value, column):
    parts = digits(value)
    if parts is None:
        return BAD
    nearest = float(value)
    size, cell, number = abs(nearest), real_cell(nearest), whole(parts)
    if size == 0:
        return cell if parts[1] == 0 else BAD
    # What a single's nearest value is, but lies a little outside of the smallest and the largest one.
    if not SMALLEST_SINGLE <= size <= LARGEST_SINGLE:
        near = SMALLEST_SINGLE / 2 < size < (2 - 2**-24) * 2.0**127
        return {cell, BAD} if near else BAD
    exact = struct.unpack(">f", struct.pack(">f", nearest))[0]
    if number is not None:
        # Of a large one with an exponent, the nearest double is meant, as of a double.
        is_free = "e" in value.lower() and abs(number) >= 2**63 and nearest == exact
        return cell if number == int(exact) else {cell, BAD} if is_free else BAD
    # A fraction too small for a double.
    return {cell, BAD} if nearest == int(nearest) and exact != nearest else cell


@reads("decimal")
def decimal(value, column):
    match = NUMBER.match(value) if isinstance(value, str) else None
    if not match:
        return BAD
    sign, before, behind, exponent = match.groups()
    behind = behind or ""
    point = len(behind) - int(exponent or 0)
    found = (before + behind).lstrip("0")
    if point > 100 or (found and point < -100):
        return BAD
    if not found:
        number = "0" + ("." + "0" * point if point > 0 else "")
        cells = {text_cell(number), text_cell("-" + number) if sign else text_cell(number)}
        # Whether the zeros of an exponent are digits can be read both ways.
        return cells | {BAD} if point > 36 or point < 0 else cells
    found += "0" * max(0, -point)
    count = max(len(found), point)
    if count > 38:
        return BAD
    number = found.rjust(point + 1, "0") if point > 0 else found
    cell = text_cell(sign + (number[:-point] + "." + number[-point:] if point > 0 else number))
    return {cell, BAD} if len(number) > 38 else cell


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


def no_case(column):
    return column.get("fallback", BAD)


@reads("textEnum")
def text_enum(value, column):
    found = as_text(value)
    if found is None or is_lone(found):
        return no_case(column)
    # Swift compares texts by what they mean; what is stored is the case's own raw value.
    for case in column["cases"]:
        if unicodedata.normalize("NFC", found) == unicodedata.normalize("NFC", case):
            return text_cell(case)
    return no_case(column)


@reads("integerEnum")
def integer_enum(value, column):
    cell = integer(value, {"type": "int8"})
    return cell if cell in [f"i{case}" for case in column["cases"]] else no_case(column)


@reads("normalised")
def normalised(value, column):
    """Thirteen digits, hyphens left out."""
    found = (as_text(value) or "").replace("-", "")
    return text_cell(found) if re.match(r"[0-9]{13}\Z", found) else BAD


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


def in_zone(days, seconds, zone):
    """Seconds since 1970 of a local time; None for one that clocks skip. Of one that comes twice, the first."""
    local = days * 86_400 + seconds
    if isinstance(zone, int):
        return local - zone
    naive = datetime.datetime.fromordinal(days + EPOCH) + datetime.timedelta(seconds=min(seconds, 86_399))
    rules = zoneinfo.ZoneInfo(zone)
    first, second = (naive.replace(tzinfo=rules, fold=fold).utcoffset() for fold in (0, 1))
    return None if first < second else local - int(first.total_seconds())


ISO = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d+))?)?"
    r"(?:([Zz])|([+-])(\d\d)(?::?(\d\d))?)?\Z", re.ASCII)


@reads("iso8601")
def iso8601(value, column):
    match = ISO.match(value) if is_text(value) else None
    if not match:
        return BAD
    year, month, day, hour, minute, second, fraction, utc, sign, offset_hour, offset_minute = match.groups()
    days = day_number(year, month, day)
    hour, minute, second = int(hour), int(minute), int(second or 0)
    if days is None or hour > 23 or minute > 59 or second > 60:
        return BAD
    seconds = hour * 3600 + minute * 60 + second
    if utc or sign:
        offset_hour, offset_minute = int(offset_hour or 0), int(offset_minute or 0)
        if offset_hour > 23 or offset_minute > 59:
            return BAD
        total = days * 86_400 + seconds - (offset_hour * 60 + offset_minute) * (-60 if sign == "-" else 60)
    elif column.get("zone") is None:
        return BAD
    else:
        total = in_zone(days, seconds, column["zone"])
    # A leap second ends a day of UTC.
    if total is None or (second == 60 and total % 86_400 != 0):
        return BAD
    return instant(total * 1000 + int(((fraction or "") + "000")[:3]))


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
    seconds = in_zone(days, found["HH"] * 3600 + found["mm"] * 60 + found["ss"], column.get("zone", 0))
    return BAD if seconds is None else instant(seconds * 1000 + found["SSS"])


MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
CLOCK = r"(?P<H>\d\d):(?P<M>\d\d):(?P<S>\d\d)"
MONTH = f"(?P<month>{'|'.join(MONTHS)})"
SHORT, LONG = "|".join(day[:3] for day in WEEKDAYS), "|".join(WEEKDAYS)
HTTP = [re.compile(form + r"\Z", re.ASCII) for form in (
    rf"(?P<name>{SHORT}), (?P<day>\d\d) {MONTH} (?P<year>\d{{4}}) {CLOCK} GMT",
    rf"(?P<name>{LONG}), (?P<day>\d\d)-{MONTH}-(?P<year>\d\d) {CLOCK} GMT",
    rf"(?P<name>{SHORT}) {MONTH} (?P<day>\d\d| \d) {CLOCK} (?P<year>\d{{4}})")]


@reads("http")
def http_date(value, column):
    found = next((m for form in HTTP if (m := form.match(value))), None) if is_text(value) else None
    if not found:
        return BAD
    hour, minute, second = (int(found[part]) for part in "HMS")
    if hour > 23 or minute > 59 or second > 60:
        return BAD
    years = [int(found["year"])]
    if len(found["year"]) == 2:
        # Never more than 50 years ahead: at the border the day of the year decides.
        this = datetime.date.today().year
        years = [year for year in (years[0] + 2000, years[0] + 1900) if year <= this + 50]
        years = years if years[0] == this + 50 else years[:1]
    cells = set()
    for year in years:
        days = day_number(year, MONTHS.index(found["month"]) + 1, int(found["day"]))
        total = None if days is None else days * 86_400 + hour * 3600 + minute * 60 + second
        # 1970-01-01 was a Thursday.
        if days is None or not WEEKDAYS[(days + 3) % 7].startswith(found["name"]):
            cells.add(BAD)
        elif second == 60:
            cells |= {instant(total * 1000), BAD} if total % 86_400 == 0 else {BAD}
        else:
            cells.add(instant(total * 1000))
    return cells


@reads("day")
def calendar_day(value, column):
    match = re.match(r"(\d{4})-(\d\d)-(\d\d)\Z", value, re.ASCII) if is_text(value) else None
    return text_cell(value) if match and day_number(*match.groups()) is not None else BAD


UNITS = {"W": 604_800, "D": 86_400, "H": 3600, "M": 60, "S": 1}
SPAN = r"(\d+(?:[.,]\d+)?)([{}])"
PERIOD = re.compile(r"([+-]?)P((?:\d+(?:[.,]\d+)?[WD])*)(?:T((?:\d+(?:[.,]\d+)?[HMS])+))?\Z", re.ASCII)
TIME = re.compile(r"(-?)(\d+):(\d\d)(?::(\d\d))?(\.\d+)?\Z", re.ASCII)


def microseconds(value):
    if value.denominator != 1 or not LONGEST[0] <= value <= LONGEST[1]:
        return BAD
    # The least one has no counterpart that is read before the sign.
    return {f"i{value}", BAD} if value == LONGEST[0] else f"i{value}"


@reads("durationSeconds", "durationMilliseconds")
def duration(value, column):
    parts = digits(value)
    if parts is not None:
        sign, number, power = parts
        number = whole((sign, number, power + (6 if column["type"] == "durationSeconds" else 3)))
        return f"i{number}" if number is not None and LONGEST[0] <= number <= LONGEST[1] else BAD
    if not is_text(value):
        return BAD
    if match := PERIOD.match(value):
        sign, dates, times = match.groups()
        found = re.findall(SPAN.format("WD"), dates) + re.findall(SPAN.format("HMS"), times or "")
        order = ["WDHMS".index(unit) for _, unit in found]
        if not found or order != sorted(set(order)) or any("." in n or "," in n for n, _ in found[:-1]):
            return BAD
        total = sum(fractions.Fraction(n.replace(",", ".")) * UNITS[unit] for n, unit in found) * 1_000_000
        cell = microseconds(-total if sign == "-" else total)
        # Beyond the forms of the contract, but within those of ISO 8601.
        is_free = sign == "+" or "," in value or ("W" in value and len(found) > 1)
        is_free = is_free or (len(found[-1][0].partition(".")[2]) > 6)
        return BAD if cell == BAD else {BAD, *([cell] if isinstance(cell, str) else cell)} if is_free else cell
    if match := TIME.match(value):
        sign, first, second, third, fraction = match.groups()
        if int(second) > 59 or int(third or 0) > 59:
            return BAD
        total = int(first) * 60 + int(second)
        total = fractions.Fraction(total if third is None else total * 60 + int(third))
        cell = microseconds((total + fractions.Fraction("0" + (fraction or ""))) * (-1_000_000 if sign else 1_000_000))
        return BAD if cell == BAD else {BAD, *([cell] if isinstance(cell, str) else cell)} if sign else cell
    return BAD


@reads("uuid")
def uuid(value, column):
    match = re.match(
        r"([0-9a-fA-F]{8})(-?)([0-9a-fA-F]{4})\2([0-9a-fA-F]{4})\2([0-9a-fA-F]{4})\2([0-9a-fA-F]{12})\Z", value
    ) if is_text(value) else None
    if not match:
        return BAD
    return text_cell("-".join(part for part in match.groups() if part not in ("", "-")).lower())


BASE64 = {c: i for i, c in enumerate(string.ascii_uppercase + string.ascii_lowercase + string.digits)}
BASE64 |= {"+": 62, "-": 62, "/": 63, "_": 63}


@reads("base64")
def base64(value, column):
    match = re.match(r"([A-Za-z0-9+/_-]*)(={0,2})\Z", value) if is_text(value) else None
    if not match:
        return BAD
    body, padding = match.groups()
    if len(body) % 4 == 1 or (padding and (len(body) + len(padding)) % 4):
        return BAD
    bits = 0
    for character in body:
        bits = bits << 6 | BASE64[character]
    rest = len(body) * 6 % 8
    if bits & ((1 << rest) - 1):
        return BAD
    cell = "x" + (bits >> rest).to_bytes(len(body) * 6 // 8, "big").hex()
    return {cell, BAD} if re.search("[+/]", body) and re.search("[_-]", body) else cell


@reads("hex")
def hexadecimal(value, column):
    match = re.match(r"(?:[0-9a-fA-F]{2})*\Z", value) if is_text(value) else None
    return "x" + value.lower() if match else BAD


# RFC 3986, appendix A, with the characters that RFC 3987 adds.
FREE = r"A-Za-z0-9._~\-\u00a0-\ud7ff\uf900-\ufdcf\ufdf0-\uffef\U00010000-\U000effff"
PART = rf"(?:[{FREE}!$&'()*+,;=:@]|%[0-9A-Fa-f]{{2}})"
NAME = rf"(?:[{FREE}!$&'()*+,;=]|%[0-9A-Fa-f]{{2}})"
AUTHORITY = rf"(?:(?:{NAME}|:)*@)?(?:{NAME}*|(?P<literal>\[[^\]/?#@]*\]))(?P<port>:[0-9]*)?"
TAIL = rf"(?:\?(?:{PART}|[/?\ue000-\uf8ff\U000f0000-\U0010ffff])*)?(?:#(?:{PART}|[/?])*)?\Z"
ABSOLUTE = re.compile(
    rf"[A-Za-z][A-Za-z0-9+.\-]*:(?://{AUTHORITY}(?:/{PART}*)*|(?!//)(?:{PART}|/)*)" + TAIL)
RELATIVE = re.compile(
    rf"(?://{AUTHORITY}(?:/{PART}*)*|/(?:{PART}+(?:/{PART}*)*)?|(?:(?!:){PART})+(?:/{PART}*)*|)" + TAIL)
FORBIDDEN = re.compile("[\\x00-\\x20\\x7f-\\x9f<>\"{}|\\\\^`]|%(?![0-9A-Fa-f]{2})")


@reads("url")
def url(value, column):
    if not is_text(value) or value == "" or FORBIDDEN.search(value):
        return BAD
    # The contract names what is refused; what else is no reference, such as brackets in a query, can be read both ways.
    match = ABSOLUTE.match(value) or RELATIVE.match(value)
    groups = match.groupdict() if match else {}
    is_free = not match or groups.get("literal") or len(groups.get("port") or "") > 5
    return {text_cell(value), BAD} if is_free else text_cell(value)


class JSONCell:
    """A cell that holds a JSON text, compared by all that it says and by its spelling in the document."""

    def __init__(self, value):
        self.value = value

    def matches(self, cell, document):
        if not cell.startswith("t"):
            return False
        text = bytes.fromhex(cell[1:])
        # A collected list and a prepared record stand nowhere in the document.
        is_there = isinstance(self.value, Collected) or document is None or text in document
        return is_there and show(DECODER.decode(text.decode())) == show(self.value)

    def __repr__(self):
        return "JSON " + show(self.value)


class Collected(list):
    """The values behind a wildcard."""


class Obstacle:
    """A value of the wrong kind on the way behind a wildcard."""


def is_list(value):
    return isinstance(value, list) and not isinstance(value, Pairs)


@reads("json")
def json_value(value, column):
    return JSONCell(value)


@reads("dictionary")
def dictionary(value, column):
    return JSONCell(value) if isinstance(value, Pairs) else BAD


@reads("list")
def any_list(value, column):
    return JSONCell(value) if is_list(value) else BAD


def is_number(value):
    if not isinstance(value, Number):
        return False
    nearest = abs(float(value))
    return nearest != float("inf") and (nearest != 0 or digits(value)[1] == 0)


def is_single(value):
    return is_number(value) and abs(float(value)) <= LARGEST_SINGLE


def is_whole(low, high):
    def fits_range(value):
        number = whole(digits(value)) if isinstance(value, Number) else None
        return number is not None and low <= number <= high

    return fits_range


ELEMENTS = {
    "stringList": lambda value: is_text(value) and not is_lone(value),
    "boolList": lambda value: isinstance(value, bool),
    "doubleList": is_number,
    "floatList": is_single,
    "int64List": is_whole(*RANGES["int64"]),
    "int8List": is_whole(*RANGES["int8"]),
    "uint64List": is_whole(*RANGES["uint64"]),
}


@reads(*ELEMENTS)
def list_of(value, column):
    return JSONCell(value) if is_list(value) and all(map(ELEMENTS[column["type"]], value)) else BAD


@reads("grams")
def grams(value, column):
    """What the closure of the tests makes of a value: `"12 g"`, or a list as the number of its elements."""
    if is_list(value):
        return f"i{len(value)}"
    match = re.match("(-?[0-9]+) g\\Z", value) if is_text(value) and len(value) <= 12 else None
    return f"i{int(match[1])}" if match and abs(int(match[1])) < 10**9 else BAD


JSON_TYPES = {"json", "dictionary", "list", *ELEMENTS}


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


class Outcome:
    pass


# Objects of their own: a document may hold the words.
MISSING_VALUE, BAD_VALUE, TWICE_VALUE, ANY_VALUE = Outcome(), Outcome(), Outcome(), Outcome()


class RealText(Fraction):
    """A double of the owner's row: as text in one of its spellings."""


class RealCell:
    def __init__(self, value):
        self.value = value

    def matches(self, cell, document):
        return cell.startswith("t") and float(bytes.fromhex(cell[1:]).decode()) == float(self.value)

    def __repr__(self):
        return f"text of {self.value}"


class AnyCell:
    """A cell that the oracle does not know: of a bad record's owner."""

    def matches(self, cell, document):
        return True


def members(value, key):
    return [v for k, v in value if k == key]


def walk(value, path, is_key=False):
    """The value at a path: a JSON value or an outcome; TWICE for a doubled key on the way to a key."""
    for position, step in enumerate(path):
        if value is None:
            return None
        if step is None:
            found = collect(value, path[position:])
            return BAD_VALUE if any(isinstance(v, Obstacle) for v in found) else Collected(found)
        if isinstance(step, int):
            if not is_list(value):
                return BAD_VALUE
            if step >= len(value):
                return MISSING_VALUE
            value = value[step]
        else:
            if not isinstance(value, Pairs):
                return BAD_VALUE
            found = members(value, step)
            if not found:
                return MISSING_VALUE
            if is_key and len(found) > 1:
                return TWICE_VALUE
            value = found[-1]
    return value


def collect(value, path):
    """The values that a path with wildcards leads to, and what stands in its way; a null there leads to none."""
    if not path:
        return [value]
    if value is None:
        return []
    step, rest = path[0], path[1:]
    if not (is_list(value) if step is None or isinstance(step, int) else isinstance(value, Pairs)):
        return [Obstacle()]
    if step is None:
        return [v for element in value for v in collect(element, rest)]
    found = members(value, step) if isinstance(step, str) else value[step : step + 1]
    return collect(found[-1], rest) if found else []


class Context:
    """What a record's fields can read besides the record: each parent's column as the list of its possible values."""

    def __init__(self, key, position, parents):
        self.key, self.position, self.parents = key, position, parents


def sources(place, record, context, is_key=False):
    """The values that a column may be given, as a list of JSON values and outcomes."""
    kind, what = place
    if kind == "path":
        return [walk(record, what, is_key)]
    if kind == "ownName":
        return [walk(record, [styled(*what)], is_key)]
    if kind == "recordKey":
        return [MISSING_VALUE if context.key is None else context.key]
    if kind == "position":
        return [Integer(context.position)]
    if kind == "fetchedAt":
        return ["2023-11-14T22:13:20.123Z"]
    if kind == "parent":
        return context.parents[what]
    if kind == "literal":
        return [what]
    if kind == "first":
        found, seen, null = [], [], False
        for part in what:
            value = sources(part, record, context, is_key)[0]
            seen.append(value)
            if value is MISSING_VALUE or value is None:
                null = null or value is None
            elif value is BAD_VALUE:
                # Whether there is something at a path that is obstructed can be read both ways.
                found.append(value)
            else:
                return found + [value] + [v for v in seen if v is TWICE_VALUE] + (
                    [TWICE_VALUE] if is_key and is_doubled(what, record) else [])
        return found + [None if null else MISSING_VALUE]
    assert kind == "template", kind
    parts = [found for part in what for found in sources(part, record, context)]
    parts = [BAD_VALUE if isinstance(p, list) or (is_text(p) and is_lone(p)) else p for p in parts]
    ends = [end for end in (BAD_VALUE, MISSING_VALUE) if end in parts]
    if ends:
        return ends
    return [None if None in parts else "".join(map(as_text, parts))]


def is_doubled(places, record):
    return any(walk(record, what, True) is TWICE_VALUE for kind, what in places if kind == "path")


def styled(style, name):
    """`innerID` as inner_id, innerId or innerID."""
    if style == "property":
        return name
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower().split("_")
    return "_".join(words) if style == "snake" else words[0] + "".join(word.capitalize() for word in words[1:])


def cells(column, record, context):
    """The cells that a column may have: a list of cells, objects that match some, BAD and TWICE."""
    is_key, options = column["role"] == "key", column["options"]
    if column["place"][0] == "constant":
        return [column["place"][1]]
    allowed = []
    for value in sources(column["place"], record, context, is_key):
        if value is ANY_VALUE:
            allowed += [AnyCell(), BAD]
        elif value is TWICE_VALUE:
            allowed.append(TWICE)
        elif value is BAD_VALUE:
            allowed.append(BAD)
        elif value is MISSING_VALUE and not (not is_key and "missingAsNull" in options):
            allowed.append(BAD if is_key else MISSING)
        elif value is None or value is MISSING_VALUE or (
                is_text(value) and value == "" and "emptyAsNull" in options):
            if is_key:
                allowed.append(BAD)
            elif "nullAsDefault" in options and column["default"] is not None:
                allowed.append(column["default"])
            else:
                allowed.append("n" if column["nullable"] and "required" not in options else BAD)
        elif column["type"] in JSON_TYPES:
            if isinstance(value, OwnersJSON):
                value = DECODER.decode(value)
                value = value if isinstance(value, (Pairs, Outcome)) or not is_list(value) else Collected(value)
                cell = TYPES[column["type"]](value, column)
                allowed.append(cell if cell == BAD else AnyCell())
            else:
                allowed.append(TYPES[column["type"]](value, column))
        elif is_text(value) and is_lone(value):
            # Where a case stands for all others, whether it does for what is no text can be read both ways.
            allowed += [BAD, column["fallback"]] if "fallback" in column else [BAD]
        elif isinstance(value, RealText) and column["type"] == "text":
            allowed.append(RealCell(value))
        else:
            cell = TYPES[column["type"]](value, column)
            allowed += cell if isinstance(cell, set) else [cell]
    return allowed


class OwnersJSON(str):
    """A JSON text of the owner's row."""


def handed_on(cell, column):
    """A cell of the owner's row, as fields of the records in it read it."""
    if isinstance(cell, (JSONCell, AnyCell, RealCell)):
        return ANY_VALUE
    kind, rest, name = cell[0], cell[1:], column["type"]
    if kind in "-n":
        return MISSING_VALUE if kind == "-" else None
    if kind == "d":
        return RealText(repr(struct.unpack(">d", bytes.fromhex(rest))[0]))
    if kind == "x":
        return binascii.b2a_base64(bytes.fromhex(rest), newline=False).decode()
    if kind == "t":
        text = bytes.fromhex(rest).decode()
        return OwnersJSON(text) if name in JSON_TYPES else text
    number = int(rest)
    if name == "bool":
        return "true" if number else "false"
    if name.startswith("duration"):
        sign, number = "-" if number < 0 else "", abs(number)
        return (f"{sign}{number // 1_000_000}.{number % 1_000_000:06}").rstrip("0").rstrip(".")
    if name in ("iso8601", "unixSeconds", "unixMilliseconds", "pattern", "http"):
        days, rest = divmod(number, 86_400_000)
        day = datetime.date.fromordinal(days + EPOCH)
        hour, minute, second = rest // 3_600_000, rest // 60_000 % 60, rest // 1000 % 60
        return f"{day.isoformat()}T{hour:02}:{minute:02}:{second:02}.{rest % 1000:03}Z"
    return Integer(number)


def parents_of(mapping, allowed):
    """What nested records may read of their owner's row, of which some cells may be."""
    return {
        column["name"]: [handed_on(c, column) for c in found if not (isinstance(c, str) and c in (BAD, TWICE))]
        for column, found in zip(mapping["columns"], allowed)}


def fits(allowed, cell, document):
    return any(a == cell if isinstance(a, str) else a.matches(cell, document) for a in allowed)


def reads_members(mapping):
    def reads(place):
        kind, what = place
        if kind in ("first", "template"):
            return any(map(reads, what))
        return kind == "ownName" or (kind == "path" and what != [] and what[0] is not None)

    return any(reads(c["place"]) for c in mapping["columns"]) or any(
        list_path(n["rows"]) != [] for n in mapping["nested"])


def list_path(rows):
    path = rows["path"]
    return path[: path.index(None)] if None in path else path


def entries_of(records, rows):
    """Key and value of each record in a list, an object of records or a record."""
    if rows["shape"] == "byKey":
        found = list(records)
    elif rows["shape"] == "object" or isinstance(records, Pairs):
        return [(None, records)]
    else:
        found = [(None, record) for record in records]
    if None not in rows["path"]:
        return found
    rest = rows["path"][rows["path"].index(None) + 1 :]
    return [(key, v) for key, element in found for v in collect(element, rest) if v is not None] if rest else found


def has_shape(value, rows):
    is_object = isinstance(value, Pairs)
    return {"list": is_list(value), "listOrObject": is_list(value) or is_object}.get(rows["shape"], is_object)


def nested_entries(record, rows):
    """The records in a record: a list of them, MISSING_VALUE where none came, BAD_VALUE where they cannot be."""
    found = walk(record, list_path(rows))
    if found is None:
        return [] if rows["nullIsEmpty"] or rows["shape"] == "object" else BAD_VALUE
    if isinstance(found, Outcome):
        return found
    return entries_of(found, rows) if has_shape(found, rows) else BAD_VALUE


def bad_fault(mapping, record, context, bad):
    """Why a record cannot be bad by the column `bad`; None if it can."""
    columns = mapping["columns"]
    if isinstance(record, Obstacle) or (not isinstance(record, Pairs) and reads_members(mapping)):
        return None if bad == "" else "a bad record without a column"
    allowed = [cells(column, record, context) for column in columns]
    head, _, rest = bad.partition(".")
    table = next((nested for nested in mapping["nested"] if nested["table"] == head), None)
    if any(TWICE in a for a in allowed) and bad in [c["name"] for c in columns if c["role"] == "key"]:
        return None
    if [TWICE] in allowed:
        return "a key that stands twice"
    for column, found in zip(columns, allowed):
        if column["name"] == bad:
            counts[column["type"] + ":bad"] += 1
            return None if BAD in found else f"column {bad} ({column['type']}): {found}"
        if found == [BAD]:
            return f"column {column['name']} ({column['type']}) is bad"
    if table is None:
        return f"bad by {bad!r}"
    found = nested_entries(record, table["rows"])
    if isinstance(found, Outcome):
        return None if found is BAD_VALUE and rest == "" else f"{bad}: the list is missing or bad"
    counts["nested:bad"] += 1
    parents = parents_of(mapping, allowed)
    reasons = [
        bad_fault(table, inner, Context(key, position, parents), rest)
        for position, (key, inner) in enumerate(found)]
    return None if None in reasons else f"{bad}: {reasons}"


class Stream:
    """The rows of a nested table, in their order."""

    def __init__(self, rows, owners, lists):
        self.rows = [] if rows == "." else [row.split(",") for row in rows.split(";")]
        self.owners = [] if owners == "." else list(map(int, owners.split(",")))
        self.lists = [] if lists == "." else list(map(int, lists.split(",")))
        self.next_row, self.next_list = 0, 0


def good_fault(mapping, record, context, row, number, streams, document):
    """Why a row, or a row of a record in this one, is not what the record must give; None if all are."""
    columns = mapping["columns"]
    if isinstance(record, Obstacle) or (not isinstance(record, Pairs) and reads_members(mapping)):
        return "a row of what is no object"
    for column, cell in zip(columns, row):
        found = cells(column, record, context)
        if TWICE in found and len(set(map(str, found))) == 1:
            return f"column {column['name']}: a key that stands twice"
        counts[column["type"]] += cell not in ("-", "n")
        if not fits(found, cell, document):
            return f"column {column['name']} ({column['type']}) is {cell}: {found}"
    parents = {column["name"]: [handed_on(cell, column)] for column, cell in zip(columns, row)}
    for nested in mapping["nested"]:
        found = nested_entries(record, nested["rows"])
        if found is BAD_VALUE or (found is not MISSING_VALUE and any(isinstance(r, Obstacle) for _, r in found)):
            return f"{nested['table']} is bad"
        if found is MISSING_VALUE:
            continue
        stream = streams[nested["number"]]
        if stream.lists[stream.next_list : stream.next_list + 1] != [number]:
            return f"{nested['table']}: list {number} came"
        stream.next_list += 1
        for position, (key, inner) in enumerate(found):
            inner_number = stream.next_row
            stream.next_row += 1
            if inner_number >= len(stream.rows):
                return f"{nested['table']}: {inner_number} rows are too few"
            if stream.owners[inner_number] != number:
                return f"{nested['table']}: row {inner_number} is not of {number}"
            counts["nested"] += 1
            why = good_fault(nested, inner, Context(key, position, parents), stream.rows[inner_number], inner_number,
                             streams, document)
            if why:
                return f"{nested['table']}, row {inner_number}: {why}"
    return None


def all_nested(mapping):
    return [table for nested in mapping["nested"] for table in [nested, *all_nested(nested)]]


def passes(condition, record):
    """Whether a record is the entity's: a list of True, False and BAD."""
    if "closure" in condition:
        # Passes with the first member, and throws for a true in the second one.
        first, second = (members(record, key) if isinstance(record, Pairs) else [] for key in condition["closure"])
        return [BAD if second and second[-1] is True else bool(first)]
    found = walk(record, condition["path"], is_key=True)
    if found is BAD_VALUE:
        return [BAD, False]
    if found is TWICE_VALUE:
        last = walk(record, condition["path"])
        return [BAD, last is not BAD_VALUE and as_text(last) in condition["values"]]
    text = None if found is MISSING_VALUE or found is None else as_text(found)
    return [text in condition["values"]]


def prepared(steps, record):
    """The record with the members that are set; None where the closure throws."""
    new = {}
    for key, kind, what in steps:
        if kind == "value":
            found = members(record, what)
            if not found:
                return None
            new[key] = found[-1]
        else:
            new[key] = Integer(what) if kind == "integer" else what
    return Pairs([(k, v) for k, v in record if k not in new] + sorted(new.items()))


def error_member(root, path):
    """Whether a non-empty `error` or `errors` stands on the way to the records."""
    value = root
    for step in path or [None]:
        if not isinstance(value, Pairs):
            return False
        for name in ("error", "errors"):
            found = members(value, name)
            empty = not found or found[-1] in (None, False) or found[-1] == [] or (
                found[-1] == "" or isinstance(found[-1], Number) and not found[-1].lower().split("e")[0].strip("-0."))
            if step != name and not empty:
                return True
        found = members(value, step)
        if not found:
            return False
        value = found[-1]
    return False


# What came up: the outcomes of documents, and of each type the cells and the bad records.
counts = collections.Counter(refused=0, unusable=0, nested=0, passed=0, prepared=0)
counts["nested:bad"] = 0


def fault(mapping, document, got):
    """Why a result is wrong; None if it is right."""
    try:
        body = document[3:] if document.startswith(b"\xef\xbb\xbf") else document
        root = DECODER.decode(body.decode("utf-8"))
    except ValueError:
        counts["refused"] += 1
        return None if got == "refused" else "refused"
    rows = mapping["rows"]
    path = list_path(rows)
    records = walk(root, path, is_key=True)
    # A null on the way is nothing; one at the end may be declared to be an empty list.
    empty = False
    if records is None and rows["nullIsEmpty"]:
        empty = walk(root, path[:-1]) is not None or not path
    if isinstance(records, Outcome) or (not has_shape(records, rows) and not empty):
        counts["unusable"] += 1
        return None if got == "unusable" else "unusable"
    if got in ("refused", "unusable"):
        return "rows"
    has_error, got_count, got_rows, got_bad, *got_nested = got.split(" ")
    if has_error != str(int(error_member(root, path))):
        return "the other error member"
    entries = [] if empty else entries_of(records, rows)
    if got_count != str(len(entries)):
        return f"{len(entries)} records"
    got_rows = [row.split(",") for row in got_rows.split(";")] if got_rows != "." else []
    got_bad = dict(entry.split(":") for entry in got_bad.split(",")) if got_bad != "." else {}
    streams = [Stream(*got_nested[i : i + 3]) for i in range(0, len(got_nested), 3)]
    if streams or not empty:
        assert len(streams) == len(all_nested(mapping)), "nested tables"
    parents = {name: [value] for name, value in mapping["parent"].items()}
    spelling = minified(document)
    next_row = 0
    for position, (key, record) in enumerate(entries):
        bad = got_bad.pop(str(position + 1), None)
        if mapping["filter"] and not isinstance(record, Obstacle):
            found = passes(mapping["filter"], record)
            if BAD in found and bad == "":
                continue
            if False in found and bad is None:
                counts["passed"] += 1
                continue
            if True not in found:
                return f"record {position + 1}: filter {found}"
        text = spelling
        if mapping["prepare"] and isinstance(record, Pairs):
            counts["prepared"] += 1
            record, text = prepared(mapping["prepare"], record), None
            if record is None:
                if bad != "":
                    return f"record {position + 1} cannot be prepared"
                continue
        context = Context(key, position, parents)
        if bad is not None:
            why = bad_fault(mapping, record, context, bad)
        elif next_row == len(got_rows):
            why = "neither row nor bad"
        else:
            why = good_fault(mapping, record, context, got_rows[next_row], next_row, streams, text)
            next_row += 1
        if why:
            return f"record {position + 1}: {why}"
    if got_bad or next_row < len(got_rows):
        return "fewer rows or bad records"
    for stream in streams:
        if stream.next_row < len(stream.rows) or stream.next_list < len(stream.lists):
            return "fewer nested rows or lists"
        if len(stream.owners) != len(stream.rows):
            return "an owner for each nested row"
    return None


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        lines = file.read().splitlines()
    mappings = []
    for line in lines:
        mapping = json.loads(line)
        # Their numbers are tokens as well.
        mapping["parent"] = PARENT.decode(line)["parent"]
        for number, nested in enumerate(all_nested(mapping)):
            nested["number"] = number
        mappings.append(mapping)
    with open(sys.argv[2], "rb") as file:
        documents = file.read()
    with open(sys.argv[3], encoding="ascii") as file:
        results = file.read().splitlines()
    # One difference for each type is enough.
    start, shown = 0, set()
    for number, got in enumerate(results):
        end = documents.index(b"\n", start)
        mapping, length = map(int, documents[start:end].split())
        document = documents[end + 1 : end + 1 + length]
        start = end + length + 2
        why = fault(mappings[mapping], document, got)
        kind = re.search(r"\((\w+)\)|$", why or "")[0]
        if why and kind not in shown and len(shown) < 8:
            shown.add(kind)
            print(f"document {number}: expected {ascii(why)}\n  got:      {got}\n  mapping:  {ascii(lines[mapping])}")
            print(f"  document: {document!r}")
    assert start == len(documents), "documents without a result"
    for mapping in mappings:
        for table in [mapping, *all_nested(mapping)]:
            for column in table["columns"]:
                counts.update({column["type"]: 0})
                # Any JSON fits there: only a null can be bad, and that is seldom.
                if column["type"] != "json":
                    counts.update({column["type"] + ":bad": 0})
    print(" ".join(f"{name} {count}" for name, count in sorted(counts.items())))


main()
