"""proto.py - is this a message of that type? Checked against the text of the .proto file, by its wire format.

Every field must be known, of the wire type that belongs to its type, and not longer than what it is in;
strings must be UTF-8. Raises ValueError with the reason.
"""
import re

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
WIRE = {"fixed64": FIXED64, "sfixed64": FIXED64, "double": FIXED64, "fixed32": FIXED32, "sfixed32": FIXED32, "float": FIXED32,
        "string": BYTES, "bytes": BYTES}
TOKEN = re.compile(r'"[^"]*"|[\w.]+|[^\s\w]')
NUMBERS = {"uint64", "int64", "uint32", "int32", "bool", "sint32", "sint64"}


def without_comments(text):
    return re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)


def read_types(text):
    """Messages of a .proto file: full name -> {number: (type, name)}; and the names of enums."""
    tokens = TOKEN.findall(without_comments(text))
    messages, enums, scope, at = {}, set(), [], 0
    while at < len(tokens):
        token = tokens[at]
        if token in ("message", "enum", "oneof") and tokens[at + 2] == "{":
            scope.append((token, tokens[at + 1]))
            if token == "message":
                messages[path_of(scope)] = {}
            if token == "enum":
                enums.add(path_of(scope))
            at += 3
        elif token == "}":
            scope.pop()
            at += 1
        elif scope and token not in ("optional", "repeated", "required", ";"):
            end = tokens.index(";", at)
            words = tokens[at:end]
            if scope[-1][0] != "enum" and len(words) >= 4 and words[2] == "=":
                messages[path_of(scope)][int(words[3])] = (words[0], words[1])
            at = end + 1
        elif not scope:
            at = tokens.index(";", at) + 1
        else:
            at += 1
    return messages, enums


def path_of(scope):
    return ".".join(name for kind, name in scope if kind != "oneof")


class Types:
    def __init__(self, text):
        self.messages, self.enums = read_types(text)
        self.messages["Trace"] = {1: ("TracePacket", "packet")} # what a file is

    def of(self, inside, name):
        """The message of that name as seen from another one; None: a number or a text."""
        if name in NUMBERS or name in WIRE:
            return None
        parts = inside.split(".")
        for depth in range(len(parts), -1, -1):
            full = ".".join(parts[:depth] + [name])
            if full in self.messages:
                return full
            if full in self.enums:
                return None
        raise ValueError("%s: no type %s" % (inside, name))

    def check(self, kind, data, begin=0, end=None):
        at, end = begin, len(data) if end is None else end
        while at < end:
            key, at = varint(data, at, end)
            at = self.field(kind, key, data, at, end)

    def field(self, kind, key, data, at, end):
        known = self.messages[kind].get(key >> 3)
        if not known:
            raise ValueError("%s has no field %d" % (kind, key >> 3))
        inner = self.of(kind, known[0])
        wire = BYTES if inner else WIRE.get(known[0], VARINT)
        if key & 7 != wire:
            raise ValueError("%s.%s: wire type %d" % (kind, known[1], key & 7))
        if wire == VARINT:
            return varint(data, at, end)[1]
        if wire != BYTES:
            stop = at + (8 if wire == FIXED64 else 4)
        else:
            size, at = varint(data, at, end)
            stop = at + size
        if stop > end:
            raise ValueError("%s.%s is longer than what it is in" % (kind, known[1]))
        if inner:
            self.check(inner, data, at, stop)
        elif known[0] == "string":
            data[at:stop].decode()
        return stop


def varint(data, at, end):
    number = shift = 0
    while True:
        if at >= end or shift > 63:
            raise ValueError("a number has no end")
        byte = data[at]
        at += 1
        number |= (byte & 127) << shift
        if byte < 128:
            return number, at
        shift += 7
