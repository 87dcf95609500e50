//! Values of variables given as text: variable files, and expressions without references.

mod problems;

use std::sync::Arc;

use smol_str::SmolStr;
use weft_expressions::constant::evaluate_constant;
use weft_graph_format::diagnostic::{Diagnostic, has_errors};
use weft_graph_format::source::{Position, SourceRange};
use weft_graph_format::value::Value;
use weft_syntax::{Expression, NameRole, Tree};

use crate::config::{SourceFiles, parse_arguments};

/// A value in a variable file.
#[derive(Debug)]
pub struct FileValue {
    /// The variable.
    pub name: SmolStr,
    /// The value of the variable, or the reason why the variable has no value.
    pub value: Result<Value, Vec<Diagnostic>>,
    /// The source range of the value.
    pub range: Option<SourceRange>,
}

/// A parsed variable file: `name = value` in the native syntax without references, or an object in the JSON syntax.
#[derive(Debug, Default)]
pub struct VariablesFile {
    /// The values, in order.
    pub entries: Vec<FileValue>,
    /// The file, for the source lines of problems.
    pub sources: SourceFiles,
    /// Problems of the whole file.
    pub diagnostics: Vec<Diagnostic>,
}

impl VariablesFile {
    /// The values in a file with this name and content.
    pub fn parse(name: &str, content: &[u8]) -> VariablesFile {
        let (tree, diagnostics) = parse_arguments(name, content);
        let sources = SourceFiles::of(name, &tree);
        let mut file = VariablesFile { entries: Vec::new(), sources, diagnostics };
        file.diagnostics.extend(declarations(&tree));
        if has_errors(&file.diagnostics) {
            return file;
        }
        let weft_syntax::BodyView { body, problems } = tree.arguments(tree.root_id(), &|_| false);
        file.diagnostics.extend(problems);
        // As in OpenTofu, only the first block is reported.
        if let Some(block) = body.blocks.first() {
            file.diagnostics.push(problems::block(block.block_type.text.as_str(), tree.range(block.header_span)));
        }
        if has_errors(&file.diagnostics) {
            return file;
        }
        for attribute in &body.attributes {
            let value = constant(&tree.expression(attribute.expression));
            let range = Some(tree.range(attribute.span));
            file.entries.push(FileValue { name: attribute.name.text.clone(), value, range });
        }
        file
    }
}

/// Reports declarations of variables. Other messages about declarations would be less helpful.
fn declarations(tree: &Tree) -> Vec<Diagnostic> {
    let role = |name: &str| if name == "variable" { NameRole::Block(&["name"]) } else { NameRole::Hidden };
    let body = tree.content(tree.root_id(), &role).body;
    let found = body.blocks_of("variable").filter_map(|block| match block.labels.as_slice() {
        [label] => Some((label, block)),
        _ => None,
    });
    let declared =
        found.map(|(label, block)| problems::declaration(label.text.as_str(), tree.range(block.block_type.span)));
    declared.collect()
}

/// The value of the variable `name`, given as the text of an expression without references.
///
/// # Errors
/// Returns the errors of the syntax or of the evaluation.
pub fn value_of_text(name: &str, text: &str) -> Result<Value, Vec<Diagnostic>> {
    let place = format!("<value for var.{name}>");
    let (expression, problems) = weft_syntax::parse_expression(&place, Arc::from(text), Position::START);
    if has_errors(&problems) {
        return Err(problems);
    }
    constant(&expression)
}

fn constant(expression: &Expression) -> Result<Value, Vec<Diagnostic>> {
    let (value, problems) = evaluate_constant(expression);
    if has_errors(&problems) { Err(problems) } else { Ok(value) }
}
