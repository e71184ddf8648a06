"""formats.py - where the numbers of each format are, and where its sections begin.

fields(name, data, files) gives Field(at, size, order, role) for a file of a trace; the role says which
wrong values are worth a try: length, count, offset, id, time, type, flags, name, data. edges() gives
the places where a section begins or ends. Both go as far as the file is whole, and never fail.
"""
import json
import re
import struct
from collections import namedtuple

MOST_FIELDS = 30000
Field = namedtuple("Field", "at size order role")
CODES = {1: "B", 2: "H", 4: "I", 8: "Q"}
TEXTS = ("metadata", "/format", "header_page", "header_event", "kallsyms", "saved_cmdlines", "printk_formats", "trace_clock", ".clock")
NUMBERS = {"kernel/sync", "kernel/kallsyms", "kernel/dump.jsonl", "kernel/formats", "trace.json"}


def value(data, field):
    return struct.unpack_from(field.order + CODES[field.size], data, field.at)[0]


def put(data, field, number):
    number &= (1 << 8 * field.size) - 1
    struct.pack_into(field.order + CODES[field.size], data, field.at, number)


class Walk:
    """Through a file from its start: each number that is passed becomes a field."""

    def __init__(self, data, order="<", at=0):
        self.data, self.order, self.at = data, order, at
        self.fields, self.edges = [], [at]

    def number(self, size, role):
        field = Field(self.at, size, self.order, role)
        if len(self.fields) > MOST_FIELDS: # of a mutant of a mutant, which may go in circles
            raise struct.error
        number = value(self.data, field)
        self.fields.append(field)
        self.at += size
        return number

    def skip(self, count, role=None):
        if count < 0 or self.at + count > len(self.data):
            raise struct.error
        if role and count:
            self.fields.append(Field(self.at, 1, self.order, role))
        self.at += count

    def text(self):
        end = self.data.index(b"\0", self.at)
        self.skip(end + 1 - self.at, "name")

    def edge(self):
        self.edges.append(self.at)


def words(walk, end, size, role):
    while walk.at + size <= end and len(walk.fields) < 20000:
        walk.number(size, role)


# ------------------------------------------------------------------ pages of the kernel

def page_event(walk, end):
    """One event of a page. False: no more."""
    word = walk.number(4, "word")
    kind, delta = word & 31, word >> 5
    if kind == 0:
        length = walk.number(4, "length") - 4
    elif kind <= 28:
        length = kind * 4
    elif kind == 29:
        if delta == 0:
            return False
        length = walk.number(4, "length") - 4
    else:
        length = 4
    stop = min(walk.at + max(length, 0), end)
    if kind <= 28 and stop - walk.at >= 8:
        walk.number(2, "type")
        walk.number(1, "flags")
        walk.number(1, "flags")
        walk.number(4, "id")
    words(walk, stop, 4, "data")
    walk.at = stop
    return length > 0


def pages(walk, page_bytes, long_bytes=8):
    for page in range(walk.at, len(walk.data), page_bytes):
        walk.at = page
        walk.edge()
        walk.number(8, "time")
        commit = walk.number(long_bytes, "commit") & 0xfffff
        end = min(walk.at + commit, page + page_bytes, len(walk.data))
        while walk.at + 4 <= end and page_event(walk, end):
            pass


def raw_pages(walk, _):
    pages(walk, 4096)


def ring(walk, files):
    manifest = json.loads(files["trace.json"])
    pages(walk, max(manifest["page_bytes"], 256), manifest.get("long_bytes", 8))


# ------------------------------------------------------------------ files of a trace directory

def names(walk, _):
    while walk.at < len(walk.data):
        walk.edge()
        walk.number(4, "type")
        length = walk.number(4, "length")
        walk.number(8, "time")
        walk.number(8, "id")
        for _ in range(4):
            walk.number(4, "id")
        walk.skip((length + 7) // 8 * 8, "name")


def varint(walk):
    number = shift = 0
    while True:
        byte = walk.number(1, "varint")
        number |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return number


def accounts(walk, _):
    walk.skip(8, "name")
    while walk.at < len(walk.data):
        walk.edge()
        varint(walk)
        end = walk.at + varint(walk)
        words(walk, min(end, len(walk.data)), 1, "varint")
        walk.at = end


def control(walk, _):
    """struct holdup_control_ of libholdup."""
    for role in ("flags", "id", "time"):
        walk.number(8, role)
    for role in ("type", "type", "id", "count", "type", "count"):
        walk.number(4, role)
    walk.number(8, "count")
    walk.number(8, "length")
    for size in (1024, 1024, 1024, 64, 65536):
        walk.edge()
        walk.skip(size, "name")


def index(walk, _):
    walk.skip(8, "name")
    walk.number(4, "type")
    walk.number(4, "type")
    walk.skip(16, "data")
    tables = walk.number(8, "offset")
    walk.number(8, "length")
    walk.skip(16)
    while walk.at < tables:
        begin = walk.at
        walk.edge()
        walk.number(4, "type")
        length = walk.number(4, "length")
        walk.skip(8)
        walk.number(8, "time")
        for role in ("id", "id", "id", "id", "count", "count", "count", "length", "length",
                     "length", "length", "length"):
            walk.number(4, role)
        words(walk, begin + length, 1, "varint")
        walk.at = begin + length
    walk.edge()
    words(walk, len(walk.data), 1, "varint")


# ------------------------------------------------------------------ CTF

CTF_MAGICS = ((b"\xc1\x1f\xfc\xc1", "<"), (b"\xc1\xfc\x1f\xc1", ">"))


def ctf_stream(walk, _):
    """Packets begin with the magic number; what follows is laid out by the metadata, mostly as 8 bytes."""
    for magic, order in CTF_MAGICS:
        walk.order = order
        for match in re.finditer(re.escape(magic), walk.data):
            walk.at = match.start()
            walk.edge()
            walk.number(4, "type")
            walk.skip(16, "name")
            head = min(walk.at + 100, len(walk.data))
            start = walk.at
            words(walk, head, 4, "length")
            walk.at = start + (-start) % 8
            words(walk, head, 8, "time")
            for size in (2, 4):
                walk.at = head
                words(walk, min(head + 2000, len(walk.data)), size, "data")
    if len(walk.edges) == 1:
        words(walk, len(walk.data), 1, "data")


# ------------------------------------------------------------------ trace.dat

def dat_sized(walk, size):
    walk.skip(walk.number(size, "length"), "name")


def dat_header(walk):
    """Returns the version, how long a page and a long are."""
    walk.skip(10)
    version = int(walk.data[walk.at:walk.data.index(b"\0", walk.at)])
    walk.text()
    walk.order = "<>"[walk.number(1, "flags") & 1]
    long_bytes = walk.number(1, "length")
    page_bytes = walk.number(4, "length")
    if version >= 7:
        walk.text()
        walk.text()
    return version, page_bytes, long_bytes


def dat_formats(walk):
    for _ in range(walk.number(4, "count")):
        dat_sized(walk, 8)


def dat_v6_head(walk):
    for _ in range(2):
        walk.text()
        dat_sized(walk, 8)
        walk.edge()
    dat_formats(walk)
    for _ in range(walk.number(4, "count")):
        walk.text()
        dat_formats(walk)
        walk.edge()
    dat_sized(walk, 4)
    walk.edge()
    dat_sized(walk, 4)
    walk.edge()
    dat_sized(walk, 8)
    walk.edge()


def dat_options(walk, end):
    while walk.at + 6 <= end:
        kind = walk.number(2, "type")
        length = walk.number(4, "length")
        stop = walk.at + length
        if length in (1, 2, 4, 8):
            walk.number(length, "offset")
        elif length % 8 == 0:
            words(walk, min(stop, end), 8, "time")
        else:
            words(walk, min(stop, end), 4, "count")
        walk.at = stop
        if kind == 0:
            break


def dat_v6(walk, page_bytes, long_bytes):
    dat_v6_head(walk)
    cpus = walk.number(4, "count")
    if walk.data[walk.at:walk.at + 7] == b"options":
        walk.skip(10, "name")
        while True:
            kind = walk.number(2, "type")
            if kind == 0:
                break
            walk.skip(walk.number(4, "length"), "data")
        walk.edge()
    walk.skip(10, "name")
    places = [(walk.number(8, "offset"), walk.number(8, "length")) for _ in range(cpus)]
    for at, length in places:
        walk.at = at
        walk.edge()
        part = Walk(walk.data[:at + length], walk.order, at)
        try:
            pages(part, page_bytes, long_bytes)
        except (struct.error, ValueError):
            pass
        walk.fields += part.fields
        walk.edges += part.edges + [at + length]


def dat_chunk(walk, end):
    """What is packed in a section: two lengths, and the bytes."""
    walk.number(4, "length")
    walk.number(4, "length")
    walk.edge()
    words(walk, min(end, walk.at + 64), 1, "data")


def dat_buffer(walk, end, flags, page_bytes, long_bytes):
    """Pages of all CPUs; packed, a count and chunks for each CPU, which options tell the places of."""
    if flags & 1:
        words(walk, min(end, walk.at + 2000), 4, "length")
        return
    part = Walk(walk.data[:end], walk.order, walk.at + (-walk.at) % page_bytes)
    try:
        pages(part, page_bytes, long_bytes)
    except (struct.error, ValueError):
        pass
    walk.fields += part.fields
    walk.edges += part.edges


def dat_v7(walk, page_bytes, long_bytes):
    walk.number(8, "offset")
    while walk.at + 16 <= len(walk.data):
        walk.edge()
        kind = walk.number(2, "type")
        flags = walk.number(2, "flags")
        walk.number(4, "offset")
        length = walk.number(8, "length")
        end = walk.at + length
        if kind == 3:
            dat_buffer(walk, min(end, len(walk.data)), flags, page_bytes, long_bytes)
        elif flags & 1:
            dat_chunk(walk, end)
        elif kind == 0:
            dat_options(walk, end)
        else:
            words(walk, min(end, walk.at + 400), 4, "count")
        walk.at = end


def trace_dat(walk, _):
    version, page_bytes, long_bytes = dat_header(walk)
    walk.edge()
    (dat_v7 if version >= 7 else dat_v6)(walk, max(page_bytes, 256), long_bytes)


# ------------------------------------------------------------------ perf.data

def perf_records(walk, end):
    while walk.at + 8 <= end:
        begin = walk.at
        walk.edge()
        walk.number(4, "type")
        walk.number(2, "flags")
        length = walk.number(2, "length")
        if length < 8:
            break
        words(walk, min(begin + length, end), 8, "time")
        for at in range(begin + 8, min(begin + length, end) - 3, 4):
            walk.fields.append(Field(at, 4, walk.order, "id"))
        walk.at = begin + length


def perf_data(walk, _):
    if walk.data[:8] == b"2ELIFREP":
        walk.order = ">"
    walk.skip(8, "name")
    size = walk.number(8, "length")
    if size == 16:
        perf_records(walk, len(walk.data))
        return
    attr_bytes = walk.number(8, "length")
    (attrs, attrs_bytes), (records, records_bytes), _ = \
        [(walk.number(8, "offset"), walk.number(8, "length")) for _ in range(3)]
    bits = sum(walk.number(8, "flags").bit_count() for _ in range(4))
    for at in range(attrs, attrs + attrs_bytes, max(attr_bytes, 16)):
        walk.at = at
        walk.edge()
        walk.number(4, "type")
        walk.number(4, "length")
        words(walk, min(at + attr_bytes, len(walk.data)), 8, "flags")
    walk.at = records
    perf_records(walk, min(records + records_bytes, len(walk.data)))
    walk.at = records + records_bytes
    parts = []
    for _ in range(bits):
        walk.edge()
        parts.append((walk.number(8, "offset"), walk.number(8, "length")))
    for at, length in parts:
        walk.at = at
        walk.edge()
        words(walk, min(at + length, len(walk.data)), 4, "count")


def perf_thread(walk, _):
    """What one thread of a recorder wrote beside the file "data": records alone."""
    perf_records(walk, len(walk.data))


# ------------------------------------------------------------------ which is which

WALKS = (
    (re.compile(r"\.ring$"), ring),
    (re.compile(r"trace_pipe_raw$|\.raw$"), raw_pages),
    (re.compile(r"\.control$"), control),
    (re.compile(r"^kernel/names$"), names),
    (re.compile(r"^kernel/accounts$"), accounts),
    (re.compile(r"^timeline/index$"), index),
    (re.compile(r"^data\.\d+$"), perf_thread),
)
KINDS = {"dat": trace_dat, "perf": perf_data}


def walk_of(kind, name, data):
    for pattern, walk in WALKS:
        if pattern.search(name):
            return walk
    if kind in KINDS:
        return KINDS[kind]
    if data[:4] in (b"\xc1\x1f\xfc\xc1", b"\xc1\xfc\x1f\xc1"):
        return ctf_stream
    return None


def layout(kind, name, data, files):
    """Fields and edges of a file that has a layout of bytes, as far as it is whole."""
    walker = walk_of(kind, name, data)
    if not walker:
        return [], []
    walk = Walk(data)
    try:
        walker(walk, files)
    except (struct.error, ValueError, KeyError, IndexError, OverflowError):
        pass
    whole = [field for field in walk.fields if field.at + field.size <= len(data)]
    return whole, sorted({edge for edge in walk.edges if edge <= len(data)} | {len(data)})


def is_text(kind, name, data):
    if kind in ("text", "model", "saved") or name in NUMBERS or name.endswith(TEXTS):
        return True
    return False
