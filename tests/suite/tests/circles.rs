//! Circles between siblings: within one module, its child modules must not use each other in a circle.
//!
//! A parent and its children may use each other. A use through a name that the parent exports (`super::Name` for
//! `pub use child::Name`) counts as a use of that child. The exceptions are named here, each with its reason. An entry
//! that is no longer needed fails the test too.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use weft_suite::text::{is_word, shipped_only, uses};
use weft_suite::{ARROWS, root, rust_files};

/// The circles that are allowed: the parent module, its children on the circle, and the reason.
///
/// Before you add an entry, try to move the common code of both sides into a third module, or to reverse a dependency.
const EXCEPTIONS: &[(&str, &[&str], &str)] = &[];

/// A path of modules or names, without `crate`.
type Names = Vec<String>;

/// The modules of one crate, by path, with their code.
struct Modules {
    code: BTreeMap<Names, String>,
    /// The names that a module exports from its children: module and name to the module that declares it.
    exports: BTreeMap<(Names, String), Names>,
}

impl Modules {
    fn of(sources: impl Iterator<Item = (Names, String)>) -> Modules {
        let mut modules = Modules { code: sources.collect(), exports: BTreeMap::new() };
        let mut exports = BTreeMap::new();
        for (module, code) in &modules.code {
            for path in uses(code) {
                let Some((target, rest)) = modules.resolved(module, &path) else { continue };
                if let [name] = &rest[..]
                    && target.len() > module.len()
                    && target.starts_with(module)
                {
                    exports.insert((module.clone(), name.clone()), target);
                }
            }
        }
        modules.exports = exports;
        modules
    }

    fn in_crate(source: &Path) -> Modules {
        let files = rust_files(source).into_iter().filter_map(|path| {
            let name = path.strip_prefix(source).expect("below the sources").with_extension("");
            let mut names: Names = name.iter().map(|part| part.to_string_lossy().into_owned()).collect();
            if names.iter().any(|name| matches!(name.as_str(), "tests" | "generated" | "bin")) {
                return None;
            }
            names.pop_if(|last| matches!(last.as_str(), "lib" | "main" | "mod"));
            let text = std::fs::read_to_string(&path).expect("a readable file");
            Some((names, shipped_only(&text).into_iter().collect()))
        });
        Modules::of(files)
    }

    /// The module that a path leads to, and the remaining names. `None` for other crates and local names.
    fn resolved(&self, at: &Names, path: &[String]) -> Option<(Names, Names)> {
        let (first, _) = path.split_first()?;
        let (mut module, mut rest) = match first.as_str() {
            "crate" => (Vec::new(), &path[1..]),
            "self" => (at.clone(), &path[1..]),
            "super" => {
                let ups = path.iter().take_while(|name| *name == "super").count();
                (at[..at.len().checked_sub(ups)?].to_vec(), &path[ups..])
            }
            child => {
                let child = [at.as_slice(), &[child.to_owned()]].concat();
                self.code.contains_key(&child).then_some((at.clone(), path))?
            }
        };
        while let [next, more @ ..] = rest {
            let child = [module.as_slice(), std::slice::from_ref(next)].concat();
            if !self.code.contains_key(&child) {
                break;
            }
            (module, rest) = (child, more);
        }
        Some((module, rest.to_vec()))
    }

    /// The uses between siblings: parent to child to the children that it uses.
    fn between_siblings(&self) -> BTreeMap<Names, BTreeMap<String, BTreeSet<String>>> {
        let mut found: BTreeMap<Names, BTreeMap<String, BTreeSet<String>>> = BTreeMap::new();
        for (module, code) in &self.code {
            for path in uses(code).into_iter().chain(inline_paths(code)) {
                let Some((mut target, rest)) = self.resolved(module, &path) else { continue };
                if let Some(name) = rest.first()
                    && let Some(exported) = self.exports.get(&(target.clone(), name.clone()))
                {
                    target.clone_from(exported);
                }
                let common = module.iter().zip(&target).take_while(|(a, b)| a == b).count();
                if let (Some(from), Some(to)) = (module.get(common), target.get(common)) {
                    let uses = found.entry(module[..common].to_vec()).or_default();
                    uses.entry(from.clone()).or_default().insert(to.clone());
                }
            }
        }
        found
    }

    /// The circles: the parent, and the children on one circle.
    fn circles(&self) -> Vec<(String, Vec<String>)> {
        let mut found = Vec::new();
        for (parent, uses) in self.between_siblings() {
            let reached: BTreeMap<&String, BTreeSet<&String>> =
                uses.keys().map(|from| (from, reach(&uses, from))).collect();
            let mut done = BTreeSet::new();
            for (child, below) in &reached {
                if !below.contains(child) || done.contains(child) {
                    continue;
                }
                let circle: Vec<&String> = below
                    .iter()
                    .copied()
                    .filter(|other| reached.get(other).is_some_and(|r| r.contains(child)))
                    .collect();
                done.extend(circle.iter().copied());
                found.push((parent.join("::"), circle.into_iter().cloned().collect()));
            }
        }
        found
    }
}

/// Everything that a child uses, directly or through others.
fn reach<'u>(uses: &'u BTreeMap<String, BTreeSet<String>>, from: &String) -> BTreeSet<&'u String> {
    let mut found = BTreeSet::new();
    let mut pending = vec![from];
    while let Some(child) = pending.pop() {
        for next in uses.get(child).into_iter().flatten() {
            if found.insert(next) {
                pending.push(next);
            }
        }
    }
    found
}

/// The paths in code that begin with `crate`, `super` or `self`.
fn inline_paths(code: &str) -> Vec<Names> {
    let words = code.split(|c: char| !is_word(c) && c != ':').map(|word| word.trim_end_matches(':'));
    let begins = |word: &&str| ["crate::", "super::", "self::"].iter().any(|first| word.starts_with(first));
    words.filter(begins).map(|word| word.split("::").map(str::to_owned).collect()).collect()
}

#[test]
fn siblings_do_not_use_each_other_in_circles() {
    let mut wrong = Vec::new();
    let mut idle: BTreeSet<&str> = EXCEPTIONS.iter().map(|(parent, ..)| *parent).collect();
    for (room, _) in ARROWS {
        for (parent, children) in Modules::in_crate(&root().join(room).join("src")).circles() {
            let parent = if parent.is_empty() { (*room).to_owned() } else { format!("{room}::{parent}") };
            let allowed = EXCEPTIONS
                .iter()
                .find(|(at, among, _)| *at == parent && children.iter().all(|child| among.contains(&child.as_str())));
            match allowed {
                Some((at, ..)) => drop(idle.remove(at)),
                None => wrong.push(format!("{parent}: {}", children.join(", "))),
            }
        }
    }
    wrong.extend(idle.into_iter().map(|parent| format!("{parent} no longer has a circle: remove its entry")));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_circle_is_found_through_groups_paths_and_exports() {
    let source = |path: &str, code: &str| (path.split_terminator("::").map(str::to_owned).collect(), code.to_owned());
    let circles =
        |sources: &[(&str, &str)]| Modules::of(sources.iter().map(|(path, code)| source(path, code))).circles();
    let both = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
    let parent = ("", "mod a; mod b; pub use b::{B, Other as C};");
    assert_eq!(
        circles(&[parent, ("a", "use crate::{b::{self, B}, x};"), ("b", "fn f() { super::a::g::<u8>() }")]),
        [(String::new(), both(&["a", "b"]))]
    );
    assert_eq!(
        circles(&[parent, ("a", "use super::B;"), ("b", "use super::a::A;")]),
        [(String::new(), both(&["a", "b"]))]
    );
    assert_eq!(
        circles(&[("m", ""), ("m::a", "use super::b;"), ("m::a::deep", ""), ("m::b", "use crate::m::a::deep::D;")]),
        [("m".to_owned(), both(&["a", "b"]))]
    );
    // A use in one direction is not a circle, and a parent is not a sibling.
    assert_eq!(circles(&[parent, ("a", "use super::B;"), ("b", "use super::Unknown; use std::a::A;")]), []);
    assert_eq!(circles(&[("m", "use a::A;"), ("m::a", "use super::M;")]), []);
}
