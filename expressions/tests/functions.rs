//! Tests what the record of OpenTofu does not show about functions: limits, files that are not on disk, and the
//! argument that an error names. `conformance.rs` and `unknowns.rs` compare results with the record.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU32;
use std::time::{Duration, Instant};

use weft_expressions::console::{BareScope, evaluate_text};
use weft_expressions::functions::{self, CallContext, FileKind, Files, FunctionError};
use weft_graph_format::formula::Formula;
use weft_graph_format::marks::Marks;
use weft_graph_format::types::Type;
use weft_graph_format::value::Value;

/// Files in memory. A name that ends in a slash is a directory that links back to the root.
#[derive(Default)]
struct MemoryFiles(BTreeMap<&'static str, &'static [u8]>);

impl MemoryFiles {
    fn is_directory(&self, path: &str) -> bool {
        path.is_empty() || self.0.keys().any(|name| name.starts_with(&format!("{path}/")))
    }
}

/// The name without the repeated parts that lead through the linked directory.
fn plain(path: &Path) -> String {
    let text = path.to_string_lossy();
    text.split('/').filter(|part| *part != "loop" && *part != ".").collect::<Vec<_>>().join("/")
}

impl Files for MemoryFiles {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.0.get(plain(path).as_str()).map(|b| b.to_vec()).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn kind(&self, path: &Path) -> io::Result<FileKind> {
        let name = plain(path);
        if self.0.contains_key(name.as_str()) {
            Ok(FileKind::File)
        } else if self.is_directory(&name) {
            Ok(FileKind::Directory)
        } else {
            Err(io::ErrorKind::NotFound.into())
        }
    }

    fn list(&self, path: &Path) -> io::Result<Vec<(String, FileKind)>> {
        let name = plain(path);
        let prefix = if name.is_empty() { String::new() } else { format!("{name}/") };
        let mut entries: BTreeSet<String> = self
            .0
            .keys()
            .filter_map(|key| key.strip_prefix(prefix.as_str())?.split('/').next().map(str::to_owned))
            .collect();
        entries.insert("loop".into());
        Ok(entries
            .into_iter()
            .map(|entry| {
                let kind = self.kind(&path.join(&entry)).unwrap_or(FileKind::Directory);
                (entry, kind)
            })
            .collect())
    }

    fn home(&self) -> Option<PathBuf> {
        Some("/home/someone".into())
    }

    fn current_directory(&self) -> io::Result<PathBuf> {
        Ok("/base".into())
    }
}

fn call(files: &dyn Files, name: &str, arguments: &[Value]) -> Result<Value, FunctionError> {
    let counter = AtomicU32::new(0);
    let context = CallContext { files, ..CallContext::new(&counter, &counter) };
    let function = functions::lookup(name).unwrap_or_else(|| panic!("no function {name}"));
    function.invoke(&context, arguments, &|ty: Type| Formula::constant(Value::null(ty)))
}

fn text(value: &str) -> Value {
    Value::string(value)
}

fn error_of(expression: &str) -> Option<String> {
    evaluate_text(expression, &BareScope::new()).errors.first().map(|e| format!("{}: {}", e.summary, e.detail))
}

fn json_of(expression: &str) -> Option<String> {
    evaluate_text(expression, &BareScope::new()).json
}

#[test]
fn all_functions_of_opentofu_are_there() {
    let names: Vec<&str> = functions::all().iter().map(|f| f.name).collect();
    // The functions of a configuration, including `list` and `map`, which only name their replacements.
    assert_eq!(names.len(), 123, "{names:?}");
    assert!(names.windows(2).all(|pair| pair[0] < pair[1]));
    assert!(functions::all().iter().all(|f| f.description.ends_with('.')));
}

#[test]
fn hostile_sizes_are_refused() {
    for expression in [
        "range(0, 10, 0)",
        "range(1e9)",
        "indent(999999999999, \"a\\nb\")",
        "format(\"%999999999d\", 1)",
        "format(\"%.999999999f\", 1)",
        "setproduct(range(1000), range(1000), range(1000))",
        "regex(\"((((a{500}){500}){500}){500})\", \"a\")",
        "replace(join(\"\", range(1024), range(1024)), \"\", \
         join(\"\", range(1024), range(1024), range(1024), range(1024), range(1024)))",
    ] {
        let began = Instant::now();
        assert!(error_of(expression).is_some(), "{expression}");
        assert!(began.elapsed() < Duration::from_secs(5), "{expression} took {:?}", began.elapsed());
    }
}

#[test]
fn a_chain_of_anchors_is_refused() {
    let mut document = "a0: &a0 [x, x, x, x, x, x, x, x]\n".to_owned();
    for n in 1..12 {
        let before = format!("*a{}", n - 1);
        document += &format!("a{n}: &a{n} [{}]\n", [before.as_str(); 8].join(", "));
    }
    assert!(call(&MemoryFiles::default(), "yamldecode", &[text(&document)]).is_err());
}

#[test]
fn deep_nesting_ends_in_an_error_or_a_value() {
    let deep = |open: &str, close: &str, depth: usize| text(&format!("{}{}", open.repeat(depth), close.repeat(depth)));
    let files = MemoryFiles::default();
    assert!(call(&files, "jsondecode", &[deep("[", "]", 200)]).is_ok());
    assert!(call(&files, "jsondecode", &[deep("[", "]", 100_000)]).is_err());
    assert!(call(&files, "yamldecode", &[deep("[", "]", 100_000)]).is_err());
    assert!(call(&files, "regex", &[deep("(", ")", 100_000), text("")]).is_err());
    assert!(call(&files, "regex", &[deep("(?:", ")", 900), text("")]).is_ok());
    let nested = call(&files, "jsondecode", &[deep("[", "]", 200)]).expect("a value");
    assert!(call(&files, "flatten", std::slice::from_ref(&nested)).is_ok());
    assert!(call(&files, "yamlencode", std::slice::from_ref(&nested)).is_ok());
    assert!(call(&files, "jsonencode", &[nested]).is_ok());
}

#[test]
fn a_backtracking_pattern_matches_in_linear_time() {
    let files = MemoryFiles::default();
    let subject = text(&"a".repeat(50_000));
    let began = Instant::now();
    assert!(call(&files, "regexall", &[text("(a*)*b|(a|aa)+$"), subject.clone()]).is_ok());
    assert!(call(&files, "replace", &[subject, text("/(x+x+)+y/"), text("")]).is_ok());
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
}

#[test]
fn the_time_for_many_elements_is_linear() {
    let files = MemoryFiles::default();
    let many: Vec<Value> = (0..100_000).map(|n| text(&format!("name-{n}"))).collect();
    let list = Value::list(Type::String, many);
    let began = Instant::now();
    assert_eq!(call(&files, "distinct", std::slice::from_ref(&list)), Ok(list.clone()));
    assert_eq!(call(&files, "matchkeys", &[list.clone(), list.clone(), list.clone()]), Ok(list.clone()));
    assert!(call(&files, "setsubtract", &[list.clone(), list]).is_ok());
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
}

#[test]
fn files_come_from_the_context() {
    let files = MemoryFiles(BTreeMap::from([
        ("a.txt", b"alpha".as_slice()),
        ("sub/b.txt", b"beta"),
        ("sub/deep/c.txt", b"\xff"),
        ("t.tftpl", b"<${name}>"),
        ("self.tftpl", b"${templatefile(\"self.tftpl\", {})}"),
    ]));
    let one = |name: &str, path: &str| call(&files, name, &[text(path)]);
    assert_eq!(one("file", "sub/../a.txt"), Ok(text("alpha")));
    assert_eq!(one("filebase64", "sub/deep/c.txt"), Ok(text("/w==")));
    assert_eq!(one("file", "sub/deep/c.txt").map_err(|e| e.argument), Err(None));
    assert_eq!(one("file", "missing").map_err(|e| e.argument), Err(Some(0)));
    assert_eq!(one("fileexists", "a.txt"), Ok(Value::bool(true)));
    assert_eq!(one("pathexpand", "~/x/../y"), Ok(text("/home/someone/y")));
    assert_eq!(one("abspath", "x/../y"), Ok(text("/base/y")));
    let name = Value::object([("name", text("n"))]);
    assert_eq!(call(&files, "templatefile", &[text("t.tftpl"), name]), Ok(text("<n>")));
    let missing = call(&files, "templatefile", &[text("t.tftpl"), Value::empty_object()]);
    assert_eq!(missing.map_err(|e| e.argument), Err(Some(1)));
    assert!(call(&files, "templatefile", &[text("self.tftpl"), Value::empty_object()]).is_err());
    let secret = text("nowhere/at-all").mark(&Marks::SENSITIVE);
    let message = call(&files, "file", &[secret]).map_err(|e| e.message);
    assert!(message.is_err_and(|m| !m.contains("nowhere")));
}

#[test]
fn file_patterns_match_files() {
    let files = MemoryFiles(BTreeMap::from([
        ("d/a.txt", b"".as_slice()),
        ("d/b.json", b""),
        ("d/x-1.txt", b""),
        ("d/sub/c.txt", b""),
        ("d/sub/deep/e.txt", b""),
    ]));
    for (pattern, wanted) in [
        ("*.txt", "a.txt x-1.txt"),
        ("**/c.txt", "sub/c.txt"),
        ("{a,b}.*", "a.txt b.json"),
        ("{a,x-{0,1}}.txt", "a.txt x-1.txt"),
        ("x-[0-9].txt", "x-1.txt"),
        ("x-[!0-9].txt", ""),
        ("?.json", "b.json"),
        ("sub/**/*.txt", "sub/c.txt sub/deep/e.txt"),
        ("nothing/*", ""),
    ] {
        let found = call(&files, "fileset", &[text("d"), text(pattern)]).expect("a set");
        let found: Vec<&str> = found.as_items().expect("items").iter().filter_map(Value::as_str).collect();
        // The linked directory contains every file again.
        let found: Vec<&str> = found.into_iter().filter(|name| !name.contains("loop")).collect();
        assert_eq!(found.join(" "), wanted, "{pattern}");
    }
    for pattern in ["[", "{a", "a\\"] {
        assert!(call(&files, "fileset", &[text("d"), text(pattern)]).is_err(), "{pattern}");
    }
}

#[test]
fn marks_survive_unknown_arguments() {
    let files = MemoryFiles::default();
    let secret = Value::unknown(Type::list(Type::String)).mark(&Marks::SENSITIVE);
    for name in ["reverse", "tolist", "flatten", "sort"] {
        let result = call(&files, name, std::slice::from_ref(&secret)).expect("a value");
        assert!(result.contains_sensitive(), "{name}");
    }
}

#[test]
fn extreme_numbers_and_times_are_handled() {
    for (expression, wanted) in [
        ("pow(10, 23)", "100000000000000000000000"),
        ("pow(2, -1074) > 0", "true"),
        ("pow(-2, 3)", "-8"),
        ("parseint(\"-zZ\", 62)", "-2231"),
        ("timeadd(\"2023-12-31T23:59:59Z\", \"1s\")", "\"2024-01-01T00:00:00Z\""),
        ("timeadd(\"2000-02-28T12:00:00+01:00\", \"24h\")", "\"2000-02-29T12:00:00+01:00\""),
        ("timeadd(\"1970-01-01T00:00:00Z\", \"-1ns\")", "\"1969-12-31T23:59:59Z\""),
        ("formatdate(\"'it''s' h\", \"2024-02-29T13:04:05Z\")", "\"it's 13\""),
        ("cidrsubnet(\"::/0\", 128, 1)", "\"::1/128\""),
        ("cidrcontains(\"::ffff:10.0.0.0/104\", \"10.1.2.3\")", "true"),
        ("substr(\"hello\", -3, 0)", "\"llo\""),
        ("length(\"क्षि\")", "2"),
    ] {
        assert_eq!(json_of(expression).as_deref(), Some(wanted), "{expression}: {:?}", error_of(expression));
    }
}
