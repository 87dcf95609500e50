"""Agreement in numbers, and clusters of scenarios that show the same difference, the worst first."""
import collections
import math

from compare import LEVELS, SOFT

Z = 1.96  # of a 95% interval


def wilson(k, n):
    """The 95% interval of a share, in percent."""
    if not n:
        return 0.0, 0.0
    p = k / n
    d = 1 + Z * Z / n
    m, h = (p + Z * Z / (2 * n)) / d, Z * math.sqrt(p * (1 - p) / n + Z * Z / (4 * n * n)) / d
    return 100 * (m - h), 100 * (m + h)


def judged(rows):
    """The scenarios that count: those with the same result in two runs of OpenTofu."""
    return [r for r in rows if r["status"] in ("agrees", "differs")]


def percent(rows):
    """The agreement in percent, or 100 if there are no rows."""
    rows = judged(rows)
    return 100 * sum(r["status"] == "agrees" for r in rows) / len(rows) if rows else 100.0


def share(rows, name):
    """One line of agreement."""
    rows = judged(rows)
    k = sum(r["status"] == "agrees" for r in rows)
    lo, hi = wilson(k, len(rows))
    if rows:
        print(f"{name:52} {k:5} of {len(rows):5}  {percent(rows):5.1f}%  ({lo:.1f} to {hi:.1f})")


def clusters(rows, soft=False):
    """[((level, words), rows)]: the worst level first, then the largest number of scenarios."""
    out = collections.defaultdict(list)
    for r in rows:
        if r["status"] == "differs" or (soft and r["status"] == "agrees"):
            for level, words, _ in r["items"]:
                if (level in SOFT) == soft:
                    out[(level, words)].append(r)
    return sorted(out.items(), key=lambda x: (LEVELS.index(x[0][0]), -len(x[1]), x[0][1]))


def grouped(rows, key):
    """{name: rows}. `key` returns the names of a row."""
    out = collections.defaultdict(list)
    for r in rows:
        for name in key(r):
            out[name].append(r)
    return sorted(out.items())


def print_agreement(rows):
    """Agreement as a whole, by family, by area and by feature."""
    share(rows, "all")
    for family, part in grouped(rows, lambda r: [r["family"]]):
        share(part, f"family {family}")
        share([r for r in part if r["valid"]], f"family {family}, the first plan or apply goes through")
    print("\nby area")
    for name, part in grouped(rows, lambda r: r["areas"]):
        share(part, "  " + name)
    print("\nby feature")
    for name, part in grouped(rows, lambda r: r["topics"]):
        share(part, "  " + name)


def print_deliberate(rows):
    """How often each deliberate difference was removed."""
    counts = collections.Counter(name for r in rows for name in r["deliberate"])
    if counts:
        print("\ndeliberate differences, removed (scenarios)")
        for name, n in counts.most_common():
            print(f"{n:6} {name}")


def print_clusters(rows):
    """The remaining differences, the worst first."""
    found = clusters(rows)
    if found:
        print("\nclusters: scenarios, level, difference, examples")
    for (level, words), part in found:
        print(f"{len(part):6} {level}: {words}   {' '.join(r['id'] for r in part[:4])}")
    soft = clusters(rows, soft=True)
    if soft:
        print("\nheadings on stderr (not part of agreement)")
    for (level, words), part in soft[:25]:
        print(f"{len(part):6} {words}   {' '.join(r['id'] for r in part[:3])}")


def print_summary(rows):
    """The whole report of a run."""
    for status, n in sorted(collections.Counter(r["status"] for r in rows).items()):
        print(f"{status:16} {n}")
    print()
    print_agreement(rows)
    print_deliberate(rows)
    print_clusters(rows)
    print(f"\ndiagnostics that differ only in their detail text: {sum(r['details'] for r in rows)}")
