//! The provider instance of each object. Provider blocks have `for_each`, provider instances are passed to modules, and
//! expressions refer to them as values. All tests use the built-in provider, which has no configuration.

use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::graph::verify;
use weft_planner::PlanOutcome;

use crate::harness::Case;

const REQUIRED: &str = r#"
terraform {
  required_providers {
    terraform = { source = "terraform.io/builtin/terraform" }
  }
}
"#;

const TAKES_WHOLE: &str = r#"
language {
  experiments = [provider_iteration]
}
terraform {
  required_providers {
    terraform = {
      source                = "terraform.io/builtin/terraform"
      configuration_aliases = [terraform.x[*]]
    }
  }
}
"#;

const BY_KEY: &str = r#"
provider "terraform" {
  alias    = "x"
  for_each = toset(["a", "b"])
}
"#;

/// The plan of the given files, by path. The first one is `main.tf`.
async fn planned(files: &[(&str, String)]) -> PlanOutcome {
    let (main, others) = files.split_first().expect("a file");
    others.iter().fold(Case::of(&main.1), |case, (path, text)| case.file(path, text)).plan().await
}

/// `ADDRESS: PROVIDER` for each change, without the source of the provider.
async fn owners(files: &[(&str, String)]) -> Vec<String> {
    let outcome = planned(files).await;
    assert_eq!(outcome.diagnostics, Vec::<Diagnostic>::new());
    let planned = outcome.planned.expect("a plan");
    assert_eq!(verify(&planned.graph), Vec::new());
    let changes = planned.changes.resources.iter();
    changes
        .map(|change| {
            let provider = change.provider.to_string().replace("[\"terraform.io/builtin/terraform\"]", "");
            format!("{}: {provider}", change.address)
        })
        .collect()
}

/// Line, summary and detail of each error.
async fn errors(files: &[(&str, String)]) -> Vec<String> {
    let found = planned(files).await.diagnostics;
    let line = |problem: &Diagnostic| problem.subject.as_ref().map_or(0, |at| at.start.line);
    let errors = found.iter().filter(|problem| problem.is_error());
    errors.map(|problem| format!("{} {}: {}", line(problem), problem.summary, problem.detail)).collect()
}

fn with_experiment(name: &str, rest: &str) -> String {
    format!("language {{\n  experiments = [{name}]\n}}\n{REQUIRED}{rest}")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_whole_configuration_passes_through_two_calls() {
    let root = format!(
        "{REQUIRED}{BY_KEY}module \"m\" {{\n  source = \"./m\"\n  providers = {{ terraform.x = terraform.x }}\n}}\n"
    );
    let middle = format!(
        "{TAKES_WHOLE}module \"n\" {{\n  source = \"./n\"\n  providers = {{ terraform.x = terraform.x }}\n}}\n\
         resource \"terraform_data\" \"one\" {{\n  provider = terraform.x[\"b\"]\n}}\n"
    );
    let inner = format!(
        "{TAKES_WHOLE}resource \"terraform_data\" \"each\" {{\n  for_each = toset([\"a\", \"b\"])\n  \
         provider = terraform.x[each.key]\n}}\n"
    );
    let found = owners(&[("main.tf", root), ("m/main.tf", middle), ("m/n/main.tf", inner)]).await;
    assert_eq!(
        found,
        [
            "module.m.terraform_data.one: provider.x[\"b\"]",
            "module.m.module.n.terraform_data.each[\"a\"]: provider.x[\"a\"]",
            "module.m.module.n.terraform_data.each[\"b\"]: provider.x[\"b\"]",
        ]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn wholes_and_single_instances_are_distinguished() {
    let call = |passed: &str| {
        format!(
            "{REQUIRED}{BY_KEY}provider \"terraform\" {{\n  alias = \"one\"\n}}\n\
             module \"m\" {{\n  source = \"./m\"\n  providers = {{ terraform.x = {passed} }}\n}}\n"
        )
    };
    let takes = |text: &str| text.to_owned();
    for passed in ["terraform.one", "terraform.x[\"a\"]"] {
        let found = errors(&[("main.tf", call(passed)), ("m/main.tf", takes(TAKES_WHOLE))]).await;
        assert!(found.len() == 1 && found[0].starts_with("17 Invalid module provider configuration"), "{found:?}");
    }
    let single = TAKES_WHOLE.replace("[*]", "");
    let found = errors(&[("main.tf", call("terraform.x")), ("m/main.tf", single)]).await;
    assert!(found.len() == 1 && found[0].contains("terraform.x[*]"), "{found:?}");
    let unkeyed = format!("{TAKES_WHOLE}resource \"terraform_data\" \"r\" {{\n  provider = terraform.x\n}}\n");
    let found = errors(&[("main.tf", call("terraform.x")), ("m/main.tf", unkeyed)]).await;
    assert!(found.len() == 1 && found[0].starts_with("14 Invalid resource provider configuration"), "{found:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn each_instance_of_a_module_has_its_own_provider() {
    let root = "module \"m\" {\n  source = \"./m\"\n  count = 2\n}\n".to_owned();
    let plain = format!(
        "{REQUIRED}provider \"terraform\" {{\n  alias = \"own\"\n}}\n\
         resource \"terraform_data\" \"r\" {{\n  provider = terraform.own\n}}\n"
    );
    let block = plain.replace("alias = \"own\"", "alias    = \"own\"\n  for_each = toset([\"k\"])");
    let block = block.replace("provider = terraform.own", "provider = terraform.own[\"k\"]");
    let found = errors(&[("main.tf", root.clone()), ("m/main.tf", block.clone())]).await;
    assert!(found.len() == 1 && found[0].starts_with("3 Module is incompatible with count"), "{found:?}");
    let asks = "language {\n  experiments = [provider_iteration]\n}\n";
    let expected = [
        "module.m[0].terraform_data.r: module.m[0].provider.own[\"k\"]",
        "module.m[1].terraform_data.r: module.m[1].provider.own[\"k\"]",
    ];
    let found = owners(&[("main.tf", root.clone()), ("m/main.tf", format!("{asks}{block}"))]).await;
    assert_eq!(found, expected);
    let found = owners(&[("main.tf", format!("{asks}{root}")), ("m/main.tf", block)]).await;
    assert_eq!(found, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_must_be_known_at_plan() {
    let text = |keys: &str| {
        let rest = format!(
            "resource \"terraform_data\" \"from\" {{\n  input = {{ a = 1 }}\n}}\n\
             provider \"terraform\" {{\n  alias = \"x\"\n  for_each = {keys}\n}}\n\
             resource \"terraform_data\" \"r\" {{\n  provider = terraform.x[\"a\"]\n}}\n"
        );
        [("main.tf", with_experiment("provider_iteration", &rest))]
    };
    let found = owners(&text("terraform_data.from.input")).await;
    assert_eq!(found, ["terraform_data.from: provider", "terraform_data.r: provider.x[\"a\"]"]);
    // Values may be unknown until apply, but keys may not.
    let found = owners(&text("{ a = terraform_data.from.id }")).await;
    assert_eq!(found.len(), 2);
    for unknown in ["{ (terraform_data.from.id) = 1 }", "toset([terraform_data.from.id])"] {
        let found = errors(&text(unknown)).await;
        assert!(found.len() == 1 && found[0].contains("depend on terraform_data.from.id,"), "{found:?}");
        assert!(found[0].starts_with("15 Invalid for_each argument"), "{found:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn provider_references_are_values() {
    let root = with_experiment(
        "provider_values",
        &format!(
            "{BY_KEY}provider \"terraform\" {{\n  alias = \"one\"\n}}\n\
             module \"m\" {{\n  source = \"./m\"\n  all = merge(provider.terraform.x, {{ c = provider.terraform.one }})\n}}\n\
             module \"old\" {{\n  source = \"./old\"\n  for_each = provider.terraform.x\n  \
             providers = {{ terraform = each.value, terraform.x = module.m.odd }}\n}}\n\
             resource \"terraform_data\" \"each\" {{\n  for_each = provider.terraform.x\n  provider = each.value\n}}\n\
             resource \"terraform_data\" \"plain\" {{\n  provider = provider.terraform\n}}\n\
             output \"keys\" {{\n  value = keys(module.m.odd)\n}}\n"
        ),
    );
    let middle = with_experiment(
        "provider_values",
        "variable \"all\" {\n  type = map(providerconfig(terraform))\n}\n\
         resource \"terraform_data\" \"r\" {\n  for_each = toset([\"a\", \"c\"])\n  provider = var.all[each.key]\n}\n\
         output \"odd\" {\n  value = { for key, one in var.all : key => one if one != var.all[\"b\"] }\n}\n",
    );
    let old = format!(
        "{TAKES_WHOLE}resource \"terraform_data\" \"r\" {{\n}}\n\
         resource \"terraform_data\" \"c\" {{\n  provider = terraform.x[\"c\"]\n}}\n"
    );
    let found = owners(&[("main.tf", root), ("m/main.tf", middle), ("old/main.tf", old)]).await;
    assert_eq!(
        found,
        [
            "terraform_data.each[\"a\"]: provider.x[\"a\"]",
            "terraform_data.each[\"b\"]: provider.x[\"b\"]",
            "terraform_data.plain: provider",
            "module.m.terraform_data.r[\"a\"]: provider.x[\"a\"]",
            "module.m.terraform_data.r[\"c\"]: provider.one",
            "module.old[\"a\"].terraform_data.c: provider.one",
            "module.old[\"a\"].terraform_data.r: provider.x[\"a\"]",
            "module.old[\"b\"].terraform_data.c: provider.one",
            "module.old[\"b\"].terraform_data.r: provider.x[\"b\"]",
        ]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn provider_references_are_not_stored_and_must_be_known() {
    let with = |rest: &str| [("main.tf", with_experiment("provider_values", &format!("{BY_KEY}{rest}")))];
    for (rest, expected) in [
        ("output \"o\" {\n  value = provider.terraform.x\n}\n", "Output refers to provider configuration"),
        (
            "resource \"terraform_data\" \"r\" {\n  input = [provider.terraform.x[\"a\"]]\n}\n",
            "Invalid use of provider configuration",
        ),
        ("output \"o\" {\n  value = jsonencode([provider.terraform.x])\n}\n", "Invalid function argument"),
        ("output \"o\" {\n  value = \"a${provider.terraform.x[\"a\"]}\"\n}\n", "Invalid template interpolation value"),
        ("output \"o\" {\n  value = provider.terraform.y == 1\n}\n", "Reference to undeclared provider configuration"),
        (
            "resource \"terraform_data\" \"r\" {\n  provider = provider.terraform.x\n}\n",
            "Invalid provider configuration reference",
        ),
        (
            "resource \"terraform_data\" \"r\" {\n  provider = \"x\" == \"y\" ? null : 5\n}\n",
            "Invalid provider configuration reference",
        ),
        (
            "resource \"terraform_data\" \"r\" {\n  provider = sensitive(provider.terraform.x[\"a\"])\n}\n",
            "Invalid provider configuration reference",
        ),
        (
            "resource \"terraform_data\" \"a\" {\n}\nresource \"terraform_data\" \"r\" {\n  \
             provider = provider.terraform.x[terraform_data.a.id]\n}\n",
            "depends on terraform_data.a.id",
        ),
        ("locals {\n  circle = local.other\n  other = [provider.terraform.z, local.circle]\n}\n", "Cycle"),
    ] {
        let found = errors(&with(rest)).await;
        assert!(found.len() == 1 && found[0].contains(expected), "{expected}: {found:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn provider_references_need_the_experiment() {
    let text = "resource \"terraform_data\" \"r\" {\n  input = provider.terraform.x\n}\n";
    let found = errors(&[("main.tf", format!("{REQUIRED}{text}"))]).await;
    assert!(found.len() == 1 && found[0].contains("Reference to undeclared resource"), "{found:?}");
    assert!(found[0].contains("experiments = [provider_values]"), "{found:?}");
    let whole = TAKES_WHOLE.replace("provider_iteration", "");
    let found = errors(&[("main.tf", whole)]).await;
    assert!(found.len() == 1 && found[0].starts_with("9 Invalid expression"), "{found:?}");
    let typed = "variable \"v\" {\n  type = providerconfig(terraform)\n  default = null\n}\n";
    let found = errors(&[("main.tf", format!("{REQUIRED}{typed}"))]).await;
    assert!(found.len() == 1 && found[0].starts_with("8 Invalid type specification"), "{found:?}");
    let found = errors(&[("main.tf", with_experiment("providers_values", ""))]).await;
    assert!(found.len() == 1 && found[0].starts_with("2 Unknown experiment keyword"), "{found:?}");
}
