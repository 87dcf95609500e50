"""References between the blocks of a configuration: which of its objects depend on an object with a given name."""
import json
import posixpath
import re

import hcl

WORD = re.compile(r"[^\W\d][\w-]*(?:\.[^\W\d][\w-]*)*")


def current(case, index):
    """The files of a case as they are at a step: name to text."""
    trees, name = case["trees"], "files"
    for step in case["steps"][:index]:
        name = step.get("files", name)
    return {n: t for n, t in trees.get(name, {}).items() if isinstance(t, str)}


def resource(address):
    """The address of a resource within its module, `data.t.n` or `t.n`, from that of any instance."""
    bare = re.sub(r"\[(?:\"(?:[^\"\\]|\\.)*\"|\d+)\]", "", address or "")
    return re.sub(r"^(?:module\.[\w-]+\.)+", "", bare)


def top_blocks(name, text):
    """(type, labels, text) of each block of a file, or nothing if the file cannot be read."""
    if name.endswith((".tf", ".tofu")):
        try:
            return [(b.type, b.labels, text[b.body_start:b.body_end]) for b in hcl.parse(text) if b.kind == "block"]
        except hcl.Unreadable:
            return []
    if not name.endswith((".tf.json", ".tofu.json")):
        return []
    labels = {"resource": 2, "data": 2, "module": 1, "output": 1, "variable": 1, "locals": 0}
    found = []
    def into(kind, path, left, body):
        for one in body if isinstance(body, list) else [body]:
            if left and isinstance(one, dict):
                for k, v in one.items():
                    into(kind, [*path, k], left - 1, v)
            else:
                found.append((kind, path, json.dumps(one)))
    try:
        for kind, body in json.loads(text).items():
            if kind in labels:
                into(kind, [], labels[kind], body)
    except (ValueError, AttributeError):
        return []
    return found


def given(kind, labels, body):
    """The names by which other blocks refer to a block."""
    if kind == "resource":
        return {".".join(labels)}
    if kind == "data":
        return {".".join(["data", *labels])}
    if kind == "locals":
        return {f"local.{n}" for n in re.findall(r"(?m)[\"\s{,]([^\W\d][\w-]*)\"?\s*[=:]", " " + body)}
    if kind == "module":
        # A module receives values, and returns values of its objects.
        return {f"module.{labels[0]}"} | {f"var.{n}" for n in re.findall(r"(?m)[\"\s{,]([^\W\d][\w-]*)\"?\s*[=:]", " " + body)}
    if kind == "output":
        return {f"out.{labels[0]}"}
    return set()


def words(kind, body):
    """The names in a block, each with the names that contain it: a.b.c is also a.b; module.m.x is also out.x."""
    out = set()
    for word in WORD.findall(body):
        parts = word.split(".")
        out |= {".".join(parts[:n]) for n in range(2, len(parts) + 1)}
        if parts[0] == "module" and len(parts) > 2:
            out.add(f"out.{parts[2]}")
    return out


def inside(body, directory, files):
    """All names in the module that a block calls, including those of nested modules."""
    source = re.search(r'"?source"?\s*[=:]\s*"(\.[^"]*)"', body)
    if not source:
        return set()
    called = posixpath.normpath(posixpath.join(directory, source.group(1)))
    out = set()
    for name, text in files.items():
        if posixpath.dirname(name) != called or called == directory:
            continue
        for kind, labels, content in top_blocks(name, text):
            out |= given(kind, labels, content)
            if kind == "module":
                out |= inside(content, called, files)
    return out


def that_reach(files, start):
    """The names that mention one of `start`, directly or indirectly. Coarse: each block counts as a whole."""
    blocks = []
    for name, text in files.items():
        for kind, labels, body in top_blocks(name, text):
            more = inside(body, posixpath.dirname(name), files) if kind == "module" else set()
            blocks.append((given(kind, labels, body) | more, words(kind, body)))
    reached, grown = set(start), True
    while grown:
        grown = False
        for names, mentioned in blocks:
            if mentioned & reached and not names <= reached:
                reached |= names
                grown = True
    return reached
