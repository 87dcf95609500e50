//! A graph as readable text, one operation per line. Tests of the planner compare this text.

mod secrets;

use std::collections::BTreeMap;
use std::fmt::Write;

use secrets::Secrets;

use super::opcode::Operation;
use super::{ExecutionGraph, FormulaIndex, FormulaTable, Fragment, Row, Shard, Waits};
use smol_str::SmolStr;

use crate::address::ProviderSource;
use crate::marks::Marks;
use crate::path::{Path, ValueStep};
use crate::schema::ProviderSchema;
use crate::value::Value;
use crate::value::formula::FormulaOp;

/// The maximum length of a printed constant.
const LONGEST_CONSTANT: usize = 200;

/// The text that replaces a hidden value.
const HIDDEN: &str = "({sensitive})";

/// The graph as text, for tests. Sensitive and ephemeral constants are hidden.
pub fn disassemble(graph: &ExecutionGraph) -> String {
    disassembled(graph, &Secrets::of(graph, None))
}

/// Like [`disassemble`], but hides attributes that are sensitive or write-only in these schemas too. If the schema of
/// an object is missing, the whole object is hidden.
pub fn disassemble_with(graph: &ExecutionGraph, schemas: &BTreeMap<ProviderSource, ProviderSchema>) -> String {
    disassembled(graph, &Secrets::of(graph, Some(schemas)))
}

fn disassembled(graph: &ExecutionGraph, secrets: &Secrets<'_>) -> String {
    let mut out = String::new();
    let mut lines: Vec<(u32, String)> = Vec::new();
    for fragment in &graph.fragments {
        for row in &fragment.rows {
            lines.push((row.id.0, line(fragment, row, secrets)));
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

/// The value with the parts at these paths marked as sensitive.
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

/// The maximum depth of a printed formula. Deeper parts are printed as row numbers.
const DEEPEST_PRINT: usize = 12;
/// The maximum length of a printed formula. Without this limit, shared rows could make the text arbitrarily long.
const LONGEST_FORMULA: usize = 16_384;

fn formula(table: &FormulaTable, index: FormulaIndex, sensitive: &[Path]) -> String {
    let hidden: Hidden<'_> = sensitive.iter().map(|path| path.0.as_slice()).collect();
    let mut writer = FormulaWriter { table, out: String::new() };
    writer.formula(index, &hidden, DEEPEST_PRINT);
    writer.out
}

/// Paths to the parts of a value that are not shown.
type Hidden<'p> = Vec<&'p [ValueStep]>;

/// For each hidden path whose first step satisfies `is_entry`, the rest of the path.
fn below<'p>(hidden: &[&'p [ValueStep]], is_entry: impl Fn(&ValueStep) -> bool) -> Hidden<'p> {
    hidden
        .iter()
        .filter_map(|path| path.split_first().filter(|(step, _)| is_entry(step)).map(|(_, rest)| rest))
        .collect()
}

/// Whether each hidden part of a formula's value belongs to known operands, so that only these operands must be hidden.
fn can_follow(op: &FormulaOp<FormulaIndex>, hidden: &[&[ValueStep]]) -> bool {
    match op {
        FormulaOp::Constant(_)
        | FormulaOp::Conditional { .. }
        | FormulaOp::Map(..)
        | FormulaOp::Object(_)
        | FormulaOp::Convert(..)
        | FormulaOp::Defaults(..)
        | FormulaOp::Mark(..)
        | FormulaOp::Ignore { .. } => !hidden.iter().any(|path| path.is_empty()),
        FormulaOp::Tuple(_) | FormulaOp::List(..) => {
            hidden.iter().all(|path| matches!(path.first(), Some(ValueStep::Index(_))))
        }
        // Only the operation is printed, not its result.
        FormulaOp::Result(..) | FormulaOp::Input(_) | FormulaOp::Parameter(_) | FormulaOp::Failure(_) => true,
        _ => hidden.is_empty(),
    }
}

/// Writes formulas of a table as text of bounded depth and length.
struct FormulaWriter<'t> {
    table: &'t FormulaTable,
    out: String,
}

impl FormulaWriter<'_> {
    /// Prints a formula without the `hidden` parts of its value. If it is not certain which operands a hidden part
    /// comes from, the whole formula is hidden.
    fn formula(&mut self, index: FormulaIndex, hidden: &[&[ValueStep]], depth: usize) {
        let Some(row) = self.table.rows.get(index.0 as usize) else { return self.text(format_args!("?f{}", index.0)) };
        if depth == 0 {
            return self.text(format_args!("f{}", index.0));
        }
        if self.is_full() {
            return self.out.push_str("...");
        }
        if !can_follow(&row.op, hidden) {
            return self.out.push_str(HIDDEN);
        }
        let depth = depth - 1;
        let list = |writer: &mut Self, name: &str, parts: &[FormulaIndex]| writer.parts(name, parts, hidden, depth);
        match &row.op {
            FormulaOp::Constant(value) => self.constant(value, hidden),
            FormulaOp::Result(operation, path) => self.text(format_args!("%{}{path}", operation.0)),
            FormulaOp::Input(name) => self.text(format_args!("input {name}")),
            FormulaOp::Parameter(parameter) => self.text(format_args!("${}", parameter.0)),
            FormulaOp::Unary(op, a) => list(self, &format!("{op:?}").to_lowercase(), &[*a]),
            FormulaOp::Binary(op, a, b) => list(self, &format!("{op:?}").to_lowercase(), &[*a, *b]),
            FormulaOp::Conditional { condition, yes, no } => list(self, "if", &[*condition, *yes, *no]),
            FormulaOp::Attribute(a, name) => {
                self.formula(*a, &[], depth);
                self.text(format_args!(".{name}"));
            }
            FormulaOp::Index(a, b) => list(self, "index", &[*a, *b]),
            FormulaOp::Template(parts) => list(self, "template", parts),
            FormulaOp::Call { function, arguments, expand_final, .. } => {
                list(self, &format!("{function}{}", if *expand_final { "..." } else { "" }), arguments);
            }
            FormulaOp::ProviderCall { provider, function, arguments, .. } => {
                list(self, &format!("provider::{provider}::{function}"), arguments);
            }
            FormulaOp::Tuple(parts) => self.elements("tuple", parts, hidden, depth),
            FormulaOp::List(_, parts) => self.elements("list", parts, hidden, depth),
            FormulaOp::Set(_, parts) => list(self, "set", parts),
            FormulaOp::Map(_, entries) | FormulaOp::Object(entries) => self.entries(entries, hidden, depth),
            FormulaOp::ObjectOf(entries) => {
                let parts: Vec<FormulaIndex> = entries.iter().flat_map(|(k, v)| [*k, *v]).collect();
                list(self, "object_of", &parts);
            }
            FormulaOp::For { collection, key_parameter, value_parameter, key, value, condition, .. } => {
                self.text(format_args!("for ${} ${} in ", key_parameter.0, value_parameter.0));
                let parts = [Some(*collection), *key, Some(*value), *condition];
                list(self, "", &parts.into_iter().flatten().collect::<Vec<_>>());
            }
            FormulaOp::Splat { collection, parameter, body } => {
                self.text(format_args!("splat ${} in ", parameter.0));
                list(self, "", &[*collection, *body]);
            }
            FormulaOp::Convert(a, ty) => list(self, &format!("convert[{ty}]"), &[*a]),
            FormulaOp::Defaults(a, _) => list(self, "defaults", &[*a]),
            FormulaOp::Mark(a, marks) => list(self, &format!("mark{marks:?}"), &[*a]),
            FormulaOp::Nonsensitive(a) => list(self, "nonsensitive", &[*a]),
            FormulaOp::Try(parts) => list(self, "try", parts),
            FormulaOp::Can(a) => list(self, "can", &[*a]),
            FormulaOp::Ignore { config, prior, .. } => list(self, "ignore", &[*config, *prior]),
            FormulaOp::Failure(problem) => self.text(format_args!("failure({:?})", problem.summary)),
        }
    }

    fn is_full(&self) -> bool {
        self.out.len() > LONGEST_FORMULA
    }

    fn text(&mut self, text: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = self.out.write_fmt(text);
    }

    fn constant(&mut self, value: &Value, hidden: &[&[ValueStep]]) {
        let text = match hidden.is_empty() {
            true => constant(value),
            false => {
                let places: Vec<Path> = hidden.iter().map(|path| Path(path.to_vec())).collect();
                constant(&hiding(value, &places))
            }
        };
        self.out.push_str(&text);
    }

    /// Prints operands of which each may contain all hidden parts.
    fn parts(&mut self, name: &str, parts: &[FormulaIndex], hidden: &[&[ValueStep]], depth: usize) {
        self.listed(name, parts, depth, |_| hidden.to_vec());
    }

    /// Prints the elements of a sequence, each without its own hidden parts.
    fn elements(&mut self, name: &str, parts: &[FormulaIndex], hidden: &[&[ValueStep]], depth: usize) {
        let is = |step: &ValueStep, i: usize| matches!(step, ValueStep::Index(at) if usize::try_from(*at) == Ok(i));
        self.listed(name, parts, depth, |i| below(hidden, |step| is(step, i)));
    }

    fn listed<'p>(&mut self, name: &str, parts: &[FormulaIndex], depth: usize, inside: impl Fn(usize) -> Hidden<'p>) {
        self.text(format_args!("{name}("));
        for (i, part) in parts.iter().enumerate() {
            if i > 0 {
                self.out.push_str(", ");
            }
            if self.is_full() {
                self.out.push_str("...");
                break;
            }
            self.formula(*part, &inside(i), depth);
        }
        self.out.push(')');
    }

    /// Prints the entries of a map or an object.
    fn entries(&mut self, entries: &[(SmolStr, FormulaIndex)], hidden: &[&[ValueStep]], depth: usize) {
        self.out.push('{');
        for (i, (name, part)) in entries.iter().enumerate() {
            if self.is_full() {
                self.out.push_str(", ...");
                break;
            }
            self.text(format_args!("{}{name} = ", if i > 0 { ", " } else { "" }));
            let inside =
                below(hidden, |step| matches!(step, ValueStep::Attribute(key) | ValueStep::Key(key) if key == name));
            self.formula(*part, &inside, depth);
        }
        self.out.push('}');
    }
}
