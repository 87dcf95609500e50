"""Makes a differing case smaller while the same difference remains."""
import copy
import json
import re

import hcl
from problems import diagnostics, plain

TRIES = 140  # the maximum number of runs of both engines for one case


def summaries(results, step):
    """The diagnostics of a step, without names."""
    r = results[step] if step < len(results) else None
    return {(d["severity"], plain(d.get("summary"))) for d in diagnostics(r or {})}


class Shrinker:
    """Holds the smallest case so far. `item` is the difference that must remain."""

    def __init__(self, case, item, oracle):
        self.item, self.oracle, self.tries = item, oracle, TRIES
        self.seen = {}
        self.case = case
        self.allowed = None  # the diagnostics that tofu may report: a smaller case must not differ for another reason
        found = self.look(case)
        self.ok = found is not None
        if self.ok:
            self.allowed = found[1]
            self.step = found[0]

    def look(self, case):
        """(step, tofu's diagnostics there) if the difference occurs."""
        key = json.dumps([case["trees"], case["steps"], case.get("env")], sort_keys=True, default=repr)
        if key in self.seen:
            return self.seen[key]
        if self.tries <= 0:
            return None
        self.tries -= 1
        want, _, comparison = self.oracle.compare(case)
        items = comparison.items
        out = None
        if self.item in items:
            step = items[self.item]
            said = summaries(want, step)
            if self.allowed is None or said <= self.allowed:
                out = (step, said)
        self.seen[key] = out
        return out

    def attempt(self, case):
        """Uses a smaller case if the difference remains."""
        found = self.look(case)
        if found:
            self.case, self.step = case, found[0]
            return True
        return False

    def without(self, things, drop):
        """Tries to drop many of `things` at once, then fewer. drop(case, subset) returns the changed case."""
        size = len(things)
        while size >= 1 and things:
            i = 0
            while i < len(things):
                part = things[i:i + size]
                new = drop(copy.deepcopy(self.case), part)
                if new is not None and self.attempt(new):
                    things = things[:i] + things[i + size:]
                    things = self.refresh(things)
                else:
                    i += size
            size = size // 2 if size > 1 else 0

    def refresh(self, things):
        """The things that can still be dropped from the smaller case."""
        return things

    def run(self):
        """The smallest case, or None if the difference does not occur."""
        if not self.ok:
            return None
        self.steps()
        for _ in range(2):
            before = json.dumps([self.case["trees"], self.case["steps"]], default=repr)
            self.files()
            self.blocks(True)
            self.blocks(False)
            self.json_files()
            self.lines()
            self.simplify()
            self.steps()
            if json.dumps([self.case["trees"], self.case["steps"]], default=repr) == before:
                break
        if self.case.get("env"):
            c = copy.deepcopy(self.case)
            c.pop("env")
            self.attempt(c)
        self.flags()
        return self.case

    def steps(self):
        """Removes steps."""
        c = copy.deepcopy(self.case)
        c["steps"] = c["steps"][:self.step + 1]
        self.attempt(c)
        n = len(self.case["steps"])
        size = max(1, n // 2)
        while size >= 1:
            i = len(self.case["steps"]) - 1 - size
            while i >= 0:
                c = copy.deepcopy(self.case)
                del c["steps"][i:i + size]
                self.attempt(c)
                i -= size
            size //= 2
        used = {s.get("files") for s in self.case["steps"]} | {"files"}
        self.case["trees"] = {k: v for k, v in self.case["trees"].items() if k in used}

    def files(self):
        """Removes files."""
        for t in list(self.case["trees"]):
            for f in list(self.case["trees"][t]):
                c = copy.deepcopy(self.case)
                del c["trees"][t][f]
                for s in c["steps"]:
                    if "remove" in s:
                        s["remove"] = [x for x in s["remove"] if x != f or any(x in c["trees"][k] for k in c["trees"])]
                self.attempt(c)

    def hcl_files(self):
        """The files in native syntax."""
        return [(t, f) for t in self.case["trees"] for f, x in self.case["trees"][t].items() if isinstance(x, str) and f.endswith((".tf", ".tofu", ".tfvars"))]

    def blocks(self, top):
        """Removes blocks, nested blocks and arguments."""
        for t, f in self.hcl_files():
            size = None
            while True:
                text = self.case["trees"][t].get(f)
                try:
                    found = [(p, i) for p, i in hcl.walk(hcl.parse(text)) if (not p) == top]
                except (hcl.Unreadable, IndexError):
                    break
                n = len(found)
                size = max(1, n // 2) if size is None else size
                i, hit = 0, False
                while i < n:
                    part = found[i:i + size]
                    new = text
                    spans = sorted(((x.start, x) for _, x in part), key=lambda s: -s[0])
                    last = None
                    for _, x in spans:
                        if any(y is not x and y.start <= x.start and x.end <= y.end for _, y in part):
                            continue
                        new = hcl.cut(new, x)
                    c = copy.deepcopy(self.case)
                    c["trees"][t][f] = new
                    if self.attempt(c):
                        hit = True
                        break
                    i += size
                if hit:
                    continue
                if size == 1 or self.tries <= 0:
                    break
                size //= 2

    def json_files(self):
        """Removes members of JSON files."""
        for t in list(self.case["trees"]):
            for f in list(self.case["trees"][t]):
                if not f.endswith(".json"):
                    continue
                try:
                    doc = json.loads(self.case["trees"][t][f])
                except (ValueError, TypeError):
                    continue

                def go(path):
                    at = doc
                    for k in path:
                        at = at[k]
                    if not isinstance(at, (dict, list)):
                        return
                    keys = list(at) if isinstance(at, dict) else list(range(len(at) - 1, -1, -1))
                    for k in keys:
                        old = copy.deepcopy(doc)
                        del at[k]
                        c = copy.deepcopy(self.case)
                        c["trees"][t][f] = json.dumps(doc, indent=2, ensure_ascii=False) + "\n"
                        if not self.attempt(c):
                            if isinstance(at, dict):
                                at.clear()
                                now = old
                                for p in path:
                                    now = now[p]
                                at.update(now)
                            else:
                                now = old
                                for p in path:
                                    now = now[p]
                                at[:] = now
                            go(path + (k,))
                go(())

    def lines(self):
        """Shortens files that cannot be read as HCL."""
        for t, f in self.hcl_files():
            try:
                hcl.parse(self.case["trees"][t][f])
                continue
            except (hcl.Unreadable, IndexError):
                pass
            i = 0
            while i < len(self.case["trees"][t][f].splitlines()):
                lines = self.case["trees"][t][f].splitlines(keepends=True)
                c = copy.deepcopy(self.case)
                c["trees"][t][f] = "".join(lines[:i] + lines[i + 1:])
                if not self.attempt(c):
                    i += 1

    def simplify(self):
        """Shortens expressions."""
        for t, f in self.hcl_files():
            n = 0
            while True:
                text = self.case["trees"][t].get(f)
                try:
                    attrs = [i for _, i in hcl.walk(hcl.parse(text)) if i.kind == "attr"]
                except (hcl.Unreadable, IndexError):
                    break
                if n >= len(attrs):
                    break
                a = attrs[n]
                n += 1
                e = text[a.expr_start:a.expr_end]
                if len(e) <= 6 or a.name in ("source", "from", "to", "alias"):
                    continue
                options = ["1", '"x"']
                if e[0] in "[{(":
                    for s, x in reversed(hcl.elements(text, a.expr_start, a.expr_end)):
                        options.append(text[a.expr_start:s] + text[x:a.expr_end])
                m = re.match(r"[\w:]+\(", e)
                if m and hcl.skip_bracket(text, a.expr_start + m.end() - 1) == a.expr_end:
                    for s, x in hcl.elements(text, a.expr_start + m.end() - 1, a.expr_end):
                        options.append(text[s:x].strip().rstrip(",").strip())
                for q, (k, s, x) in enumerate(list(hcl.tokens(text, a.expr_start, a.expr_end))):
                    if k == "ident" and x < len(text) and text[x] == "(":
                        end = hcl.skip_bracket(text, x)
                        if (s, end) != (a.expr_start, a.expr_end):
                            options.append(text[a.expr_start:s] + "1" + text[end:a.expr_end])
                    if q > 12:
                        break
                for o in options:
                    if o.strip() == e or not o.strip():
                        continue
                    c = copy.deepcopy(self.case)
                    c["trees"][t][f] = text[:a.expr_start] + o + text[a.expr_end:]
                    if self.attempt(c):
                        n -= 1 if len(o) > 6 else 0
                        break

    def flags(self):
        """Removes options."""
        for i, s in enumerate(self.case["steps"]):
            for f in [x for x in s.get("run", [])[1:] if x.startswith("-") and not x.startswith("-json")]:
                c = copy.deepcopy(self.case)
                c["steps"][i]["run"] = [x for x in c["steps"][i]["run"] if x != f]
                self.attempt(c)
