"""operate.py - what is done to a whole trace to make a mutant of it.

mutant(rng, source, sources) returns the mutant's files and, in words, what was done. Everything drawn
comes from 'rng', so the same seed makes the same mutant.
"""
import ctypes
import ctypes.util
import re
import struct
import zlib

import formats
import sources

LIMITS = [0, 1, 2, 3, 7, 8, 15, 127, 128, 255, 256, 4095, 4096, 65535, 65536, 0xfffff, 0x7ffffffe, 0x7fffffff,
          0x80000000, 0xfffffffe, 0xffffffff, 1 << 32, 1 << 40, (1 << 62), (1 << 63) - 1, 1 << 63, (1 << 64) - 2,
          (1 << 64) - 1]
NASTY = [b"\x1b]0;pwned\x07", b"\x1b[2J", b"\x9b31m", b"\xc2\x9b31m", b"\x00", b"\xff\xfe", b"\x7f", b"\r", b"\n", b"\t",
         b"\xe2\x80\xae", b"\xe2\x81\xa6", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc0\x80", b"<&\"'>", b"]]>", b"%s%n",
         b"../../x", b"\\", b'"', b",;\"\n", b"A" * 300, b"\xc3", b"\xe2\x80\xa8", b"\xef\xbb\xbf", b"{{{{", b"[[[["]
TEXT_NUMBERS = ["0", "-1", "1", "255", "256", "65535", "65536", "2147483647", "2147483648", "-2147483648",
                "4294967295", "4294967296", "9223372036854775807", "9223372036854775808", "-9223372036854775808",
                "18446744073709551615", "18446744073709551616", "99999999999999999999999999", "1e308", "1e999",
                "0x7fffffffffffffff", "0xffffffffffffffff", "00000000000000000001", "0.000000001", "1.", "."]


# ------------------------------------------------------------------ one number

def wrong_length(rng, old, left):
    return rng.choice([0, 1, old - 1, old + 1, old + 4, old + 8, old * 2, old // 2, left, left + 1, left - 1, left + 8,
                       rng.choice(LIMITS), rng.randrange(0, 65536)])


def wrong_time(rng, old):
    return rng.choice([0, 1, old - 1, old + 1, old - 10**9, old + 10**9, old + 10**12, old + 3600 * 10**9,
                       old + 400 * 86400 * 10**9, old - 400 * 86400 * 10**9, old + 30 * 31536000 * 10**9,
                       (1 << 63) - 1, 1 << 63, (1 << 64) - 1, (1 << 62), rng.randrange(1 << 64)])


def wrong_word(rng, old):
    """The first word of an event in a page: its type is below, the time since the last one above."""
    kind = rng.choice([old & 31, 0, 1, 28, 29, 30, 31])
    delta = rng.choice([old >> 5, 0, 1, (1 << 27) - 1, rng.randrange(1 << 27)])
    return delta << 5 | kind


def wrong_commit(rng, old):
    low = rng.choice([old & 0xfffff, 0, 4, 4080, 4081, 4096, 0xfffff, (old & 0xfffff) - 1, (old & 0xfffff) + 4])
    return old & ~0xfffff | low | rng.choice([0, 0, 1 << 31, 1 << 30, 3 << 30])


def wrong_number(rng, field, old, left, others):
    if field.role == "word":
        return wrong_word(rng, old)
    if field.role == "commit":
        return wrong_commit(rng, old)
    if field.role in ("length", "offset", "count"):
        return wrong_length(rng, old, left)
    if field.role == "time":
        return wrong_time(rng, old)
    if field.role in ("id", "type") and others and rng.random() < 0.5:
        return rng.choice(others)
    if field.role in ("flags", "varint") and rng.random() < 0.6:
        return old ^ 1 << rng.randrange(8 * field.size)
    return rng.choice([rng.choice(LIMITS), old + 1, old - 1, old ^ 1 << rng.randrange(8 * field.size),
                       rng.randrange(1 << 8 * field.size)])


def change_fields(rng, data, roles):
    """Numbers of one role, since a rare one matters as much as the many of an event."""
    role = rng.choice(sorted(roles))
    same = roles[role]
    done = []
    for field in rng.sample(same, min(len(same), rng.choice([1, 1, 1, 2, 4, 30]))):
        if role == "name":
            nasty = rng.choice(NASTY)
            room = rng.randrange(0, 12)
            data[field.at + room:field.at + room + len(nasty)] = nasty[:max(len(data) - field.at - room, 0)]
            done.append("%s at %d" % (role, field.at))
            continue
        old = formats.value(data, field)
        others = [formats.value(data, rng.choice(same)) for _ in range(3)]
        new = wrong_number(rng, field, old, len(data) - field.at, others)
        formats.put(data, field, new)
        done.append("%s at %d: %d is %d" % (role, field.at, old, formats.value(data, field)))
    return ", ".join(done[:4])


# ------------------------------------------------------------------ pieces

def spans(rng, data, edges):
    """A piece between two edges, or any."""
    if len(edges) > 2 and rng.random() < 0.8:
        at = rng.randrange(len(edges) - 1)
        return edges[at], edges[min(at + rng.choice([1, 1, 2]), len(edges) - 1)]
    begin = rng.randrange(len(data) + 1)
    return begin, min(len(data), begin + rng.choice([1, 4, 8, 16, 100, 4096]))


def move_pieces(rng, data, edges):
    begin, end = spans(rng, data, edges)
    piece = data[begin:end]
    what = rng.choice(["removed", "doubled", "swapped", "moved", "zeroed", "random", "many times"])
    if what == "removed":
        del data[begin:end]
    elif what == "doubled":
        data[end:end] = piece
    elif what == "many times":
        data[end:end] = piece * min(20, 200000 // max(len(piece), 1))
    elif what == "swapped":
        second, last = spans(rng, data, edges)
        if end <= second:
            data[begin:last] = data[second:last] + data[end:second] + piece
    elif what == "moved":
        del data[begin:end]
        at = rng.randrange(len(data) + 1)
        data[at:at] = piece
    elif what == "zeroed":
        data[begin:end] = bytes(len(piece))
    else:
        data[begin:end] = rng.randbytes(len(piece))
    return "bytes %d to %d %s" % (begin, end, what)


def flip(rng, data, _):
    places = [rng.randrange(len(data) * 8) for _ in range(rng.choice([1, 1, 2, 8, 64]))]
    for place in places:
        data[place // 8] ^= 1 << place % 8
    return "bits %s turned" % places[:4]


def truncate(rng, data, edges):
    end = rng.choice([rng.randrange(len(data)), max(len(data) - rng.randrange(1, 200), 0), rng.choice(edges or [0]),
                      max(rng.choice(edges or [1]) - 1, 0), min(rng.choice(edges or [0]) + 1, len(data))])
    del data[end:]
    return "cut at %d" % end


def nasty(rng, data, _):
    bad = rng.choice(NASTY)
    runs = [match.start() for match in re.finditer(rb"[A-Za-z_]{3,}", data)]
    at = rng.choice(runs) + rng.randrange(3) if runs else rng.randrange(len(data) + 1)
    data[at:at + rng.choice([0, len(bad)])] = bad
    return "%r at %d" % (bad[:12], at)


def splice(rng, data, other):
    if not other:
        return "nothing"
    at, there = rng.randrange(len(data) + 1), rng.randrange(len(other) + 1)
    if rng.random() < 0.5:
        data[at:] = other[there:]
        return "another's end from %d at %d" % (there, at)
    size = rng.choice([8, 64, 4096])
    data[at:at + size] = other[there:there + size]
    return "%d bytes of another from %d at %d" % (size, there, at)


# ------------------------------------------------------------------ texts

def wrong_text_number(rng, old):
    if re.fullmatch(rb"\d+", old) and rng.random() < 0.5:
        number = int(old)
        return str(rng.choice([number + 1, number - 1, number * 10**3, number + 10**9, number + 10**12, number // 2,
                               -number, number + 4 * 10**17])).encode()
    return rng.choice(TEXT_NUMBERS).encode()


def change_numbers(rng, data, _):
    found = list(re.finditer(rb"\d+", data))
    if not found:
        return "nothing"
    picked = rng.sample(found, min(len(found), rng.choice([1, 1, 1, 2, 10])))
    for match in sorted(picked, key=lambda match: -match.start()):
        data[match.start():match.end()] = wrong_text_number(rng, match.group())
    return "numbers at %s" % sorted(match.start() for match in picked)[:4]


def change_words(rng, data, _):
    """One word of the text stands for another one of it."""
    found = list(re.finditer(rb"[A-Za-z_][A-Za-z_0-9]*|[^\sA-Za-z_0-9]", data))
    if len(found) < 2:
        return "nothing"
    to, of = rng.choice(found), rng.choice(found)
    data[to.start():to.end()] = of.group()
    return "%r at %d is %r" % (to.group()[:20], to.start(), of.group()[:20])


def change_lines(rng, data, _):
    lines = bytes(data).splitlines(True)
    if not lines:
        return "nothing"
    at, to = rng.randrange(len(lines)), rng.randrange(len(lines))
    what = rng.choice(["removed", "doubled", "swapped", "joined", "many times", "moved"])
    if what == "removed":
        del lines[at:at + rng.choice([1, 1, 3])]
    elif what == "doubled":
        lines.insert(to, lines[at])
    elif what == "swapped":
        lines[at], lines[to] = lines[to], lines[at]
    elif what == "joined":
        lines[at] = lines[at].rstrip(b"\n")
    elif what == "moved":
        lines.insert(min(to, len(lines) - 1), lines.pop(at))
    else:
        lines[at:at] = [lines[at]] * min(1000, 100000 // max(len(lines[at]), 1))
    data[:] = b"".join(lines)
    return "line %d %s" % (at + 1, what)


def nest(rng, data, _):
    """Deeper than anybody wrote it."""
    at = rng.randrange(len(data) + 1)
    begin, end = rng.choice([(b"[", b"]"), (b"{", b"}"), (b"(", b")"), (b'{"a":', b"}"), (b"- ", b""), (b"!", b""),
                             (b"struct{", b"}"), (b"variant{", b"}"), (b"-", b""), (b"a:\n ", b"")])
    depth = rng.choice([3, 40, 400, 20000])
    data[at:at] = begin * depth + end * depth
    return "%r %d times at %d" % (begin, depth, at)


def resize_formats(data):
    """kernel/formats: the lengths of sections as their bytes are now, so that more is read of them."""
    parts = re.split(rb"(?m)^=== (\S+) \d+\n", bytes(data))
    if len(parts) < 4:
        return
    out = [parts[0]]
    for name, body in zip(parts[1::2], parts[2::2]):
        out.append(b"=== %s %d\n%s" % (name, len(body) - 1 if body.endswith(b"\n") else len(body), body))
    data[:] = b"".join(out)


# ------------------------------------------------------------------ what must be computed again

def seal_index(data):
    """The checksums of an index, so that a mutant gets past them."""
    data = bytearray(data)
    if len(data) < 64:
        return bytes(data)
    tables, size = struct.unpack_from("<QQ", data, 32)
    at = 64
    while at + 72 <= min(tables, len(data)):
        size_of = struct.unpack_from("<I", data, at + 4)[0]
        if size_of < 72 or at + size_of > len(data):
            break
        struct.pack_into("<Q", data, at + 8, sources.checksum(data[at + 16:at + size_of]))
        at += size_of
    if tables <= len(data) and tables + size <= len(data):
        struct.pack_into("<Q", data, 48, sources.checksum(data[tables:tables + size]))
    struct.pack_into("<Q", data, 56, sources.checksum(data[:56]))
    return bytes(data)


class Zstd:
    """As much of libzstd as is needed to pack a chunk."""

    def __init__(self):
        self.lib = ctypes.CDLL(ctypes.util.find_library("zstd") or "libzstd.so.1")
        for name in ("ZSTD_compress", "ZSTD_decompress"):
            getattr(self.lib, name).restype = ctypes.c_size_t

    def pack(self, data):
        room = ctypes.create_string_buffer(len(data) * 2 + 1000)
        count = self.lib.ZSTD_compress(room, ctypes.c_size_t(len(room)), bytes(data), ctypes.c_size_t(len(data)), 19)
        return room.raw[:count]

    def unpack(self, data, size):
        room = ctypes.create_string_buffer(size)
        count = self.lib.ZSTD_decompress(room, ctypes.c_size_t(size), bytes(data), ctypes.c_size_t(len(data)))
        if count > size:
            raise ValueError("not zstd")
        return room.raw[:count]


class Zlib:
    def pack(self, data):
        return zlib.compress(bytes(data), 9)

    def unpack(self, data, _):
        return zlib.decompress(bytes(data))


def repack(rng, data, _):
    """Of a chunk in a trace.dat, what is packed in it. It may not grow: places of others stay."""
    packer = Zstd() if b"zstd\0" in data[:40] else Zlib()
    order = "<>"[data[10 + 2] & 1]
    chunks = []
    for match in re.finditer(rb"\x78[\x01\x9c\xda]|\x28\xb5\x2f\xfd", data):
        at = match.start() - 8
        if at >= 0:
            chunks.append((at, *struct.unpack_from(order + "II", data, at)))
    rng.shuffle(chunks)
    for at, packed, size in chunks:
        if size > 1 << 20 or at + 8 + packed > len(data):
            continue
        try:
            inside = bytearray(packer.unpack(data[at + 8:at + 8 + packed], size))
        except (zlib.error, ValueError):
            continue
        for _ in range(8):
            changed = bytearray(inside)
            what = rng.choice([flip, change_numbers, truncate])(rng, changed, [0]) if changed else ""
            small = packer.pack(changed)
            if len(small) <= packed:
                struct.pack_into(order + "II", data, at, len(small), len(changed))
                data[at + 8:at + 8 + packed] = small + bytes(packed - len(small))
                return "in the chunk at %d, %s" % (at, what)
    return "nothing"


# ------------------------------------------------------------------ a mutant

BINARY = [(move_pieces, 3), (flip, 3), (truncate, 1), (nasty, 2)]
TEXTUAL = [(change_numbers, 6), (change_words, 4), (change_lines, 4), (nasty, 4), (nest, 1), (move_pieces, 1), (flip, 1),
           (truncate, 1)]


def drawn(rng, table):
    return rng.choices([row[0] for row in table], [row[1] for row in table])[0]


def layout(source, name, data):
    """Role -> fields, and edges. Of a file that is as long as it was they are where they were."""
    whole = name in source.files and len(data) == len(source.files[name])
    if name in source.layouts and whole:
        return source.layouts[name]
    fields, edges = formats.layout(source.kind, name, source.files[name] if whole else bytes(data), source.files)
    roles = {}
    for field in fields:
        roles.setdefault(field.role, []).append(field)
    if whole:
        source.layouts[name] = roles, edges
    return roles, edges


def alter(rng, source, name, data, others, everything):
    """Do one thing to the bytes of a file. Returns what."""
    roles, edges = layout(source, name, data)
    if not data:
        data += rng.randbytes(rng.choice([1, 8, 100]))
        return "filled"
    if rng.random() < 0.06:
        other = rng.choice(others if rng.random() < 0.8 else everything)
        return splice(rng, data, rng.choice([data_of for _, data_of in sorted(other.files.items())]))
    if source.kind == "dat" and rng.random() < 0.3 and data[:40].find(b"z") >= 0:
        return repack(rng, data, None)
    if roles and rng.random() < 0.7:
        return change_fields(rng, data, roles)
    if formats.is_text(source.kind, name, data):
        what = drawn(rng, TEXTUAL)(rng, data, edges)
        if name == "kernel/formats" and rng.random() < 0.8:
            resize_formats(data)
        return what
    return drawn(rng, BINARY)(rng, data, edges)


def weight(name, data):
    """Small files of a trace are drawn as often as large ones."""
    return 1 if data else 0.05


# Names that mean something to some format, or that no file should have.
NAMES = ["metadata", "trace.json", "data", "data.0", "data.1", "cpu0.raw", "stream", "kernel/formats", "kernel/names", "kernel/accounts",
         "kernel/kallsyms", "kernel/sync", "kernel/dump.jsonl", "kernel/cpu0.ring", "kernel/cpu4294967295.ring", "kernel/cpu-1.ring",
         "user/a-1/metadata", "user/a-1/cpu0-000001", "user/\x1b[2J-1/metadata", "user/a\nb-1/metadata", "user/.clock", "timeline/index",
         "timeline/lock", "events/header_page", "events/sched/sched_switch/format", "per_cpu/cpu0/trace_pipe_raw", "saved_cmdlines",
         "a" * 255, "kernel/metadata", "ust/metadata", "index/stream.idx"]


def mix(rng, files, other):
    """All of another trace, here or further down."""
    below = rng.choice(["", "kernel/", "user/b-2/", "x/", "ust/uid/0/"])
    files.update({below + (name or "data"): data for name, data in other.files.items()})
    files.pop("", None)
    return "with %s%s" % (other.name, " in " + below if below else "")


def change_files(rng, files, others, everything):
    """Whole files: gone, of another trace, for one another, or something that is no file."""
    name = rng.choice(sorted(files))
    what = rng.choice(["gone", "another's", "exchanged", "empty", "special", "special", "doubled", "renamed", "mixed"])
    if what == "mixed":
        return mix(rng, files, rng.choice(everything))
    if what in ("doubled", "renamed"):
        to = rng.choice(NAMES + sorted(files))
        files[to] = files[name] if what == "doubled" else files.pop(name)
        return "%s is also %s" % (name, ascii(to)[:40]) if what == "doubled" else "%s is %s" % (name, ascii(to)[:40])
    if what == "special":
        files[name] = what = rng.choice(sorted(sources.SPECIAL))
    elif what == "gone":
        del files[name]
    elif what == "empty":
        files[name] = b""
    elif what == "another's":
        other = rng.choice(others)
        files[name] = other.files.get(name, files[name])
    else:
        to = rng.choice(sorted(files))
        files[name], files[to] = files[to], files[name]
    return "%s is %s" % (name, what)


def mutant(rng, source, everything):
    files, done = dict(source.files), []
    others = [other for other in everything if other.kind == source.kind]
    if list(files) == [""] and rng.random() < 0.01:
        files[""] = rng.choice(sorted(set(sources.SPECIAL) - {"a link to memory"})) # which differs each time
        return files, "it is " + files[""]
    for _ in range(rng.choice([1, 1, 1, 2, 3, 6])):
        if len(files) > 1 and rng.random() < 0.07:
            done.append(change_files(rng, files, others, everything))
            continue
        names = [name for name in sorted(files) if isinstance(files[name], bytes)]
        if not names:
            break
        if source.kind == "index" and "timeline/index" in names:
            name = "timeline/index" # all else is in its key
        else:
            name = rng.choices(names, [weight(name, files[name]) for name in names])[0]
        data = bytearray(files[name])
        what = alter(rng, source, name, data, others, everything)
        files[name] = bytes(data[:4 << 20])
        done.append((name + ": " if name else "") + what)
    if isinstance(files.get("timeline/index"), bytes):
        files["timeline/index"] = seal_index(files["timeline/index"])
    return files, "; ".join(done)
