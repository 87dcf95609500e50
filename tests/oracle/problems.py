"""The differences between the diagnostics of two engines."""
import json
import re


def plain(summary):
    """A summary without names and numbers, so that equal problems have the same text."""
    s = summary or ""
    if s.startswith("Cycle"):
        return "Cycle"
    s = re.sub(r'"[^"]*"', '"_"', s)
    s = re.sub(r"`[^`]*`", "`_`", s)
    s = re.sub(r"<\w+\d+>", "<_>", s)
    return re.sub(r"\d+", "N", s)[:110]


def diagnostics(result):
    """The diagnostics of a step, each with a detail."""
    found = result.get("diagnostics")
    if found is None:
        found = (result.get("events") or {}).get("diagnostics")
    return [{k: v for k, v in x.items() if k != "detail"} | {"detail": x.get("detail", "")} for x in found or []]


def bare(d):
    """A diagnostic without its detail, as a key."""
    return json.dumps({k: v for k, v in d.items() if k != "detail"}, sort_keys=True)


def paired(want, got):
    """(pairs of the same problem in other words, the rest of want, the rest of got)."""
    left = [d for k, d in want.items() if k not in got]
    right = [d for k, d in got.items() if k not in want]
    pairs = []
    for same in (("severity", "summary", "file", "line"), ("severity", "summary", "address"), ("severity", "summary"), ("severity", "file", "line")):
        for a in list(left):
            b = next((b for b in right if all(a.get(k) == b.get(k) for k in same)), None)
            if b is not None:
                left.remove(a)
                right.remove(b)
                pairs.append((a, b))
    return pairs, left, right


def pair_item(a, b):
    """The differences between two diagnostics of the same problem."""
    name = f"{a['severity']} {plain(a.get('summary'))!r}"
    if a.get("summary") != b.get("summary"):
        return "wording", f"{name} is {plain(b.get('summary'))!r}"
    if (a.get("file"), a.get("line")) != (b.get("file"), b.get("line")):
        how = "no place" if not b.get("file") else "a place" if not a.get("file") else \
            "other file" if a.get("file") != b.get("file") else "other line"
    else:
        how = "no address" if not b.get("address") else "an address" if not a.get("address") else "other address"
    return "place", f"{name}: {how}"


def problem_items(w, g):
    """([(level, words)], number of diagnostics that differ only in their detail)."""
    want = {bare(d): d for d in diagnostics(w)}
    got = {bare(d): d for d in diagnostics(g)}
    pairs, left, right = paired(want, got)
    items = [pair_item(a, b) for a, b in pairs]
    items += [("diagnostic", f"missing {d.get('severity')} {plain(d.get('summary'))!r}") for d in left]
    items += [("diagnostic", f"extra {d.get('severity')} {plain(d.get('summary'))!r}") for d in right]
    return items, sum(1 for k in want if k in got and want[k]["detail"] != got[k]["detail"])
