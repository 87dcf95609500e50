//! A graph as readable text, one operation a line: the language of planner tests.

mod secrets;

use std::collections::BTreeMap;
use std::fmt::Write;

use secrets::Secrets;

use super::opcode::Operation;
use super::{ExecutionGraph, FormulaIndex, FormulaTable, Fragment, Row, Shard, Waits};
use crate::address::ProviderSource;
use crate::formula::FormulaOp;
use crate::marks::Marks;
use crate::path::{Path, Step};
use crate::schema::ProviderSchema;
use crate::value::Value;

/// Longest text of one constant in a line.
const LONGEST_CONSTANT: usize = 200;

/// What is printed in place of something that must not be seen.
const HIDDEN: &str = "({sensitive})";

/// The graph as text. Sensitive and ephemeral constants are shown as words only.
pub fn disassemble(graph: &ExecutionGraph) -> String {
    disassemble_with(graph, &BTreeMap::new())
}

/// The same; what these schemas call sensitive or write-only is not shown either.
pub fn disassemble_with(graph: &ExecutionGraph, schemas: &BTreeMap<ProviderSource, ProviderSchema>) -> String {
    let mut out = String::new();
    let mut lines: Vec<(u32, String)> = Vec::new();
    let secrets = Secrets::of(graph, schemas);
    for fragment in &graph.fragments {
        for row in &fragment.rows {
            lines.push((row.id.0, line(fragment, row, &secrets)));
        }
    }
    lines.sort();
    for (_, text) in lines {
        out.push_str(&text);
        out.push('\n');
    }
    for (i, waiter) in graph.waiters.iter().enumerate() {
        let _ = writeln!(out, "w{i} = all({})", waits(waiter));
    }
    out
}

fn line(fragment: &Fragment, row: &Row, secrets: &Secrets<'_>) -> String {
    let table = &fragment.formulas;
    let places = secrets.places(fragment, row);
    let f = |index: &FormulaIndex| formula(table, *index, &places);
    let shown = |value: &Value| constant(&hiding(value, &places));
    let mut out = format!("{} = ", row.id.0);
    let _ = match &row.operation {
        Operation::Evaluate { name, formula } => write!(out, "evaluate {name} {}", f(formula)),
        Operation::OpenProvider { instance, config } => write!(out, "open_provider {instance} {}", f(config)),
        Operation::CloseProvider { provider } => write!(out, "close_provider {}", provider.0),
        Operation::PriorState { address, deposed, object } => {
            let deposed = deposed.as_ref().map(|d| format!(" deposed {}", d.0)).unwrap_or_default();
            let tainted = if object.tainted { " tainted" } else { "" };
            write!(out, "prior_state {address}{deposed}{tainted} {}", shown(&object.value))
        }
        Operation::Desired { address, config } => {
            write!(out, "desired {address} {}", f(config))
        }
        Operation::FinalPlan { address, provider, prior, desired, planned } => {
            let part = |o: &Option<super::OperationId>| o.map_or(String::from("-"), |o| o.0.to_string());
            write!(
                out,
                "final_plan {address} {} provider {} prior {} desired {} planned {}",
                planned.action.word(),
                provider.0,
                part(prior),
                part(desired),
                shown(&planned.value)
            )
        }
        Operation::Apply { address, deposed, plan } => {
            let deposed = deposed.as_ref().map(|d| format!(" deposed {}", d.0)).unwrap_or_default();
            write!(out, "apply {address}{deposed} {}", plan.0)
        }
        Operation::Depose { address, key } => write!(out, "depose {address} {}", key.0),
        Operation::Forget { address, deposed } => {
            let deposed = deposed.as_ref().map(|d| format!(" deposed {}", d.0)).unwrap_or_default();
            write!(out, "forget {address}{deposed}")
        }
        Operation::ReadData { address, provider, config, for_check, .. } => {
            let check = if *for_check { " for check" } else { "" };
            write!(out, "read_data {address}{check} provider {} {}", provider.0, f(config))
        }
        Operation::Record { address, previous, object, .. } => {
            let previous = previous.as_ref().map(|p| format!(" moved from {p}")).unwrap_or_default();
            let object = object.as_ref().map_or(String::from("gone"), |o| shown(&o.value));
            write!(out, "record {address}{previous} {object}")
        }
        Operation::Output { name, formula, sensitive, .. } => {
            let word = if *sensitive { " sensitive" } else { "" };
            let formula = formula.as_ref().map_or(String::from("removed"), f);
            write!(out, "output {name}{word} {formula}")
        }
        Operation::Check { address, kind, condition, message, .. } => {
            write!(out, "check {address} {kind:?} {} message {}", f(condition), f(message))
        }
        Operation::Provision { address, provisioner, when, continues, config, .. } => {
            let word = if *continues { " continues" } else { "" };
            write!(out, "provision {address} {provisioner} {when:?}{word} {}", f(config))
        }
        Operation::OpenEphemeral { address, provider, config, .. } => {
            write!(out, "open_ephemeral {address} provider {} {}", provider.0, f(config))
        }
        Operation::CloseEphemeral { ephemeral } => write!(out, "close_ephemeral {}", ephemeral.0),
        Operation::EvaluateLive { name, formula } => write!(out, "evaluate_live {name} {}", f(formula)),
    };
    if !row.waits.is_empty() {
        let _ = write!(out, " after {}", waits(&row.waits));
    }
    match &fragment.shard {
        Shard::Home => out.push_str(" @home"),
        Shard::Unplaced => {}
        Shard::Provider(instance) => {
            let _ = write!(out, " @{instance}");
        }
    }
    out
}

fn waits(waits: &Waits) -> String {
    let operations = waits.operations.iter().map(|o| o.0.to_string());
    let waiters = waits.waiters.iter().map(|w| format!("w{}", w.0));
    operations.chain(waiters).collect::<Vec<_>>().join(" ")
}

/// The value with marks at these places.
fn hiding(value: &Value, places: &[Path]) -> Value {
    let marks: Vec<(Path, Marks)> = places.iter().map(|path| (path.clone(), Marks::SENSITIVE)).collect();
    value.mark_paths(&marks)
}

fn constant(value: &Value) -> String {
    let mut text = format!("{value:?}");
    if text.len() > LONGEST_CONSTANT {
        let mut end = LONGEST_CONSTANT;
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
        text.push_str("...");
    }
    text
}

/// Deepest nesting of a printed formula; what is deeper is named by its row.
const DEEPEST_PRINT: usize = 12;
/// Longest text of one formula: rows are shared, so what they print to has no bound of its own.
const LONGEST_FORMULA: usize = 16_384;

fn formula(table: &FormulaTable, index: FormulaIndex, sensitive: &[Path]) -> String {
    let mut out = String::new();
    let hidden: Vec<&[Step]> = sensitive.iter().map(|path| path.0.as_slice()).collect();
    write_formula(table, index, &hidden, DEEPEST_PRINT, &mut out);
    out
}

/// The places below an entry.
fn below<'p>(hidden: &[&'p [Step]], is_entry: impl Fn(&Step) -> bool) -> Vec<&'p [Step]> {
    hidden
        .iter()
        .filter_map(|path| path.split_first().filter(|(step, _)| is_entry(step)).map(|(_, rest)| rest))
        .collect()
}

/// Writes a formula; of what it makes, the places `hidden` are not shown. Where a place cannot be followed into the
/// formula, the whole of it is hidden.
fn write_formula<'p>(table: &FormulaTable, index: FormulaIndex, hidden: &[&'p [Step]], depth: usize, out: &mut String) {
    let Some(row) = table.rows.get(index.0 as usize) else {
        let _ = write!(out, "?f{}", index.0);
        return;
    };
    if depth == 0 {
        let _ = write!(out, "f{}", index.0);
        return;
    }
    if out.len() > LONGEST_FORMULA {
        out.push_str("...");
        return;
    }
    let through = match &row.op {
        FormulaOp::Constant(_)
        | FormulaOp::Conditional { .. }
        | FormulaOp::Map(..)
        | FormulaOp::Object(_)
        | FormulaOp::Convert(..)
        | FormulaOp::Defaults(..)
        | FormulaOp::Mark(..)
        | FormulaOp::Ignore { .. } => !hidden.iter().any(|path| path.is_empty()),
        FormulaOp::Tuple(_) | FormulaOp::List(..) => {
            hidden.iter().all(|path| matches!(path.first(), Some(Step::Index(_))))
        }
        // What an operation gives is only named.
        FormulaOp::Result(..) | FormulaOp::Input(_) | FormulaOp::Parameter(_) | FormulaOp::Failure(_) => true,
        _ => hidden.is_empty(),
    };
    if !through {
        out.push_str(HIDDEN);
        return;
    }
    let listed = |name: &str, parts: &[FormulaIndex], of: &dyn Fn(usize) -> Vec<&'p [Step]>, out: &mut String| {
        out.push_str(name);
        out.push('(');
        for (i, part) in parts.iter().enumerate() {
            if i > 0 {
                out.push_str(", ");
            }
            if out.len() > LONGEST_FORMULA {
                out.push_str("...");
                break;
            }
            write_formula(table, *part, &of(i), depth - 1, out);
        }
        out.push(')');
    };
    let list = |name: &str, parts: &[FormulaIndex], out: &mut String| listed(name, parts, &|_| hidden.to_vec(), out);
    let element = |i: usize| below(hidden, |step| matches!(step, Step::Index(at) if usize::try_from(*at) == Ok(i)));
    match &row.op {
        FormulaOp::Constant(value) if hidden.is_empty() => out.push_str(&constant(value)),
        FormulaOp::Constant(value) => {
            let places: Vec<Path> = hidden.iter().map(|path| Path(path.to_vec())).collect();
            out.push_str(&constant(&hiding(value, &places)));
        }
        FormulaOp::Result(operation, path) => {
            let _ = write!(out, "%{}{path}", operation.0);
        }
        FormulaOp::Input(name) => {
            let _ = write!(out, "input {name}");
        }
        FormulaOp::Parameter(p) => {
            let _ = write!(out, "${}", p.0);
        }
        FormulaOp::Unary(op, a) => list(&format!("{op:?}").to_lowercase(), &[*a], out),
        FormulaOp::Binary(op, a, b) => list(&format!("{op:?}").to_lowercase(), &[*a, *b], out),
        FormulaOp::Conditional { condition, yes, no } => list("if", &[*condition, *yes, *no], out),
        FormulaOp::Attribute(a, name) => {
            write_formula(table, *a, &[], depth - 1, out);
            let _ = write!(out, ".{name}");
        }
        FormulaOp::Index(a, b) => list("index", &[*a, *b], out),
        FormulaOp::Template(parts) => list("template", parts, out),
        FormulaOp::Call { function, arguments, expand_final, .. } => {
            list(&format!("{function}{}", if *expand_final { "..." } else { "" }), arguments, out);
        }
        FormulaOp::ProviderCall { provider, function, arguments, .. } => {
            list(&format!("provider::{provider}::{function}"), arguments, out);
        }
        FormulaOp::Tuple(parts) => listed("tuple", parts, &element, out),
        FormulaOp::List(_, parts) => listed("list", parts, &element, out),
        FormulaOp::Set(_, parts) => list("set", parts, out),
        FormulaOp::Map(_, entries) | FormulaOp::Object(entries) => {
            out.push('{');
            for (i, (name, part)) in entries.iter().enumerate() {
                if out.len() > LONGEST_FORMULA {
                    out.push_str(", ...");
                    break;
                }
                let _ = write!(out, "{}{name} = ", if i > 0 { ", " } else { "" });
                let inside = below(hidden, |step| matches!(step, Step::Attribute(key) | Step::Key(key) if key == name));
                write_formula(table, *part, &inside, depth - 1, out);
            }
            out.push('}');
        }
        FormulaOp::ObjectOf(entries) => {
            let parts: Vec<FormulaIndex> = entries.iter().flat_map(|(k, v)| [*k, *v]).collect();
            list("object_of", &parts, out);
        }
        FormulaOp::For { collection, key_parameter, value_parameter, key, value, condition, .. } => {
            let _ = write!(out, "for ${} ${} in ", key_parameter.0, value_parameter.0);
            let parts: Vec<FormulaIndex> =
                [Some(*collection), *key, Some(*value), *condition].into_iter().flatten().collect();
            list("", &parts, out);
        }
        FormulaOp::Splat { collection, parameter, body } => {
            let _ = write!(out, "splat ${} in ", parameter.0);
            list("", &[*collection, *body], out);
        }
        FormulaOp::Convert(a, ty) => list(&format!("convert[{ty}]"), &[*a], out),
        FormulaOp::Defaults(a, _) => list("defaults", &[*a], out),
        FormulaOp::Mark(a, marks) => list(&format!("mark{marks:?}"), &[*a], out),
        FormulaOp::Nonsensitive(a) => list("nonsensitive", &[*a], out),
        FormulaOp::Try(parts) => list("try", parts, out),
        FormulaOp::Can(a) => list("can", &[*a], out),
        FormulaOp::Ignore { config, prior, .. } => list("ignore", &[*config, *prior], out),
        FormulaOp::Failure(problem) => {
            let _ = write!(out, "failure({:?})", problem.summary);
        }
    }
}
