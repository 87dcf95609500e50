"""Cases in memory: the contents of a conformance case, with the text of its files.

    {"title": ..., "steps": [...], "env": {...}, "trees": {"files": {PATH: text or bytes}, "files.1": {...}}}

An id always names the same case: g12 is generated scenario 12, x12 is scenario 12 of the wide family, m12 is a written
case with a small change, and w-GROUP/NAME is a written case as it is.
"""
import hashlib
import json
import re
import shutil
from pathlib import Path

import generate
import mutate

CONFORMANCE = Path(__file__).resolve().parents[1] / "conformance"
MUTATION_ATTEMPTS = 40  # a mutation may find nothing to change in a case, and then another case is used


def load_case(folder):
    """Reads a case from its folder."""
    folder = Path(folder)
    case = json.loads((folder / "case.json").read_text())
    case["trees"] = {}
    for tree in sorted(p for p in folder.iterdir() if p.is_dir()):
        files = {}
        for f in sorted(tree.rglob("*")):
            if f.is_file():
                data = f.read_bytes()
                try:
                    files[str(f.relative_to(tree))] = data.decode()
                except UnicodeDecodeError:
                    files[str(f.relative_to(tree))] = data
        case["trees"][tree.name] = files
    case["trees"].setdefault("files", {})
    return case


def save_case(case, folder):
    """Writes a case as a folder that `difftest.py` reads."""
    folder = Path(folder)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for tree, files in case["trees"].items():
        (folder / tree).mkdir(exist_ok=True)
        for name, text in files.items():
            f = folder / tree / name
            f.parent.mkdir(parents=True, exist_ok=True)
            f.write_bytes(text if isinstance(text, bytes) else text.encode())
    doc = {k: v for k, v in case.items() if k not in ("trees", "steps")}
    steps = ",\n".join("    " + json.dumps(s, ensure_ascii=False) for s in case["steps"])
    head = json.dumps(doc, indent=2, ensure_ascii=False)
    (folder / "case.json").write_text(head[:-2] + ("," if doc else "") + '\n  "steps": [\n' + steps + "\n  ]\n}\n")


def written():
    """The names of the written cases, GROUP/NAME, in order."""
    return ["/".join(p.parent.parts[-2:]) for p in sorted((CONFORMANCE / "cases").rglob("case.json"))]


def agreed():
    """The written cases that are known to agree. A mutation of another case would only show the known difference."""
    listed = (CONFORMANCE / "cases.todo").read_text().splitlines()
    waiting = {line.partition("#")[0].strip() for line in listed}
    return [name for name in written() if name not in waiting]


def mutation(number):
    """(case, name of the written case, description of the change). The case is None if nothing could be changed.

    Each written case draws a number, and the case with the lowest number is chosen. So a new case gets its share of the
    mutations, and the mutations of other cases stay the same.
    """
    order = sorted(agreed(), key=lambda name: hashlib.sha256(f"parent-{number}-{name}".encode()).digest())
    for name in order[:MUTATION_ATTEMPTS]:
        case = load_case(CONFORMANCE / "cases" / name)
        if not mutate.usable(case):
            continue
        changed = mutate.mutated(case, f"mutation-{number}-{name}")
        if changed:
            return changed[0], name, changed[1]
    return None, None, []


def by_id(ident):
    """(case, name of the original written case, description of the change) for an id."""
    if ident.startswith("w-"):
        return load_case(CONFORMANCE / "cases" / ident[2:]), ident[2:], []
    m = re.fullmatch(r"([gxm])(\d+)", ident)
    if not m:
        raise ValueError(f"{ident}: an id is g, x or m with a number, or w-GROUP/NAME")
    family, number = m.group(1), int(m.group(2))
    if family == "m":
        return mutation(number)
    return generate.scenario(number, family), None, []


AREA_FEATURES = {
    "modules": {"modules"},
    "providers": {"alias", "provider_for_each", "provider_functions"},
    "language": {"functions", "for", "dynamic", "json", "override", "tofu", "validation", "optional", "language", "deprecated"},
    "planning": {"lifecycle", "conditions", "check", "trigger", "depends", "data", "import", "ephemeral", "fail"},
}
WORKFLOW = ("state", "workspace", "import", "taint", "untaint", "output", "show", "console", "providers", "graph", "refresh", "-var")


def areas(case, parent):
    """The areas that a case counts for: the group of a written case, or the features of a generated one."""
    if parent:
        return [parent.split("/")[0]]
    topics = set(case.get("topics") or [])
    out = [area for area, features in AREA_FEATURES.items() if topics & features]
    words = [w for s in case["steps"] for w in s.get("run", [])]
    if any(w.startswith(x) for w in words for x in WORKFLOW) or any("edit" in s or "delete" in s for s in case["steps"]):
        out.append("workflow")
    return sorted(out)
