//! Meta-arguments: what the language itself reads in a block before a provider sees the rest.

use smol_str::SmolStr;
use weft_graph_format::address::ResourceMode;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::path::{Path, Step};
use weft_graph_format::source::SourceRange;
use weft_syntax::{ExprKind, Expression, Key, StepKind, Traversal, references};

use super::compile::Compiling;
use super::content::{AttributeRule, BlockRule, Content, ContentRules, FoundBlock};
use super::{Condition, Lifecycle, ProviderReference, Repetition};
use crate::reference::{Reference, Subject, resolve};

/// Local name, alias and key of an expression such as `aws.by_region[each.key]`.
pub(super) fn provider_name(expression: &Expression) -> Option<(SmolStr, Option<SmolStr>, Option<Expression>)> {
    let (traversal, key) = match expression.kind() {
        ExprKind::Index { collection, key, .. } => {
            (expression.child(*collection).as_traversal()?, Some(expression.child(*key)))
        }
        _ => (expression.as_traversal()?, None),
    };
    let alias = match traversal.steps.as_slice() {
        [] => None,
        [step] | [step, _] => match &step.kind {
            StepKind::Attribute(name) => Some(name.clone()),
            _ => return None,
        },
        _ => return None,
    };
    Some((traversal.root.text, alias, key))
}

/// All references of an expression; what is none is reported.
pub(crate) fn references_of(expression: &Expression, diagnostics: &mut Vec<Diagnostic>) -> Vec<Reference> {
    let mut found = Vec::new();
    for traversal in references(expression) {
        match resolve(&expression.tree, traversal) {
            Ok(reference) => found.push(reference),
            Err(problem) => diagnostics.push(problem),
        }
    }
    provider_calls(expression, &mut found);
    found
}

/// Calls of providers' functions in an expression.
pub(super) fn provider_calls(expression: &Expression, found: &mut Vec<Reference>) {
    // Most files have none.
    if !expression.text().contains("provider::") {
        return;
    }
    let mut pending = vec![expression.id];
    while let Some(id) = pending.pop() {
        let kind = &expression.tree.node(id).kind;
        if let ExprKind::Call(call) = kind {
            let parts: Vec<&str> = call.name.split("::").collect();
            let named = match parts.as_slice() {
                ["provider", name, _] => Some((SmolStr::new(*name), None)),
                ["provider", name, alias, _] => Some((SmolStr::new(*name), Some(SmolStr::new(*alias)))),
                _ => None,
            };
            found.extend(named.map(|(name, alias)| Reference {
                subject: Subject::ProviderFunction(name, alias),
                steps: 0,
                range: expression.tree.range(call.name_span),
                keyed: false,
                leads_on: false,
                attribute: None,
                attribute_range: None,
            }));
        }
        kind.for_each_child(|child| pending.push(child));
    }
}

const LIFECYCLE: ContentRules = ContentRules {
    attributes: &[
        AttributeRule { name: "create_before_destroy", required: false },
        AttributeRule { name: "prevent_destroy", required: false },
        AttributeRule { name: "destroy", required: false },
        AttributeRule { name: "ignore_changes", required: false },
        AttributeRule { name: "replace_triggered_by", required: false },
        AttributeRule { name: "enabled", required: false },
    ],
    blocks: &[BlockRule { name: "precondition", labels: &[] }, BlockRule { name: "postcondition", labels: &[] }],
    open: false,
};

const MODULE_LIFECYCLE: ContentRules =
    ContentRules { attributes: &[AttributeRule { name: "enabled", required: false }], blocks: &[], open: false };

const CONDITION: ContentRules = ContentRules {
    attributes: &[
        AttributeRule { name: "condition", required: true },
        AttributeRule { name: "error_message", required: true },
    ],
    blocks: &[],
    open: false,
};

impl Compiling<'_> {
    /// `count`, `for_each` and `enabled`: at most one of them.
    pub(super) fn repetition(&mut self, content: &Content, enabled: Option<Expression>) -> Repetition {
        let given: Vec<(&str, Repetition, SourceRange)> = [
            ("count", content.get("count").map(|e| (Repetition::Count(e.clone()), e.range()))),
            ("for_each", content.get("for_each").map(|e| (Repetition::ForEach(e.clone()), e.range()))),
            ("enabled", enabled.map(|e| (Repetition::Enabled(e.clone()), e.range()))),
        ]
        .into_iter()
        .filter_map(|(name, found)| found.map(|(r, at)| (name, r, at)))
        .collect();
        if let [first, second, ..] = given.as_slice() {
            let (a, b) = (first.0, second.0);
            // `enabled` stands in a block of its own: the other argument is pointed at.
            let at = [b, a].iter().find_map(|name| content.attributes.get(*name));
            let at = at.map_or(second.2.clone(), |found| found.name_range.clone());
            self.error(
                &format!("Invalid combination of \"{a}\" and \"{b}\""),
                format!(
                    "The arguments {a:?} and {b:?} both say how many instances there are: only one of them can be set."
                ),
                &at,
            );
        }
        given.into_iter().next().map(|(_, r, _)| r).unwrap_or_default()
    }

    /// The `provider` argument.
    pub(super) fn provider_reference(&mut self, expression: &Expression) -> Option<ProviderReference> {
        let range = expression.range();
        let expression = match expression.unquoted() {
            Ok(expression) => expression,
            Err(problems) => {
                self.diagnostics.extend(problems);
                return None;
            }
        };
        let found = match expression.as_string_literal() {
            Some(text) => {
                let mut parts = text.splitn(2, '.');
                let local = SmolStr::new(parts.next().unwrap_or_default());
                Some((local, parts.next().map(SmolStr::new), None))
            }
            None => match expression.as_traversal() {
                // A literal key stands at the end of the traversal itself.
                Some(Traversal { root, steps, .. }) => match steps.as_slice() {
                    [] => Some((root.text, None, None)),
                    [alias] => attribute_name(&alias.kind).map(|a| (root.text, Some(a), None)),
                    [alias, key] if matches!(key.kind, StepKind::Index(_)) => {
                        attribute_name(&alias.kind).map(|a| (root.text, Some(a), Some(expression.clone())))
                    }
                    _ => None,
                },
                None => provider_name(&expression),
            },
        };
        match found {
            Some((local_name, alias, key)) => Some(ProviderReference { local_name, alias, key, range }),
            None => {
                self.error(
                    "Invalid provider configuration reference",
                    "The provider argument needs a provider's local name, and an alias where it is not the default \
                     configuration: aws, aws.west or aws.by_region[each.key].",
                    &range,
                );
                None
            }
        }
    }

    /// `depends_on`: whole objects only.
    pub(super) fn depends_on(&mut self, expression: &Expression) -> Vec<Reference> {
        let Some(items) = expression.as_list() else {
            self.error("Invalid expression", "A static list of references is needed here.", &expression.range());
            return Vec::new();
        };
        let mut found = Vec::new();
        for item in items {
            if let Some(reference) = self.depended_on(&item) {
                found.push(reference);
            }
        }
        found
    }

    /// One entry of `depends_on`. What follows the name of an object is looked at when the reference is checked.
    fn depended_on(&mut self, item: &Expression) -> Option<Reference> {
        let resolved = match (item.as_traversal(), item.as_string_literal()) {
            (Some(traversal), _) => resolve(&item.tree, &traversal),
            (None, Some(text)) => {
                self.diagnostics.push(
                    Diagnostic::warning("Quoted references are deprecated", "Write the reference without quotes here.")
                        .at(item.range()),
                );
                let (parsed, problems) = weft_syntax::parse_traversal("", text.as_str().into(), item.range().start);
                match parsed.as_traversal().filter(|_| problems.is_empty()) {
                    Some(traversal) => {
                        resolve(&parsed.tree, &traversal).map(|found| Reference { range: item.range(), ..found })
                    }
                    None => {
                        Err(Diagnostic::error("Invalid expression", format!("{text:?} is no reference to an object."))
                            .at(item.range()))
                    }
                }
            }
            (None, None) => {
                self.error(
                    "Invalid expression",
                    "A single static reference is needed here: only attribute access and indexing with constant keys.",
                    &item.range(),
                );
                return None;
            }
        };
        resolved.map_err(|problem| self.diagnostics.push(problem)).ok()
    }

    /// A `precondition`, `postcondition` or `validation` block.
    pub(super) fn condition(&mut self, block: &FoundBlock) -> Option<Condition> {
        let content = self.content(block, &CONDITION);
        let (condition, error_message) = (content.get("condition")?.clone(), content.get("error_message")?.clone());
        if block.block_type != "validation" && references(&condition).is_empty() {
            self.error(
                &format!("Invalid {} expression", block.block_type),
                "The condition names nothing from elsewhere in the configuration, so it checks nothing.",
                &condition.range(),
            );
            return None;
        }
        Some(Condition { condition, error_message, range: block.range.clone() })
    }

    /// The `lifecycle` block of a module call: its `enabled`.
    pub(super) fn module_lifecycle(&mut self, block: &FoundBlock) -> Option<Expression> {
        self.content(block, &MODULE_LIFECYCLE).get("enabled").cloned()
    }

    /// A `lifecycle` block. The second part is `enabled`.
    pub(super) fn lifecycle(&mut self, block: &FoundBlock, mode: ResourceMode) -> (Lifecycle, Option<Expression>) {
        let content = self.content(block, &LIFECYCLE);
        let mut lifecycle = Lifecycle::default();
        if mode != ResourceMode::Managed {
            let what = if mode == ResourceMode::Data { "data" } else { "ephemeral" };
            for (name, found) in content.attributes.iter().filter(|(name, _)| *name != "enabled") {
                let at = found.name_range.clone();
                self.error(
                    &format!("Invalid {what} resource lifecycle argument"),
                    format!("The lifecycle argument {name:?} is for managed resources (\"resource\" blocks) only."),
                    &at,
                );
            }
        }
        lifecycle.create_before_destroy = self.literal_bool(content.get("create_before_destroy"));
        lifecycle.destroy = self.literal_bool(content.get("destroy"));
        lifecycle.prevent_destroy = content.get("prevent_destroy").cloned();
        if let Some(expression) = content.get("ignore_changes") {
            self.ignore_changes(expression, &mut lifecycle);
        }
        if let Some(expression) = content.get("replace_triggered_by") {
            match expression.as_list() {
                Some(items) => {
                    for item in items {
                        match item.unquoted() {
                            Ok(item) => self.trigger(item, &mut lifecycle),
                            Err(problems) => self.diagnostics.extend(problems),
                        }
                    }
                }
                None => {
                    self.error(
                        "Invalid expression",
                        "A static list of references is needed here.",
                        &expression.range(),
                    );
                }
            }
        }
        for inner in &content.blocks {
            if let Some(condition) = self.condition(inner) {
                match inner.block_type {
                    "precondition" => lifecycle.preconditions.push(condition),
                    _ => lifecycle.postconditions.push(condition),
                }
            }
        }
        (lifecycle, content.get("enabled").cloned())
    }

    /// An entry of `replace_triggered_by`: it names one resource, and beside that only the key of an instance.
    fn trigger(&mut self, item: Expression, lifecycle: &mut Lifecycle) {
        const SUMMARY: &str = "Invalid replace_triggered_by expression";
        let at = item.range();
        let mut problems = Vec::new();
        let references = references_of(&item, &mut problems);
        let mut resources = 0;
        if problems.is_empty() {
            for reference in &references {
                let (summary, detail) = match reference.subject {
                    Subject::Resource(_) => {
                        resources += 1;
                        continue;
                    }
                    Subject::CountIndex | Subject::EachKey => continue,
                    Subject::EachValue => (
                        "Invalid each reference in replace_triggered_by expression",
                        "Of each, replace_triggered_by can use the key only: each.key.",
                    ),
                    _ => (
                        "Invalid reference in replace_triggered_by expression",
                        "Only resources, and as keys of their instances count.index and each.key, may be named in \
                         replace_triggered_by.",
                    ),
                };
                problems.push(Diagnostic::error(summary, detail));
            }
            match resources {
                1 => {}
                0 => {
                    problems.push(Diagnostic::error(SUMMARY, "Each entry must name a resource, and this one does not."))
                }
                _ => problems.push(Diagnostic::error(
                    SUMMARY,
                    "Each entry names one resource. Give each resource an entry of its own.",
                )),
            }
        }
        match problems.is_empty() {
            true => lifecycle.replace_triggered_by.push(item),
            false => self.diagnostics.extend(problems.into_iter().map(|problem| problem.at(at.clone()))),
        }
    }

    fn ignore_changes(&mut self, expression: &Expression, lifecycle: &mut Lifecycle) {
        if expression.as_keyword() == Some("all") {
            lifecycle.ignore_all = true;
            return;
        }
        let Some(items) = expression.as_list() else {
            self.error(
                "Invalid expression",
                "ignore_changes is the keyword all, or a list of attributes.",
                &expression.range(),
            );
            return;
        };
        for item in items {
            let traversal = match item.as_traversal() {
                Some(traversal) => traversal,
                None => match item.as_string_literal() {
                    Some(text) if weft_syntax::is_identifier(&text) => {
                        lifecycle.ignore_changes.push((Path(vec![Step::Attribute(text)]), item.range()));
                        continue;
                    }
                    _ => {
                        self.error(
                            "Invalid ignore_changes argument",
                            "Each entry is the name of an attribute, perhaps with constant keys behind it.",
                            &item.range(),
                        );
                        continue;
                    }
                },
            };
            let mut steps = vec![Step::Attribute(traversal.root.text.clone())];
            for step in &traversal.steps {
                steps.push(match &step.kind {
                    StepKind::Attribute(name) => Step::Attribute(name.clone()),
                    StepKind::Index(Key::String(key)) => Step::Key(key.clone()),
                    StepKind::Index(Key::Number(digits)) | StepKind::LegacyIndex(digits) => {
                        Step::Index(digits.parse().unwrap_or(u64::MAX))
                    }
                });
            }
            lifecycle.ignore_changes.push((Path(steps), item.range()));
        }
    }
}

fn attribute_name(kind: &StepKind) -> Option<SmolStr> {
    match kind {
        StepKind::Attribute(name) => Some(name.clone()),
        _ => None,
    }
}
