"""Names the differences between two plans, two event streams or two states."""
import json
import re

from engines import difftest

VALUES = ("after", "after_unknown", "before", "after_sensitive", "before_sensitive")
CHANGE_FIELDS = ["actions", "reason", "previous_address", "importing", "provider", "replace_paths", *VALUES, "deposed", "generated_config",
                 "action", "previous", "address"]


def short(v):
    """A short text for a value."""
    return json.dumps(v)[:60]


def typename(address):
    """lab_thing of module.a["x"].lab_thing.b[0]"""
    a = re.sub(r'\[("(?:[^"\\]|\\.)*"|\d+)\]', "", address or "")
    parts = [p for p in a.split(".") if p != "module"]
    data = "data " if "data" in parts else "ephemeral " if "ephemeral" in parts else ""
    return data + (parts[-2] if len(parts) > 1 else a)


def by(items, *keys):
    """The items by these keys. Repeated items get a mark."""
    out = {}
    for i in items or []:
        k = "|".join(str(i.get(x)) for x in keys)
        while k in out:
            k += "'"
        out[k] = i
    return out


def value_note(w, g):
    """The difference between two values: the first attribute that differs, or the types."""
    if isinstance(w, dict) and isinstance(g, dict):
        for k in sorted(set(w) | set(g)):
            if k not in g:
                return f"{k} absent"
            if k not in w:
                return f"{k} extra"
            if w[k] != g[k]:
                return k
    if type(w) is not type(g):
        return f"{type(w).__name__} is {type(g).__name__}"
    return "value"


def first_difference(w, g):
    """The path of the first difference and its kind, without the expected value."""
    d = next(difftest.differences(w, g), "")
    return re.sub(r"(: (?:expected|missing|not expected)).*", r"\1", d)


def below_name(w, g):
    """The path of the first difference and its kind, as in `first_difference`, but without the name of the
    container."""
    d = next(difftest.differences(w, g), "")
    m = re.search(r"^((?:/[^/:]+)*)(: \w+)", d)
    path = (m.group(1) if m else "").split("/")
    if len(path) > 1:
        path[1] = "_"
    return "/".join(path) + (m.group(2) if m else "")


def change_items(part, w, g, keys=("address", "deposed")):
    """The differences between two lists of changes."""
    w, g = by(w, *keys), by(g, *keys)
    items = []
    for k in sorted(set(w) | set(g)):
        a, b = w.get(k), g.get(k)
        if a == b:
            continue
        name = typename((a or b).get("address"))
        if b is None:
            items.append(f"{part}: missing {name} {short(a.get('actions') or a.get('action'))}")
        elif a is None:
            items.append(f"{part}: extra {name} {short(b.get('actions') or b.get('action'))}")
        else:
            f = next(f for f in CHANGE_FIELDS + sorted(set(a) | set(b)) if a.get(f) != b.get(f))
            note = f"{short(a.get(f))} is {short(b.get(f))}" if f in ("actions", "reason", "action") else \
                value_note(a.get(f), b.get(f)) if f in VALUES else ""
            items.append(f"{part}.{f}: {name} {note}".rstrip())
    return sorted(set(items))


def output_items(w, g):
    """The differences between the changes of outputs."""
    items = []
    for k in sorted(set(w) | set(g)):
        if w.get(k) == g.get(k):
            continue
        if k not in g or k not in w:
            items.append(f"plan.outputs: {'missing' if k not in g else 'extra'} {short((w.get(k) or g.get(k)).get('actions'))}")
        else:
            f = next(f for f in ("actions", *VALUES) if w[k].get(f) != g[k].get(f))
            items.append(f"plan.outputs.{f}: " + (f"{short(w[k].get(f))} is {short(g[k].get(f))}" if f == "actions" else ""))
    return items


def plan_items(w, g):
    """The differences between two plans: those of changes, or all others if the changes do not differ."""
    if (w is None) != (g is None):
        return [f"plan: {'missing' if g is None else 'extra'}"]
    if w is None or w == g:
        return []
    items = change_items("plan.changes", w.get("resource_changes"), g.get("resource_changes"))
    if items:
        return items
    items = change_items("plan.drift", w.get("drift"), g.get("drift"))
    items += output_items(w.get("output_changes") or {}, g.get("output_changes") or {})
    if not items:
        for part in sorted(set(w) | set(g)):
            if w.get(part) != g.get(part):
                items.append((f"plan.{part}: " + re.sub(r"/\d+", "/N", first_difference(w.get(part), g.get(part))))[:90])
    return sorted(set(items))


def event_items(w, g):
    """The differences between two event streams."""
    items = []
    if w.get("not_json") != g.get("not_json"):
        items.append("events: text among JSON")
    for part in ("planned", "drift", "done", "errored"):
        if w.get(part) != g.get(part):
            keys = ("address", "action") if part in ("done", "errored") else ("address",)
            items += change_items(f"events.{part}", w.get(part), g.get(part), keys)
    if items:
        return items
    for part in ("summary", "outputs", "test", "test_summary"):
        if w.get(part) != g.get(part):
            if part == "outputs":
                return [f"events.outputs: {below_name(w.get(part), g.get(part))}"]
            m = re.search(r"^((?:/[^/:]+)*)(: \w+)", next(difftest.differences(w.get(part), g.get(part)), ""))
            return [f"events.{part}: {m.group(1) + m.group(2) if m else ''}"]
    return []


def resource_item(a, b):
    """The differences between two resources of a state, one of which may be missing."""
    kind = ("data " if (a or b).get("mode") == "data" else "") + str((a or b).get("type"))
    if a is None or b is None:
        return f"state.resources: {'missing' if b is None else 'extra'} {kind}"
    instances = [by(x.get("instances"), "index_key", "deposed") for x in (a, b)]
    for n in sorted(set(instances[0]) | set(instances[1])):
        x, y = instances[0].get(n), instances[1].get(n)
        if x == y:
            continue
        if x is None or y is None:
            return f"state.{'missing' if y is None else 'extra'} instance: {kind}"
        f = next(f for f in ["attributes", "status", *sorted(set(x) | set(y))] if x.get(f) != y.get(f))
        return f"state.{f + (' ' + value_note(x.get(f), y.get(f)) if f == 'attributes' else '')}: {kind}"
    return f"state.{next(f for f in sorted(set(a) | set(b)) if a.get(f) != b.get(f))}: {kind}"


def state_items(w, g):
    """The differences between two states, or between the states of several workspaces."""
    if w == g:
        return []
    if w is None or g is None:
        return [f"state: {'missing' if g is None else 'extra'}"]
    items = []
    if "version" not in w or "version" not in g:  # one for each workspace
        for k in sorted(set(w) | set(g)):
            both = all(isinstance(x.get(k), (dict, type(None))) for x in (w, g))
            items += state_items(w.get(k), g.get(k)) if both else ["state: other files"]
        return sorted(set(items))
    old, new = (by(x.get("resources"), "module", "mode", "type", "name") for x in (w, g))
    for k in sorted(set(old) | set(new)):
        if old.get(k) != new.get(k):
            items.append(resource_item(old.get(k), new.get(k)))
    if not items:
        for part in sorted(set(w) | set(g)):
            if w.get(part) != g.get(part):
                items.append(f"state.{part}: {below_name(w.get(part), g.get(part))}")
    return sorted(set(items))
