//! The real texts from which inputs are made: files of the conformance record and of the examples.

use std::path::Path;
use std::sync::LazyLock;

use weft_suite::root;

/// The maximum length of a text. Longer texts are cut, so that inputs stay quick.
const LONGEST: usize = 4_000;

/// Real texts by kind.
pub struct Seeds {
    /// Configuration files in native syntax.
    pub native: Vec<String>,
    /// Templates.
    pub templates: Vec<String>,
    /// Configuration in the JSON syntax, and other JSON files of the conformance record.
    pub json: Vec<String>,
    /// State files.
    pub states: Vec<String>,
    /// Single expressions.
    pub expressions: Vec<String>,
}

/// The texts, read once.
pub static SEEDS: LazyLock<Seeds> = LazyLock::new(read);

fn walk(folder: &Path, found: &mut Vec<(String, String)>) {
    let mut entries: Vec<_> =
        std::fs::read_dir(folder).expect("a readable folder").flatten().map(|e| e.path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            walk(&path, found);
        } else if let Ok(mut text) = std::fs::read_to_string(&path) {
            let mut end = LONGEST.min(text.len());
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            text.truncate(end);
            found.push((path.file_name().unwrap_or_default().to_string_lossy().into_owned(), text));
        }
    }
}

fn read() -> Seeds {
    let mut files = Vec::new();
    for folder in ["tests/conformance/cases", "tests/conformance/expression_files", "examples"] {
        walk(&root().join(folder), &mut files);
    }
    let ending = |endings: &[&str]| -> Vec<String> {
        let named = files.iter().filter(|(name, _)| endings.iter().any(|ending| name.ends_with(ending)));
        named.map(|(_, text)| text.clone()).collect()
    };
    let record = std::fs::read(root().join("tests/conformance/expressions.json")).expect("the record");
    let record: Vec<serde_json::Value> = serde_json::from_slice(&record).expect("JSON");
    let expressions: Vec<String> = record
        .iter()
        .filter_map(|case| case["expr"].as_str())
        .filter(|e| e.len() <= LONGEST)
        .map(str::to_owned)
        .collect();
    let mut templates = ending(&[".tftpl", ".tmpl", ".tpl", ".txt"]);
    templates.extend(expressions.iter().filter(|text| text.contains("${") || text.contains("%{")).cloned());
    let states = ending(&[".tfstate"]);
    let mut json = ending(&[".json"]);
    json.extend(states.iter().cloned());
    let seeds = Seeds { native: ending(&[".tf", ".tofu", ".hcl", ".tfvars"]), templates, json, states, expressions };
    for kind in [&seeds.native, &seeds.templates, &seeds.json, &seeds.states, &seeds.expressions] {
        assert!(!kind.is_empty(), "texts of each kind");
    }
    seeds
}
