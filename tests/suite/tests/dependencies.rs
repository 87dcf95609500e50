//! Every dependency in a manifest is used by the code that it belongs to.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use weft_suite::text::{code_only, is_word, places_of};
use weft_suite::{root, source_files};

/// Dependencies that no source names: package, dependency, and reason.
const UNNAMED: &[(&str, &str, &str)] = &[];

/// The target platform of the compiler.
fn host() -> String {
    let output = Command::new("rustc").arg("-vV").output().expect("rustc runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().find_map(|line| line.strip_prefix("host: ")).expect("rustc names its host").to_owned()
}

fn metadata() -> serde_json::Value {
    let output = Command::new(env!("CARGO"))
        // Packages for other platforms may be missing.
        .args(["metadata", "--format-version=1", "--offline", "--locked", "--filter-platform", &host()])
        .current_dir(root())
        .output()
        .expect("cargo metadata runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("cargo metadata prints JSON")
}

fn text(value: &serde_json::Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Whether code names a crate: `name::`, `use name;` or `use name as other`, where `name` is the start of a path.
fn names(code: &[char], name: &str) -> bool {
    places_of(code, name).into_iter().any(|at| {
        let before: String = code[..at].iter().rev().filter(|c| !c.is_whitespace()).take(3).collect();
        let after: String = code[at + name.len()..].iter().skip_while(|c| c.is_whitespace()).take(2).collect();
        // The text is reversed, because it is read backwards.
        let within_path = before.starts_with("::") && before.chars().nth(2).is_some_and(|c| is_word(c) || c == '>');
        let used = before == "esu" && (after.starts_with(';') || after == "as");
        !within_path && (after == "::" || used)
    })
}

/// The names of the crates of all packages, by package.
fn crate_names(packages: &[serde_json::Value]) -> BTreeMap<&str, &str> {
    let library = |package: &serde_json::Value| {
        let targets = package["targets"].as_array()?;
        let is_library = |kind: &serde_json::Value| matches!(text(kind), "lib" | "rlib" | "proc-macro" | "dylib");
        targets.iter().position(|target| target["kind"].as_array().is_some_and(|kinds| kinds.iter().any(is_library)))
    };
    let named = |package: &'_ serde_json::Value| library(package);
    packages
        .iter()
        .filter_map(|package| Some((text(&package["name"]), text(&package["targets"][named(package)?]["name"]))))
        .collect()
}

/// The code below some directories of a package, and in single files of it.
fn code_of(package: &Path, places: &[&str]) -> Vec<Vec<char>> {
    let files = places.iter().flat_map(|place| match package.join(place) {
        path if path.is_dir() => source_files(&path),
        path if path.is_file() => vec![path],
        _ => Vec::new(),
    });
    files.map(|file| code_only(&std::fs::read_to_string(file).expect("a readable file"))).collect()
}

#[test]
fn every_dependency_is_used() {
    let metadata = metadata();
    let packages = metadata["packages"].as_array().expect("packages");
    let members: BTreeSet<&str> = metadata["workspace_members"].as_array().expect("members").iter().map(text).collect();
    let known = crate_names(packages);
    let mut unused = BTreeSet::new();
    let mut named = BTreeSet::new();
    for package in packages.iter().filter(|package| members.contains(text(&package["id"]))) {
        let folder = Path::new(text(&package["manifest_path"])).parent().expect("a folder");
        let code = [code_of(folder, &["src"]), code_of(folder, &["tests", "benches", "examples"])];
        let build = code_of(folder, &["build.rs"]);
        for dependency in package["dependencies"].as_array().expect("dependencies") {
            let name = text(&dependency["name"]);
            let crate_name = match dependency["rename"].as_str() {
                Some(rename) => rename.replace('-', "_"),
                None => known.get(name).map_or_else(|| name.replace('-', "_"), |name| (*name).replace('-', "_")),
            };
            named.insert(name.to_owned());
            let (kind, places): (_, &[Vec<Vec<char>>]) = match dependency["kind"].as_str() {
                Some("dev") => ("dev-", &code),
                Some("build") => ("build-", std::slice::from_ref(&build)),
                _ => ("", &code[..1]),
            };
            if !places.iter().flatten().any(|code| names(code, &crate_name)) {
                unused.insert((text(&package["name"]).to_owned(), name.to_owned(), kind));
            }
        }
    }
    let is_exception = |package: &str, name: &str| UNNAMED.iter().any(|one| one.0 == package && one.1 == name);
    let wrong: Vec<String> = unused
        .iter()
        .filter(|(package, name, _)| !is_exception(package, name))
        .map(|(package, name, kind)| format!("{package} has the {kind}dependency {name}, but does not use it"))
        .chain(
            workspace_dependencies()
                .into_iter()
                .filter(|name| !named.contains(name))
                .map(|name| format!("the workspace lists {name}, which no package uses")),
        )
        .chain(
            UNNAMED
                .iter()
                .filter(|one| !unused.iter().any(|(package, name, _)| package == one.0 && name == one.1))
                .map(|one| format!("{} uses {}: remove its entry here", one.0, one.1)),
        )
        .collect();
    assert_eq!(wrong, Vec::<String>::new());
}

/// The names in the table of dependencies of the workspace.
fn workspace_dependencies() -> Vec<String> {
    let manifest = std::fs::read_to_string(root().join("Cargo.toml")).expect("the manifest of the workspace");
    let table = manifest.split("[workspace.dependencies]\n").nth(1).expect("a table of dependencies");
    let lines = table.lines().take_while(|line| !line.starts_with('['));
    lines.filter_map(|line| Some(line.split_once(" = ")?.0.trim().to_owned())).collect()
}

#[test]
fn a_use_differs_from_a_word() {
    let uses = |text: &str| names(&code_only(text), "bytes");
    assert!(uses("use bytes::Bytes;"));
    assert!(uses("let x = ::bytes::Bytes::new();"));
    assert!(uses("use bytes as b;"));
    assert!(!uses("let bytes = read(&bytes);"));
    assert!(!uses("// bytes::Bytes"));
    assert!(!uses("let x = \"bytes::Bytes\";"));
    assert!(!uses("use crate::bytes::Bytes;"));
}
