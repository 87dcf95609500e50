//! Variable files: `name = value` in the language's syntax without references, or an object of the JSON syntax.

use super::problems;
use std::path::Path;
use std::sync::Arc;

use smol_str::SmolStr;
use weft_evaluator::config::Sources;
use weft_expressions::constant::evaluate_constant;
use weft_graph_format::diagnostic::{Diagnostic, has_errors};
use weft_graph_format::source::SourceRange;
use weft_graph_format::value::Value;
use weft_syntax::{Role, Tree};

/// The maximum size of a variable file in bytes. Larger files are not settings.
const LARGEST_FILE: u64 = 64 * 1024 * 1024;

/// A value.
pub struct FileValue {
    /// The variable.
    pub name: SmolStr,
    /// Its value, or the reason why it has none.
    pub value: Result<Value, Vec<Diagnostic>>,
    /// Its position.
    pub range: Option<SourceRange>,
}

/// A parsed file.
#[derive(Default)]
pub struct VariablesFile {
    /// The values, in order.
    pub entries: Vec<FileValue>,
    /// The file, for the source lines of problems.
    pub sources: Sources,
    /// Problems of the whole file.
    pub diagnostics: Vec<Diagnostic>,
}

/// Reads a file.
pub fn read(path: &str) -> VariablesFile {
    match read_tree(path) {
        Ok(found) => parsed(path, found),
        Err(problem) => VariablesFile { diagnostics: vec![problem], ..VariablesFile::default() },
    }
}

/// Parses a file, with the problems of its syntax.
///
/// # Errors
/// When it cannot be read.
pub fn read_tree(path: &str) -> Result<(Arc<Tree>, Vec<Diagnostic>), Diagnostic> {
    match std::fs::metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Err(problems::no_file(path)),
        Ok(found) if found.len() > LARGEST_FILE => {
            return Err(problems::file_too_large(path, found.len(), LARGEST_FILE));
        }
        _ => {}
    }
    let bytes = std::fs::read(path).map_err(|error| problems::file_unreadable(path, &error))?;
    let is_json = Path::new(path).extension().is_some_and(|end| end == "json");
    Ok(if is_json { weft_syntax::parse_json_bytes(path, &bytes) } else { weft_syntax::parse_bytes(path, &bytes) })
}

/// Refuses declarations of variables. Other messages about them would be less helpful.
fn declarations(tree: &Tree) -> Vec<Diagnostic> {
    let role = |name: &str| if name == "variable" { Role::Block(&["name"]) } else { Role::Hidden };
    let body = tree.content(tree.root_id(), &role).body;
    let found = body.blocks_of("variable").filter_map(|block| match block.labels.as_slice() {
        [label] => Some((label, block)),
        _ => None,
    });
    let declared =
        found.map(|(label, block)| problems::declaration(label.text.as_str()).at(tree.range(block.block_type.span)));
    declared.collect()
}

fn parsed(path: &str, (tree, diagnostics): (Arc<Tree>, Vec<Diagnostic>)) -> VariablesFile {
    let mut file = VariablesFile { diagnostics, ..VariablesFile::default() };
    file.sources.insert(path.into(), tree.clone());
    file.diagnostics.extend(declarations(&tree));
    if has_errors(&file.diagnostics) {
        return file;
    }
    let weft_syntax::BodyView { body, problems } = tree.arguments(tree.root_id(), &|_| false);
    file.diagnostics.extend(problems);
    for block in &body.blocks {
        let mut name_range = tree.range(block.header_span);
        name_range = SourceRange { end: name_range.end, ..name_range };
        file.diagnostics.push(problems::block(block.block_type.text.as_str()).at(name_range));
    }
    if has_errors(&file.diagnostics) {
        return file;
    }
    for attribute in &body.attributes {
        let expression = tree.expression(attribute.expression);
        let (value, problems) = evaluate_constant(&expression);
        let value = if has_errors(&problems) { Err(problems) } else { Ok(value) };
        let range = Some(tree.range(attribute.span));
        file.entries.push(FileValue { name: attribute.name.text.clone(), value, range });
    }
    file
}
