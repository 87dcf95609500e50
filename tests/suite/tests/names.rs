//! Names of types: within one crate, each name is declared once, so that it has one meaning.
//!
//! The exceptions are named here, each with its reason: names that parallel modules share on purpose. An entry that no
//! longer agrees with the code fails the test.

use std::collections::BTreeMap;
use std::ops::Range;

use weft_suite::text::{named, next_block, places_of, shipped_only};
use weft_suite::{ARROWS, root, rust_files};

/// Names that several modules of a crate declare: the crate, the name, the modules, and the reason. Each module
/// declares the name once, in its own file or below it.
///
/// Before you add an entry, try to rename all but one of the types, or to replace them by one shared type.
const EXCEPTIONS: &[(&str, &str, &[&str], &str)] = &[
    (
        "backends",
        "Client",
        &["azurerm", "consul", "cos", "gcs", "kubernetes", "oss", "s3"],
        "each backend has one connection to its service",
    ),
    ("backends", "Encryption", &["azurerm", "gcs", "s3"], "each backend has its own choice of server-side encryption"),
    ("backends", "Kms", &["gcs", "s3"], "each cloud has one key service"),
    ("backends", "Signer", &["cos", "oss"], "each of these backends signs the requests to its object store"),
    ("graph-format", "Decoder", &["codec/json", "codec/msgpack"], "each codec decodes the same values"),
    ("graph-format", "Encoder", &["codec/json", "codec/msgpack"], "each codec encodes the same values"),
];

/// The keywords that declare a type.
const KEYWORDS: [&str; 4] = ["enum", "struct", "trait", "type"];

/// The declarations of the types of one crate: the files by name. A file occurs once for each declaration.
type Declarations = BTreeMap<String, Vec<String>>;

/// The bodies of `impl` and `trait` items. A `type` in such a body is an associated type.
fn bodies(code: &[char]) -> Vec<Range<usize>> {
    let is_item = |at: &usize| {
        let before = code[..*at].iter().rev().find(|c| !c.is_whitespace());
        before.is_none_or(|c| matches!(c, '}' | '{' | ';' | ']'))
    };
    // In other places, `impl` begins a type, as in `-> impl Iterator`.
    let impls = places_of(code, "impl").into_iter().filter(is_item);
    let items = impls.chain(places_of(code, "trait"));
    items.filter_map(|at| next_block(code, at)).map(|(start, end)| start..end).collect()
}

/// The names of the types that a source text declares in shipped code, except associated types.
fn declared(text: &str) -> Vec<String> {
    let code = shipped_only(text);
    let bodies = bodies(&code);
    let is_associated = |end: usize| bodies.iter().any(|body| body.contains(&end));
    let mut found = Vec::new();
    for keyword in KEYWORDS {
        let names = named(&code, keyword)
            .into_iter()
            .filter(|(name, end)| name.starts_with(char::is_uppercase) && !(keyword == "type" && is_associated(*end)));
        found.extend(names.map(|(name, _)| name));
    }
    found
}

/// The types of a crate.
fn declarations(room: &str) -> Declarations {
    let source = root().join(room).join("src");
    let mut found = Declarations::new();
    for path in rust_files(&source) {
        let file = path.strip_prefix(&source).expect("below the sources").to_string_lossy().into_owned();
        if file.split('/').any(|part| matches!(part, "tests.rs" | "tests" | "generated")) {
            continue;
        }
        for name in declared(&std::fs::read_to_string(&path).expect("a readable file")) {
            found.entry(name).or_default().push(file.clone());
        }
    }
    found
}

/// The module among `modules` that has a file: `codec/json` has `codec/json.rs` and `codec/json/decode.rs`.
fn module_of<'m>(file: &str, modules: &[&'m str]) -> Option<&'m str> {
    let has = |module: &&str| file.strip_prefix(*module).is_some_and(|rest| rest.starts_with(['.', '/']));
    modules.iter().copied().find(has)
}

/// The names of a crate that are declared several times without an exception, and exceptions that do not agree with the
/// declarations. `allowed` has the modules of each exception of the crate.
fn problems(found: &Declarations, allowed: &BTreeMap<&str, &[&str]>) -> Vec<String> {
    let mut wrong = Vec::new();
    for (name, files) in found.iter().filter(|(_, files)| files.len() > 1) {
        match allowed.get(name.as_str()) {
            None => wrong.push(format!("{name} is declared in {}", files.join(", "))),
            Some(modules) => {
                let mut of_files: Vec<_> = files.iter().map(|file| module_of(file, modules)).collect();
                of_files.sort_unstable();
                if !of_files.iter().copied().eq(modules.iter().copied().map(Some)) {
                    wrong.push(format!("{name} is declared in {}, unlike in its entry", files.join(", ")));
                }
            }
        }
    }
    let is_idle = |name: &&&str| found.get(**name).is_none_or(|files| files.len() < 2);
    let idle = allowed.keys().filter(is_idle);
    wrong.extend(idle.map(|name| format!("{name} is no longer declared several times: remove its entry")));
    wrong
}

#[test]
fn each_name_of_a_type_has_one_meaning_within_its_crate() {
    let mut wrong = Vec::new();
    for (room, _) in ARROWS {
        let of_room = EXCEPTIONS.iter().filter(|(at, ..)| at == room);
        let allowed = of_room.map(|(_, name, modules, _)| (*name, *modules)).collect();
        wrong.extend(problems(&declarations(room), &allowed).into_iter().map(|problem| format!("{room}: {problem}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn names_of_types_are_found_in_shipped_code() {
    let text = "pub(crate) struct One<'a>(&'a str);\n// struct Comment;\nconst TEXT: &str = \"enum Text\";\n\
                enum Two { Variant }\nimpl Iterator for Two {\n    type Item = u8;\n}\n\
                pub trait Three {\n    type Output;\n}\ntype Four = u8;\n\
                fn f() -> impl Iterator<Item = u8> {\n    struct Five;\n    type Six = u8;\n}\n\
                fn g(r#type: u8) {}\n#[cfg(test)]\nmod tests {\n    struct Tested;\n}\n";
    assert_eq!(declared(text), ["Two", "One", "Five", "Three", "Four", "Six"]);
}

#[test]
fn a_name_that_is_declared_twice_is_found() {
    let found = |files: &[&str]| {
        let files = files.iter().map(ToString::to_string).collect();
        Declarations::from([("Client".to_owned(), files)])
    };
    let none = BTreeMap::new();
    let parallel: BTreeMap<&str, &[&str]> = BTreeMap::from([("Client", &["a", "b/c"][..])]);
    assert_eq!(problems(&found(&["a.rs"]), &none), Vec::<String>::new());
    assert_eq!(problems(&found(&["a.rs", "b.rs"]), &none), ["Client is declared in a.rs, b.rs"]);
    assert_eq!(problems(&found(&["a.rs", "b/c/d.rs"]), &parallel), Vec::<String>::new());
    for files in [&["a.rs", "a/x.rs"][..], &["a.rs", "b/cd.rs"], &["a.rs", "b/c.rs", "e.rs"]] {
        let wrong = format!("Client is declared in {}, unlike in its entry", files.join(", "));
        assert_eq!(problems(&found(files), &parallel), [wrong]);
    }
    assert_eq!(
        problems(&found(&["a.rs"]), &parallel),
        ["Client is no longer declared several times: remove its entry"]
    );
}
