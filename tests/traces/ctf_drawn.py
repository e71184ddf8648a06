#!/usr/bin/env python3
"""Traces of CTF 1.8 that are drawn: what holdup list says of them is what babeltrace2 says.

Types are drawn (integers of all sizes, alignments and byte orders, enumerations, floats, strings,
arrays, sequences, structs, variants), metadata is written for them in its many spellings, and
events of drawn values. Another HOLDUP_SEED draws others, HOLDUP_CASES so many of them.
"""
import os
import random
import shutil
import struct
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import ctf  # noqa: E402
from ctf import kernel  # noqa: E402


class Bits:
    """A packet that grows, bit by bit."""

    def __init__(self, big):
        self.big, self.bits = big, []  # the bits of each byte: in the order they are written

    def align(self, to):
        while len(self.bits) % to:
            self.bits.append(0)

    def put(self, value, size):
        value &= (1 << size) - 1
        for i in range(size):
            self.bits.append(value >> (size - 1 - i if self.big else i) & 1)

    def bytes(self):
        self.align(8)
        out = bytearray()
        for at in range(0, len(self.bits), 8):
            byte = self.bits[at:at + 8]
            if not self.big:
                byte = byte[::-1]
            out.append(int("".join(map(str, byte)), 2))
        return bytes(out)


def number(value):
    """A number in one of its spellings."""
    if value < 0:
        return random.choice(["-%d", "-(%d)", "- %d"]) % -value
    return random.choice(["%d", "0x%x", "0X%X", "%dUL", "(%d)", "+%d", "0%o" if value else "%d"]) % value


def noise():
    return random.choice(["", "", " ", "\n", "/* a * b ** / */", "// x ' \" {\n", "\t"])


class Drawer:
    def __init__(self, big):
        self.big, self.count = big, 0

    def name(self):
        self.count += 1
        return random.choice(["f%d", "_f%d", "F_%d", "__x%d"]) % self.count

    def integer(self, size=None, signed=None):
        size = size or random.choice([1, 3, 7, 8, 13, 16, 24, 31, 32, 33, 48, 63, 64])
        signed = random.random() < .4 if signed is None else signed
        align = random.choice([1, 8, 8, 16, 32]) if size > 7 else random.choice([1, 1, 8])
        parts = ["size = %s;" % number(size), "align = %s;" % number(align),
                 "signed = %s;" % random.choice(["true", "1", "TRUE"] if signed else ["false", "0"])]
        if random.random() < .3:
            # babeltrace2 2.0.4 prints 0 for numbers of more than 60 bits in base 8 and 16.
            decimal = ["10", "dec", "i", "u"]
            bases = decimal if size > 60 else decimal + ["16", "hex", "8", "oct"]
            parts.append("base = %s;" % random.choice(bases))
        if random.random() < .2:
            parts.append(random.choice(["lol = 5;", "x.y = \"z\";", "byte_order = native;"]))
        random.shuffle(parts)
        low, high = (-(1 << (size - 1)), (1 << (size - 1)) - 1) if signed else (0, (1 << size) - 1)

        def put(bits, _):
            value = random.choice([low, high, 0, random.randint(low, high)])
            bits.align(align)
            bits.put(value, size)
            return value
        return "integer {%s%s}" % (noise(), noise().join(parts)), put, align

    def enum(self):
        size = random.choice([3, 8, 16])
        text, _, align = self.integer(size, False)
        labels, at = [], 0
        for i in range(random.randint(1, 4)):
            low = at + random.randint(0, 1)
            high = low + random.randint(0, 1)
            label = random.choice(["L%d", "\"l %d\"", "_l%d"]) % i
            labels.append("%s = %s ... %s" % (label, number(low), number(high)))
            at = high + 1

        def put(bits, _):
            bits.align(align)
            bits.put(random.randint(0, min(at, (1 << size) - 1)), size)
        return "enum : %s {%s%s}" % (text, ", ".join(labels), random.choice(["", ","])), put, align

    def floating(self):
        double = random.random() < .5

        def put(bits, _):
            value = random.choice([0.0, 1.5, -2.25, 1e10])
            bits.align(8)
            raw = struct.pack((">" if self.big else "<") + ("d" if double else "f"), value)
            bits.put(int.from_bytes(raw, "big" if self.big else "little"), 64 if double else 32)
        return ("floating_point { exp_dig = %s; mant_dig = %s; align = 8; }" %
                (("11", "53") if double else ("8", "24"))), put, 8

    def string(self):
        def put(bits, _):
            bits.align(8)
            text = random.choice(["a", "x y", "\u00e9t\u00e9", "q=1, {z}", "0x10"]).encode()
            for byte in text + b"\0":
                bits.put(byte, 8)
        return random.choice(["string", "string { encoding = ASCII; }", "string { lol = 1; }"]), put, 8

    def field(self, depth):
        """Declaration of a field, what writes it, and its alignment."""
        kind = random.random()
        name = self.name()
        if kind < .15 and depth:
            text, put, align = self.struct(depth - 1)
        elif kind < .25 and depth:
            return self.variant(depth - 1)
        elif kind < .4:
            return self.sequence(name)
        else:
            # Within an array or a variant, holdup prints the label and babeltrace2 the number.
            made = [self.integer, self.integer, self.floating, self.string]
            make = random.choice(made if depth < 2 or kind > .85 else made + [self.enum])
            text, put, align = make()
        if kind > .85:
            length = random.randint(1, 3)

            def put_all(bits, scope):
                for _ in range(length):
                    put(bits, scope)
            return "%s %s[%s];" % (text, name, number(length)), put_all, align
        return "%s %s;" % (text, name), put, align

    def sequence(self, name):
        text, put, align = random.choice([self.integer, self.string, self.floating])()
        size = random.choice([8, 16])

        def put_all(bits, scope):
            length = random.randint(0, 3)
            bits.align(8)
            bits.put(length, size)
            bits.align(align)
            for _ in range(length):
                put(bits, scope)
        return ("integer { size = %d; align = 8; } n_%s; %s %s[n_%s];" %
                (size, name, text, name, name)), put_all, max(8, align)

    def struct(self, depth):
        fields = [self.field(depth) for _ in range(random.randint(1, 3))]
        align = max(field[2] for field in fields)
        extra = random.choice([0, 0, 16, 32])
        text = "struct {%s%s }%s" % (noise(), noise().join(field[0] for field in fields),
                                     " align(%d)" % extra if extra else "")

        def put(bits, scope):
            bits.align(max(align, extra))
            for field in fields:
                field[1](bits, scope)
        return text, put, max(align, extra)

    def variant(self, depth):
        name = self.name()
        options = [random.choice([self.integer, self.string])() for _ in range(random.randint(1, 3))]
        if depth and random.random() < .3:
            options.append(self.struct(0))
        labels = ["o%d" % i for i in range(len(options))]

        def put(bits, scope):
            chosen = random.randrange(len(options))
            bits.align(8)
            bits.put(chosen, 8)
            options[chosen][1](bits, scope)
        return ("enum : integer { size = 8; } { %s } t_%s; variant <t_%s> { %s } %s;" %
                (", ".join(labels), name, name,
                 " ".join("%s %s;" % (option[0], label)
                          for option, label in zip(options, labels)), name)), put, 8


def write_trace(folder):
    """A folder with metadata and a stream of events."""
    big = random.random() < .5
    drawer = Drawer(big)
    kinds = [drawer.struct(2) for _ in range(random.randint(1, 3))]
    meta = ["/* CTF 1.8 */\n", noise(), "typealias integer { size = 32; align = 8; } := uint32_t;\n",
            "trace { major = 1; minor = 8; byte_order = %s; lol = 'x'; packet.header := struct { "
            "uint32_t magic; uint32_t stream_id; }; };\n" % ("be" if big else "le"),
            "env { a = '\\n'; b = %s; };\n" % number(random.randint(0, 99)),
            "clock { name = c; freq = 1000000000; description = \"two\nlines\"; };\n",
            # Without the times of a packet babeltrace2 2.1 dies of an event's.
            "typealias integer { size = 64; align = 8; map = clock.c.value; } := stamp;\n",
            "stream { id = 0; packet.context := struct { stamp timestamp_begin; stamp timestamp_end; }; "
            "event.header := struct { uint32_t id; stamp timestamp; }; };\n"]
    for i, kind in enumerate(kinds):
        meta.append("event { name = \"kind%d\"; id = %s; stream_id = 0; lol = 1; fields := %s; };\n%s"
                    % (i, number(i), kind[0], noise()))
    with open(os.path.join(folder, "metadata"), "w", encoding="utf-8") as file:
        file.write("".join(meta))
    bits = Bits(big)
    bits.put(0xc1fc1fc1, 32)
    bits.put(0, 32)
    count = random.randint(1, 6)
    bits.put(1000, 64)
    bits.put(1000 + count, 64)
    for i in range(count):
        kind = random.randrange(len(kinds))
        bits.align(8)
        bits.put(kind, 32)
        bits.put(1000 + i, 64)
        kinds[kind][1](bits, {})
    with open(os.path.join(folder, "stream"), "wb") as file:
        file.write(bits.bytes())


def leaves(text):
    """All values in "{ a = 1, b = [ [0] = { "x" } ], c = ( "L" : container = 3 ) }"."""
    tokens = [m[1] if m[1] is not None else m[2] or m[3] for m in ctf.TOKEN.finditer(text)]
    marks = [m[2] for m in ctf.TOKEN.finditer(text)] + ["", ""]
    return [ctf.plain(token) for i, token in enumerate(tokens)
            if not marks[i] and marks[i + 1] not in ("=", ":") and
            not (i and marks[i - 1] == "[" and marks[i + 1] == "]" and marks[i + 2] == "=")]


def our_leaves(fields):
    """The same of holdup's fields, whose arrays and variants may be texts."""
    found = []
    for value in fields.values():
        if isinstance(value, list):
            found += [ctf.plain(str(one)) for one in value]
        elif isinstance(value, str) and value[:2] in ("{ ", "[ "):
            found += leaves(value)
        else:
            found.append(ctf.plain(str(value)))
    return found


def main():
    if not shutil.which("babeltrace2"):
        kernel.absent("babeltrace2 is not installed")
    seed = int(os.environ.get("HOLDUP_SEED", "5"))
    test = ctf.Test()
    ctf.leaves, ctf.our_leaves = leaves, our_leaves
    for i in range(int(os.environ.get("HOLDUP_CASES", "25"))):
        random.seed("%d.%d" % (seed, i))
        with tempfile.TemporaryDirectory() as folder:
            write_trace(folder)
            got = ctf.listed(folder)
            with open(os.path.join(folder, "metadata"), encoding="utf-8") as file:
                metadata = file.read()
            wrong, first = ctf.compare_fields(folder, got.events)
            test.check("drawn trace %d.%d: the values of babeltrace2" % (seed, i),
                       wrong == 0 and got.status == 0 and got.events, "%s %s\n%s" %
                       (got.message, first, metadata))
    test.end()


if __name__ == "__main__":
    main()
