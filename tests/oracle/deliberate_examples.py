"""For each deliberate difference: an example that it removes, and similar results that must still count.

An example is {"steps", "want", "got"} and optional "files". The rule must make want and got equal (or end the
comparison there). Each result in "near" must stay different.
"""
import json


def changed(example, edit):
    """A copy of an example, edited."""
    out = json.loads(json.dumps({k: v for k, v in example.items() if k != "near"}))  # no data is shared
    edit(out)
    return out


def events(exit_code, diagnostics=(), **parts):
    """The result of a command with events."""
    return {"run": ["plan"], "exit": exit_code, "events": {"diagnostics": list(diagnostics), **parts}}


TOKEN = {"address": "ephemeral.lab_token.t"}
DELETED = {"address": "lab_thing.a", "action": "delete"}
DESTROY = [{"run": ["init"]}, {"run": ["destroy"]}]
AT_DESTROY = {"steps": DESTROY, "want": events(0, done=[DELETED, TOKEN, TOKEN]), "got": events(0, done=[DELETED])}

AFTER_DESTROY = [{"run": ["destroy"]}, {"ledger": True}]
CALLS_AT_DESTROY = {"steps": AFTER_DESTROY, "want": {"ledger": {"lab_token t default": ["open", "close", "open", "close"], "lab_thing a default": ["create", "delete"]}},
                    "got": {"ledger": {"lab_token t default": ["open", "close"], "lab_thing a default": ["create", "delete"]}}}

QUIET = {"steps": [{"ledger": True}], "want": {"ledger": {"lab  us": ["configure"], "lab_thing a us": ["plan", "create", "plan", "plan", "delete"]}},
         "got": {"ledger": {"lab_thing a us": ["plan", "create", "plan", "delete"]}}}

REFUSED = {"severity": "error", "summary": "quota exceeded", "address": 'provider["weft.test/lab/lab"].r["us"]', "file": "main.tf", "line": 9}
DATA = {"address": "terraform_data.x", "action": "create"}
THING = {"address": 'lab_thing.a["eu"]', "action": "create"}
CONFIGURE = {"steps": [{"run": ["plan"]}], "want": events(1, [REFUSED], planned=[DATA], summary={"add": 1, "change": 0, "remove": 0}),
             "got": events(1, [REFUSED], planned=[DATA, THING], summary={"add": 2, "change": 0, "remove": 0})}

LOST = {"steps": [{"run": ["plan"]}], "want": events(1, [{"severity": "error", "summary": 'missing provider module.a.provider["weft.test/lab/lab"]'}]),
        "got": events(0, planned=[DATA])}

REMOVED = {"severity": "error", "summary": "Provider instance not present"}
FROM_STATE = {"severity": "warning", "summary": "Provider instance from the state"}
REMEMBERED = {"steps": [{"run": ["plan"]}], "want": events(1, [REMOVED]), "got": events(0, [FROM_STATE], planned=[DELETED])}

CRASH = {"steps": [{"run": ["validate"]}], "want": {"run": ["validate"], "exit": 11, "crash": "OPENTOFU CRASH"}, "got": {"run": ["validate"], "exit": 1}}

CIRCLE = {"steps": [{"run": ["plan"]}],
          "files": 'key_provider "pbkdf2" "a" {\n  chain = key_provider.pbkdf2.b\n}\nkey_provider "pbkdf2" "b" {\n  chain = key_provider.pbkdf2.a\n}\n',
          "want": events(1, [{"severity": "error", "summary": "Expected key_provider value", "file": "main.tf", "line": 2}]),
          "got": events(1, [{"severity": "error", "summary": "Invalid encryption settings", "file": "main.tf", "line": 1}])}

OWNER = {"steps": [{"ledger": True}], "want": {"ledger": {"lab_thing a east": ["create"], "lab_thing a west": ["create", "delete"]}},
         "got": {"ledger": {"lab_thing a east": ["create", "delete"], "lab_thing a west": ["create"]}}}

BOX = "\u2577\n\u2502 Warning: \"one\" was non-empty\n\u2502 \n\u2502 Its objects may still exist.\n\u2575\n"
WARNED = {"steps": [{"run": ["workspace", "delete", "-force", "one"]}], "want": {"run": ["workspace", "delete"], "exit": 0, "text": "Deleted!\n" + BOX},
          "got": {"run": ["workspace", "delete"], "exit": 0, "text": "Deleted!\n"}}
HEREDOC = {"steps": [{"run": ["console"], "stdin": "<<EOT\nline\nEOT\n"}],
           "want": {"run": ["console"], "exit": 1, "text": "", "headings": ["Error: Invalid expression"]},
           "got": {"run": ["console"], "exit": 0, "text": "<<EOT\nline\n\nEOT\n"}}


ALONE = {"severity": "error", "summary": "Invalid reference", "file": "main.tf", "line": 2}
ECHOED = {"steps": [{"run": ["plan"]}], "want": events(1, [ALONE, {"severity": "error", "summary": "Reference to undeclared local value", "line": 0}]),
          "got": events(1, [ALONE])}

ENTRY = {"mode": "managed", "type": "lab_thing", "name": "empty"}
OTHER_ENTRY = {"mode": "managed", "type": "lab_thing", "name": "x", "instances": [{"attributes": {"id": "<lab1>"}}]}
ENTRIES = {"steps": [{"run": ["import", "lab_thing.empty", "none"]}], "want": events(1) | {"state": {"version": 4, "resources": [ENTRY, OTHER_ENTRY]}},
           "got": events(1) | {"state": {"version": 4, "resources": [OTHER_ENTRY]}}}

TREE = "Providers required by configuration:\n.\n├── provider[b]\n└── provider[a]\n"
ORDERED = {"steps": [{"run": ["providers"]}], "want": {"run": ["providers"], "exit": 0, "text": TREE},
           "got": {"run": ["providers"], "exit": 0, "text": TREE.replace("[b]", "[x]").replace("[a]", "[b]").replace("[x]", "[a]")}}

NOT_STARTED = {"severity": "error", "summary": "failed to read provider configuration schema for weft.test/port/crane: failed to instantiate provider \"x\" to obtain schema"}
UNUSED = {"steps": [{"run": ["validate"]}], "files": 'terraform {\n  required_providers {\n    crane = { source = "weft.test/port/crane" }\n  }\n}\n',
          "want": {"run": ["validate"], "exit": 1, "diagnostics": [NOT_STARTED]}, "got": {"run": ["validate"], "exit": 0, "diagnostics": []}}

NO_FUNCTION = {"severity": "error", "summary": "Call to unknown function", "file": "main.tf", "line": 2}
NO_VALUE = {"severity": "error", "summary": "Invalid for_each argument", "file": "main.tf", "line": 2}
FOR_EACH = {"steps": [{"run": ["plan"]}], "files": 'resource "terraform_data" "a" {\n  for_each = nope(["a"])\n  input = 1\n}\n',
            "want": events(1, [NO_FUNCTION, NO_VALUE], planned=[DATA]), "got": events(1, [NO_FUNCTION])}

ITSELF = {"severity": "error", "summary": "Self-referential block", "file": "main.tf", "line": 2}
BY_ITSELF = {"steps": [{"run": ["validate"]}], "files": 'resource "terraform_data" "a" {\n  count = length(terraform_data.a)\n  input = terraform_data.a\n}\n',
             "want": {"exit": 0, "valid": True, "diagnostics": []}, "got": {"exit": 1, "valid": False, "diagnostics": [ITSELF]}}

def listed(*keys):
    """A state with a data source that has these instances."""
    return {"resources": [{"mode": "data", "type": "lab_echo", "name": "a", "instances": [{"index_key": k, "attributes": {"id": k}} for k in keys]}]}


SHUFFLED = {"steps": [{"run": ["apply"]}], "want": {"exit": 0, "state": listed("d", "a")}, "got": {"exit": 0, "state": listed("a", "d")}}

BROKEN = {"severity": "error", "summary": "create failed", "address": 'lab_thing.a["x"]', "file": "main.tf", "line": 1}
MENTIONED = """
resource "lab_thing" "a" {
  for_each = toset(["x"])
}
locals {
  keys = keys(lab_thing.a)
}
resource "terraform_data" "by_key" {
  for_each = toset(local.keys)
}
resource "terraform_data" "apart" {
}
"""
BY_KEY = {"address": 'terraform_data.by_key["x"]', "action": "create", "id": "<uuid1>"}
GOES_ON = {"steps": [{"run": ["apply"]}], "files": MENTIONED,
           "want": events(1, [BROKEN], errored=[{"address": 'lab_thing.a["x"]', "action": "create"}], done=[]),
           "got": events(1, [BROKEN], errored=[{"address": 'lab_thing.a["x"]', "action": "create"}], done=[BY_KEY])}

STALE = {"steps": [{"run": ["apply", "p1"]}], "want": {"run": ["apply", "p1"], "exit": 1, "events": {"diagnostics": [{"severity": "error", "summary": "Saved plan is stale"}]}},
         "got": {"run": ["apply", "p1"], "exit": 0, "events": {"summary": {"add": 0, "change": 0, "remove": 0}}}}


def leaving(address):
    """The event of a delete of an object whose module instance no longer exists."""
    return {"address": address, "action": "delete", "reason": "delete_because_no_module"}


LEAVING = {"steps": [{"run": ["plan", '-target=module.w["a"]']}],
           "want": events(0, planned=[leaving('module.w["a"].terraform_data.x'), leaving('module.w["b"].terraform_data.x')]),
           "got": events(0, planned=[leaving('module.w["a"].terraform_data.x')])}
PLAIN_WARNING = "Applying.\n\nWarning: Check block assertion failed\n\n  on main.tf line 4\n\nNo.\n\nApply complete!\n"
WARNED_PLAINLY = {"steps": [{"run": ["apply", "-no-color"]}], "want": {"run": ["apply"], "exit": 0, "text": PLAIN_WARNING},
                  "got": {"run": ["apply"], "exit": 0, "text": "Applying.\n\nApply complete!\n"}}


def near(example, *edits):
    """An example with similar results."""
    return example | {"near": [changed(example, e) for e in edits]}


EXAMPLES = {
    "ephemeral-at-destroy": near(
        AT_DESTROY,
        lambda x: x.update(steps=[{"run": ["init"]}, {"run": ["apply"]}]),
        lambda x: x["got"]["events"]["done"].clear(),
        lambda x: x["got"]["events"]["done"].append({"address": "ephemeral.lab_token.other"}),
        lambda x: x["want"]["events"]["done"].append({"address": "lab_thing.ephemeral", "action": "delete"})),
    "ephemeral-calls-at-destroy": near(
        CALLS_AT_DESTROY,
        lambda x: x.update(steps=[{"run": ["apply"]}, {"ledger": True}]),
        lambda x: x["want"]["ledger"]["lab_token t default"].append("open"),
        lambda x: x["got"]["ledger"]["lab_thing a default"].pop()),
    "fewer-quiet-calls": near(
        QUIET,
        lambda x: x["got"]["ledger"]["lab_thing a us"].append("plan"),
        lambda x: x["got"]["ledger"]["lab_thing a us"].remove("create"),
        lambda x: x["want"]["ledger"]["lab_thing a us"].append("update")),
    "planned-beside-failed-configure": near(
        CONFIGURE,
        lambda x: x["got"]["events"]["summary"].update(add=3),
        lambda x: x["got"]["events"]["planned"].remove(DATA),
        lambda x: x["got"]["events"]["diagnostics"].clear(),
        lambda x: [r["events"]["diagnostics"][0].pop("address") for r in (x["want"], x["got"])]),
    "provider-lost": near(
        LOST,
        lambda x: x["want"]["events"]["diagnostics"].append({"severity": "error", "summary": "Invalid index"}),
        lambda x: x["got"].update(exit=1),
        lambda x: x["want"]["events"]["diagnostics"][0].update(summary="missing provider of a module")),
    "provider-remembered": near(
        REMEMBERED,
        lambda x: x["got"]["events"]["diagnostics"].clear(),
        lambda x: x["got"].update(exit=1),
        lambda x: x["want"]["events"]["diagnostics"].append({"severity": "error", "summary": "Invalid index"})),
    "crash": near(CRASH, lambda x: x["want"].update(crash="timeout"), lambda x: x["got"].update(crash="panicked at")),
    "entries-without-objects": near(
        ENTRIES,
        lambda x: x["want"]["state"]["resources"][0].update(instances=[{"attributes": {}}]),
        lambda x: x["got"]["state"]["resources"].clear(),
        lambda x: x["got"]["state"]["resources"].append(ENTRY | {"name": "more"})),
    "independent-goes-on": near(
        GOES_ON,
        lambda x: x["got"]["events"]["done"][0].update(address="terraform_data.apart"),
        lambda x: x["got"]["events"]["done"].append({"address": 'lab_thing.a["y"]', "action": "create"}),
        lambda x: x["want"]["events"]["done"].append(THING),
        lambda x: x["got"]["events"]["errored"].clear(),
        lambda x: x["got"].update(exit=0)),
    "stale-by-instance": near(
        STALE,
        lambda x: x.update(steps=[{"run": ["apply"]}]),
        lambda x: x["got"].update(exit=1),
        lambda x: x["want"]["events"]["diagnostics"].append(ALONE)),
    "gone-and-selected": near(
        LEAVING,
        lambda x: x.update(steps=[{"run": ["plan"]}]),
        lambda x: x.update(steps=[{"run": ["plan", '-target=module.w["b"]']}]),
        lambda x: x.update(steps=[{"run": ["plan", '-exclude=module.w["a"]']}]),
        lambda x: x["got"]["events"]["planned"].append(DATA),
        lambda x: x["want"]["events"]["planned"][1].update(reason="delete_because_each_key")),
    "unused-provider": near(
        UNUSED,
        lambda x: x.update(files=x["files"] + 'resource "crane_hook" "a" {\n}\n'),
        lambda x: x["want"]["diagnostics"].append(ALONE),
        lambda x: x["got"].update(exit=1, diagnostics=[ALONE])),
    "for-each-when-validating": near(
        FOR_EACH,
        lambda x: x["got"]["events"]["diagnostics"][0].update(line=3),
        lambda x: x["want"]["events"]["diagnostics"][1].update(line=3),
        lambda x: x["want"]["events"]["diagnostics"][1].update(summary="Invalid index"),
        lambda x: x["got"].update(exit=0)),
    "repeated-by-itself": near(
        BY_ITSELF,
        lambda x: x["got"]["diagnostics"][0].update(line=3),
        lambda x: x["got"]["diagnostics"][0].update(summary="Invalid reference"),
        lambda x: x["want"].update(exit=1, diagnostics=[ITSELF | {"line": 3}]),
        lambda x: x["got"]["diagnostics"].append(ITSELF | {"line": 3})),
    "instances-in-order": near(
        SHUFFLED,
        lambda x: x["got"]["state"]["resources"][0]["instances"][0]["attributes"].update(id="b"),
        lambda x: x["got"]["state"]["resources"][0]["instances"].pop(),
        lambda x: [x[r]["state"]["resources"][0].update(mode="managed") for r in ("want", "got")]),
    "providers-in-order": near(
        ORDERED,
        lambda x: x["got"].update(text=TREE.replace("[a]", "[c]")),
        lambda x: x["got"].update(text=TREE + "    provider[c]\n"),
        lambda x: x.update(steps=[{"run": ["show"]}])),
    "key-provider-circle": near(
        CIRCLE,
        lambda x: x.update(files='key_provider "pbkdf2" "a" {\n  chain = key_provider.pbkdf2.b\n}\n'),
        lambda x: x["got"]["events"]["diagnostics"][0].update(summary="Invalid reference"),
        lambda x: x["got"].update(exit=0)),
    "deleted-through-its-owner": near(
        OWNER,
        lambda x: x["got"]["ledger"]["lab_thing a west"].append("delete"),
        lambda x: x["got"]["ledger"]["lab_thing a east"].pop(),
        lambda x: x["want"]["ledger"].update({"lab_thing a north": []})),
    "warnings-on-stderr": near(
        WARNED,
        lambda x: x["got"].update(text="Gone!\n"),
        lambda x: x["want"].update(text="Deleted!\n" + BOX.replace("Warning", "Error")),
        lambda x: x["got"].update(text="Deleted!\n" + BOX.replace("one", "two"))),
    "console-heredoc": near(
        HEREDOC,
        lambda x: x.update(steps=[{"run": ["console"], "stdin": "1 +\n"}]),
        lambda x: x["got"].update(text=""),
        lambda x: x["want"].update(headings=["Error: Invalid reference"])),
    "echo-without-place": near(
        ECHOED,
        lambda x: x["got"]["events"]["diagnostics"].clear(),
        lambda x: x["want"]["events"]["diagnostics"][1].update(file="main.tf", line=2),
        lambda x: x["want"]["events"]["diagnostics"][1].update(summary="Reference to undeclared resource")),
}
