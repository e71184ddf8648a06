#!/usr/bin/env python3
"""embed - the files of the page as C: embed.py OUT FILE...

What the server hands out is each file as it is. A saved file cannot load modules: for it they are
joined into one script, in an order in which each comes behind those that it imports, without the
lines that import and the words that export. So a name may be given once in all modules.
"""
import base64
import hashlib
import os
import re
import sys

TYPES = {".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8",
         ".js": "text/javascript; charset=utf-8"}
ORDER = ["time.js", "model.js", "events.js", "wire.js", "others.js", "draw.js", "list.js", "flame.js", "compare.js", "live.js",
         "state.js", "lanes.js", "folds.js", "moves.js", "answer.js", "panes.js", "find.js", "hover.js", "pointer.js",
         "cursor.js", "share.js", "main.js"]
IMPORT = re.compile(r'^import \{[^}]*\} from "\./([a-z]+\.js)";\n', re.M)
NAME = re.compile(r"^(?:export )?(?:async )?(?:function|class|const|let) (\w+)", re.M)


def joined(texts):
    seen, names, pieces = set(), set(), []
    for name in ORDER:
        text = texts[name]
        if set(IMPORT.findall(text)) - seen:
            sys.exit(f"embed: {name} imports what comes behind it")
        twice = names & set(NAME.findall(text))
        if twice:
            sys.exit(f"embed: {name} has names that another module has: {', '.join(sorted(twice))}")
        names |= set(NAME.findall(text))
        seen.add(name)
        text = re.sub(r"^export \{[^}]*\};\n", "", IMPORT.sub("", text), flags=re.M)
        pieces.append(re.sub(r"^export ", "", text, flags=re.M))
    return "\n".join(pieces)


def bytes_of(name, data):
    rows = [", ".join(str(byte) for byte in data[at:at + 24]) for at in range(0, len(data), 24)]
    return f"static const unsigned char {name}[] = {{\n\t" + ",\n\t".join(rows) + "\n};\n"


def hash_of(data):
    return "sha256-" + base64.b64encode(hashlib.sha256(data).digest()).decode()


def main(out_path, *paths):
    texts = {os.path.basename(path): open(path, encoding="utf-8").read() for path in paths}
    script, style = ("\n" + joined(texts)).encode(), texts["style.css"].encode()
    out = ["/* Made by src/view/page/embed.py. */\n#include \"view/page.h\"\n\n#include <string.h>\n\n"]
    rows = []
    for index, (name, text) in enumerate(sorted(texts.items())):
        data = text.encode()
        out.append(bytes_of(f"file_{index}", data))
        route = "" if name == "index.html" else name
        rows.append(f'\t{{ "{route}", "{TYPES[os.path.splitext(name)[1]]}", file_{index}, {len(data)} }},\n')
    out.append("\nstatic const struct view_page pages[] = {\n" + "".join(rows) + "};\n\n")
    out.append(bytes_of("saved_script", script))
    out.append(f'\nconst struct view_page view_saved_script = {{ "", "", saved_script, {len(script)} }};\n')
    style_index = sorted(texts).index("style.css")
    out.append(f'const struct view_page view_saved_style = {{ "", "", file_{style_index}, {len(style)} }};\n')
    out.append(f'const char view_saved_script_hash[] = "{hash_of(script)}";\n')
    out.append(f'const char view_saved_style_hash[] = "{hash_of(style)}";\n')
    out.append("""
const struct view_page *view_page_find(const char *name)
{
	for (size_t i = 0; i < sizeof(pages) / sizeof(pages[0]); i++) {
		if (strcmp(pages[i].name, name) == 0)
			return &pages[i];
	}
	return NULL;
}
""")
    with open(out_path, "w", encoding="utf-8") as out_file:
        out_file.write("".join(out))


if __name__ == "__main__":
    main(*sys.argv[1:])
