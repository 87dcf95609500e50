//! The rules of the architecture: dependencies between rooms, visibility of types, and a document that agrees with the
//! code.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use weft_suite::text::{is_word, public_signatures, shipped_only, uses};
use weft_suite::{ARROWS, root, rust_files};

/// The arrows in `depends` that are not allowed. `depends` has the crates that each crate uses.
fn wrong_arrows(depends: &BTreeMap<String, BTreeSet<String>>) -> Vec<String> {
    let allowed: BTreeMap<&str, &[&str]> = ARROWS.iter().copied().collect();
    let mut wrong = Vec::new();
    for (from, to) in depends {
        match allowed.get(from.as_str()) {
            None => wrong.push(format!("{from} is not a room of the design")),
            Some(allowed) => wrong.extend(
                to.iter().filter(|t| !allowed.contains(&t.as_str())).map(|t| format!("{from} must not use {t}")),
            ),
        }
    }
    wrong
}

fn metadata() -> serde_json::Value {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version=1", "--no-deps", "--offline"])
        .current_dir(root())
        .output()
        .expect("cargo metadata runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("cargo metadata prints JSON")
}

#[test]
fn dependencies_follow_the_arrows() {
    let metadata = metadata();
    let mut depends: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for package in metadata["packages"].as_array().expect("packages") {
        let name = package["name"].as_str().expect("name").trim_start_matches("weft-").to_string();
        if matches!(name.as_str(), "simcloud" | "simulation" | "suite") {
            continue;
        }
        let to = package["dependencies"].as_array().expect("dependencies");
        let to = to.iter().filter(|d| d["kind"] != "dev").filter_map(|d| d["name"].as_str()?.strip_prefix("weft-"));
        depends.insert(name, to.map(str::to_string).collect());
    }
    assert_eq!(depends.len(), ARROWS.len(), "every room is there: {:?}", depends.keys());
    assert_eq!(wrong_arrows(&depends), Vec::<String>::new());
}

#[test]
fn a_wrong_arrow_is_found() {
    let depends = BTreeMap::from([("planner".to_string(), BTreeSet::from(["executor".to_string()]))]);
    assert_eq!(wrong_arrows(&depends), ["planner must not use executor"]);
}

/// The types of a crate that code imports or names by path, such as `Tree` in `weft_syntax::Tree` or in a `use` item.
fn names_of_crate(code: &str, krate: &str) -> BTreeSet<String> {
    let of_crate = uses(code).into_iter().filter(|path| path.first().is_some_and(|first| first == krate));
    of_crate.filter_map(|path| path.last().cloned()).chain([krate.to_owned()]).collect()
}

/// The public signatures of a text that name a type of a crate.
fn signatures_with(text: &str, krate: &str) -> Vec<String> {
    let code = shipped_only(text);
    let names = names_of_crate(&code.iter().collect::<String>(), krate);
    let leads = |item: &String| item.split(|c| !is_word(c)).any(|word| names.contains(word));
    public_signatures(&code).into_iter().filter(leads).collect()
}

/// The public signatures in the sources of a room that name a type of a crate, by file.
fn leaks(room: &str, krate: &str) -> Vec<String> {
    let mut found = Vec::new();
    for file in rust_files(&root().join(room).join("src")) {
        let text = std::fs::read_to_string(&file).expect("readable");
        let name = file.strip_prefix(root()).expect("in the repository").display().to_string();
        found.extend(signatures_with(&text, krate).into_iter().map(|item| format!("{name}: {item}")));
    }
    found
}

/// Public signatures have no generated protobuf types. Frames of the cluster are an exception outside of `providers`,
/// because two rooms exchange them.
#[test]
fn public_signatures_have_no_generated_types() {
    assert_eq!(leaks("providers", "weft_proto"), Vec::<String>::new());
    for (room, _) in ARROWS.iter().filter(|(room, _)| !matches!(*room, "proto" | "cli")) {
        let generated = |item: &String| ["tfplugin5", "tfplugin6"].iter().any(|name| item.contains(name));
        let found: Vec<String> = leaks(room, "weft_proto").into_iter().filter(generated).collect();
        assert_eq!(found, Vec::<String>::new());
    }
}

#[test]
fn public_signatures_are_found() {
    let text = "use weft_syntax::{Tree, node::Node};\npub fn a(\n    x: &Tree,\n) -> u8 {\n}\nfn b(x: Tree) {}\n\
                pub struct S<T: Into<Node>> {\n    pub one: Vec<(u8, Tree)>,\n    own: Tree,\n    pub two: u8,\n}\n\
                pub enum E {\n    V(Tree),\n}\npub trait T {\n    fn f(&self) -> Node;\n}\n\
                pub type A = weft_syntax::Other;\npub use weft_syntax::Tree as Renamed;\npub(crate) fn c(x: Tree) {}\n\
                pub struct P(pub Tree, u8);\n#[cfg(test)]\nmod tests {\n    pub fn d(x: Tree) {}\n}\n";
    assert_eq!(
        signatures_with(text, "weft_syntax"),
        [
            "fn a( x: &Tree, ) -> u8",
            "struct S<T: Into<Node>>",
            "one: Vec<(u8, Tree)>",
            "enum E { V(Tree), }",
            "trait T { fn f(&self) -> Node; }",
            "type A = weft_syntax::Other",
            "use weft_syntax::Tree as Renamed",
            "struct P(pub Tree, u8)",
            "Tree"
        ]
    );
}

/// Only `syntax`, `expressions`, `evaluator`, the commands that read text themselves, and tests know syntax trees.
#[test]
fn syntax_trees_stay_in_their_rooms() {
    let metadata = metadata();
    for package in metadata["packages"].as_array().expect("packages") {
        let name = package["name"].as_str().expect("name");
        let uses = package["dependencies"].as_array().expect("dependencies").iter().any(|d| d["name"] == "weft-syntax");
        let may = matches!(name, "weft-expressions" | "weft-evaluator" | "weft-cli" | "weft-suite");
        assert!(may || !uses, "{name} must not use weft-syntax");
    }
}

/// Types that give access to a syntax tree. Planning must not name these types, although the trees inside them are
/// private to `evaluator`.
const TREES: [&str; 8] =
    ["BodyId", "BodySource", "Expression", "Provisioner", "ResourceBlock", "Traversal", "Tree", "weft_syntax"];

/// The results of evaluation are plain data: no public signature of `evaluator` names a syntax tree, and planning names
/// no type that gives access to one.
#[test]
fn no_syntax_tree_leaves_the_evaluator() {
    let mut found = leaks("evaluator", "weft_syntax");
    for file in rust_files(&root().join("planner/src")) {
        let text = std::fs::read_to_string(&file).expect("readable");
        let words: BTreeSet<&str> = text.split(|c| !is_word(c)).collect();
        let named = TREES.iter().filter(|tree| words.contains(**tree));
        found.extend(named.map(|tree| format!("{}: {tree}", file.display())));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// The command line uses functions of `syntax` to format, check and name things. It names no type of `syntax`.
#[test]
fn the_command_line_names_no_type_of_syntax() {
    let mut found = Vec::new();
    for file in rust_files(&root().join("cli/src")) {
        let text = std::fs::read_to_string(&file).expect("readable");
        let code: String = shipped_only(&text).into_iter().collect();
        let names = names_of_crate(&code, "weft_syntax");
        let types = names.iter().filter(|name| name.starts_with(char::is_uppercase));
        found.extend(types.map(|name| format!("{}: {name}", file.display())));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// Every path that ARCHITECTURE.md names in backticks and with a slash exists.
#[test]
fn the_architecture_document_names_existing_paths() {
    let page = std::fs::read_to_string(root().join("ARCHITECTURE.md")).expect("ARCHITECTURE.md");
    let missing: Vec<&str> = page
        .split('`')
        .skip(1)
        .step_by(2)
        .filter(|word| word.contains('/') && !word.contains(' ') && !word.contains("://") && !word.starts_with('/'))
        .filter(|word| word.chars().all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c)))
        .filter(|word| !word.starts_with('.') || word.starts_with(".ci"))
        .filter(|word| !root().join(word).exists())
        .collect();
    assert_eq!(missing, Vec::<&str>::new());
}

/// Every crate inherits the lints of the workspace, which forbid `unsafe`.
#[test]
fn every_crate_takes_the_lints_of_the_workspace() {
    for (room, _) in ARROWS {
        let manifest = std::fs::read_to_string(root().join(room).join("Cargo.toml")).expect("Cargo.toml");
        assert!(manifest.contains("[lints]\nworkspace = true"), "{room}/Cargo.toml lacks the workspace's lints");
    }
}
