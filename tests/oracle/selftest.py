#!/usr/bin/env python3
"""Tests of the oracle itself. They need neither OpenTofu nor weft.

    python3 tests/oracle/selftest.py             run them
    python3 tests/oracle/selftest.py --digests   write digests.txt: only when a new family is added
"""
import copy
import hashlib
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import cases
import compare
import deliberate
import engines
import generate
import hcl
import shrink
from deliberate_examples import EXAMPLES, WARNED_PLAINLY

HERE = Path(__file__).resolve().parent
DIGESTS = HERE / "digests.txt"
FAMILIES = {"g": 60, "x": 60}  # the number of scenarios of each family that are compared with digests.txt
PLANTED = 80                   # the number of recorded cases into which differences are planted


def digests():
    """One line for each scenario: its id and a digest of its contents."""
    out = []
    for family, n in FAMILIES.items():
        for i in range(n):
            text = json.dumps(generate.scenario(i, family), ensure_ascii=False)
            out.append(f"{family}{i} {hashlib.sha256(text.encode()).hexdigest()[:16]}")
    return out


def recorded():
    """(name, case, recorded results), with None for steps without a result."""
    for name in cases.written()[:PLANTED]:
        folder = cases.CONFORMANCE / "cases" / name
        case, results = cases.load_case(folder), iter(json.loads((folder / "expected.json").read_text()))
        silent = ("files", "remove", "write", "edit", "delete")
        yield name, case, [None if any(k in s for k in silent) else next(results, None) for s in case["steps"]]


def compared(case, want, got):
    """The comparison of two lists of results."""
    c = compare.Comparison(case)
    for i, (a, b) in enumerate(zip(want, got)):
        if c.step(i, a, b):
            break
    return c


def plants():
    """(name, level, edit). An edit plants a difference into a result, or returns false if it does not apply."""
    def other_exit(r):
        r["exit"] = 1 if r["exit"] == 0 else 0

    def in_list(path, edit):
        def go(r):
            for k in path:
                r = r.get(k) if isinstance(r, dict) else None
            return edit(r) if r else False
        return go

    return [
        ("exit code", "exit", lambda r: other_exit(r) if "exit" in r else False),
        ("a change that is missing", "result", in_list(["plan", "resource_changes"], lambda v: v.pop())),
        ("another action", "result", in_list(["plan", "resource_changes"], lambda v: v[0].update(actions=["forget"]))),
        ("another value in the state", "result", in_list(["state", "resources"], lambda v: v[0]["instances"][0].update(attributes={"id": "other"})
                                                         if v[0].get("instances") else False)),
        ("a resource that is missing", "result", in_list(["state", "resources"], lambda v: v.pop())),
        ("an apply that is missing", "result", in_list(["events", "done"], lambda v: v.pop())),
        ("a diagnostic that is missing", "diagnostic", in_list(["events", "diagnostics"], lambda v: v.clear())),
        ("another summary", "wording", in_list(["events", "diagnostics"], lambda v: v[0].update(summary="Other") if v[0].get("file") else False)),
        ("another text", "text", lambda r: r.update(text=r["text"] + "x") if isinstance(r.get("text"), str) and "read" not in r else False),
        ("a crash", "crash", lambda r: r.update(crash="panicked at src/lib.rs:1")),
    ]


class Generator(unittest.TestCase):
    def test_a_seed_gives_the_same_scenario_for_good(self):
        """The digests are the same in another process, with another order of sets, and since the family was made."""
        out = subprocess.run([sys.executable, str(HERE / "selftest.py"), "--print"], capture_output=True, text=True,
                             env={"PYTHONHASHSEED": "7", "PATH": ""}, check=True).stdout.split("\n")[:-1]
        self.assertEqual(out, digests())
        self.assertEqual(DIGESTS.read_text().splitlines(), digests())

    def test_scenarios_are_readable(self):
        """Generated files can be read, and the steps name existing trees."""
        for family, n in FAMILIES.items():
            for i in range(n):
                case = generate.scenario(i, family)
                for files in case["trees"].values():
                    for name, text in files.items():
                        if name.endswith((".tf", ".tofu")):
                            hcl.parse(text)
                        elif name.endswith(".json"):
                            json.loads(text)
                for s in case["steps"]:
                    self.assertTrue("files" not in s or s["files"] in case["trees"], f"{family}{i}")

    def test_mutations_change_something_and_are_repeatable(self):
        for n in range(25):
            case, parent, changed = cases.mutation(n)
            if case is None:
                continue
            before = cases.load_case(cases.CONFORMANCE / "cases" / parent)
            self.assertTrue(changed)
            self.assertNotEqual((before["trees"], before["steps"]), (case["trees"], case["steps"]))
            self.assertEqual(json.dumps(cases.mutation(n)[0], default=repr), json.dumps(case, default=repr))


class Comparer(unittest.TestCase):
    def test_equal_results_are_equal(self):
        for name, case, want in recorded():
            self.assertEqual(compared(case, want, copy.deepcopy(want)).items, {}, name)

    def test_planted_differences_are_found(self):
        found = {what: 0 for what, _, _ in plants()}
        for name, case, want in recorded():
            for what, level, edit in plants():
                for i, r in enumerate(want):
                    got = copy.deepcopy(want)
                    if r is None or edit(got[i]) is False or got[i] == r:
                        continue
                    c = compared(case, want[:i + 1], got[:i + 1])
                    levels = {lv for lv, _ in c.items}
                    self.assertTrue(c.items or c.deliberate, f"{name}, step {i}: {what} is not found")
                    found[what] += level in levels
                    break
        for what, n in found.items():
            self.assertGreater(n, 0, f"{what}: never found at its level")

    def test_a_second_difference_counts_beside_the_first(self):
        want = {"run": ["plan"], "exit": 0, "events": {"diagnostics": [{"severity": "warning", "summary": "A", "detail": ""}],
                                                       "planned": [{"address": "lab_thing.a", "action": "create"}]}}
        got = copy.deepcopy(want)
        got["events"] = {"diagnostics": [], "planned": [{"address": "lab_thing.a", "action": "update"}]}
        c = compared({"steps": [{"run": ["plan"]}], "trees": {}}, [want], [got])
        self.assertEqual({level for level, _ in c.items}, {"diagnostic", "result"})


class DeliberateDifferences(unittest.TestCase):
    def case_of(self, example):
        return {"steps": example["steps"], "trees": {"files": {"main.tf": example.get("files", "")}}}

    def take(self, rule, example):
        context = {"case": self.case_of(example), "index": len(example["steps"]) - 1, "names": set()}
        return deliberate.take_out(context, copy.deepcopy(example["want"]), copy.deepcopy(example["got"]), [rule])

    def test_each_has_an_example_a_reason_and_its_own_name(self):
        names = [d.name for d in deliberate.DELIBERATE]
        self.assertEqual(len(names), len(set(names)))
        self.assertEqual(set(names), set(EXAMPLES))
        for d in deliberate.DELIBERATE:
            self.assertTrue(d.reason.endswith("."), d.name)
            self.assertTrue(EXAMPLES[d.name]["near"], d.name)

    def test_each_takes_out_its_example(self):
        for d in deliberate.DELIBERATE:
            taken = self.take(d, EXAMPLES[d.name])
            self.assertEqual(taken.names, [d.name])
            self.assertEqual(compare.step_items(taken.want, taken.got), [], d.name)
            self.assertEqual(taken.ends, d.ends)

    def test_warnings_without_boxes_are_taken_out_too(self):
        taken = self.take(next(d for d in deliberate.DELIBERATE if d.name == "warnings-on-stderr"), WARNED_PLAINLY)
        self.assertEqual(taken.names, ["warnings-on-stderr"])
        self.assertEqual(compare.step_items(taken.want, taken.got), [])

    def test_none_takes_out_what_is_near_it(self):
        for d in deliberate.DELIBERATE:
            for n, example in enumerate(EXAMPLES[d.name]["near"]):
                taken = self.take(d, example)
                self.assertNotEqual(compare.step_items(taken.want, taken.got), [], f"{d.name}, near {n}")
                self.assertFalse(taken.ends, f"{d.name}, near {n}")

    def test_none_hides_another_difference_in_the_same_step(self):
        for d in deliberate.DELIBERATE:
            if d.ends:
                continue
            example = copy.deepcopy(EXAMPLES[d.name])
            state = example["want"].setdefault("state", {"version": 4})
            state.setdefault("resources", []).append({"type": "lab_thing", "name": "other", "instances": [{"attributes": {}}]})
            taken = self.take(d, example)
            self.assertEqual(taken.names, [d.name])
            left = {words.split(":")[0].split(".")[0] for _, words in compare.step_items(taken.want, taken.got)}
            self.assertIn("state", left, d.name)

    def test_none_takes_anything_out_of_recorded_results(self):
        for name, case, want in recorded():
            self.assertEqual(compared(case, want, want).deliberate, {}, name)


class Shrinking(unittest.TestCase):
    def test_only_what_matters_is_left(self):
        """A fake oracle: the engines differ while the bad resource and the plan step exist."""
        item = ("result", "plan: extra")

        class Fake:
            def compare(self, case):
                bad = "terraform_data\" \"bad" in "".join(case["trees"]["files"].values())
                at = next((i for i, s in enumerate(case["steps"]) if s.get("run") == ["plan"]), None)
                want = [{"run": s.get("run"), "exit": 0} for s in case["steps"]]
                c = compare.Comparison(case)
                c.items = {item: at} if bad and at is not None else {}
                return want, want, c

        text = 'resource "terraform_data" "good" {\n  input = 1\n}\nresource "terraform_data" "bad" {\n  input = [1, 2, 3, 4]\n}\noutput "x" {\n  value = 1\n}\n'
        case = {"title": "t", "steps": [{"run": ["init"]}, {"run": ["validate"]}, {"run": ["plan"]}, {"run": ["apply"]}],
                "trees": {"files": {"main.tf": text, "other.tf": "locals {\n  a = 1\n}\n"}}}
        small = shrink.Shrinker(case, item, Fake()).run()
        self.assertEqual(small["trees"], {"files": {"main.tf": 'resource "terraform_data" "bad" {\n}\n'}})
        self.assertEqual(small["steps"], [{"run": ["plan"]}])


class KeptResults(unittest.TestCase):
    def test_the_reference_runs_once_for_a_case(self):
        case = {"title": "t", "steps": [], "trees": {"files": {"main.tf": ""}}}
        with tempfile.TemporaryDirectory() as folder:
            reference = engines.Reference("/nonexistent/tofu", None, folder)
            key = engines.case_key(case, 0)
            (Path(folder) / key[:2]).mkdir()
            (Path(folder) / key[:2] / key).write_text('[{"exit": 0}]')
            self.assertEqual(reference.results(case), [{"exit": 0}])
        self.assertNotEqual(engines.case_key(case, 0), engines.case_key(case | {"env": {"A": "1"}}, 0))


def main():
    if "--print" in sys.argv:
        print("\n".join(digests()))
    elif "--digests" in sys.argv:
        DIGESTS.write_text("\n".join(digests()) + "\n")
    else:
        result = unittest.TextTestRunner(stream=sys.stdout).run(unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"]))
        failed = len(result.failures) + len(result.errors)
        print(f"{result.testsRun - failed} passed, {failed} failed")
        sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
