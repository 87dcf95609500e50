//! Compares OpenTofu's records `unknowns.json` and `unknowns_more.json` with what a plan knows about expressions over
//! unknown values.
//!
//! `tests/conformance/unknowns.todo` lists the differences from `unknowns.json`, in the format of `expressions.todo`.
//! There is no difference from `unknowns_more.json`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Value as Json, json};
use weft_expressions::evaluate::{check_references, evaluate};
use weft_expressions::function_table::FunctionTable;
use weft_expressions::functions::{self, CallContext, FunctionError, Impure};
use weft_expressions::scope::{ProviderFunction, ResolvedReference, Scope};
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::formula::{Formula, Parameter};
use weft_graph_format::graph::OperationId;
use weft_graph_format::path::Path;
use weft_graph_format::source::Position;
use weft_graph_format::types::Type;
use weft_graph_format::value::{Kind, Refinement, Value};
use weft_syntax::{Key, StepKind, Traversal, Tree, parse_expression};

/// The resources of `unknowns.tf` at the first plan.
struct PlanScope {
    resources: BTreeMap<&'static str, Value>,
    numbers: [AtomicU32; 2],
}

impl PlanScope {
    fn new() -> PlanScope {
        let operation = AtomicU32::new(0);
        let unknown = |ty: Type, not_null: bool| {
            let operation = OperationId(operation.fetch_add(1, Ordering::Relaxed));
            let known = Refinement { not_null, ..Refinement::default() };
            Value::refined(ty.clone(), known).with_formula(Some(Formula::result(operation, Path::ROOT, ty)))
        };
        let data = |input: Value, output: Type| {
            Value::object([
                ("id", unknown(Type::String, true)),
                ("input", input),
                ("output", unknown(output, false)),
                ("triggers_replace", Value::null(Type::Dynamic)),
            ])
        };
        let u = data(Value::string("x"), Type::String);
        let part = |name: &str| u.at_path(&Path::ROOT.attribute(name)).expect("an attribute");
        let n_input = Value::object([("a", part("id")), ("b", Value::tuple(vec![Value::int(1), part("output")]))]);
        let n = data(n_input.clone(), n_input.ty());
        let c = Value::tuple(vec![data(Value::int(0), Type::Number), data(Value::int(1), Type::Number)]);
        let f = Value::object([("a", data(Value::int(1), Type::Number)), ("b", data(Value::int(2), Type::Number))]);
        PlanScope { resources: BTreeMap::from([("u", u), ("c", c), ("f", f), ("n", n)]), numbers: Default::default() }
    }
}

impl Scope for PlanScope {
    fn resolve(&self, _: &Tree, traversal: &Traversal) -> Result<ResolvedReference, Vec<Diagnostic>> {
        let name = match traversal.steps.first().map(|s| &s.kind) {
            Some(StepKind::Attribute(name)) => name.as_str(),
            _ => "",
        };
        match (traversal.root.text.as_str(), self.resources.get(name)) {
            ("terraform_data", Some(value)) => {
                if let (Kind::Object(o), Some(StepKind::Index(Key::String(_) | Key::Number(_)))) =
                    (value.open().1, traversal.steps.get(1).map(|s| &s.kind))
                    && o.get("id").is_some()
                {
                    return Err(vec![Diagnostic::error("Unexpected resource instance key", "")]);
                }
                if let (Kind::Tuple(_), Some(StepKind::Attribute(_))) | (Kind::Object(_), Some(StepKind::Attribute(_))) =
                    (value.open().1, traversal.steps.get(1).map(|s| &s.kind))
                    && matches!(name, "c" | "f")
                {
                    return Err(vec![Diagnostic::error("Missing resource instance key", "")]);
                }
                Ok(ResolvedReference { value: value.clone(), consumed: 1 })
            }
            ("terraform", _) if name == "workspace" => {
                Ok(ResolvedReference { value: Value::string("default"), consumed: 1 })
            }
            ("path", _) => Ok(ResolvedReference { value: Value::string("."), consumed: 1 }),
            _ => Err(vec![Diagnostic::error("Reference to undeclared resource", "")]),
        }
    }

    fn context(&self) -> CallContext<'_> {
        CallContext {
            impure: Impure::Defer,
            plan_timestamp: Some("2026-11-21T12:00:00Z"),
            ..CallContext::new(&self.numbers[0], &self.numbers[1])
        }
    }

    fn new_parameter(&self) -> Parameter {
        Parameter(self.numbers[1].fetch_add(1, Ordering::Relaxed))
    }

    fn provider_function(&self, name: &str) -> Result<ProviderFunction, Diagnostic> {
        Err(Diagnostic::error("No provider", name))
    }

    fn call_provider_function(&self, _: &ProviderFunction, _: &[Value]) -> Result<Value, FunctionError> {
        Err(FunctionError::new("no provider"))
    }

    fn functions(&self) -> Option<&'static FunctionTable> {
        Some(functions::built_in())
    }
}

/// A type in cty's JSON form.
fn type_json(ty: &Type) -> Json {
    match ty {
        Type::Dynamic => json!("dynamic"),
        Type::Bool => json!("bool"),
        Type::Number => json!("number"),
        Type::String => json!("string"),
        Type::List(t) => json!(["list", type_json(t)]),
        Type::Set(t) => json!(["set", type_json(t)]),
        Type::Map(t) => json!(["map", type_json(t)]),
        Type::Tuple(ts) => json!(["tuple", ts.iter().map(type_json).collect::<Vec<_>>()]),
        Type::Object(o) => {
            let attributes: serde_json::Map<String, Json> =
                o.attributes.iter().map(|(n, t)| (n.to_string(), type_json(t))).collect();
            json!(["object", attributes])
        }
        Type::Provider(source) => json!(["provider", source.to_string()]),
    }
}

/// The known content: unknown attributes are omitted, and other unknown parts are null.
fn after(value: &Value) -> Option<Json> {
    Some(match value.open().1 {
        Kind::Unknown(_) => return None,
        Kind::Null(_) => Json::Null,
        Kind::Bool(b) => json!(b),
        Kind::Number(n) => serde_json::from_str(&n.to_string()).unwrap_or(Json::Null),
        Kind::String(s) => json!(s.as_str()),
        Kind::Provider(instance) => json!(instance.to_string()),
        Kind::List(s) | Kind::Set(s) | Kind::Tuple(s) => {
            Json::Array(s.items().iter().map(|i| after(i).unwrap_or(Json::Null)).collect())
        }
        Kind::Map(f) | Kind::Object(f) => {
            Json::Object(f.iter().filter_map(|(n, v)| Some((n.to_string(), after(v)?))).collect())
        }
    })
}

/// Collects the unknown parts in the format of the record.
fn unknowns(value: &Value, path: &mut Vec<Json>, found: &mut Vec<Json>) {
    match value.open().1 {
        Kind::Unknown(u) => {
            let mut entry = serde_json::Map::new();
            entry.insert("path".into(), Json::Array(path.clone()));
            entry.insert("type".into(), type_json(&u.ty));
            let known = &u.refinement;
            if known.not_null {
                entry.insert("not_null".into(), json!(true));
            }
            if !known.prefix.is_empty() {
                entry.insert("prefix".into(), json!(known.prefix.as_str()));
            }
            let number = |n: &weft_graph_format::number::Number| -> Json {
                // Integers beyond 64 bits are strings in the record.
                let text = n.to_string();
                match text.len() {
                    0..=20 => serde_json::from_str(&text).unwrap_or_else(|_| json!(text)),
                    _ => json!(text),
                }
            };
            for (name, bound) in [("min", &known.min), ("max", &known.max)] {
                if let Some((n, included)) = bound {
                    entry.insert(name.into(), json!([number(n), included]));
                }
            }
            if known.length_min > 0 {
                entry.insert("length_min".into(), json!(known.length_min));
            }
            if let Some(max) = known.length_max {
                entry.insert("length_max".into(), json!(max));
            }
            found.push(Json::Object(entry));
        }
        Kind::List(s) | Kind::Set(s) | Kind::Tuple(s) => {
            for (i, item) in s.items().iter().enumerate() {
                path.push(json!(i));
                unknowns(item, path, found);
                path.pop();
            }
        }
        Kind::Map(f) | Kind::Object(f) => {
            for (name, item) in f.iter() {
                path.push(json!(name.as_str()));
                unknowns(item, path, found);
                path.pop();
            }
        }
        _ => {}
    }
}

fn difference(entry: &Json) -> Option<String> {
    let expr = entry.get("expr").and_then(Json::as_str).unwrap_or_default();
    let scope = PlanScope::new();
    let (expression, mut problems) = parse_expression("unknowns.tf", Arc::from(expr), Position::START);
    let mut value = Value::unknown(Type::Dynamic);
    if problems.is_empty() {
        problems = check_references(&expression, &scope);
    }
    if problems.is_empty() {
        (value, problems) = evaluate(&expression, &scope);
    }
    let wanted_error = entry.get("error").and_then(|e| e.get("summary")).and_then(Json::as_str);
    let error = problems.iter().find(|p| p.is_error()).map(|p| p.summary.as_str());
    if error.is_some() || wanted_error.is_some() {
        return (error != wanted_error).then(|| format!("wanted {wanted_error:?}, found {error:?} {value:?}"));
    }
    let mut found = Vec::new();
    unknowns(&value, &mut Vec::new(), &mut found);
    let ty = if value.is_null() { Type::Dynamic } else { value.ty() };
    let wanted = (entry["after"].clone(), entry["type"].clone(), entry["unknowns"].clone());
    let found = (after(&value).unwrap_or(Json::Null), type_json(&ty), Json::Array(found));
    (wanted != found).then(|| {
        format!("wanted {} {} {}\n    found {} {} {}", wanted.0, wanted.1, wanted.2, found.0, found.1, found.2)
    })
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tests/conformance")
}

/// The entries of a record.
fn entries(name: &str) -> Vec<Json> {
    let record = std::fs::read_to_string(folder().join(name)).expect("the record");
    serde_json::from_str(&record.replace("Infinity", "\"+Inf\"")).expect("a list")
}

#[test]
fn more_recorded_unknowns_evaluate_as_recorded() {
    let differing: Vec<String> = entries("unknowns_more.json")
        .iter()
        .filter_map(|entry| Some(format!("{}\n    {}", entry["expr"], difference(entry)?)))
        .collect();
    assert!(differing.is_empty(), "{}", differing.join("\n"));
}

#[test]
fn recorded_unknowns_evaluate_as_recorded() {
    let folder = folder();
    let entries = entries("unknowns.json");
    let todo = folder.join("unknowns.todo");
    // Each line has an index, a topic and a reason.
    let list = std::fs::read_to_string(&todo).unwrap_or_default();
    let reasons: BTreeMap<usize, &str> =
        list.lines().filter_map(|line| Some((line.split_whitespace().next()?.parse().ok()?, line))).collect();
    let listed: BTreeSet<usize> = reasons.keys().copied().collect();
    let show = std::env::var("WEFT_SHOW").ok();
    let mut failing = BTreeMap::new();
    let mut counts = [[0usize; 2]; 2];
    for (index, entry) in entries.iter().enumerate() {
        let is_error = usize::from(entry.get("error").is_some_and(|e| !e.is_null()));
        let difference = difference(entry);
        counts[is_error][usize::from(difference.is_none())] += 1;
        if let Some(difference) = difference {
            let topic = entry["topic"].as_str().unwrap_or_default().to_owned();
            if show.as_deref().is_some_and(|s| s == "all" || topic.starts_with(s)) {
                println!("{index} {topic} {}\n    {difference}", entry["expr"]);
            }
            failing.insert(index, topic);
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
        std::fs::write(todo, lines).expect("the list");
        return;
    }
    const SHOWN: usize = 20;
    let failing: BTreeSet<usize> = failing.into_keys().collect();
    let new: Vec<_> = failing.difference(&listed).take(SHOWN).collect();
    let mended: Vec<_> = listed.difference(&failing).take(SHOWN).collect();
    assert!(new.is_empty(), "these fail and are not listed: {new:?}");
    assert!(mended.is_empty(), "these pass and are still listed: {mended:?}");
}
