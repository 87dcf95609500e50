//! A test of all crates together, from the point of view of a user. Another process applies a plan file without the
//! configuration. The test also checks the interface for scripts.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value as Json;

const CONFIGURATION: &str = r#"
variable "greeting" {
  type    = string
  default = "Hello"
}

variable "secret" {
  type      = string
  default   = "hush"
  sensitive = true
}

resource "terraform_data" "guest" {
  for_each = toset(["Ada", "Grace"])
  input    = each.key
}

resource "terraform_data" "card" {
  for_each = terraform_data.guest
  input    = "${var.greeting}, ${each.key}: ${each.value.id}"
}

resource "terraform_data" "hidden" {
  input = var.secret
}

output "cards" {
  value = { for guest, card in terraform_data.card : guest => card.output }
}
"#;

fn weft(directory: &Path, arguments: &[&str]) -> Output {
    with(directory, arguments, &[])
}

fn with(directory: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weft"));
    command.current_dir(directory).args(arguments).env_clear().env("HOME", directory).env("USER", "tester");
    command.envs(environment.iter().copied()).stdin(std::process::Stdio::null());
    command.output().unwrap()
}

fn code(output: &Output) -> i32 {
    output.status.code().unwrap_or(-1)
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn expect(output: &Output, wanted: i32) {
    assert_eq!(code(output), wanted, "{}{}", out(output), err(output));
}

fn configured() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("main.tf"), CONFIGURATION).unwrap();
    expect(&weft(directory.path(), &["init"]), 0);
    directory
}

#[test]
fn a_plan_is_applied_elsewhere_without_the_configuration() {
    let here = configured();
    let planned = weft(here.path(), &["plan", "-out=p"]);
    expect(&planned, 0);
    assert!(out(&planned).contains("Plan: 5 to add, 0 to change, 0 to destroy."), "{}", out(&planned));

    let there = tempfile::tempdir().unwrap();
    std::fs::copy(here.path().join("p"), there.path().join("p")).unwrap();
    let applied = weft(there.path(), &["apply", "p"]);
    expect(&applied, 0);
    assert!(out(&applied).contains("Apply complete! Resources: 5 added, 0 changed, 0 destroyed."));

    let ids: Json =
        serde_json::from_str(&std::fs::read_to_string(there.path().join("terraform.tfstate")).unwrap()).unwrap();
    let instances = ids["resources"].as_array().unwrap();
    assert_eq!(instances.iter().map(|r| r["instances"].as_array().unwrap().len()).sum::<usize>(), 5);
    let cards: Json = serde_json::from_str(&out(&weft(there.path(), &["output", "-json", "cards"]))).unwrap();
    assert!(cards["Ada"].as_str().unwrap().starts_with("Hello, Ada: "));

    // The plan is now stale, because it was made when there was no state.
    let stale = weft(there.path(), &["apply", "p"]);
    expect(&stale, 1);
    assert!(err(&stale).contains("Saved plan is stale") && err(&stale).contains("there was no state"));

    // In the directory of the configuration, the plan has no changes.
    std::fs::copy(there.path().join("terraform.tfstate"), here.path().join("terraform.tfstate")).unwrap();
    expect(&weft(here.path(), &["plan", "-detailed-exitcode"]), 0);
    expect(&weft(here.path(), &["plan", "-detailed-exitcode", "-var", "greeting=Hi"]), 2);
    expect(&weft(here.path(), &["apply", "-auto-approve", "-var=greeting=Hi"]), 0);
    let destroyed = weft(here.path(), &["destroy", "-auto-approve"]);
    expect(&destroyed, 0);
    assert!(out(&destroyed).contains("Destroy complete! Resources: 5 destroyed."));
}

#[test]
fn secrets_are_not_shown() {
    let here = configured();
    let planned = weft(here.path(), &["plan", "-out=p"]);
    let shown = weft(here.path(), &["show", "p"]);
    let applied = weft(here.path(), &["apply", "p"]);
    let state = weft(here.path(), &["show"]);
    let inspected = weft(here.path(), &["plan", "inspect", "p"]);
    for output in [&planned, &shown, &applied, &inspected] {
        expect(output, 0);
        assert!(!out(output).contains("hush") && !err(output).contains("hush"), "{}", out(output));
    }
    // Sensitive values in the configuration stay hidden. `output` is a value that the provider returns without a mark.
    expect(&state, 0);
    assert!(out(&state).contains("input  = (sensitive value)"), "{}", out(&state));
    assert_eq!(out(&state).matches("hush").count(), 1, "{}", out(&state));
}

#[test]
fn runs_are_listed_as_scripts_expect() {
    let here = configured();
    let none = weft(here.path(), &["runs", "list", "-json"]);
    expect(&none, 0);
    assert_eq!(out(&none).trim(), "[]");
    let nothing = weft(here.path(), &["runs", "resume"]);
    expect(&nothing, 0);
    assert!(out(&nothing).contains("no unfinished run"));
    expect(&weft(here.path(), &["apply", "-auto-approve"]), 0);
    let listed: Json = serde_json::from_str(&out(&weft(here.path(), &["runs", "list", "--json"]))).unwrap();
    let run = &listed[0];
    assert_eq!(run["status"], "done");
    assert_eq!(run["plan"].as_str().unwrap().len(), 64);
    assert!(run["started"].as_str().unwrap().ends_with('Z'));
    let counts = run["counts"].as_object().unwrap();
    assert_eq!(counts.keys().collect::<Vec<_>>(), ["pending", "running", "done", "failed", "skipped", "in_doubt"]);
    let shown: Json = serde_json::from_str(&out(&weft(here.path(), &["runs", "show", "-json"]))).unwrap();
    assert_eq!(shown["id"], run["id"]);
    let operations = shown["operations"].as_array().unwrap();
    let all: u64 = counts.values().filter_map(Json::as_u64).sum();
    assert_eq!(operations.len() as u64, all);
    for field in ["address", "action", "status", "provider_instance", "worker", "attempt"] {
        assert!(operations[0].get(field).is_some(), "{field}");
    }
    expect(&weft(here.path(), &["runs", "resume", run["id"].as_str().unwrap()]), 0);
    expect(&weft(here.path(), &["runs", "show", "run-0000"]), 1);
}

#[test]
fn each_event_is_a_line() {
    let here = configured();
    let applied = weft(here.path(), &["apply", "-json", "-auto-approve"]);
    expect(&applied, 0);
    let events: Vec<Json> = out(&applied).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let count = |kind: &str| events.iter().filter(|event| event["type"] == kind).count();
    assert_eq!((count("version"), count("planned_change"), count("apply_complete"), count("outputs")), (1, 5, 5, 2));
    assert!(events.iter().all(|event| event["@timestamp"].is_string()));
    let done = events.iter().find(|event| event["type"] == "apply_complete").unwrap();
    assert_eq!(done["hook"]["id_key"], "id");
}

#[test]
fn mistakes_are_reported() {
    let here = configured();
    for (arguments, words) in [
        (&["plna"][..], "Did you mean \"plan\"?"),
        (&["plan", "-bogus"], "flag provided but not defined: -bogus"),
        (&["plan", "-target=terraform_data"], "Invalid target"),
        (&["plan", "-refresh-only", "-destroy"], "Incompatible"),
        (&["plan", "-var=nothing=1"], "Value for undeclared variable"),
        (&["plan", "-lock-timeout=soon"], "parse error"),
        (&["plan", "-parallelism=-3"], "Invalid parallelism value"),
        (&["apply", "main.tf"], "Failed to load \"main.tf\" as a plan file"),
        (&["apply", "-json"], "Plan file or auto-approve required"),
        (&["apply", "-detach", "-auto-approve"], "Coordinator not named"),
        (&["taint", "terraform_data.nowhere"], "terraform_data.nowhere"),
        (&["login", "a b"], "Invalid hostname"),
        (&["runs", "resolve", "run-1", "a.b"], "exactly one of"),
        (&["worker"], "Coordinator not named"),
        (&["coordinator", "-listen", "0.0.0.0:1", "-store=redis://127.0.0.1:1/0?state=x"], "does not respond"),
    ] {
        let output = weft(here.path(), arguments);
        expect(&output, 1);
        let said = format!("{}{}", out(&output), err(&output));
        assert!(said.contains(words), "{arguments:?}: {said}");
    }
    let asked = with(here.path(), &["apply"], &[]);
    expect(&asked, 1);
    assert!(err(&asked).contains("error asking for approval: EOF"), "{}", err(&asked));
}

#[test]
fn variables_have_a_precedence() {
    let here = configured();
    let greeting = |arguments: &[&str], environment: &[(&str, &str)]| {
        let mut all = vec!["plan", "-out=v"];
        all.extend(arguments);
        expect(&with(here.path(), &all, environment), 0);
        let shown: Json = serde_json::from_str(&out(&weft(here.path(), &["show", "-json", "v"]))).unwrap();
        shown["variables"]["greeting"]["value"].as_str().unwrap().to_owned()
    };
    let set = [("TF_VAR_greeting", "from the environment")];
    assert_eq!(greeting(&[], &[]), "Hello");
    assert_eq!(greeting(&[], &set), "from the environment");
    std::fs::write(here.path().join("b.auto.tfvars"), "greeting = \"b\"\n").unwrap();
    std::fs::write(here.path().join("a.auto.tfvars"), "greeting = \"a\"\n").unwrap();
    std::fs::write(here.path().join("terraform.tfvars.json"), "{\"greeting\": \"json\"}").unwrap();
    assert_eq!(greeting(&[], &set), "b");
    assert_eq!(greeting(&["-var=greeting=option"], &set), "option");
    assert_eq!(greeting(&["-var=greeting=option", "-var-file=a.auto.tfvars"], &set), "a");
    assert_eq!(greeting(&[], &[("TF_CLI_ARGS_plan", "-var 'greeting=from args'")]), "from args");
}

#[test]
fn ephemeral_values_are_given_again_and_never_stored() {
    let here = tempfile::tempdir().unwrap();
    let text = "variable \"token\" {\n  type = string\n  ephemeral = true\n}\nresource \"terraform_data\" \"a\" {\n  input = 1\n}\n";
    std::fs::write(here.path().join("main.tf"), text).unwrap();
    expect(&weft(here.path(), &["init"]), 0);
    expect(&weft(here.path(), &["plan", "-out=p", "-var=token=only-once"]), 0);
    let plan = std::fs::read(here.path().join("p")).unwrap();
    assert!(!plan.windows(9).any(|part| part == b"only-once"));
    let without = weft(here.path(), &["apply", "p"]);
    expect(&without, 1);
    assert!(err(&without).contains("ephemeral"), "{}", err(&without));
    expect(&weft(here.path(), &["apply", "-var=token=again", "p"]), 0);
}
