#!/usr/bin/env python3
"""The documentation as HTML: every link leads somewhere, every page is well-formed, nothing is loaded from elsewhere."""
import glob
import html.parser
import os
import shutil
import subprocess
import sys
import tempfile
import urllib.parse

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
VOID = {"meta", "link", "br", "hr", "img", "col", "input", "wbr"}


class Page(html.parser.HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.path, self.open, self.ids, self.links, self.wrong = path, [], set(), [], []
        with open(path) as file:
            self.feed(file.read())
        self.close()
        if self.open:
            self.wrong.append("not closed: %s" % self.open)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if tag not in VOID:
            self.open.append(tag)
        if tag in ("script", "iframe", "object") or any(name.startswith("on") for name in attrs):
            self.wrong.append("%s: a script" % tag)
        if "id" in attrs:
            if attrs["id"] in self.ids:
                self.wrong.append("id twice: " + attrs["id"])
            self.ids.add(attrs["id"])
        if tag == "a" and "href" in attrs:
            self.links.append(attrs["href"])
        for name in ("src", "href"):
            if tag != "a" and "://" in attrs.get(name, ""):
                self.wrong.append("loaded from elsewhere: " + attrs[name])
            elif tag == "link" and name in attrs:
                self.links.append(attrs[name])

    def handle_endtag(self, tag):
        if tag in VOID:
            return
        if not self.open or self.open[-1] != tag:
            self.wrong.append("line %d: </%s> within %s" % (self.getpos()[0], tag, self.open[-3:]))
        if tag in self.open:
            while self.open.pop() != tag:
                pass


def dead(page, pages):
    for link in page.links:
        parts = urllib.parse.urlsplit(link)
        if parts.scheme in ("http", "https", "mailto"):
            continue
        path = os.path.normpath(os.path.join(os.path.dirname(page.path), parts.path)) \
            if parts.path else page.path
        if not os.path.exists(path):
            yield link
        elif parts.fragment and path in pages and \
                urllib.parse.unquote(parts.fragment) not in pages[path].ids:
            yield link


def main():
    missing = [name for name in ("cmark-gfm", "mandoc") if not shutil.which(name)]
    if missing:
        print("1..0 # SKIP no %s here: tools/setup site" % missing[0])
        return 0
    count, bad = 0, 0

    def ok(good, name, details):
        nonlocal count, bad
        count += 1
        bad += not good
        print("%sok %d - %s" % ("" if good else "not ", count, name))
        for line in details if not good else []:
            print("#   " + line)

    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([os.path.join(ROOT, "tools/site"), folder], capture_output=True,
                              text=True, check=False)
        ok(done.returncode == 0, "the site is made", (done.stdout + done.stderr).splitlines())
        names = glob.glob(folder + "/*.html") + glob.glob(folder + "/man/*.html")
        pages = {path: Page(path) for path in names}
        ok(len(pages) > 30 and folder + "/index.html" in pages, "with a page for each text", names)
        for path, page in sorted(pages.items()):
            wrong = page.wrong + ["dead link: " + link for link in dead(page, pages)]
            ok(not wrong, os.path.relpath(path, folder), wrong)
    print("1..%d" % count)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
