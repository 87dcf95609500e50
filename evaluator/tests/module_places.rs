//! The lookup of modules: requests, and problems of sources and versions.

use std::path::Path;

use weft_evaluator::config::{CompiledModule, ModulePlaces, ModuleRequest, StaticInputs, load_tree_from};
use weft_graph_format::diagnostic::Diagnostic;

/// Records the requests. A module named `gone` does not exist, but all other modules are in the directory `m`.
#[derive(Default)]
struct Asked(Vec<(String, String, Option<String>)>);

impl ModulePlaces for Asked {
    fn place(&mut self, request: &ModuleRequest<'_>, problems: &mut Vec<Diagnostic>) -> Option<String> {
        let version = request.version.as_ref().map(|(text, _)| (*text).to_owned());
        self.0.push((request.key(), request.source.to_string(), version));
        if request.name() == "gone" {
            problems.push(Diagnostic::error("Gone", request.place()).at(request.source_range.clone()));
            return None;
        }
        Some("m".to_owned())
    }
}

fn load(main: &str, inner: &str) -> (CompiledModule, Asked, Vec<String>) {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("m")).unwrap();
    std::fs::write(dir.path().join("main.tf"), main).unwrap();
    std::fs::write(dir.path().join("m/main.tf"), inner).unwrap();
    let mut asked = Asked::default();
    let inputs = StaticInputs { given: &|_| Default::default(), workspace: "default".into(), encryption: None };
    let (root, _, problems) = load_tree_from(Path::new(dir.path()), &mut asked, &inputs);
    let told = problems.iter().map(|problem| {
        let line = problem.subject.as_ref().map_or(0, |range| range.start.line);
        format!("{line}: {}", problem.summary)
    });
    ((*root).clone(), asked, told.collect())
}

#[test]
fn sources_are_normalized_and_have_versions() {
    let main = r#"
        locals {
          major = 1
          none  = null
        }
        module "a" {
          source  = "ns/${"name"}/aws//./sub"
          version = "~> ${local.major}.0"
        }
        module "b" {
          source  = "./m/"
          version = local.none
        }
        module "gone" {
          source = "github.com/org/repo?ref=v1"
        }
    "#;
    let (root, asked, told) = load(main, "output \"x\" {\n  value = path.module\n}\n");
    let wanted = [
        ("a", "registry.opentofu.org/ns/name/aws//sub", Some("~> 1.0")),
        ("b", "./m", None),
        ("gone", "git::https://github.com/org/repo.git?ref=v1", None),
    ];
    let found: Vec<_> = asked.0.iter().map(|(k, s, v)| (k.as_str(), s.as_str(), v.as_deref())).collect();
    assert_eq!(found, wanted);
    assert_eq!(told, ["15: Gone"]);
    assert_eq!(root.children.keys().collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(root.children["a"].dir, "m");
}

#[test]
fn callers_are_requested_before_their_calls() {
    let inner = "module \"gone\" {\n  source = \"../x\"\n}\n";
    let (_, asked, told) = load("module \"a\" {\n  source = \"/srv/m\"\n}\n", inner);
    let keys: Vec<&str> = asked.0.iter().map(|(key, ..)| key.as_str()).collect();
    assert_eq!(keys, ["a", "a.gone"]);
    assert_eq!(told, ["2: Gone"]);
}

#[test]
fn invalid_sources_and_versions_are_errors() {
    for (body, told) in [
        ("source = \"m\"", vec!["2: Invalid module source address"]),
        ("source = \"github.com/org\"", vec!["2: Invalid module source address"]),
        ("source = \"./m\"\nversion = \"1\"", vec!["2: Invalid registry module source address"]),
        ("source = \"ns/m/aws\"\nversion = [1]", vec!["3: Invalid version constraint"]),
        ("source = \"ns/m/aws\"\nversion = sensitive(\"1\")", vec!["3: Invalid version constraint"]),
        (
            "source = terraform_data.a.id\nversion = terraform_data.a.id",
            vec!["3: Dynamic value in static context", "2: Dynamic value in static context"],
        ),
    ] {
        let (_, asked, found) = load(&format!("module \"a\" {{\n{body}\n}}\n"), "");
        assert_eq!(found, told, "{body}");
        assert!(asked.0.is_empty(), "{body}");
    }
}

#[test]
fn errors_of_the_root_module_prevent_all_requests() {
    let (_, asked, told) = load("module \"a\" {\n  source = \"./m\"\n}\nmodule \"b\" {\n  source = \"x\"\n}\n", "");
    assert_eq!(told, ["5: Invalid module source address"]);
    assert!(asked.0.is_empty());
}
