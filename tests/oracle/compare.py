"""Names the differences between the results of two engines for a case.

A difference has a level and words. The worst level comes first:

- crash: an engine panicked or hung;
- result: different actions, values, objects, outputs or files;
- exit: one fails and the other does not;
- record: different additional facts: reasons, checks, dependencies, marks of sensitive parts;
- diagnostic, place, wording: a problem that one does not report, reports elsewhere, or words differently;
- text: the text that a command prints for its user;
- heading: the headings on stderr, which the conformance cases do not compare.

The comparison of a case ends with the first step after which the two worlds have diverged.
"""
import json
import re

import deliberate
import engines
from problems import diagnostics, plain, problem_items
from records import event_items, first_difference, plan_items, state_items

difftest = engines.difftest
LEVELS = ("crash", "result", "exit", "record", "diagnostic", "place", "text", "wording", "heading")
APART = ("crash", "result", "exit")  # after these, the two worlds have diverged
SOFT = ("heading",)                  # not counted in the agreement
RECORDS = re.compile(r"plan\.(drift|checks|prior_|relevant|errored|changes\.(reason|after_sensitive|before_sensitive))"
                     r"|events\.(drift|planned\.reason)"
                     r"|state\.(checks|sensitive|dependencies|create_before_destroy|schema_version|identity|provider|skip_destroy)"
                     r"|plan\.planned_values")

WAITING = re.compile(r"(?m)^(?:Acquiring|Releasing) state lock\. This may take a few moments\.\.\.\n")  # for slow commands
PROGRESS = re.compile(r"\S+(?: \(deposed object \w+\))?: (Refreshing state|Reading|Read complete|Creating|Creation complete|Modifying|Modifications complete|Destroying"
                      r"|Destruction complete|Opening|Open complete|Closing|Close complete|Provisioning with|Preparing import|Importing|Import complete)"
                      r"|\S+ \(local-exec\):")


def unnumbered(v):
    """The words without the numbers of placeholders, because these shift after a difference."""
    return json.loads(re.sub(r"<(uuid|lab|time)\d+>", r"<\1>", json.dumps(v)))


def command_name(step):
    """The command of a step, with the subcommand of a group."""
    words = [x for x in step.get("run", []) if not x.startswith("-")]
    return " ".join(words[:2]) if words and words[0] in ("state", "workspace", "providers") else words[0] if words else ""


def special_items(w, g):
    """The items of steps that did not run as usual, or None if both did."""
    if w is None and g is None:
        return []
    if w is None or g is None:
        return [("result", "step not run")]
    if g.get("crash") or w.get("crash"):
        if w.get("crash"):
            return [("crash", "tofu crashes")]
        first = re.search(r"panicked at ([^\n]*)", g["crash"])
        return [("crash", "weft: " + (plain(first.group(1)) if first else g["crash"][:60].strip()))]
    if "skipped" in w or "skipped" in g:
        return [] if w == g else [("result", "plan file: " + ("left by weft alone" if "skipped" in w else "left by tofu alone"))]
    if "harness" in w or "harness" in g:
        same = w.get("harness") == g.get("harness")
        return [] if same else [("result", f"harness: {w.get('harness')} is {g.get('harness')}")]
    return None


def heading_difference(w, g):
    """(headings that only the first has, those that only the second has)."""
    hw, hg = w.get("headings") or [], g.get("headings") or []
    return [h for h in hw if h not in hg], [h for h in hg if h not in hw]


def exit_items(w, g, items):
    """The items of a step that fails with one engine only, with the problem that causes the difference."""
    how = f"[{command_name(w)} {w.get('exit')} is {g.get('exit')}] "
    errors = [i for i in items if i[0] == "diagnostic" and " error " in i[1]]
    if errors:
        return [("exit", how + i[1]) for i in errors] + [i for i in items if i not in errors]
    missing, extra = heading_difference(w, g)
    words = [f"extra {plain(h)}" for h in extra if h.startswith("Error")] + [f"missing {plain(h)}" for h in missing if h.startswith("Error")]
    return [("exit", how + "; ".join(words[:1])), *items]


def result_items(w, g, cmd):
    """The differences in plan, events, state and other documents of a step, without their consequences."""
    result = plan_items(w.get("plan"), g.get("plan"))
    if not result:
        result = event_items(w.get("events") or {}, g.get("events") or {})
    if not result:
        result = state_items(w.get("state"), g.get("state"))
    for part in ("json", "ledger", "values", "pulled", "read", "list", "failed"):
        if w.get(part) == g.get(part) or result:
            continue
        if part == "pulled":
            result += state_items(w.get(part), g.get(part))
            continue
        d = re.sub(r"(<\w+\d+>|lab_\w+ [^/]*|/\d+)", "_", first_difference(w.get(part), g.get(part)))
        result.append(f"{part}: {cmd} {d}"[:90])
    return result


def step_items(w, g):
    """[(level, words)]: the differences of one step, without the consequences of those that are listed."""
    special = special_items(w, g)
    if special is not None:
        return special
    cmd = command_name(w)
    items, _ = problem_items(w, g)
    if w.get("exit") != g.get("exit"):
        return exit_items(w, g, items)
    result = result_items(w, g, cmd)
    items += [("record" if RECORDS.match(r) else "result", r) for r in result]
    if not result and w.get("text") != g.get("text"):
        if "read" in w:
            how = "absent" if g.get("text") is None else "extra" if w.get("text") is None else "other text"
            items.append(("result", "read: file " + how))
        else:
            items.append(("text", f"stdout of {cmd}" + (" (error)" if w.get("exit") else "")))
    if not items and w.get("headings") != g.get("headings"):
        a, b = heading_difference(w, g)
        if a and b:
            items.append(("heading", f"{cmd}: {plain(a[0])!r} is {plain(b[0])!r}"))
        elif a or b:
            items.append(("heading", f"{cmd}: {'missing' if a else 'extra'} {plain((a or b)[0])!r}"))
    return items


def in_order(text):
    """The text output of a command with sorted lines about progress, without durations, because operations are
    concurrent."""
    lines = [re.sub(r"after \d+(m\d+)?s", "after 0s", line) for line in text.splitlines(keepends=True)]
    progress = iter(sorted(line for line in lines if PROGRESS.match(line)))
    return "".join(next(progress) if PROGRESS.match(line) else line for line in lines if not line.count(": Still "))


def comparable(r):
    """A result without the parts that only a reader needs, or that depend on the load of the machine."""
    if r is None:
        return None
    r = difftest.comparable(r)
    if isinstance(r.get("text"), str):
        r["text"] = WAITING.sub("", r["text"])
    if isinstance(r.get("text"), str) and r.get("run", [""])[0] in ("plan", "apply", "destroy", "refresh"):
        r["text"] = in_order(r["text"])
    return r


class Comparison:
    """The differences between two runs of a case, step by step.

    items: {(level, words): first step}; deliberate: {name: number of steps}; details: diagnostics that differ only in
    their detail text; ended: the worlds have diverged, and nothing further is compared.
    """

    def __init__(self, case):
        self.case, self.items, self.deliberate, self.details, self.ended = case, {}, {}, 0, False

    def step(self, i, want, got):
        """Compares step `i`; true when the comparison ends with it."""
        context = {"case": self.case, "index": i, "names": set(self.deliberate)}
        taken = deliberate.take_out(context, comparable(want), comparable(got))
        for name in taken.names:
            self.deliberate[name] = self.deliberate.get(name, 0) + 1
        a, b = taken.want, taken.got
        if self.items or self.deliberate:
            a, b = unnumbered(a), unnumbered(b)
        found = step_items(a, b)
        for item in found:
            self.items.setdefault(item, i)
        if want is not None and got is not None:
            self.details += problem_items(want, got)[1]
        self.ended = taken.ends or any(level in APART for level, _ in found)
        return self.ended


def pair(case, reference, weft, plugins):
    """(want, got, comparison). Weft runs until its result differs from the reference."""
    want = reference.results(case)
    comparison = Comparison(case)
    got = engines.run(case, weft, plugins, stop=lambda i, r: i >= len(want) or comparison.step(i, want[i], r))
    return want[:len(got)], got, comparison


def equal(a, b):
    """Whether two runs of the same engine have the same result, as far as it is compared."""
    def seen(results):
        return [None if r is None else {k: v for k, v in comparable(r).items() if k not in ("crash", "headings")} for r in results]
    return seen(a) == seen(b)


def unequal_items(a, b):
    """The differences between two runs of the same engine."""
    return [i for w, g in zip(a, b) if w is not None and g is not None for i in step_items(comparable(w), comparable(g))]
