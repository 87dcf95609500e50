//! The rules for formulas and origins, as far as a plan shows them. Each test fails when its rule is broken.
//!
//! Some tests of these rules need no plan. These tests are in `expressions/tests/rules.rs`, and marked with (E) here.
//!
//! 1. Origins decide when to wait. All other dependencies come from static references:
//!    `rule_1_origins_wait_references_are_stored`; (E) `each_leaf_waits_for_its_own_operation`.
//! 2. Named values are strict: `rule_2_named_values_are_strict`, `rule_2_infallible_values_are_inlined`;
//!    (E) `a_skipped_operation_is_not_caught_by_try`.
//! 3. Known planned values of legacy providers may still change at apply: (E) `a_provisional_value_is_never_folded`;
//!    the recorded cases with the provider `oldlab`.
//! 4. A value with a formula is symbolic, even if it is known: `rule_4_ephemeral_values_are_inputs`;
//!    (E) `a_provisional_value_is_never_folded`.
//! 5. The operation that provides a value is not always the one to wait for:
//!    `rule_5_readers_wait_for_the_settled_operation`, `rule_5_first_operation_waits_for_the_whole_block`.
//! 6. Containers carry formulas and origins: `rule_6_no_path_through_a_set`;
//!    (E) `elements_of_a_set_may_turn_out_equal`.
//! 7. Provisioners are evaluated and run at apply, and their errors appear then: `rule_7_provisioners_run_at_apply`,
//!    `rule_7_provisioners_run_before_the_delete`, `rule_7_provisioners_on_other_machines_have_a_connection`.
//! 8. A template that is unknown in the plan is parsed at apply: `rule_8_known_templates_are_inlined`;
//!    (E) `a_template_known_at_apply_is_parsed_then`.
//! 9. Each impure call is an operation of its own: `rule_9_impure_calls_are_operations_of_their_own`;
//!    (E) `each_impure_call_has_its_own_occurrence`, `an_impure_call_in_a_symbolic_body_runs_once_an_iteration`.
//! 10. Paths in `ignore_changes` keep their prior values at apply: `rule_10_ignored_paths_are_prior_constants`;
//!     `expressions/tests/resource_rules.rs`.
//! 11. Deletes run in reverse order of dependencies: `rule_11_deletes_follow_stored_dependencies`,
//!     `rule_11_deletes_precede_updates_of_readers`.
//! 12. Live values are never journalled: `rule_12_ephemeral_constants_are_not_in_the_plan`; `cli/tests/thread.rs`.

mod listing;

use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::graph::{Operation, disassemble};
use weft_planner::PlanOutcome;

use crate::harness::{Case, Object, builtin};
use listing::Listing;

async fn outcome(text: &str, state: Vec<Object>) -> PlanOutcome {
    state.into_iter().fold(Case::of(text), Case::stored).plan().await
}

fn stored(name: &str, attributes: &str, dependencies: &[&str]) -> Object {
    builtin(&format!("terraform_data.{name}"), attributes).needs(dependencies)
}

#[tokio::test(flavor = "multi_thread")]
async fn rule_1_origins_wait_references_are_stored() {
    let text = r#"
        resource "terraform_data" "a" {
          count = 2
        }
        resource "terraform_data" "b" {
          input = length(terraform_data.a)
        }
        resource "terraform_data" "c" {
          input = true ? 1 : terraform_data.a[0].id
        }
        resource "terraform_data" "d" {
          input = { x = terraform_data.a[0].id, y = terraform_data.a[1].id }.x
        }
    "#;
    let outcome = outcome(text, Vec::new()).await;
    assert_eq!(outcome.diagnostics, Vec::<Diagnostic>::new());
    let graph = outcome.planned.expect("a plan").graph;
    let listing = Listing(disassemble(&graph));
    // The plan changes no part of `a`, so `b` and `c` wait for nothing.
    assert_eq!(listing.waits("= desired terraform_data.b "), Vec::<u32>::new());
    assert_eq!(listing.waits("= desired terraform_data.c "), Vec::<u32>::new());
    // `terraform_data.d` uses one part of one instance.
    assert_eq!(listing.waits("= desired terraform_data.d "), [listing.number("= apply terraform_data.a[0] ")]);
    // The state must still record that `b`, `c` and `d` depend on `a`.
    let mut found = Vec::new();
    for fragment in &graph.fragments {
        for row in &fragment.rows {
            if let Operation::FinalPlan { address, planned, .. } = &row.operation {
                found.push((address.to_string(), planned.record.dependencies.clone()));
            }
        }
    }
    for name in ["b", "c", "d"] {
        let address = format!("terraform_data.{name}");
        let dependencies = found.iter().find(|(found, _)| *found == address).map(|(_, names)| names.clone());
        assert_eq!(dependencies, Some(vec!["terraform_data.a".into()]), "{address}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rule_2_named_values_are_strict() {
    let listing = Listing::of(
        r#"
        resource "terraform_data" "a" {
        }
        locals {
          port = tonumber(terraform_data.a.id)
        }
        output "port" {
          value = try(local.port, 80)
        }
        output "other" {
          value = true ? 1 : local.port
        }
        resource "terraform_data" "b" {
          input = local.port
        }
        "#,
        Vec::new(),
    )
    .await;
    let local = listing.number("= evaluate local.port ");
    assert_eq!(listing.waits("= evaluate local.port "), [listing.number("= apply terraform_data.a ")]);
    // The `try` and all other readers use the result instead of the formula, which can fail.
    assert!(listing.line("= output port ").contains(&format!("try(%{local}, 80)")), "{}", listing.0);
    assert!(listing.line("= desired terraform_data.b ").contains(&format!("input = %{local}")), "{}", listing.0);
    assert_eq!(listing.0.matches("tonumber(").count(), 1, "{}", listing.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn rule_2_infallible_values_are_inlined() {
    let listing = Listing::of(
        r#"
        resource "terraform_data" "a" {
        }
        locals {
          m = { x = terraform_data.a.id, y = tonumber(terraform_data.a.id) }
        }
        output "x" {
          value = local.m.x
        }
        "#,
        Vec::new(),
    )
    .await;
    let apply = listing.number("= apply terraform_data.a ");
    assert!(listing.line("= output x ").contains(&format!("%{apply}.id")), "{}", listing.0);
    // There is one operation for the part that can fail, and none for the other part. This is a deliberate difference
    // from OpenTofu.
    assert!(listing.has("= evaluate local.m.y ") && !listing.has("local.m.x "), "{}", listing.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn rule_4_ephemeral_values_are_inputs() {
    let listing = Listing::of(
        r#"
        variable "token" {
          type      = string
          ephemeral = true
          default   = "only once"
        }
        variable "plain" {
          type    = string
          default = "stored"
        }
        resource "terraform_data" "a" {
          input = var.plain
          lifecycle {
            precondition {
              condition     = terraform_data.z.id != var.token
              error_message = "no"
            }
          }
        }
        resource "terraform_data" "z" {
        }
        "#,
        Vec::new(),
    )
    .await;
    // The value is known when planning, but it is not folded, because it may differ at apply.
    assert!(listing.line("= check ").contains("input token"), "{}", listing.0);
    assert!(!listing.has("only once"), "{}", listing.0);
    assert!(listing.has("\"stored\""), "{}", listing.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn rule_5_readers_wait_for_the_settled_operation() {
    let listing = Listing::of(
        r#"
        resource "terraform_data" "a" {
          lifecycle {
            postcondition {
              condition     = self.id != ""
              error_message = "no"
            }
          }
        }
        resource "terraform_data" "b" {
          input = terraform_data.a.id
        }
        "#,
        Vec::new(),
    )
    .await;
    let (apply, check) = (listing.number("= apply terraform_data.a "), listing.number("= check terraform_data.a "));
    let reader = listing.line("= desired terraform_data.b ");
    // The value is the result of the apply operation. The reader waits for the postcondition that follows the apply.
    assert!(reader.contains(&format!("input = %{apply}.id")), "{}", listing.0);
    assert!(listing.waits("= desired terraform_data.b ").contains(&check), "{}", listing.0);
    // The condition of the instance itself uses the apply operation. Otherwise, the condition would wait for itself.
    assert!(listing.line("= check terraform_data.a ").contains(&format!("%{apply}.id")), "{}", listing.0);
    assert_eq!(listing.waits("= check terraform_data.a "), [apply]);
}

#[tokio::test(flavor = "multi_thread")]
async fn rule_5_first_operation_waits_for_the_whole_block() {
    let listing = Listing::of(
        r#"
        resource "terraform_data" "x" {
        }
        resource "terraform_data" "y" {
        }
        resource "terraform_data" "b" {
          depends_on = [terraform_data.x]
          input      = 1
          lifecycle {
            precondition {
              condition     = terraform_data.y.id != ""
              error_message = "no"
            }
          }
        }
        "#,
        Vec::new(),
    )
    .await;
    let waits = listing.waits("= desired terraform_data.b ");
    assert!(waits.contains(&listing.number("= apply terraform_data.x ")), "{}", listing.0);
    assert!(waits.contains(&listing.number("= check terraform_data.b ")), "{}", listing.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn rule_6_no_path_through_a_set() {
    let listing = Listing::of(
        r#"
        resource "terraform_data" "a" {
          input = toset(["k"])
        }
        resource "terraform_data" "b" {
        }
        output "set" {
          value = [for x in toset([terraform_data.b.id, "k"]) : upper(x)]
        }
        output "count" {
          value = length(toset([terraform_data.b.id, "k"]))
        }
        output "whole" {
          value = [for x in terraform_data.a.output : x]
        }
        "#,
        Vec::new(),
    )
    .await;
    let (a, b) = (listing.number("= apply terraform_data.a "), listing.number("= apply terraform_data.b "));
    // The elements may turn out equal, so apply computes the loop and the length.
    assert!(listing.line("= output set ").contains("for $"), "{}", listing.0);
    assert!(listing.line("= output count ").contains("length("), "{}", listing.0);
    assert_eq!(listing.waits("= output count "), [b]);
    let whole = listing.line("= output whole ");
    assert!(whole.contains(&format!("%{a}.output")) && !whole.contains(".output["), "{}", listing.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn rule_7_provisioners_run_at_apply() {
    let text = r#"
        resource "terraform_data" "base" {
          input = "b"
        }
        resource "terraform_data" "a" {
          provisioner "local-exec" {
            command = "echo ${self.id} ${tonumber(self.id)}"
          }
          provisioner "local-exec" {
            command    = "echo ${terraform_data.base.id}"
            on_failure = continue
          }
        }
        output "id" {
          value = terraform_data.a.id
        }
    "#;
    let listing = Listing::of(text, Vec::new()).await;
    let base = listing.number("= apply terraform_data.base ");
    let created = listing.number("= apply terraform_data.a ");
    // The references of a provisioner are available before the object changes. Errors in the arguments of a provisioner
    // are reported when the provisioner runs.
    assert!(listing.waits("= desired terraform_data.a ").contains(&base), "{}", listing.0);
    let first = listing.number("= provision terraform_data.a local-exec Created ");
    assert_eq!(listing.waits("= provision terraform_data.a local-exec Created "), [created]);
    let last = listing.number("= provision terraform_data.a local-exec Completed continues ");
    assert!(listing.waits("local-exec Completed continues ").contains(&first), "{}", listing.0);
    // Readers of the object wait for the last provisioner.
    assert_eq!(listing.waits("= output id "), [created, last]);
    assert!(listing.line("local-exec Created ").contains("@home"), "{}", listing.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn rule_7_provisioners_run_before_the_delete() {
    let text = r#"
        removed {
          from = terraform_data.a
          lifecycle {
            destroy = true
          }
          provisioner "local-exec" {
            when    = destroy
            command = "echo ${self.id}"
          }
        }
    "#;
    let object =
        |id: &str| format!("{{\"id\": \"{id}\", \"input\": null, \"output\": null, \"triggers_replace\": null}}");
    let instances = vec![stored("a", &object("i-a"), &[]), stored("b", &object("i-b"), &["terraform_data.a"])];
    let listing = Listing::of(text, instances).await;
    // Dependents of the object are deleted before the provisioners of the object run.
    let dependent = listing.number("= apply terraform_data.b ");
    let farewell = listing.number("= provision terraform_data.a local-exec Deleting ");
    assert_eq!(listing.waits("= provision terraform_data.a "), [dependent]);
    assert!(listing.line("= provision terraform_data.a ").contains("echo i-a"), "{}", listing.0);
    assert!(listing.waits("= apply terraform_data.a ").contains(&farewell), "{}", listing.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn rule_7_provisioners_on_other_machines_have_a_connection() {
    let text = r#"
        resource "terraform_data" "other" {
        }
        resource "terraform_data" "a" {
          connection {
            host = terraform_data.other.id
            port = 22
          }
          provisioner "remote-exec" {
            connection {
              port = 2222
            }
            inline = ["echo ${self.id}"]
          }
        }
        "#;
    let listing = Listing::of(text, Vec::new()).await;
    let line = listing.line("= provision terraform_data.a remote-exec Completed ");
    assert!(line.contains("arguments") && line.contains("connection") && line.contains("2222"), "{line}");
    let other = listing.number("= apply terraform_data.other ");
    assert!(listing.waits("= provision terraform_data.a ").contains(&other), "{}", listing.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn rule_8_known_templates_are_inlined() {
    let listing = Listing::of(
        r#"
        resource "terraform_data" "a" {
        }
        locals {
          text = "<$${name}>"
        }
        output "known" {
          value = templatestring(local.text, { name = terraform_data.a.id })
        }
        resource "terraform_data" "t" {
          input = "<$${name}>"
        }
        output "later" {
          value = templatestring(terraform_data.t.output, { name = 1 })
        }
        "#,
        Vec::new(),
    )
    .await;
    let apply = listing.number("= apply terraform_data.a ");
    let known = listing.line("= output known ");
    assert!(known.contains(&format!("template(\"<\", %{apply}.id, \">\")")) && !known.contains("templatestring"));
    assert!(listing.line("= output later ").contains("templatestring("), "{}", listing.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn rule_9_impure_calls_are_operations_of_their_own() {
    let listing = Listing::of(
        r#"
        locals {
          id = uuid()
        }
        resource "terraform_data" "a" {
          count = 2
          input = "x-${uuid()}"
        }
        resource "terraform_data" "b" {
          input            = local.id
          triggers_replace = local.id
        }
        resource "terraform_data" "c" {
          input = [for part in split("-", terraform_data.b.id) : "${part}${uuid()}"]
        }
        "#,
        Vec::new(),
    )
    .await;
    // There is one operation for each occurrence and instance. All readers of the local value share one operation.
    assert_eq!(listing.0.matches("uuid()").count(), 4, "{}", listing.0);
    for name in ["local.id", "terraform_data.a[0].input", "terraform_data.a[1].input", "terraform_data.c.input"] {
        assert!(listing.line(&format!("= evaluate {name} ")).contains("uuid()"), "{}", listing.0);
    }
    let (local, first) =
        (listing.number("= evaluate local.id "), listing.number("= evaluate terraform_data.a[0].input "));
    let reader = listing.line("= desired terraform_data.b ");
    assert_eq!(reader.matches(&format!("%{local}")).count(), 2, "{}", listing.0);
    assert!(listing.line("= desired terraform_data.a[0] ").contains(&format!("input = %{first}")), "{}", listing.0);
    // The outermost expression around the call becomes the operation.
    assert!(listing.line("= evaluate terraform_data.c.input ").contains("for $"), "{}", listing.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn rule_10_ignored_paths_are_prior_constants() {
    let state = vec![stored(
        "a",
        r#"{"id":"1","input":{"value":"old","type":"string"},"output":{"value":"old","type":"string"},
            "triggers_replace":{"value":"t","type":"string"}}"#,
        &[],
    )];
    let text = |id: &str| {
        format!(
            "resource \"terraform_data\" \"b\" {{\n}}\nresource \"terraform_data\" \"a\" {{\n  input = {id}\n  \
             triggers_replace = \"t\"\n  lifecycle {{\n    ignore_changes = [input]\n  }}\n}}\n"
        )
    };
    // The ignored argument keeps its value, so `a` does not change.
    let listing = Listing::of(&text("terraform_data.b.id"), state.clone()).await;
    assert!(!listing.has("= apply terraform_data.a "), "{}", listing.0);
    // Without a prior object nothing is ignored.
    let listing = Listing::of(&text("terraform_data.b.id"), Vec::new()).await;
    let apply = listing.number("= apply terraform_data.b ");
    assert!(listing.line("= desired terraform_data.a ").contains(&format!("input = %{apply}.id")), "{}", listing.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn rule_11_deletes_follow_stored_dependencies() {
    let bare = r#"{"id":"1","input":null,"output":null,"triggers_replace":null}"#;
    let state = vec![stored("a", bare, &[]), stored("b", bare, &["terraform_data.a"]), stored("c", bare, &[])];
    let listing = Listing::of("", state).await;
    let (a, b) = (listing.number("= apply terraform_data.a "), listing.number("= apply terraform_data.b "));
    assert!(listing.waits("= apply terraform_data.a ").contains(&b) && b < a, "{}", listing.0);
    assert!(!listing.waits("= apply terraform_data.c ").contains(&b), "{}", listing.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn rule_11_deletes_precede_updates_of_readers() {
    // `b` read `a`, which is deleted. As in OpenTofu, `b` is changed after the delete.
    let state = vec![
        stored("a", r#"{"id":"1","input":null,"output":null,"triggers_replace":null}"#, &[]),
        stored(
            "b",
            r#"{"id":"2","input":{"value":"1","type":"string"},"output":{"value":"1","type":"string"},
                "triggers_replace":null}"#,
            &["terraform_data.a"],
        ),
    ];
    let listing = Listing::of("resource \"terraform_data\" \"b\" {\n  input = \"2\"\n}\n", state).await;
    let delete = listing.number("= apply terraform_data.a ");
    assert!(listing.waits("= apply terraform_data.b ").contains(&delete), "{}", listing.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn rule_12_ephemeral_constants_are_not_in_the_plan() {
    let outcome = outcome(
        r#"
        variable "token" {
          type      = string
          ephemeral = true
          default   = "only once"
        }
        locals {
          header = "Bearer ${var.token}"
          length = length(local.header)
        }
        resource "terraform_data" "a" {
          lifecycle {
            postcondition {
              condition     = "${self.id}${local.header}" != "" && local.length > 0
              error_message = "no"
            }
          }
        }
        "#,
        Vec::new(),
    )
    .await;
    assert_eq!(outcome.diagnostics, Vec::<Diagnostic>::new());
    let graph = outcome.planned.expect("a plan").graph;
    let text = disassemble(&graph);
    assert!(text.contains("input token"), "{text}");
    assert!(!text.contains("only once") && !text.contains("Bearer only"), "{text}");
    // Like the ephemeral value itself, values computed from it are not journalled, so the coordinator has no operations
    // for them.
    assert!(text.contains("= evaluate_live local.") && !text.contains("= evaluate local."), "{text}");
}
