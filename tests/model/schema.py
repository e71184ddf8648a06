#!/usr/bin/env python3
"""Every rule of docs/model.schema.json, broken once: holdup must say where, in a sentence.

The schema is walked beside a model that uses all of it. Wherever the two meet, each rule that
stands there gives models that break it and nothing else; `holdup model check` must refuse each of them
and name the line that the broken part is in. A part of the schema that the walk does not reach
fails the test, so a new rule needs a line in the model here.

usage: schema.py        prints TAP; the program is $HOLDUP
"""
import copy
import json
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
HOLDUP = os.path.realpath(os.environ.get("HOLDUP") or os.path.join(ROOT, "build/holdup"))

# One model with all that a model may have.
MODEL = {
    "model": "all",
    "description": "all that there is",
    "key": "flow",
    "instances": "one",
    "strict": True,
    "initial": "a",
    "variables": {"work": "on_cpu", "locked": "blocked(lock)"},
    "states": {
        "a": {"may_end": True, "transitions": [
            {"event": "s:begin", "filter": "x > 1", "key": "thread", "to": "b",
             "start": ["work", "locked"], "set": {"limit": "5ms", "count": 3}},
            {"usdt": "p:n", "to": "b", "start": ["work"]},
            {"function": "f", "to": "b"},
            {"function_return": "f", "to": "b"},
            {"syscall": "read", "to": "b"},
            {"syscall_exit": "read", "to": "b"},
        ]},
        "b": {"transitions": [
            {"event": "s:end", "to": "c", "check": [
                "elapsed <= limit",
                {"that": "syscalls <= count", "name": "few", "since": "work"},
                {"deadline": "5ms"},
                {"deadline": "10%"},
                {"preemption": "none"},
                {"wait": "5ms"},
                {"wait": {"disk": "5ms"}},
                {"syscalls": 3},
                {"syscalls": {"read": 3}},
                {"usage": {"cpu": "50%", "read": "1MiB", "written": "64K", "io": "2MiB", "memory": "1MiB", "rss": "1MiB",
                           "requests": 10}},
            ]},
        ]},
        "c": {"final": True},
        "d": None,
    },
}

GONE = object()
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None),
         "number": (int, float)}


class Schema:
    """The part of JSON Schema that the file uses; anything else in it is an error here."""

    KNOWN = {"$schema", "title", "description", "type", "additionalProperties", "required",
             "properties", "minLength", "enum", "pattern", "propertyNames", "minProperties",
             "maxProperties", "oneOf", "items", "$ref", "$defs"}

    def __init__(self, path):
        with open(path) as file:
            self.root = json.load(file)

    def follow(self, node):
        while "$ref" in node:
            target = self.root
            for word in node["$ref"].split("/")[1:]:
                target = target[word]
            node = target
        return node

    def valid(self, node, value):
        node = self.follow(node)
        assert set(node) <= self.KNOWN, set(node) - self.KNOWN
        kinds = node.get("type", [])
        kinds = [kinds] if isinstance(kinds, str) else kinds
        good = not kinds or any(isinstance(value, TYPES[kind]) and
                                not (kind == "number" and isinstance(value, bool))
                                for kind in kinds)
        if good and isinstance(value, dict):
            good = self.valid_object(node, value)
        if good and isinstance(value, list) and "items" in node:
            good = all(self.valid(node["items"], item) for item in value)
        if good and isinstance(value, str):
            good = (len(value) >= node.get("minLength", 0)
                    and bool(re.search(node.get("pattern", ""), value)))
        if good and "enum" in node:
            good = value in node["enum"]
        if good and "oneOf" in node:
            good = sum(self.valid(one, value) for one in node["oneOf"]) == 1
        return good

    def valid_object(self, node, value):
        known, others = node.get("properties", {}), node.get("additionalProperties", True)
        return (set(node.get("required", [])) <= set(value)
                and node.get("minProperties", 0) <= len(value) <= node.get("maxProperties", 1e9)
                and all(self.valid(node["propertyNames"], name) for name in value
                        if "propertyNames" in node)
                and all(self.valid(known[name], value[name]) if name in known else
                        others if isinstance(others, bool) else self.valid(others, value[name])
                        for name in value))


def wrong_type(node):
    kinds = node["type"] if isinstance(node["type"], list) else [node["type"]]
    if kinds == ["boolean"]:
        return ["maybe", ["true"]]
    if "object" in kinds:
        return ["words", ["item"]]
    if "array" in kinds:
        return ["words", {"name": "x"}]
    return [["item"], {"name": "x"}]  # any scalar is a text of YAML


def broken_names(pattern):
    return [name for name in ("a b", "1x", "x()", "x" * 70) if not re.search(pattern, name)][:3]


class Walk:
    """Finds each rule where schema and model meet, and breaks it."""

    def __init__(self, schema):
        self.schema = schema
        self.seen = set()
        self.cases = []  # (what, path of the broken part, the path whose lines count, new value)

    def add(self, what, path, value, where=None):
        self.cases.append((what, path, path if where is None else where, value))

    def walk(self, node, value, path):
        node = self.schema.follow(node)
        self.seen.add(id(node))
        if "type" in node and node["type"] != "null":
            for wrong in wrong_type(node):
                self.add("type", path, wrong)
        if node.get("minLength"):
            self.add("minLength", path, "")
        if "enum" in node:
            self.add("enum", path, "nonsense")
        if "pattern" in node:
            for name in broken_names(node["pattern"]):
                self.add("pattern", path, name)
        if isinstance(value, dict):
            self.walk_object(node, value, path)
        if isinstance(value, list) and "items" in node:
            for index, item in enumerate(value):
                self.walk(node["items"], item, path + (index,))
        if "oneOf" in node:
            self.walk_one_of(node, value, path)

    def walk_object(self, node, value, path):
        for name in node.get("required", []):
            self.add("required", path + (name,), GONE, path)
        if node.get("minProperties"):
            self.add("minProperties", path, {})
        if "maxProperties" in node:
            self.add("maxProperties", path,
                     dict(value, **{"x%d" % i: None for i in range(node["maxProperties"])}))
        others = node.get("additionalProperties", True)
        if others is False:
            self.add("additionalProperties", path + ("nonsense",), "x")
        for name, below in value.items():
            if name in node.get("properties", {}):
                self.walk(node["properties"][name], below, path + (name,))
            elif isinstance(others, dict):
                self.walk(others, below, path + (name,))
        if "propertyNames" in node:
            self.seen.add(id(node["propertyNames"]))
            for name in broken_names(node["propertyNames"]["pattern"]):
                self.add("propertyNames", path + (name,), next(iter(value.values())))

    def walk_one_of(self, node, value, path):
        ways = node["oneOf"]
        if all(set(way) == {"required"} for way in ways):
            self.seen.update(map(id, ways))
            names = [way["required"][0] for way in ways]
            given = next(name for name in names if name in value)
            self.add("none of oneOf", path + (given,), GONE, path)
            self.add("two of oneOf", path + (next(n for n in names if n != given),), "x", path)
            return
        for wrong in ([["item"]], 5.5):
            if not self.schema.valid(node, wrong):
                self.add("oneOf", path, wrong)
        for way in ways:
            if self.schema.valid(way, value):
                before = len(self.cases)
                self.walk(way, value, path)
                # What is wrong for one of them may be right for another.
                self.cases[before:] = [case for case in self.cases[before:] if case[1] != path]

    def unseen(self):
        """Parts of the schema that the model does not use."""
        def parts(node, path):
            if "$ref" in node:
                return
            yield node, path
            for name, below in node.get("properties", {}).items():
                yield from parts(below, path + "/" + name)
            for name in ("additionalProperties", "propertyNames", "items"):
                if isinstance(node.get(name), dict):
                    yield from parts(node[name], path + "/" + name)
            for index, below in enumerate(node.get("oneOf", [])):
                yield from parts(below, "%s/%d" % (path, index))
        trees = [(self.schema.root, "")] + [
            (node, name) for name, node in self.schema.root.get("$defs", {}).items()]
        return [path for node, name in trees for node, path in parts(node, name)
                if id(node) not in self.seen]


def changed(path, value):
    """The model with another value at 'path'."""
    if not path:
        return value
    model = copy.deepcopy(MODEL)
    at = model
    for name in path[:-1]:
        at = at[name]
    if value is GONE:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return model


class Writer:
    """JSON, which is YAML, with one value a line, and the lines that each part has."""

    def __init__(self, model):
        self.lines, self.places = [""], {}
        self.write(model, ())

    def write(self, value, path):
        first = len(self.lines)
        if isinstance(value, (dict, list)) and value:
            is_dict = isinstance(value, dict)
            self.lines[-1] += "{" if is_dict else "["
            for name, below in value.items() if is_dict else enumerate(value):
                self.lines.append(json.dumps(name) + ": " if is_dict else "")
                self.write(below, path + (name,))
                self.lines[-1] += ","
            self.lines[-1] = self.lines[-1][:-1] + ("}" if is_dict else "]")
        else:
            self.lines[-1] += json.dumps(value)
        self.places[path] = (first, len(self.lines))


def told(text, folder):
    path = os.path.join(folder, "model.yaml")
    with open(path, "w") as file:
        file.write(text)
    return subprocess.run([HOLDUP, "model", "check", path], stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False), path


def judge(case, schema, folder):
    """What is wrong with the answer; None when nothing is."""
    _, path, where, value = case
    model = changed(path, value)
    if schema.valid(schema.root, model):
        return "the schema allows it: the test is wrong"
    writer = Writer(model)
    done, name = told("\n".join(writer.lines) + "\n", folder)
    if done.returncode != 2:
        return "exit status %d\n%s" % (done.returncode, done.stdout + done.stderr)
    first, last = writer.places[where]
    for line in done.stderr.splitlines():
        match = re.match(r"holdup: %s:(\d+):(\d+): (.{12,})$" % re.escape(name), line)
        if not match:
            return "no place and sentence: " + line
        if first <= int(match[1]) <= last and int(match[2]) <= len(
                writer.lines[int(match[1]) - 1]) + 1:
            return None
    return "lines %d to %d are not named:\n%s" % (first, last, done.stderr)


def main():
    schema = Schema(os.path.join(ROOT, "docs", "model.schema.json"))
    walk = Walk(schema)
    walk.walk(schema.root, MODEL, ())
    count = 0

    def ok(good, name, detail=""):
        nonlocal count
        count += 1
        print("%sok %d - %s" % ("" if good else "not ", count, name))
        for line in [] if good else str(detail).splitlines():
            print("#   " + line)
        return good

    with tempfile.TemporaryDirectory() as folder:
        done, _ = told("\n".join(Writer(MODEL).lines) + "\n", folder)
        failed = not ok(schema.valid(schema.root, MODEL) and done.returncode == 0,
                        "a model with all that the schema has is one",
                        done.stdout + done.stderr)
        failed |= not ok(not walk.unseen(), "and uses all of it", walk.unseen())
        for case in walk.cases:
            wrong = judge(case, schema, folder)
            value = "removed" if case[3] is GONE else json.dumps(case[3])[:40]
            failed |= not ok(wrong is None, "%s: %s %s" % (
                case[0], "/".join(map(str, case[1])) or "all", value), wrong)
    print("1..%d" % count)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
