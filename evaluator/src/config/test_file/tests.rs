//! Tests of test files: declarations and problems.

use std::sync::Arc;

use super::*;

fn read(text: &str) -> (TestFile, Vec<Diagnostic>) {
    let (tree, mut problems) = weft_syntax::parse_file("a.tftest.hcl", Arc::from(text));
    let file = read_test_file("a.tftest.hcl", &tree, &mut problems);
    (file, problems)
}

fn summaries(text: &str) -> Vec<String> {
    let problems = read(text).1;
    problems
        .iter()
        .map(|problem| format!("{}: {}", problem.subject.clone().unwrap().start.line, problem.summary))
        .collect()
}

#[test]
fn every_part_of_a_file_is_read() {
    let text = r#"
variables {
  a = 1
}
provider "x" {
  alias = "real"
  b     = var.a
}
mock_provider "x" {
  alias    = "fake"
  for_each = toset(["k"])
  mock_resource "x_y" {
    defaults = { id = "i" }
  }
  mock_data "x_y" {}
  override_data {
    target = data.x_y.z
    values = { n = 2 }
  }
}
override_module {
  target  = module.a.module.b
  outputs = { o = [1] }
}
run "one" {
  command = plan
  plan_options {
    mode    = refresh-only
    target  = [module.m.x_y.z["k"], x_y.w]
    replace = [x_y.w[0]]
  }
  module {
    source = "./m"
  }
  providers = {
    x = x.fake["k"]
  }
  variables {
    a = 2
  }
  expect_failures = [var.a, output.o, check.c, x_y.z, data.x_y.z[1]]
  assert {
    condition     = output.o == 1
    error_message = "o"
  }
  override_resource {
    target = module.m.x_y.z
  }
}
run "two" {}
"#;
    let (file, problems) = read(text);
    assert_eq!(problems, []);
    let name = |alias: &str| (SmolStr::new("x"), Some(SmolStr::new(alias)));
    assert_eq!(file.providers.keys().cloned().collect::<Vec<_>>(), [name("real")]);
    let mock = &file.mocks[&name("fake")];
    assert!(mock.block.for_each.is_some() && mock.block.is_mock && mock.types.len() == 2 && mock.resources.len() == 1);
    assert_eq!(mock.types[&(ResourceMode::Managed, "x_y".into())]["id"], Value::string("i"));
    assert_eq!(file.overrides.modules[0].target.to_string(), "module.a.module.b");
    let [one, two] = file.runs.as_slice() else { panic!("two runs") };
    assert_eq!((one.command, two.command), (TestCommand::Plan, TestCommand::Apply));
    assert!(one.options.refresh_only && one.options.refresh);
    let texts = |list: &[(SmolStr, SourceRange)]| list.iter().map(|(text, _)| text.to_string()).collect::<Vec<_>>();
    assert_eq!(texts(&one.options.target), ["module.m.x_y.z[\"k\"]", "x_y.w"]);
    assert_eq!(texts(&one.options.replace), ["x_y.w[0]"]);
    let expected: Vec<&str> = one.expected.iter().map(|one| one.object.as_str()).collect();
    assert_eq!(expected, ["var.a", "output.o", "check.c", "x_y.z", "data.x_y.z[1]"]);
    assert!(one.expected.iter().all(|one| one.problem.is_none()));
    assert_eq!(one.module.as_ref().unwrap().source.to_string(), "./m");
    assert_eq!((one.providers.len(), one.asserts.len(), one.variables.len()), (1, 1, 1));
    assert_eq!(one.overrides.resources[0].target.to_string(), "module.m.x_y.z");
}

#[test]
fn mistakes_are_reported_with_their_lines() {
    let cases: &[(&str, &[&str])] = &[
        ("frob {}", &["1: Unsupported block type"]),
        ("run \"1\" {}", &["1: Invalid run block name"]),
        ("run \"a\" {\n  command = destroy\n}", &["2: Invalid \"command\" keyword"]),
        ("run \"a\" {\n  command = \"plan\"\n}", &["2: Invalid \"command\" keyword"]),
        ("run \"a\" {\n  plan_options {\n    mode = destroy\n  }\n}", &["3: Invalid \"mode\" keyword"]),
        (
            "run \"a\" {\n  plan_options {\n    mode = refresh-only\n    refresh = false\n  }\n}",
            &["4: Incompatible plan options"],
        ),
        ("run \"a\" {\n  plan_options {}\n  plan_options {}\n}", &["3: Multiple \"plan_options\" blocks"]),
        ("variables {}\nvariables {}", &["2: Multiple \"variables\" blocks"]),
        ("run \"a\" {\n  module {}\n}", &["2: Missing \"source\" attribute for module block"]),
        ("run \"a\" {\n  module {\n    source = \"m\"\n  }\n}", &["3: Invalid module source address"]),
        ("run \"a\" {\n  expect_failures = [1 + 1]\n}", &["2: Invalid expression"]),
        ("run \"a\" {\n  expect_failures = var.a\n}", &["2: Invalid expression"]),
        (
            "run \"a\" {\n  assert {\n    condition = true\n    error_message = \"\"\n  }\n}",
            &["3: Invalid assert expression"],
        ),
        ("override_resource {}", &["1: Missing required argument"]),
        ("override_resource {\n  target = module.m\n}", &["2: Module address is not allowed"]),
        ("override_module {\n  target = a.b\n}", &["2: Module address expected"]),
        ("override_module {\n  target = module.a[0]\n}", &["2: Module instance address with keys is not allowed"]),
        ("override_data {\n  target = data.a.b[0]\n}", &["2: Resource instance address with keys is not allowed"]),
        ("override_data {\n  target = data.a.b\n  values = []\n}", &["3: Object expected"]),
        ("mock_provider \"a\" {\n  alias = \"b c\"\n}", &["2: Invalid mock provider configuration alias"]),
        ("mock_provider \"a\" {\n  for_each = {}\n}", &["2: Alias required when using \"for_each\""]),
        ("mock_provider \"a\" {}\nmock_provider \"a\" {}", &["2: Duplicated `mock_provider` block"]),
        (
            "mock_provider \"a\" {\n  mock_data \"a_b\" {}\n  mock_data \"a_b\" {}\n}",
            &["1: Duplicated `mock_data` block"],
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(&summaries(text), expected, "{text}");
    }
}

#[test]
fn problems_of_a_run_are_reported_when_it_starts() {
    let (file, problems) = read("run \"a\" {\n  expect_failures = [local.a, module.m, each.key]\n}");
    assert_eq!(problems, []);
    let found = file.runs[0].problems();
    assert!(
        found.len() == 3 && found.iter().all(|one| one.summary == "Invalid `expect_failures` reference"),
        "{found:?}"
    );
    let twice = "override_data {\n  target = data.a.b\n}\n";
    let found = read(&[twice, twice].concat()).0.overrides.duplicates();
    assert_eq!(found[0].summary, "Duplicated `override_data` block");
}
