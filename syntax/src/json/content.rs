//! JSON objects as bodies. Only the reader knows which properties are arguments and which contain blocks.

use smol_str::SmolStr;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::source::SourceRange;

use crate::body::{Attribute, Block, Body, BodyId, Label, NameRole};
use crate::expression::{ExprId, ExprKind, ExprNode, KeyForm, Literal, Name, ObjectItem};
use crate::problems::json::{self as problems, Properties};
use crate::source::Span;
use crate::tree::Tree;

/// The name of properties that are comments, in bodies only.
const COMMENT: &str = "//";

/// The content of a body, and its problems.
type BodyAndProblems = (Body, Vec<Diagnostic>);

/// A function that returns the problem of a duplicate argument, from its name and the range of its first occurrence.
type Duplicate = fn(&str, &SourceRange) -> Diagnostic;

/// The beginning of a value: its bracket, or the whole value if the value has no brackets.
fn start_of(node: &ExprNode) -> Span {
    match node.kind {
        ExprKind::Object { .. } | ExprKind::Tuple { .. } => {
            let start = node.span.start;
            Span::new(start, node.span.end.min(start.saturating_add(1)))
        }
        _ => node.span,
    }
}

/// The position of a missing argument: the closing brace of an object.
pub(crate) fn missing_of(tree: &Tree, body: BodyId) -> Span {
    let node = tree.node(ExprId(body.0));
    match node.kind {
        ExprKind::Object { .. } => Span::new(node.span.end.saturating_sub(1).max(node.span.start), node.span.end),
        _ => start_of(node),
    }
}

/// A property: its name, the range of the name, and its value.
struct Property<'tree> {
    name: &'tree SmolStr,
    span: Span,
    value: ExprId,
}

impl Property<'_> {
    fn name(&self) -> Name {
        Name { text: self.name.clone(), span: self.span }
    }
}

/// A reader of one body.
struct Reader<'tree> {
    tree: &'tree Tree,
    body: Body,
    problems: Vec<Diagnostic>,
}

/// Reads a body with the roles of its names. Names without a role become arguments.
pub(crate) fn content<'a>(tree: &Tree, body: BodyId, role: &dyn Fn(&str) -> NameRole<'a>) -> BodyAndProblems {
    let mut reader = Reader::new(tree, body);
    let mut seen = Seen::default();
    for property in reader.properties(ExprId(body.0), None) {
        match role(property.name) {
            NameRole::Hidden => {}
            NameRole::Argument => reader.argument(&property, problems::duplicate_argument, &mut seen),
            NameRole::Unknown => reader.push(&property),
            NameRole::Block(labels) => reader.blocks(&property, labels),
        }
    }
    reader.finish()
}

/// Reads a body in which every name is an argument.
pub(crate) fn arguments(tree: &Tree, body: BodyId, hidden: &dyn Fn(&str) -> bool) -> BodyAndProblems {
    let mut reader = Reader::new(tree, body);
    let mut seen = Seen::default();
    let node = tree.node(ExprId(body.0));
    let ExprKind::Object { items } = &node.kind else {
        reader.report(start_of(node), problems::no_object_of_arguments());
        return reader.finish();
    };
    for property in items.iter().filter_map(|item| property_of(tree, item)) {
        if property.name != COMMENT && !hidden(property.name) {
            reader.argument(&property, problems::duplicate_attribute, &mut seen);
        }
    }
    reader.finish()
}

/// Arguments by name, with the range of their first occurrence.
type Seen = std::collections::BTreeMap<SmolStr, Span>;

fn property_of<'tree>(tree: &'tree Tree, item: &'tree ObjectItem) -> Option<Property<'tree>> {
    let KeyForm::Property(name) = &item.form else { return None };
    Some(Property { name, span: tree.node(item.key).span, value: item.value })
}

impl<'tree> Reader<'tree> {
    fn new(tree: &'tree Tree, body: BodyId) -> Reader<'tree> {
        let span = tree.node(ExprId(body.0)).span;
        Reader { tree, body: Body { span, ..Body::default() }, problems: Vec::new() }
    }

    fn finish(mut self) -> BodyAndProblems {
        self.body.index();
        (self.body, self.problems)
    }

    fn report(&mut self, span: Span, problem: Diagnostic) {
        self.problems.push(problem.at(self.tree.range(span)));
    }

    /// The properties of an object, or of all objects of an array. If `label` is set, the names of the properties are
    /// values of the label with this name.
    fn properties(&mut self, id: ExprId, label: Option<&str>) -> Vec<Property<'tree>> {
        let tree = self.tree;
        let purpose = label.map_or(Properties::Content, Properties::Labels);
        let node = tree.node(id);
        let mut found: Vec<Property<'tree>> = Vec::new();
        match &node.kind {
            ExprKind::Literal(Literal::Null) => {}
            ExprKind::Object { items } => found.extend(items.iter().filter_map(|item| property_of(tree, item))),
            ExprKind::Tuple { items } => {
                for element in items {
                    let inner = tree.node(*element);
                    match &inner.kind {
                        ExprKind::Object { items } => {
                            found.extend(items.iter().filter_map(|item| property_of(tree, item)));
                        }
                        _ => self.report(start_of(inner), problems::no_object(purpose)),
                    }
                }
            }
            _ => self.report(start_of(node), problems::no_objects(purpose)),
        }
        if label.is_none() {
            found.retain(|property| property.name != COMMENT);
        }
        found
    }

    /// Reads an argument, which must be unique.
    fn argument(&mut self, property: &Property<'_>, duplicate: Duplicate, seen: &mut Seen) {
        let whole = property.span.through(self.tree.node(property.value).span);
        if let Some(first) = seen.get(property.name) {
            let problem = duplicate(property.name, &self.tree.range(*first)).at(self.tree.range(property.span));
            self.problems.push(problem.within(self.tree.range(whole)));
            return;
        }
        seen.insert(property.name.clone(), property.span);
        self.push(property);
    }

    fn push(&mut self, property: &Property<'_>) {
        let value = self.tree.node(property.value).span;
        self.body.attributes.push(Attribute {
            name: property.name(),
            equals_span: Span::new(property.span.end, value.start.max(property.span.end)),
            expression: property.value,
            span: property.span.through(value),
        });
    }

    /// Reads the blocks of a property: one level of objects for each label, then an object for one block or an array of
    /// objects for several.
    fn blocks(&mut self, property: &Property<'_>, wanted: &[&str]) {
        let block_type = property.name();
        let mut pending = vec![(property.value, Vec::<Label>::new())];
        while let Some((id, labels)) = pending.pop() {
            let Some(label) = wanted.get(labels.len()) else {
                self.block(&block_type, labels, id);
                continue;
            };
            let inner = self.properties(id, Some(label));
            if inner.is_empty() {
                let place = start_of(self.tree.node(id));
                self.report(place, problems::no_label(label, &block_type.text));
            }
            pending.extend(inner.into_iter().rev().map(|property| {
                let mut labels = labels.clone();
                labels.push(Label { text: property.name.clone(), span: property.span, quoted: true });
                (property.value, labels)
            }));
        }
    }

    fn block(&mut self, block_type: &Name, labels: Vec<Label>, id: ExprId) {
        let node = self.tree.node(id);
        let open = start_of(node);
        let close = Span::new(node.span.end.saturating_sub(1).max(open.start), node.span.end);
        let one = |body: ExprId| Block {
            block_type: block_type.clone(),
            labels: labels.clone(),
            body: BodyId(body.0),
            header_span: open,
            open_span: open,
            close_span: close,
        };
        match &node.kind {
            ExprKind::Literal(Literal::Null) => {}
            ExprKind::Object { .. } => self.body.blocks.push(one(id)),
            ExprKind::Tuple { items } => self.body.blocks.extend(items.iter().map(|item| one(*item))),
            _ => self.report(start_of(node), problems::no_block_content(&block_type.text)),
        }
    }
}
