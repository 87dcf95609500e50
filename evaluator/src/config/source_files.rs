//! Source texts of files, for the lines that diagnostics show.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use smol_str::SmolStr;
use weft_graph_format::address::quoted;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::source::SourceRange;
use weft_syntax::{ExprId, ExprKind, KeyForm, Syntax, Tree};

/// Files that were read, by their names in diagnostics.
#[derive(Clone, Debug, Default)]
pub struct SourceFiles {
    trees: BTreeMap<SmolStr, Arc<Tree>>,
}

impl SourceFiles {
    /// Creates a collection with one file.
    pub(crate) fn of(name: &str, tree: &Arc<Tree>) -> SourceFiles {
        SourceFiles { trees: BTreeMap::from([(name.into(), tree.clone())]) }
    }

    /// Creates a collection with one file in the native syntax.
    pub fn native(name: &str, text: &str) -> SourceFiles {
        SourceFiles::of(name, &weft_syntax::parse_bytes(name, text.as_bytes()).0)
    }

    /// Adds a file.
    pub(crate) fn insert(&mut self, name: &str, tree: &Arc<Tree>) {
        self.trees.insert(name.into(), tree.clone());
    }

    /// The tree of a file.
    pub(crate) fn tree(&self, name: &str) -> Option<&Arc<Tree>> {
        self.trees.get(name)
    }

    /// Adds other files. They replace files with the same names.
    pub fn extend(&mut self, others: SourceFiles) {
        self.trees.extend(others.trees);
    }

    /// Whether the collection contains a file.
    pub fn has(&self, file: &str) -> bool {
        self.trees.contains_key(file)
    }

    /// The text of a file.
    pub fn text(&self, file: &str) -> Option<Arc<str>> {
        self.trees.get(file).map(|tree| tree.source().text().clone())
    }

    /// A line of a file without its line end. The number of the first line is 1.
    pub fn line(&self, file: &str, number: u32) -> Option<&str> {
        let index = usize::try_from(number).ok()?.checked_sub(1)?;
        self.trees.get(file)?.source().line(index).map(|line| line.trim_end_matches(['\r', '\n']))
    }

    /// The text of a range.
    pub fn part(&self, range: &SourceRange) -> Option<&str> {
        let (start, end) = (usize::try_from(range.start.byte).ok()?, usize::try_from(range.end.byte).ok()?);
        self.trees.get(&range.file)?.source().text().get(start..end)
    }

    /// A description of the outermost block around a byte of a file: its header, with quoted labels. In the JSON
    /// syntax, the description consists of the names of all objects and the indices of all arrays around the byte.
    pub fn enclosing_block(&self, file: &str, byte: u32) -> Option<String> {
        enclosing_block(self.trees.get(file)?, byte)
    }
}

/// Parses a file of arguments, such as values of variables. The syntax follows from the name.
pub(crate) fn parse_arguments(name: &str, bytes: &[u8]) -> (Arc<Tree>, Vec<Diagnostic>) {
    match Path::new(name).extension().is_some_and(|end| end == "json") {
        true => weft_syntax::parse_json_bytes(name, bytes),
        false => weft_syntax::parse_bytes(name, bytes),
    }
}

fn enclosing_block(tree: &Tree, byte: u32) -> Option<String> {
    if tree.syntax() == Syntax::Json {
        return enclosing_properties(tree, byte);
    }
    let blocks = &tree.root_body().blocks;
    let block = &blocks[blocks.partition_point(|block| block.header_span.start <= byte).checked_sub(1)?];
    if byte >= block.span().end {
        return None;
    }
    let labels = block.labels.iter().map(|label| format!(" {}", quoted(&label.text)));
    Some(format!("{}{}", block.block_type.text, labels.collect::<String>()))
}

/// The path from the root of a JSON text to the innermost object or array around a byte.
fn enclosing_properties(tree: &Tree, byte: u32) -> Option<String> {
    let mut way = String::new();
    let mut here = ExprId(tree.root_id().0);
    let holds = |id: ExprId| {
        let node = tree.node(id);
        let nested = matches!(node.kind, ExprKind::Object { .. } | ExprKind::Tuple { .. });
        nested && (node.span.start..node.span.end).contains(&byte)
    };
    loop {
        let (step, inner) = match &tree.node(here).kind {
            ExprKind::Object { items } => {
                let Some(item) = items.iter().find(|item| holds(item.value)) else { break };
                let KeyForm::Property(name) = &item.form else { break };
                (format!(".{name}"), item.value)
            }
            ExprKind::Tuple { items } => {
                let Some(index) = items.iter().position(|item| holds(*item)) else { break };
                (format!("[{index}]"), items[index])
            }
            _ => break,
        };
        way.push_str(&step);
        here = inner;
    }
    let way = way.strip_prefix('.').unwrap_or(&way);
    (!way.is_empty()).then(|| way.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_named_by_its_header() {
        let text = "a = 1\nresource \"x_y\" \"z\" {\n  b = 2\n}\nlocals {\n}\n";
        let (tree, _) = weft_syntax::parse_file("main.tf", Arc::from(text));
        let at = |needle: &str| u32::try_from(text.find(needle).unwrap_or_default()).unwrap_or_default();
        assert_eq!(enclosing_block(&tree, at("b = 2")).as_deref(), Some("resource \"x_y\" \"z\""));
        assert_eq!(enclosing_block(&tree, at("a = 1")), None);
        assert_eq!(enclosing_block(&tree, at("locals")).as_deref(), Some("locals"));
    }

    #[test]
    fn the_property_around_a_byte_is_found() {
        let text = r#"{"variable": {"x": {"default": 1}}, "locals": [{"a": {"b": [2]}}], "c": 3}"#;
        let (tree, _) = weft_syntax::parse_json_file("main.tf.json", Arc::from(text));
        let at = |needle: &str| u32::try_from(text.find(needle).unwrap_or_default()).unwrap_or_default();
        assert_eq!(enclosing_block(&tree, at("1}")).as_deref(), Some("variable.x"));
        assert_eq!(enclosing_block(&tree, at("2]")).as_deref(), Some("locals[0].a.b"));
        assert_eq!(enclosing_block(&tree, at("3}")), None);
    }
}
