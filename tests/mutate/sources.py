"""sources.py - whole traces of each kind, small, held in memory.

A source is a name, a kind and its files: path below the trace -> bytes. A trace of one file has the
path "". The samples of the tests are cut to a few pages, since what is small is read often.
"""
import ctypes
import ctypes.util
import glob
import json
import os
import re
import stat
import struct
import subprocess
import tarfile

TESTS = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
PAGE = 4096
DEAD = 2_000_000_000  # a process that there is not
TIME = 1_700_000_000  # of change of all files: an index is made for it


# What may stand in the place of a file. In 'files' of a mutant the name of one is instead of bytes.
SPECIAL = {
    "a pipe": os.mkfifo,
    "a socket": lambda path: os.mknod(path, 0o600 | stat.S_IFSOCK),
    "a folder": os.mkdir,
    "a link to itself": lambda path: os.symlink(os.path.basename(path), path),
    "a link to nothing": lambda path: os.symlink("nothing", path),
    "a link to its folder": lambda path: os.symlink(".", path),
    "a link to zeros": lambda path: os.symlink("/dev/zero", path),
    "a link to memory": lambda path: os.symlink("/proc/self/mem", path),
}


class Source:
    """A whole trace, or a model, or another file that commands take."""

    def __init__(self, name, kind, files, tids=(), comms=()):
        self.name, self.kind, self.files, self.tids, self.comms = name, kind, dict(files), list(tids), list(comms)
        self.layouts = {} # of its files as they are: see operate.py

    def put(self, path, files=None):
        """Write it there; of a folder, what is below. What has no place any more is left out."""
        for name, data in sorted((files or self.files).items()):
            whole = os.path.join(path, name) if name else path
            try:
                os.makedirs(os.path.dirname(whole), exist_ok=True)
                if isinstance(data, str):
                    SPECIAL[data](whole)
                    continue
                with open(whole, "wb") as file:
                    file.write(data)
                os.utime(whole, (TIME, TIME))
            except OSError:
                if not files: # a name below a file is a mutant's alone
                    raise


def read(*path):
    with open(os.path.join(TESTS, *path), "rb") as file:
        return file.read()


def read_tree(folder):
    files = {}
    for path in sorted(glob.glob(folder + "/**", recursive=True, include_hidden=True)):
        if os.path.isfile(path):
            with open(path, "rb") as file:
                files[os.path.relpath(path, folder)] = file.read()
    return files


def unpacked(archive):
    files = {}
    with tarfile.open(os.path.join(TESTS, archive)) as tar:
        for entry in tar:
            if entry.isfile():
                files[entry.name.split("/", 1)[1]] = tar.extractfile(entry).read()
    return files


def shortened(files, pages):
    """A trace directory with the first pages of each CPU, whose manifest says just that."""
    files = dict(files)
    manifest = json.loads(files["trace.json"])
    for name in files:
        if name.endswith(".ring"):
            files[name] = files[name][:pages * manifest["page_bytes"]]
    manifest["complete"] = False
    for cpu in manifest.get("cpus", ()):
        cpu["bytes"] = len(files.get("kernel/cpu%d.ring" % cpu["cpu"], b""))
    files["trace.json"] = json.dumps(manifest, separators=(",", ":")).encode()
    return files


def with_lengths(files):
    """As the recorder leaves it: the manifest says how long the other files are."""
    files = dict(files)
    manifest = json.loads(files["trace.json"])
    manifest["files"] = [{"name": name, "bytes": len(data)} for name, data in sorted(files.items())
                         if name.startswith(("kernel/", "user/")) and not name.endswith(".ring")]
    files["trace.json"] = json.dumps(manifest, separators=(",", ":")).encode()
    return files


def packed_metadata(text):
    """CTF's metadata text as packets."""
    out = b""
    for at in range(0, len(text), 700):
        part = text[at:at + 700]
        bits = (37 + len(part)) * 8
        out += struct.pack("<I16sIIIBBBBB", 0x75d11d57, bytes(16), 0, bits, bits, 0, 0, 0, 1, 8) + part
    return out


def ctf_of_seed(data):
    metadata, stream = data.split(b"\n%%\n", 1)
    return {"metadata": metadata, "stream": stream}


def seeds(target):
    for path in sorted(glob.glob(os.path.join(TESTS, "fuzz", "seeds", target, "*"))):
        with open(path, "rb") as file:
            yield os.path.basename(path), file.read()


def directories():
    accounts = read("fuzz", "seeds", "recorded", "recorded")
    for archive in ("futex-convoy", "word-count", "wait-child", "fork-chain", "idle-server"):
        files = shortened(unpacked("data/" + archive + ".tar.gz"), 4)
        files["kernel/accounts"] = accounts
        files = with_lengths(files)
        yield Source(archive, "dir", files)
    whole = read_tree(os.path.join(TESTS, "data", "read", "mono-4k"))
    yield Source("mono-4k", "dir", {name: data for name, data in whole.items()
                                      if name != "kernel.txt" and not name.startswith("timeline/")})


def raw_of(name, files):
    """The same as it lies in tracefs: pages, and a file for each format."""
    made = {"trace_clock": b"local [mono] x86-tsc\n"}
    for path, data in files.items():
        if path.endswith(".ring"):
            made["per_cpu/%s/trace_pipe_raw" % os.path.basename(path)[:-5]] = data
    parts = re.split(rb"(?m)^=== (\S+) \d+\n", files["kernel/formats"])
    for section, text in zip(parts[1::2], parts[2::2]):
        place = section.decode()
        made["events/" + (place + "/format" if "/" in place else place)] = text
    for path in ("kallsyms", "saved_cmdlines"):
        if "kernel/" + path in files:
            made[path] = files["kernel/" + path]
    made.setdefault("saved_cmdlines", b"1 init\n7 <...>\n")
    return Source(name, "raw", made)


def raw():
    yield raw_of("raw-mono", read_tree(os.path.join(TESTS, "data", "read", "mono-4k")))
    yield raw_of("raw-convoy", shortened(unpacked("data/futex-convoy.tar.gz"), 2))
    for name, data in seeds("raw_dir"):
        length = struct.unpack_from(">H", data)[0]
        yield Source("raw-" + name, "raw", {"events/irq/softirq_raise/format": data[2:2 + length], "cpu0.raw": data[2 + length:],
                                            "events/header_page": data[2:2 + length]})


def texts():
    for name, data in seeds("ftrace_text"):
        yield Source("text-" + name, "text", {"": data})
    lines = read("data", "read", "mono-4k", "kernel.txt").splitlines(True)
    yield Source("text-long", "text", {"": b"".join(lines[:250])})


def traces_of_others():
    for name, data in seeds("ctf_stream"):
        if len(data) < 100000:
            yield Source("ctf-" + name, "ctf", ctf_of_seed(data))
    packed = ctf_of_seed(dict(seeds("ctf_stream"))["lttng"])
    packed["metadata"] = packed_metadata(packed["metadata"])
    yield Source("ctf-packed", "ctf", packed)
    yield Source("ctf2", "ctf", ctf_of_seed(dict(seeds("ctf2"))["small"]))
    both = {"kernel/" + name: data for name, data in ctf_of_seed(dict(seeds("ctf_stream"))["lttng"]).items()}
    both.update({"ust/uid/0/" + name: data for name, data in ctf_of_seed(dict(seeds("ctf_stream"))["records"]).items()})
    yield Source("ctf-session", "ctf", both)
    for name, data in seeds("trace_dat"):
        yield Source("dat-" + name, "dat", {"": data})
    for name, data in seeds("perf_data"):
        if data.startswith(b"FOLDER"):
            first = struct.unpack_from("<H", data, 6)[0]
            yield Source("perf-" + name, "perf", {"data": data[8:8 + first], "data.0": data[8 + first:]})
        else:
            yield Source("perf-" + name, "perf", {"": data})


def programs():
    """What a program logged itself, and a recording that has it."""
    files = unpacked("mutate/data/user.tar.gz")
    yield Source("user", "user", files)
    kernel = read_tree(os.path.join(TESTS, "data", "read", "tsc-64k"))
    both = {name: data for name, data in kernel.items() if name.startswith(("kernel/", "trace.json"))}
    both.update({"user/" + name: data for name, data in files.items() if not name.startswith(".")})
    yield Source("kernel-and-user", "dir", with_lengths(both))


def control():
    """What a process leaves in its runtime folder: see struct holdup_control_."""
    data = bytearray(68736)
    seed = dict(seeds("recover"))["control"][1:]
    data[:len(seed)] = seed
    struct.pack_into("<i", data, 32, DEAD)
    data[64 + 2048:64 + 2048 + 9] = b"/nowhere\0"
    files = {"%d-7.control" % DEAD: bytes(data)}
    for name, content in unpacked("mutate/data/user.tar.gz").items():
        files[name.replace("sleep-101", "sleep-%d" % DEAD)] = content
    yield Source("control", "control", files)


def models():
    found = glob.glob(os.path.join(TESTS, "golden", "*", "*.yaml")) + \
        glob.glob(os.path.join(TESTS, "..", "examples", "models", "*.yaml"))
    for path in sorted(found):
        with open(path, "rb") as file:
            yield Source("model-" + os.path.basename(path), "model", {"": file.read()})


def saved():
    for name, data in seeds("delays_saved"):
        yield Source("saved-" + name, "saved", {"": data})


def shared(folder):
    """Small ones of other people's traces, when there is such a folder."""
    for path in sorted(glob.glob(os.path.join(folder, "*", "*"))):
        base = os.path.basename(path)
        if os.path.getsize(path) > 60000 or not base.endswith((".tar.zst", ".data.zst", ".txt", ".systrace")):
            continue
        if not base.endswith(".zst"):
            if not base.startswith(("expected", "README")):
                yield Source(base, "text", {"": open(path, "rb").read()})
        elif not base.endswith(".tar.zst"):
            data = subprocess.run(["zstd", "-dcq", path], stdout=subprocess.PIPE, check=True).stdout
            yield Source(base, "perf", {"": data})
        else:
            yield from shared_archive(path, base)


def shared_archive(path, base):
    data = subprocess.run(["zstd", "-dcq", path], stdout=subprocess.PIPE, check=True).stdout
    folder = os.path.join(os.environ["TMPDIR"], "unpacked")
    subprocess.run(["rm", "-rf", folder], check=True)
    os.makedirs(folder)
    subprocess.run(["tar", "-xf", "-", "-C", folder], input=data, check=True)
    for root, _, names in sorted(os.walk(folder)):
        files = {name: read(root, name) for name in names}
        if "metadata" in names and sum(map(len, files.values())) < 300000:
            yield Source(base + ":" + os.path.relpath(root, folder), "ctf", files)
        else:
            for name in sorted(names):
                if name.endswith(".data") and len(files[name]) < 200000:
                    yield Source(base + ":" + name, "perf", {"": files[name]})
    subprocess.run(["rm", "-rf", folder], check=True)


# What is computed over bytes of an index, by the library that the program uses, too.
XXH = ctypes.CDLL(ctypes.util.find_library("xxhash") or "libxxhash.so.0")
XXH.XXH3_64bits.restype = ctypes.c_uint64
XXH.XXH3_64bits.argtypes = [ctypes.c_char_p, ctypes.c_size_t]


def checksum(data):
    return XXH.XXH3_64bits(bytes(data), len(data))


def everything():
    found = [*directories(), *traces_of_others(), *texts(), *raw(), *programs(), *control(), *models(), *saved()]
    folder = os.environ.get("MUTATE_TRACES")
    if folder:
        found += shared(folder)
    return found
