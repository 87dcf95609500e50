"""All deliberate differences between Weft and OpenTofu 1.12.6.

Each has a name, a reason, and a rule that removes exactly this difference from both results of a step. The rest is
compared as usual, so that a deliberate difference never hides another difference in the same step. A rule gets the
context ({"case", "index", "names": the deliberate differences that were found before in this case}) and copies of both
results. The rule changes the copies and returns true, or it changes nothing and returns false.

`ends` means that OpenTofu stops at this step: nothing after the step can be compared.

Every rule has an example in `deliberate_examples.py`, together with similar results that must still count as
different.
"""
import collections
import copy
import difflib
import json
import re
from typing import Callable, NamedTuple

import mentions

# Calls that change nothing. They are in the ledger only with LAB_LEDGER=all.
QUIET = ("configure", "read", "plan", "data")


class Deliberate(NamedTuple):
    """One deliberate difference."""
    name: str
    reason: str
    rule: Callable
    ends: bool = False


class Taken(NamedTuple):
    """Both results without the deliberate differences, the names of these, and whether the comparison ends here."""
    want: dict
    got: dict
    names: list
    ends: bool


def problems(result):
    """The list of diagnostics of a result, to be changed in place."""
    if isinstance(result.get("diagnostics"), list):
        return result["diagnostics"]
    return (result.get("events") or {}).get("diagnostics") or []


def errors(result):
    """The errors among the diagnostics of a result."""
    return [d for d in problems(result) if d.get("severity") == "error"]


def words(context):
    """The command line of the step."""
    return context["case"]["steps"][context["index"]].get("run") or [""]


def key(v):
    """A value as a hashable key."""
    return json.dumps(v, sort_keys=True)


def beyond(longer, shorter):
    """The items that only the first list has, counted. None if the second list has additional items."""
    a, b = collections.Counter(map(key, longer)), collections.Counter(map(key, shorter))
    return None if b - a else a - b


def without(items, taken):
    """The items without the items of the counter `taken`."""
    taken, keep = collections.Counter(taken), []
    for i in items:
        if taken[key(i)] > 0:
            taken[key(i)] -= 1
        else:
            keep.append(i)
    return keep


def is_ephemeral(event):
    """Whether an event concerns an ephemeral object."""
    return bool(re.search(r"(^|\.)ephemeral\.", event.get("address") or ""))


def removes_everything(steps):
    """Whether one of the steps destroys."""
    return any(s.get("run", [""])[0] == "destroy" or "-destroy" in s.get("run", []) for s in steps)


def ephemeral_at_destroy(context, want, got):
    """Events of ephemeral objects that only OpenTofu opens, in a step that destroys."""
    steps = context["case"]["steps"]
    command = words(context)
    saved = command[0] == "apply" and removes_everything(steps[:context["index"]])
    if not (removes_everything([{"run": command}]) or saved):
        return False
    done, had = (r.get("events", {}).get("done") or [] for r in (want, got))
    more = beyond([e for e in done if is_ephemeral(e)], [e for e in had if is_ephemeral(e)])
    if not more:
        return False
    want["events"]["done"] = without(done, more)
    if not want["events"]["done"]:
        del want["events"]["done"]
    return True


def ephemeral_calls_at_destroy(context, want, got):
    """The pairs of open and close in the ledger for these events."""
    if not removes_everything(context["case"]["steps"][:context["index"]]):
        return False
    a, b = want.get("ledger"), got.get("ledger")
    if not isinstance(a, dict) or not isinstance(b, dict):
        return False
    found = False
    for name in [n for n in a if n.startswith("lab_token ")]:
        more = beyond(a[name], b.get(name, []))
        if more and set(more) == {'"open"', '"close"'} and more['"open"'] == more['"close"']:
            found = True
            if name in b:
                a[name] = b[name]
            else:
                del a[name]
    return found


def fewer_quiet_calls(context, want, got):
    """Calls without effect that only OpenTofu makes: repeated calls at apply, and instances without users."""
    a, b = want.get("ledger"), got.get("ledger")
    if not isinstance(a, dict) or not isinstance(b, dict):
        return False
    found = False
    for name in list(a):
        have = b.get(name, [])
        left = iter(a[name])
        if a[name] == have or not all(call in left for call in have):
            continue
        if [c for c in a[name] if c not in QUIET] == [c for c in have if c not in QUIET]:
            found = True
            if name in b:
                a[name] = have
            else:
                del a[name]
    return found


def planned_beside_failed_configure(context, want, got):
    """Changes that Weft still plans when one instance of a provider cannot be configured."""
    failed = [d for d in errors(want) if re.search(r'(^|\.)provider\["', d.get("address") or "")]
    if not failed or want.get("exit") != 1 or got.get("exit") != 1 or beyond(errors(want), errors(got)) or beyond(errors(got), errors(want)):
        return False
    a, b = want.get("events", {}), got.get("events", {})
    more = beyond(b.get("planned") or [], a.get("planned") or [])
    if not more:
        return False
    counts = {"create": "add", "update": "change", "delete": "remove"}
    for text, n in more.items():
        count = counts.get(json.loads(text).get("action"))
        if count is None or (b.get("summary") or {}).get(count, 0) < n:
            return False
        b["summary"][count] -= n
    b["planned"] = without(b["planned"], more)
    if not b["planned"]:
        del b["planned"]
    return True


def provider_lost(context, want, got):
    """OpenTofu reports an internal error about a provider instance that the configuration contains."""
    lost = [d for d in errors(want) if re.fullmatch(r'missing provider (module\..*\.)?provider\[".*"\].*', d.get("summary") or "")]
    return bool(lost) and len(lost) == len(errors(want)) and not errors(got) and want.get("exit") == 1 and got.get("exit") in (0, 2)


def provider_remembered(context, want, got):
    """OpenTofu lacks a provider that was removed together with its objects. The state of Weft remembers it."""
    lost = [d for d in errors(want) if d.get("summary") in ("Provider instance not present", "Provider configuration not present")]
    told = [d for d in problems(got) if d.get("summary") == "Provider instance from the state"]
    return bool(lost and told) and len(lost) == len(errors(want)) and not errors(got) and want.get("exit") == 1 and got.get("exit") in (0, 2)


def crash(context, want, got):
    """OpenTofu crashes and Weft does not."""
    return bool(want.get("crash")) and want["crash"] != "timeout" and not got.get("crash")


def key_provider_circle(context, want, got):
    """A cycle of key providers, which OpenTofu reports as a wrong type."""
    a, b = errors(want), errors(got)
    if [d.get("summary") for d in a] != ["Expected key_provider value"] or [d.get("summary") for d in b] != ["Invalid encryption settings"]:
        return False
    text = "".join(x for f in context["case"]["trees"]["files"].values() if isinstance(f, str) for x in [f])
    if len(re.findall(r"chain\s*=\s*key_provider\.", text)) < 2 or a[0].get("file") != b[0].get("file"):
        return False
    problems(want).remove(a[0])
    problems(got).remove(b[0])
    return True


def deleted_through_its_owner(context, want, got):
    """A replaced object is deleted through the provider instance that owns it, not through the new one."""
    a, b = want.get("ledger"), got.get("ledger")
    if not isinstance(a, dict) or not isinstance(b, dict):
        return False
    def objects(ledger):
        out = collections.defaultdict(dict)
        for name, calls in ledger.items():
            kind, _, region = name.rpartition(" ")
            out[kind][region] = calls
        return out
    found, old, new = False, objects(a), objects(b)
    for kind in set(old) & set(new):
        x, y = old[kind], new[kind]
        if x == y or set(x) != set(y) or len(x) != 2:
            continue
        one, two = sorted(x)
        for of, at in ((one, two), (two, one)):
            # `of` owns the object. Only Weft deletes the object with `of`. OpenTofu deletes it with `at`
            if y[of] == [*x[of], "delete"] and x[at].count("delete") == y[at].count("delete") + 1 \
                    and [c for c in x[at] if c != "delete"] == [c for c in y[at] if c != "delete"]:
                a[f"{kind} {of}"], a[f"{kind} {at}"] = y[of], y[at]
                found = True
    return found


ESCAPE = r"(?:\x1b\[[0-9;]*m)*"
WARNING_BOX = re.compile(rf"(?m)^{ESCAPE}╷{ESCAPE}\n{ESCAPE}│{ESCAPE} {ESCAPE}Warning: .*\n(?:{ESCAPE}│.*\n)*{ESCAPE}╵{ESCAPE}\n+")


def warnings_on_stderr(context, want, got):
    """Boxes around warnings that OpenTofu writes among the output of a command."""
    a, b = want.get("text"), got.get("text")
    if not isinstance(a, str) or not isinstance(b, str) or WARNING_BOX.search(b):
        return False
    bare = WARNING_BOX.sub("", a)
    boxed = bare != a and bare.strip() == b.strip()
    if not boxed and not only_plain_warnings(a, b):
        return False
    want["text"] = got["text"]
    return True


def only_plain_warnings(a, b):
    """Whether the first text is the second one with additional warnings, as `-no-color` writes them."""
    if re.search("(?m)^Warning: ", b):
        return False
    a, b = a.strip().split("\n"), b.strip().split("\n")
    steps = [s for s in difflib.SequenceMatcher(None, a, b, autojunk=False).get_opcodes() if s[0] != "equal"]
    def is_warning(step):
        lines = [line for line in a[step[1]:step[2]] if line]
        return step[0] == "delete" and (not lines or lines[0].startswith("Warning: "))
    return bool(steps) and all(map(is_warning, steps)) and any(line.startswith("Warning: ") for line in a)


def console_heredoc(context, want, got):
    """A heredoc in the console: OpenTofu treats its first line as the whole expression."""
    step = context["case"]["steps"][context["index"]]
    said = want.get("headings") or []
    if words(context)[0] != "console" or not re.match(r"<<-?\w+\n", step.get("stdin") or ""):
        return False
    if want.get("exit") != 1 or got.get("exit") != 0 or got.get("headings") or said != ["Error: Invalid expression"] or not got.get("text"):
        return False
    want.update(exit=0, text=got["text"])
    del want["headings"]
    return True


ECHO = re.compile(r'Reference to undeclared (input variable|local value)|Invalid "(each|count|path|terraform|tofu)" attribute')


def echo_without_place(context, want, got):
    """A second error of OpenTofu about a single name: the error concerns an empty name, and has no position."""
    places = [{(d.get("file"), d.get("line")) for d in errors(r) if d.get("summary") == "Invalid reference"} for r in (want, got)]
    alone = places[0] & places[1]
    echoes = [d for d in errors(want) if ECHO.fullmatch(d.get("summary") or "") and not d.get("file") and not d.get("line")]
    if not alone or not echoes:
        return False
    for d in echoes:
        problems(want).remove(d)
    return True


def entries_without_objects(context, want, got):
    """Entries without instances in the state file, and modules with nothing else, that only OpenTofu writes."""
    found = False
    for part, name, empty in (("state", "resources", lambda e: not e.get("instances")), ("plan", "modules", lambda m: set(m) == {"address"})):
        a, b = (r.get(part) or {} for r in (want, got))
        if part == "plan":
            a, b = (r.get("prior_values") or {} for r in (a, b))
        more = beyond([e for e in a.get(name) or [] if empty(e)], [e for e in b.get(name) or [] if empty(e)])
        if more:
            found = True
            a[name] = without(a[name], more)
            if not a[name]:
                del a[name]
    return found


def providers_in_order(context, want, got):
    """The output of `providers`: OpenTofu's order within a module changes from run to run."""
    a, b = want.get("text"), got.get("text")
    if words(context)[0] != "providers" or not isinstance(a, str) or not isinstance(b, str) or a == b:
        return False
    def lines(text):
        return sorted(re.sub("[├└]── (?=provider)", "── ", line) for line in text.split("\n"))
    if lines(a) != lines(b):
        return False
    want["text"] = b
    return True


def instances_in_order(context, want, got):
    """The instances of a resource in the state: for data sources, OpenTofu's order changes from run to run."""
    pairs = zip((want.get("state") or {}).get("resources") or [], (got.get("state") or {}).get("resources") or [])
    found = False
    for a, b in pairs:
        theirs, ours = a.get("instances") or [], b.get("instances") or []
        same = {k: v for k, v in a.items() if k != "instances"} == {k: v for k, v in b.items() if k != "instances"}
        if a.get("mode") == "data" and same and theirs != ours and sorted(map(key, theirs)) == sorted(map(key, ours)):
            a["instances"] = ours
            found = True
    return found


def unused_provider(context, want, got):
    """OpenTofu starts each required provider. If one cannot be started, this is an error even if nothing uses it."""
    said = [d.get("summary") or "" for d in errors(want)] + [h for h in want.get("headings") or [] if h.startswith("Error: ")]
    pattern = r"(?:Error: )?failed to read provider configuration schema for (\S+): failed to instantiate provider.*"
    found = [re.match(pattern, s) for s in said]
    if not found or not all(found) or want.get("exit") != 1 or got.get("exit") != 0 or errors(got):
        return False
    text = "".join(mentions.current(context["case"], context["index"]).values())
    return all(not re.search(rf'(?:resource|data|provider|ephemeral)"?\s*[{{"]?\s*"?{m.group(1).rpartition("/")[2]}', text) for m in found)


def for_each_when_validating(context, want, got):
    """Errors about `for_each` of a resource: OpenTofu reports them at plan, with a second error about the value."""
    a, b = errors(want), errors(got)
    files = mentions.current(context["case"], context["index"])
    def in_for_each(d):
        lines = (files.get(d.get("file")) or "").split("\n")
        return 0 < (d.get("line") or 0) <= len(lines) and "for_each" in lines[d["line"] - 1]
    if not b or not all(map(in_for_each, b)) or got.get("exit") != 1:
        return False
    if words(context)[0] == "validate":
        return want.get("exit") == 0 and not a
    places = {(d.get("file"), d.get("line")) for d in b}
    more, less = beyond(a, b), beyond(b, a)
    echoes = less is None or not less
    extra = [json.loads(d) for d in more or []]
    return want.get("exit") == 1 and echoes and bool(extra) and all(
        d.get("summary") == "Invalid for_each argument" and (d.get("file"), d.get("line")) in places for d in extra)


def repeated_by_itself(context, want, got):
    """A repetition that refers to its own resource. OpenTofu evaluates it as if the resource had no instances."""
    files = mentions.current(context["case"], context["index"])
    def in_repetition(d):
        lines = (files.get(d.get("file")) or "").split("\n")
        at = lines[d["line"] - 1] if 0 < (d.get("line") or 0) <= len(lines) else ""
        return d.get("summary") == "Self-referential block" and re.match(r"\s*(count|for_each|enabled)\s*=", at)
    found = errors(got)
    return got.get("exit") == 1 and want.get("exit") in (0, 2) and not errors(want) and bool(found) and all(map(in_repetition, found))


def independent_goes_on(context, want, got):
    """OpenTofu skips everything that mentions a failed object. Weft skips only what needs its result."""
    a, b = want.get("events") or {}, got.get("events") or {}
    failed = {mentions.resource(e.get("address")) for e in a.get("errored") or []}
    failed |= {mentions.resource(d.get("address")) for d in errors(want) if d.get("address")}
    same = want.get("exit") == got.get("exit") == 1 and sorted(map(key, errors(want))) == sorted(map(key, errors(got)))
    if words(context)[0] != "apply" or not same or not failed or a.get("errored") != b.get("errored"):
        return False
    # Without ids: they are numbered in order of appearance.
    bare = [[{k: v for k, v in e.items() if k != "id"} for e in events.get("done") or []] for events in (b, a)]
    more = beyond(*bare)
    if not more:
        return False
    reached = mentions.that_reach(mentions.current(context["case"], context["index"]), failed)
    return {mentions.resource(json.loads(e).get("address")) for e in more} <= reached - failed


def stale_by_instance(context, want, got):
    """A saved plan is stale for Weft only if something that it changes or reads has changed."""
    command = words(context)
    saved = command[0] == "apply" and any(not w.startswith("-") for w in command[1:])
    alone = [d.get("summary") for d in errors(want)] == ["Saved plan is stale"]
    return saved and alone and want.get("exit") == 1 and got.get("exit") == 0 and not errors(got)


def gone_and_selected(context, want, got):
    """Objects of module instances that no longer exist. If OpenTofu plans one object of a resource, it deletes all
    objects of the resource, even those that `-target` does not name or that `-exclude` names."""
    chosen = [w.split("=", 1) for w in words(context)[1:] if re.match("-(target|exclude)=", w)]
    if not chosen or want.get("exit") != got.get("exit") or errors(want) or errors(got):
        return False
    more = beyond(*((r.get("events") or {}).get("planned") or [] for r in (want, got)))
    if not more:
        return False
    def is_left_out(event):
        inside = [address for _, address in chosen if covers(address, event.get("address") or "")]
        return bool(inside) == chosen[0][0].endswith("exclude")
    events = [json.loads(e) for e in more]
    return all(e.get("action") == "delete" and e.get("reason") == "delete_because_no_module" and is_left_out(e) for e in events)


def covers(selected, address):
    """Whether a selected address is this one, or contains it."""
    return address == selected or address.startswith((selected + ".", selected + "["))


DELIBERATE = [
    Deliberate("ephemeral-at-destroy", "A destroy opens ephemeral objects only when something that it destroys needs them.", ephemeral_at_destroy),
    Deliberate("ephemeral-calls-at-destroy", "The same, in the ledger of the provider.", ephemeral_calls_at_destroy),
    Deliberate("fewer-quiet-calls", "Weft configures only provider instances that something uses, and plans a delete once.", fewer_quiet_calls),
    Deliberate("planned-beside-failed-configure",
               "When one instance of a provider cannot be configured, Weft still plans what the other instances look after.", planned_beside_failed_configure),
    Deliberate("provider-lost", "OpenTofu loses a provider instance that the configuration has; Weft goes on.", provider_lost, ends=True),
    Deliberate("provider-remembered", "The state remembers a provider that disappears together with its objects, so that they can be deleted.",
               provider_remembered, ends=True),
    Deliberate("crash", "OpenTofu crashes; Weft gives a result or a plain error.", crash, ends=True),
    Deliberate("entries-without-objects", "After a failed apply, the state lists the resources that the run reached; OpenTofu also lists resources with count = 0 that something reads.",
               entries_without_objects),
    Deliberate("independent-goes-on", "A failure stops what waits for it; what only mentions it in a value that is known goes on.", independent_goes_on,
               ends=True),
    Deliberate("stale-by-instance", "A saved plan can be applied while nothing that it changes or reads has changed.", stale_by_instance, ends=True),
    Deliberate("gone-and-selected", "What -target does not name, or -exclude names, stays also if its module instance is gone.", gone_and_selected,
               ends=True),
    Deliberate("unused-provider", "Weft starts only providers that something uses.", unused_provider, ends=True),
    Deliberate("for-each-when-validating", "Weft says what is wrong with for_each of a resource when it validates, and once.",
               for_each_when_validating, ends=True),
    Deliberate("repeated-by-itself", "A count, for_each or enabled that refers to its own resource is an error; OpenTofu sees no instances.",
               repeated_by_itself, ends=True),
    Deliberate("instances-in-order", "The state lists the instances of a data source in their order, not in one that changes from run to run.",
               instances_in_order),
    Deliberate("providers-in-order", "Weft lists the providers of a module in their order, not in one that changes from run to run.", providers_in_order),
    Deliberate("key-provider-circle", "OpenTofu names a wrong type where key providers depend on each other; Weft names the circle.", key_provider_circle),
    Deliberate("deleted-through-its-owner", "Weft deletes a replaced object through the provider instance that made it.", deleted_through_its_owner),
    Deliberate("warnings-on-stderr", "Weft writes warnings to stderr, so that the output of a command is only its output.", warnings_on_stderr),
    Deliberate("console-heredoc", "The console takes heredocs, as it takes open brackets, over several lines.", console_heredoc),
    Deliberate("echo-without-place", "A name that stands alone is one error; OpenTofu adds one about an empty name, without a place.", echo_without_place),
]


def take_out(context, want, got, rules=DELIBERATE):
    """Removes the deliberate differences from two results of a step."""
    names, ends = [], False
    if want is None or got is None or want == got:
        return Taken(want, got, names, ends)
    want, got = copy.deepcopy(want), copy.deepcopy(got)
    for d in rules:
        if d.rule(context, want, got):
            names.append(d.name)
            if d.ends:
                return Taken(got, got, names, True)
    return Taken(want, got, names, ends)
