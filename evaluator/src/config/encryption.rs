//! `encryption` blocks: how state and plan files are encrypted.
//!
//! Settings from the environment override those of the configuration, argument by argument. Settings are static values.
//! Only settings that a target uses are evaluated, so unused parts may be incomplete.

use std::collections::BTreeMap;
use std::sync::Arc;

use smol_str::SmolStr;
use weft_expressions::constant::evaluate_constant;
use weft_expressions::convert::convert;
use weft_graph_format::address::Module;
use weft_graph_format::diagnostic::{Diagnostic, has_errors};
use weft_graph_format::marks::Marks;
use weft_graph_format::source::SourceRange;
use weft_graph_format::types::Type;
use weft_graph_format::value::Value;
use weft_syntax::{BodyId, ExprKind, Expression, StepKind, Syntax, Traversal, Tree, parse_file, parse_json_file};

use super::compiling::Compiling;
use super::content::{BlockContent, BlockRule, ContentRules, FoundBlock, read_content};
use super::encryption_settings::{Encryption, EncryptionPart, EncryptionSetting, EncryptionTarget, PartName};
use super::literal::optional;
use super::problems;
use super::static_values::{Needing, StaticValues};
use crate::problems::unsupported_block;

/// The file name that messages show for settings from the environment. The text of these settings is never shown,
/// because it contains secrets.
const ENVIRONMENT: &str = "TF_ENCRYPTION";

/// The method that does not encrypt.
const UNENCRYPTED: &str = "unencrypted";

/// The blocks in a `key_provider` block.
const NESTED: [&str; 1] = ["endpoints"];

const RULES: ContentRules = ContentRules {
    attributes: &[],
    blocks: &[
        BlockRule { name: "key_provider", labels: &["type", "name"] },
        BlockRule { name: "method", labels: &["type", "name"] },
        BlockRule { name: "state", labels: &[] },
        BlockRule { name: "plan", labels: &[] },
        BlockRule { name: "remote_state_data_sources", labels: &[] },
    ],
    open: false,
};

const TARGET: ContentRules = ContentRules {
    attributes: &[optional("method"), optional("enforced")],
    blocks: &[BlockRule { name: "fallback", labels: &[] }],
    open: false,
};

/// The content of a `fallback` block: that of a target without `enforced`, which does not apply to fallback targets.
const FALLBACK: ContentRules = ContentRules { attributes: &[optional("method")], ..TARGET };

const REMOTE: ContentRules = ContentRules {
    attributes: &[],
    blocks: &[
        BlockRule { name: "default", labels: &[] },
        BlockRule { name: "remote_state_data_source", labels: &["name"] },
    ],
    open: false,
};

/// The settings of one source, before evaluation.
#[derive(Default)]
struct WrittenEncryption {
    range: SourceRange,
    key_providers: BTreeMap<PartName, WrittenPart>,
    methods: BTreeMap<PartName, WrittenPart>,
    state: Option<WrittenTarget>,
    plan: Option<WrittenTarget>,
    remote_default: Option<WrittenTarget>,
    remotes: BTreeMap<SmolStr, WrittenTarget>,
}

struct WrittenPart {
    arguments: BTreeMap<SmolStr, Expression>,
    /// The arguments of a nested block, by its type. In the JSON syntax, such a block is an argument.
    nested: BTreeMap<SmolStr, WrittenPart>,
    range: SourceRange,
}

struct WrittenTarget {
    /// Whether encryption is enforced by any source.
    enforced: bool,
    method: Option<Expression>,
    /// The header and the method of each target, from the outermost to the innermost fallback.
    fallbacks: Vec<(SourceRange, Option<Expression>)>,
    range: SourceRange,
}

/// Reads an `encryption` block.
pub(super) fn encryption(compiling: &mut Compiling<'_>, block: &FoundBlock) {
    if !compiling.module.path.is_root() {
        return;
    }
    if let Some(first) = &compiling.module.settings.encryption_block {
        let problem = problems::encryption::duplicate(&first.range, &block.range);
        compiling.report(problem);
        return;
    }
    // Read the block only to report unsupported content, with the other problems of the module.
    layer(&block.tree, block.body, &block.range, compiling.diagnostics);
    compiling.module.settings.encryption_block = Some(Arc::new(block.clone()));
}

impl Encryption {
    /// Combines the block with the settings of the environment; `None` if neither exists.
    pub(super) fn computed(
        block: Option<&FoundBlock>,
        environment: Option<&str>,
        statics: &mut StaticValues,
    ) -> Option<Arc<Encryption>> {
        if block.is_none() && environment.is_none() {
            return None;
        }
        let mut problems = Vec::new();
        // The problems of the block were reported when the module was read.
        let mut all =
            block.map_or_else(WrittenEncryption::default, |b| layer(&b.tree, b.body, &b.range, &mut Vec::new()));
        if let Some(text) = environment {
            all = all.under(in_environment(text, &mut problems));
        }
        let mut computing = Computing { statics, found: Encryption::default(), all, pending: Vec::new() };
        computing.found.range = computing.all.range.clone();
        computing.found.declares_unencrypted = computing.all.methods.keys().any(|(kind, _)| kind == UNENCRYPTED);
        computing.targets();
        computing.parts();
        let mut found = computing.found;
        problems.append(&mut found.problems);
        Some(Arc::new(Encryption { problems, ..found }))
    }
}

/// Reads the settings from the environment, in either syntax.
fn in_environment(text: &str, problems: &mut Vec<Diagnostic>) -> WrittenEncryption {
    let (tree, mut found) = match text.trim_start().starts_with('{') {
        true => parse_json_file(ENVIRONMENT, Arc::from(text)),
        false => parse_file(ENVIRONMENT, Arc::from(text)),
    };
    let said = layer(&tree, tree.root_id(), &SourceRange::default(), &mut found);
    problems.extend(found);
    said
}

/// Reads the body of an `encryption` block.
fn layer(tree: &Arc<Tree>, body: BodyId, range: &SourceRange, problems: &mut Vec<Diagnostic>) -> WrittenEncryption {
    let content = read_content(tree, body, &RULES, range, problems);
    let mut found = WrittenEncryption { range: range.clone(), ..WrittenEncryption::default() };
    for block in &content.blocks {
        match block.block_type {
            "state" => once(&mut found.state, block, &TARGET, problems),
            "plan" => once(&mut found.plan, block, &TARGET, problems),
            "remote_state_data_sources" => remote(&mut found, block, range, problems),
            kind => {
                let name: PartName = (block.labels[0].0.clone(), block.labels[1].0.clone());
                let parts = if kind == "method" { &mut found.methods } else { &mut found.key_providers };
                if parts.contains_key(&name) {
                    let line = block.range.start.line;
                    problems.push(problems::encryption::duplicate_part(kind, &name, line, range));
                    continue;
                }
                let nested = if kind == "method" { &[][..] } else { &NESTED };
                parts.insert(name, part(&block.tree, block.body, &block.range, nested, problems));
            }
        }
    }
    found
}

/// Reads the arguments of a `key_provider` or `method` block, and its blocks of the types in `nested`.
fn part(
    tree: &Arc<Tree>,
    body: BodyId,
    range: &SourceRange,
    nested: &[&'static str],
    problems: &mut Vec<Diagnostic>,
) -> WrittenPart {
    let view = tree.arguments(body, &|_| false);
    problems.extend(view.problems);
    let arguments = view.body.attributes.iter();
    let arguments = arguments.map(|found| (found.name.text.clone(), tree.expression(found.expression))).collect();
    let mut found = WrittenPart { arguments, nested: BTreeMap::new(), range: range.clone() };
    for block in &view.body.blocks {
        let (name, range) = (&block.block_type.text, tree.range(block.header_span));
        match nested.iter().find(|kind| *kind == name) {
            None => problems.push(unsupported_block(name, [], nested.iter().copied(), range)),
            Some(kind) if found.nested.contains_key(name) => {
                problems.push(problems::encryption::second_block(kind, range));
            }
            Some(_) => {
                let inner = part(tree, block.body, &range, &[], problems);
                found.nested.insert(name.clone(), inner);
            }
        }
    }
    found
}

fn once(place: &mut Option<WrittenTarget>, block: &FoundBlock, rules: &ContentRules, problems: &mut Vec<Diagnostic>) {
    if place.is_some() {
        problems.push(problems::encryption::second_block(block.block_type, block.range.clone()));
        return;
    }
    *place = Some(target(block, rules, problems));
}

fn remote(found: &mut WrittenEncryption, block: &FoundBlock, range: &SourceRange, problems: &mut Vec<Diagnostic>) {
    let content = read_content(&block.tree, block.body, &REMOTE, &block.range, problems);
    for inner in &content.blocks {
        match inner.labels.first() {
            None => once(&mut found.remote_default, inner, &FALLBACK, problems),
            Some((name, _)) if found.remotes.contains_key(name) => {
                problems.push(problems::encryption::duplicate_remote(name, range.clone()));
            }
            Some((name, _)) => drop(found.remotes.insert(name.clone(), target(inner, &FALLBACK, problems))),
        }
    }
}

fn target(block: &FoundBlock, rules: &ContentRules, problems: &mut Vec<Diagnostic>) -> WrittenTarget {
    let content = read_content(&block.tree, block.body, rules, &block.range, problems);
    let mut found = WrittenTarget {
        enforced: content.get("enforced").is_some_and(|expression| is_enforced(expression, problems)),
        method: content.get("method").cloned(),
        fallbacks: Vec::new(),
        range: block.range.clone(),
    };
    let mut next = only_fallback(content, problems);
    while let Some(block) = next {
        let content = read_content(&block.tree, block.body, &FALLBACK, &block.range, problems);
        found.fallbacks.push((block.range.clone(), content.get("method").cloned()));
        next = only_fallback(content, problems);
    }
    found
}

/// The value of an `enforced` argument, which must be a constant.
fn is_enforced(expression: &Expression, problems: &mut Vec<Diagnostic>) -> bool {
    let (value, found) = evaluate_constant(expression);
    if has_errors(&found) {
        problems.extend(found);
        return false;
    }
    let enforced = convert(&value, &Type::Bool).ok().and_then(|value| value.as_bool());
    if enforced.is_none() {
        problems.push(problems::encryption::enforced_not_bool(expression.range()));
    }
    enforced.unwrap_or_default()
}

fn only_fallback(content: BlockContent, problems: &mut Vec<Diagnostic>) -> Option<FoundBlock> {
    let mut blocks = content.blocks.into_iter();
    let first = blocks.next();
    problems.extend(blocks.map(|second| problems::encryption::second_block("fallback", second.range)));
    first
}

impl WrittenEncryption {
    /// These settings, overridden by `over`.
    fn under(mut self, over: WrittenEncryption) -> WrittenEncryption {
        for (own, over) in [(&mut self.key_providers, over.key_providers), (&mut self.methods, over.methods)] {
            for (name, part) in over {
                match own.get_mut(&name) {
                    Some(below) => below.arguments.extend(part.arguments),
                    None => drop(own.insert(name, part)),
                }
            }
        }
        lay(&mut self.state, over.state);
        lay(&mut self.plan, over.plan);
        lay(&mut self.remote_default, over.remote_default);
        for (name, target) in over.remotes {
            let mut below = self.remotes.remove(&name);
            lay(&mut below, Some(target));
            self.remotes.extend(below.map(|below| (name, below)));
        }
        self
    }
}

fn lay(own: &mut Option<WrittenTarget>, over: Option<WrittenTarget>) {
    let Some(over) = over else { return };
    let Some(below) = own else {
        *own = Some(over);
        return;
    };
    below.enforced |= over.enforced;
    if over.method.is_some() {
        below.method = over.method;
    }
    if !over.fallbacks.is_empty() {
        below.fallbacks = over.fallbacks;
    }
}

struct Computing<'a> {
    statics: &'a mut StaticValues,
    found: Encryption,
    all: WrittenEncryption,
    /// Key providers that evaluated settings refer to, but which are not evaluated yet.
    pending: Vec<PartName>,
}

impl Computing<'_> {
    fn targets(&mut self) {
        let state = self.all.state.take().and_then(|written| self.target(&written));
        let plan = self.all.plan.take().and_then(|written| self.target(&written));
        let default = self.all.remote_default.take();
        let default = default.and_then(|written| self.target(&written));
        (self.found.state, self.found.plan, self.found.remote_default) = (state, plan, default);
        for (name, written) in std::mem::take(&mut self.all.remotes) {
            let target = self.target(&written);
            self.found.remotes.extend(target.map(|target| (name, target)));
        }
    }

    /// Evaluates a target and collects its methods. If the target cannot be evaluated, reports why.
    fn target(&mut self, written: &WrittenTarget) -> Option<EncryptionTarget> {
        let (enforced, range) = (written.enforced, written.range.clone());
        let mut target = EncryptionTarget { enforced, methods: Vec::new(), range };
        let own = (&written.range, &written.method);
        let methods = std::iter::once(own).chain(written.fallbacks.iter().map(|(range, m)| (range, m)));
        let methods: Vec<Option<PartName>> =
            methods.map(|(range, method)| self.method(range, method.as_ref())).collect();
        target.methods = methods.into_iter().collect::<Option<_>>()?;
        Some(target)
    }

    /// The method of a target whose header is at `header`.
    fn method(&mut self, header: &SourceRange, method: Option<&Expression>) -> Option<PartName> {
        let Some((expression, traversal)) = method.and_then(|found| Some((found, reference(found)?))) else {
            let at = method.map_or_else(|| header.clone(), Expression::range);
            self.report(problems::encryption::method_not_a_reference(at));
            return None;
        };
        let Some(name) = named_part(&traversal, "method") else {
            self.report(problems::encryption::invalid_method(expression.range()));
            return None;
        };
        if !self.all.methods.contains_key(&name) {
            let declared = self.all.methods.keys();
            self.report(problems::encryption::undeclared_method(&name, declared, expression.range()));
            return None;
        }
        Some(name)
    }

    /// Evaluates the methods of the targets, and the key providers of these methods.
    fn parts(&mut self) {
        let (state, plan, rest) = (&self.found.state, &self.found.plan, &self.found.remote_default);
        let targets = [state, plan, rest].into_iter().flatten().chain(self.found.remotes.values());
        let named: std::collections::BTreeSet<PartName> = targets.flat_map(|target| target.methods.clone()).collect();
        for name in named {
            let Some(mut written) = self.all.methods.remove(&name) else { continue };
            // As in OpenTofu, nothing reads the body of this method.
            if name.0 == UNENCRYPTED {
                (written.arguments, written.nested) = Default::default();
            }
            if let Some(part) = self.part("method", &name, &written) {
                self.found.methods.insert(name, part);
            }
        }
        while let Some(name) = self.pending.pop() {
            let Some(written) = self.all.key_providers.remove(&name) else { continue };
            if let Some(part) = self.part("key_provider", &name, &written) {
                self.found.key_providers.insert(name, part);
            }
        }
    }

    fn part(&mut self, kind: &str, name: &PartName, written: &WrittenPart) -> Option<EncryptionPart> {
        let mut settings = BTreeMap::new();
        let mut whole = true;
        for (argument, expression) in &written.arguments {
            let setting = match part_name(expression, "key_provider") {
                Some(keys) => self.keys(keys, expression),
                None => {
                    let text = format!("{kind}.{}.{}", name.0, name.1);
                    self.value(&text, expression).map(EncryptionSetting::Value)
                }
            };
            match setting {
                Some(setting) => drop(settings.insert(argument.clone(), (setting, expression.range()))),
                None => whole = false,
            }
        }
        for (block, written) in &written.nested {
            let text = format!("{kind}.{}.{}.{block}", name.0, name.1);
            let values = written.arguments.iter().map(|(name, value)| Some((name.clone(), self.value(&text, value)?)));
            match values.collect::<Vec<_>>().into_iter().collect::<Option<Vec<_>>>() {
                Some(values) => {
                    let value = EncryptionSetting::Value(Value::object(values));
                    settings.insert(block.clone(), (value, written.range.clone()));
                }
                None => whole = false,
            }
        }
        whole.then(|| EncryptionPart { settings, range: written.range.clone() })
    }

    fn keys(&mut self, name: PartName, at: &Expression) -> Option<EncryptionSetting> {
        if !self.all.key_providers.contains_key(&name) && !self.found.key_providers.contains_key(&name) {
            let declared = self.all.key_providers.keys();
            self.report(problems::encryption::undeclared_key_provider(&name, declared, at.range()));
            return None;
        }
        self.pending.push(name.clone());
        Some(EncryptionSetting::Keys(name))
    }

    /// The value of an argument. If the expression cannot be evaluated, reports why.
    fn value(&mut self, text: &str, expression: &Expression) -> Option<Value> {
        let needing = Needing::new(format!("encryption.{text}"), self.all.range.clone());
        let found = self.statics.evaluate(&Module::root(), expression, &needing, &mut self.found.problems);
        debug_assert!(found.is_some() || has_errors(&self.found.problems));
        let value = found?;
        if !value.is_wholly_known() {
            self.report(problems::encryption::unknown_setting(expression.range()));
            return None;
        }
        Some(value.unmark_deep().0.mark(&Marks::SENSITIVE))
    }

    fn report(&mut self, problem: Diagnostic) {
        self.found.problems.push(problem);
    }
}

/// The type and the name of the block in a reference such as `method.aes_gcm.main`.
fn part_name(expression: &Expression, root: &str) -> Option<PartName> {
    // In the JSON syntax, the reference is a template with a single interpolation.
    let expression = match expression.kind() {
        ExprKind::TemplateWrap { inner } => expression.child(*inner),
        _ => expression.clone(),
    };
    named_part(&expression.as_traversal()?, root)
}

/// A bare reference. In the JSON syntax, a bare reference is a string without template markers.
fn reference(expression: &Expression) -> Option<Traversal> {
    if expression.tree.syntax() == Syntax::Native {
        return expression.as_traversal();
    }
    let (value, problems) = evaluate_constant(expression);
    let text = value.as_str().filter(|_| problems.is_empty())?;
    let range = expression.range();
    let (parsed, problems) = weft_syntax::parse_traversal(&range.file, text.into(), range.start);
    parsed.as_traversal().filter(|_| !has_errors(&problems))
}

/// The type and the name in a traversal that begins with the name `root`.
fn named_part(traversal: &Traversal, root: &str) -> Option<PartName> {
    if traversal.root.text != root {
        return None;
    }
    match traversal.steps.as_slice() {
        [kind, name] => match (&kind.kind, &name.kind) {
            (StepKind::Attribute(kind), StepKind::Attribute(name)) => Some((kind.clone(), name.clone())),
            _ => None,
        },
        _ => None,
    }
}
