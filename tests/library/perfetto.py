#!/usr/bin/env python3
"""perfetto.py - Perfetto's own reader opens what holdup export --format perfetto writes.

usage: perfetto.py        prints TAP; the program is $HOLDUP

See ../kernel/lib/reader.py. Here with the recordings of tests/data: whole, and in a window.
"""
import os
import sys
import tarfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../kernel/lib"))
import kernel  # noqa: E402
import reader  # noqa: E402

DATA = os.path.join(os.path.dirname(os.path.realpath(__file__)), "../data")


def main():
    if not reader.is_there():
        kernel.absent("no node, or no Perfetto in build-perfetto (tools/get-perfetto fetches it)")
    tap = kernel.Tap()
    with kernel.workdir():
        some = 4 if os.environ.get("HOLDUP_SANITIZED") else 1  # for the memory, some do
        names = sorted(name for name in os.listdir(DATA) if name.endswith(".tar.gz"))
        for name in {"word-count.tar.gz", *kernel.turn(names[::some])}:
            with tarfile.open(os.path.join(DATA, name)) as archive:
                archive.extractall(".")
            name = name[:-len(".tar.gz")]
            reader.check(tap, name, name + ".holdup")
        reader.check(tap, "a window", "word-count.holdup", ["--from", "+50ms", "--to", "+150ms"])
    tap.end()


main()
