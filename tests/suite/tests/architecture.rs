//! The walls: who may depend on whom, what may be seen where, and a page that tells the truth about it.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use weft_suite::{ARROWS, root, rust_files};

/// Arrows that are not allowed, of `depends`: crate to the crates that it uses.
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

/// Public signatures of a source text, tests left out: each `pub` item from the word to its brace or semicolon.
fn public_items(text: &str) -> Vec<String> {
    let shipped = text.split("#[cfg(test)]").next().unwrap_or_default();
    let mut items = Vec::new();
    let mut lines = shipped.lines();
    while let Some(line) = lines.next() {
        let trimmed = line.trim_start();
        if !trimmed.starts_with("pub ") {
            continue;
        }
        let mut item = trimmed.to_string();
        while !item.contains('{') && !item.contains(';') && (item.contains('(') || !item.ends_with(',')) {
            match lines.next() {
                Some(more) => {
                    item.push(' ');
                    item.push_str(more.trim());
                }
                None => break,
            }
        }
        items.push(item);
    }
    items
}

/// Generated protobuf types stay at the edge: only `proto` itself, and the frames that two rooms exchange, are seen
/// in public.
#[test]
fn public_signatures_have_no_generated_types() {
    let mut found = Vec::new();
    for (room, _) in ARROWS {
        if matches!(*room, "proto" | "cli") {
            continue;
        }
        for file in rust_files(&root().join(room).join("src")) {
            let text = std::fs::read_to_string(&file).expect("readable");
            for item in public_items(&text) {
                let generated = ["tfplugin5::", "tfplugin6::", "weft_proto::tfplugin"].iter().any(|n| item.contains(n));
                if generated && !item.starts_with("pub(") {
                    found.push(format!("{}: {item}", file.display()));
                }
            }
        }
    }
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn public_items_are_found() {
    let text = "pub fn a(\n    x: tfplugin6::Schema,\n) -> u8 {\n}\nfn b() {}\n#[cfg(test)]\npub fn c() {}\n";
    assert_eq!(public_items(text), ["pub fn a( x: tfplugin6::Schema, ) -> u8 {"]);
}

/// Syntax trees are known to `syntax`, `expressions`, `evaluator`, the commands that read text themselves, and tests.
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

/// Types that lead into a syntax tree.
const TREES: [&str; 8] =
    ["BodyId", "BodySource", "Expression", "Provisioner", "ResourceBlock", "Traversal", "Tree", "weft_syntax"];

/// The pages of `evaluator` through which it hands over what planning works on.
const DOORS: [&str; 4] = ["declared.rs", "glue.rs", "relevant.rs", "selection.rs"];

/// The types of [`TREES`] that a text names.
fn trees_in(text: &str) -> Vec<&'static str> {
    let words: BTreeSet<&str> = text.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
    TREES.into_iter().filter(|tree| words.contains(tree)).collect()
}

/// What evaluation hands over is plain data: no signature of its doors leads into a tree, and planning names no type that
/// does.
#[test]
fn no_syntax_tree_leaves_the_evaluator() {
    let mut found = Vec::new();
    for door in DOORS {
        let text = std::fs::read_to_string(root().join("evaluator/src").join(door)).expect("readable");
        let leads = public_items(&text).into_iter().filter(|item| !trees_in(item).is_empty());
        found.extend(leads.map(|item| format!("evaluator/src/{door}: {item}")));
    }
    for file in rust_files(&root().join("planner/src")) {
        let text = std::fs::read_to_string(&file).expect("readable");
        found.extend(trees_in(&text).into_iter().map(|tree| format!("{}: {tree}", file.display())));
    }
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn a_tree_in_a_signature_is_found() {
    let text = "pub struct A {\n    pub block: Arc<ResourceBlock>,\n    own: Arc<Tree>,\n}\n";
    let found: Vec<_> = public_items(text).iter().flat_map(|item| trees_in(item)).collect();
    assert_eq!(found, ["ResourceBlock"]);
    assert!(trees_in("pub fn expression_tree(trees: BTreeMap<u8, u8>)").is_empty());
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

/// `unsafe` is forbidden in every crate, by the workspace's lints.
#[test]
fn every_crate_takes_the_lints_of_the_workspace() {
    for (room, _) in ARROWS {
        let manifest = std::fs::read_to_string(root().join(room).join("Cargo.toml")).expect("Cargo.toml");
        assert!(manifest.contains("[lints]\nworkspace = true"), "{room}/Cargo.toml lacks the workspace's lints");
    }
}
