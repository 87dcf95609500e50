"""A readable report of one scenario: its files, its steps and the differences; and the smallest reproduction of each
cluster."""
import concurrent.futures
import json
import re

import cases
import clusters
import compare
import shrink
from engines import difftest
from problems import diagnostics

SHRUNK_FROM = 2  # the number of scenarios of a cluster to try
FILE_CHARACTERS = 4000  # the maximum length of a file in a report
LONGEST_TEXT = 20_000  # the maximum number of characters of a command's output in a report


def case_lines(case):
    """The files and steps of a case."""
    out = []
    for tree, files in sorted(case["trees"].items()):
        for name, text in files.items():
            out.append(f"--- {tree}/{name}\n{text[:FILE_CHARACTERS] if isinstance(text, str) else '(bytes)'}")
    out += [f"{i:3} {json.dumps(s, ensure_ascii=False)}" for i, s in enumerate(case["steps"])]
    if case.get("env"):
        out.append("environment: " + json.dumps(case["env"]))
    return out


def step_lines(case, index, want, got):
    """The output of both engines at a step."""
    out = [f"at step {index}: {json.dumps(case['steps'][index])}   (expected: tofu, got: weft)"]
    differences = difftest.differences(compare.comparable(want), compare.comparable(got))
    out += ["    " + d[:600] for d in differences if not d.startswith("/headings")][:12]
    for name, r in (("tofu", want or {}), ("weft", got or {})):
        for d in diagnostics(r):
            out.append(f"    {name}: {d['severity']} {d.get('file', '')}:{d.get('line', '')} {d['summary']} | {d['detail'][:300]}")
        if r.get("stderr"):
            out.append(f"    {name} stderr: {r['stderr'][:600]}")
        if isinstance(r.get("text"), str):
            out.append(f"    {name} stdout: {r['text'][:LONGEST_TEXT]}")
    return out


def difference_lines(case, want, got, comparison):
    """The items of a comparison, each step once."""
    out, shown = [], set()
    for (level, words), i in comparison.items.items():
        out.append(f"step {i}: {level}: {words}")
        if i not in shown and i < len(got):
            shown.add(i)
            out += step_lines(case, i, want[i], got[i])
    out += [f"deliberate, taken out: {name} ({n} steps)" for name, n in comparison.deliberate.items()]
    return out


def replay(oracle, ident, save):
    """Prints a scenario and its differences. Returns 1 if there are any."""
    case, parent, changed = cases.by_id(ident)
    if case is None:
        print(f"{ident}: nothing could be changed, there is no such scenario")
        return 2
    if save:
        cases.save_case(case, save)
    print(case["title"], *([f"(from {parent}: {'; '.join(changed)})"] if parent else []))
    print("\n".join(case_lines(case)))
    want, got, comparison = oracle.compare(case)
    print()
    print("\n".join(difference_lines(case, want, got, comparison)) or "no difference")
    return 1 if any(level not in compare.SOFT for level, _ in comparison.items) else 0


def slug(level, words):
    """The folder of a cluster. The worst come first when the folders are sorted by name."""
    return f"{compare.LEVELS.index(level)}-{level}-" + re.sub(r"[^A-Za-z0-9]+", "-", words).strip("-").lower()[:70]


def shrink_clusters(oracle, rows, o):
    """Writes the smallest reproduction of each cluster into OUT/found: a case, and a report."""
    todo = [c for c in clusters.clusters(rows) if re.search(o.match, f"{c[0][0]}: {c[0][1]}")]

    def one(cluster):
        item, part = cluster
        part = sorted(part, key=lambda r: (len(r["items"]), r["steps"]))
        for r in part[:SHRUNK_FROM]:
            small = shrink.Shrinker(cases.by_id(r["id"])[0], item, oracle).run()
            if small is None:
                continue
            want, got, comparison = oracle.compare(small)
            folder = o.out / "found" / slug(*item)
            cases.save_case(small, folder / "case")
            head = [f"{item[0]}: {item[1]}", f"scenarios: {len(part)} ({' '.join(x['id'] for x in part[:12])}); made small from {r['id']}", ""]
            (folder / "report.txt").write_text("\n".join(head + case_lines(small) + difference_lines(small, want, got, comparison)) + "\n")
            return f"{folder}: {sum(len(f) for f in small['trees'].values())} files, {len(small['steps'])} steps"
        return f"{slug(*item)}: not seen again ({part[0]['id']})"

    with concurrent.futures.ThreadPoolExecutor(o.jobs) as pool:
        for line in pool.map(one, todo):
            print(line, flush=True)
