//! Evaluates the recorded expressions of OpenTofu one by one.
//!
//! `tests/conformance/expressions.todo` lists the indexes of entries that do not pass yet. A listed entry that passes
//! is an error, and so is an unlisted entry that fails. `WEFT_SHOW=TOPIC` prints the differences. `WEFT_RATCHET=write`
//! rewrites the list.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde_json::Value as Json;
use weft_expressions::console::{BareScope, evaluate_text};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tests/conformance")
}

fn text<'a>(entry: &'a Json, name: &str) -> Option<&'a str> {
    entry.get(name).and_then(Json::as_str)
}

/// Describes how a result differs from the record: in the JSON text, the type, the sensitive parts, or the summary of
/// the error. `None` if all are equal.
fn difference(entry: &Json, scope: &BareScope) -> Option<String> {
    let expression = text(entry, "expr").unwrap_or_default();
    let outcome = evaluate_text(expression, scope);
    let wanted_error = entry.get("error").and_then(|e| text(e, "summary"));
    let error = outcome.errors.first();
    if wanted_error == Some("panic") {
        return error.is_none().then(|| "a value, not an error".to_owned());
    }
    let found =
        (outcome.json.as_deref(), outcome.ty.as_deref(), outcome.sensitive.clone(), error.map(|e| e.summary.as_str()));
    let sensitive = entry.get("sensitive").filter(|s| !s.is_null()).cloned();
    let wanted = (text(entry, "json"), text(entry, "type"), sensitive, wanted_error);
    (found != wanted).then(|| format!("wanted {wanted:?}\n   found {found:?} {:?}", error.map(|e| e.detail.as_str())))
}

#[test]
fn recorded_expressions_evaluate_as_recorded() {
    let folder = folder();
    std::env::set_current_dir(&folder).expect("the conformance folder");
    let record = std::fs::read_to_string("expressions.json").expect("the record");
    let entries: Vec<Json> = serde_json::from_str(&record).expect("a list");
    // Each line has an index, a topic and a reason.
    let list = std::fs::read_to_string("expressions.todo").unwrap_or_default();
    let reasons: BTreeMap<usize, &str> =
        list.lines().filter_map(|line| Some((line.split_whitespace().next()?.parse().ok()?, line))).collect();
    let listed: BTreeSet<usize> = reasons.keys().copied().collect();
    let show = std::env::var("WEFT_SHOW").ok();
    let mut failing: BTreeMap<usize, String> = BTreeMap::new();
    let mut counts = [[0usize; 2]; 2];
    let mut topics: BTreeMap<String, [usize; 2]> = BTreeMap::new();
    for (index, entry) in entries.iter().enumerate() {
        let scope = BareScope::new();
        let is_error = usize::from(entry.get("error").is_some_and(|e| !e.is_null()));
        let difference = difference(entry, &scope);
        let topic = text(entry, "topic").unwrap_or_default().to_owned();
        counts[is_error][usize::from(difference.is_none())] += 1;
        topics.entry(topic.clone()).or_default()[usize::from(difference.is_none())] += 1;
        if let Some(difference) = difference {
            if show.as_deref().is_some_and(|s| s == "all" || topic.starts_with(s)) {
                println!("{index} {topic} {}\n   {difference}", text(entry, "expr").unwrap_or_default());
            }
            failing.insert(index, topic);
        }
    }
    for (topic, [failed, passed]) in &topics {
        if *failed > 0 && show.is_some() {
            println!("{topic}: {failed} of {}", failed + passed);
        }
    }
    let [values, errors] = counts;
    println!("values: {} of {}", values[1], values[0] + values[1]);
    println!("errors: {} of {}", errors[1], errors[0] + errors[1]);
    if std::env::var("WEFT_RATCHET").as_deref() == Ok("write") {
        let line = |(index, topic): (&usize, &String)| match reasons.get(index) {
            Some(line) => format!("{line}\n"),
            None => format!("{index} {topic}\n"),
        };
        let lines: String = failing.iter().map(line).collect();
        std::fs::write("expressions.todo", lines).expect("the list");
        return;
    }
    let failing: BTreeSet<usize> = failing.into_keys().collect();
    // The maximum number of printed entries.
    const SHOWN: usize = 20;
    let new: Vec<_> = failing.difference(&listed).take(SHOWN).collect();
    let mended: Vec<_> = listed.difference(&failing).take(SHOWN).collect();
    assert!(new.is_empty(), "these fail and are not listed: {new:?}");
    assert!(mended.is_empty(), "these pass and are still listed: {mended:?}");
}
