//! Deprecation warnings: for each use of a deprecated value of a module, and for arguments of deprecated variables.

use std::sync::Arc;

use smol_str::SmolStr;
use weft_expressions::resource_rules::deprecated_paths;
use weft_graph_format::address::Resource;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::marks::{Deprecation, Marks};
use weft_graph_format::path::{Path, ValueStep};
use weft_graph_format::schema::Block;
use weft_graph_format::source::SourceRange;
use weft_graph_format::value::{Kind, Value};

use super::module_node::ModuleNode;
use crate::config::{BodySource, Output, Variable};
use crate::evaluation::problems::blocks as problems;

/// The code of warnings about deprecations in modules with a local source.
pub const LOCAL_MODULE: &str = "deprecated-local";
/// The code of warnings about deprecations in other modules, which the user cannot change.
pub const REMOTE_MODULE: &str = "deprecated-remote";

/// The maximum number of parts of a value that are visited to find the position of a warning.
const PLACED_PARTS: usize = 10_000;

/// The path at which OpenTofu reports a deprecated part. Each step is that of the last part which OpenTofu visits at
/// this depth, anywhere in the value. So the path often leads to a part that is not deprecated.
fn last_siblings(value: &Value, path: &Path) -> Path {
    let mut found: Vec<Option<ValueStep>> = vec![None; path.0.len()];
    let mut budget = PLACED_PARTS;
    visit_last(value, 0, &mut found, &mut budget);
    Path(found.into_iter().zip(&path.0).map(|(last, own)| last.unwrap_or_else(|| own.clone())).collect())
}

/// Fills the missing steps from `depth` on. Visits the parts from the last to the first.
fn visit_last(value: &Value, depth: usize, found: &mut [Option<ValueStep>], budget: &mut usize) {
    let parts: Vec<(ValueStep, &Value)> = match value.open().1 {
        Kind::Object(fields) => fields.iter().map(|(name, part)| (ValueStep::Attribute(name.clone()), part)).collect(),
        Kind::Map(fields) => fields.iter().map(|(name, part)| (ValueStep::Key(name.clone()), part)).collect(),
        Kind::List(list) | Kind::Tuple(list) => (0..).map(ValueStep::Index).zip(list.items()).collect(),
        // The step for an element of a set is the element itself, which has no position in the source.
        Kind::Set(set) => set.items().iter().map(|item| (ValueStep::Key(SmolStr::default()), item)).collect(),
        _ => Vec::new(),
    };
    for (step, part) in parts.into_iter().rev() {
        let is_complete = found[depth..].iter().all(Option::is_some);
        let Some(left) = budget.checked_sub(1).filter(|_| !is_complete) else { return };
        *budget = left;
        if depth + 1 < found.len() {
            visit_last(part, depth + 1, found, budget);
        }
        found[depth].get_or_insert(step);
    }
}

impl ModuleNode {
    /// The mark for the values of a deprecated output. `None` for other outputs. Also `None` in the root module, whose
    /// outputs have no users, and during validation, which does not track where deprecated values come from.
    pub(super) fn deprecation(&self, output: &Output) -> Option<Marks> {
        if self.caller.is_none() || !self.evaluation.purpose().tracks_deprecations() {
            return None;
        }
        let message = output.deprecated.as_ref()?;
        let source = SmolStr::from(self.name_of(&format!("output.{}", output.name)));
        if self.is_remote() {
            self.evaluation.remote_deprecations.lock().insert(source.clone());
        }
        Some(Marks::deprecated(Deprecation { source, message: SmolStr::from(message.as_str()) }))
    }

    /// The value of an instance, with marks on the deprecated attributes of its schema.
    pub(super) fn with_deprecations(&self, resource: &Resource, schema: &Block, value: &Value) -> Value {
        let found = deprecated_paths(value, schema);
        if found.is_empty() {
            return value.clone();
        }
        let remote = self.is_remote();
        let mark = |(path, message): (Path, &str)| {
            let source = SmolStr::from(self.name_of(&format!("{resource}{path}")));
            if remote {
                self.evaluation.remote_deprecations.lock().insert(source.clone());
            }
            (path, Marks::deprecated(Deprecation { source, message: SmolStr::from(message) }))
        };
        let marks: Vec<(Path, Marks)> = found.into_iter().map(mark).collect();
        value.mark_paths(&marks)
    }

    /// Warns about the deprecated parts of a used value, and removes their marks. `place` returns the source range of
    /// the value.
    pub(super) fn tell_deprecated(&self, value: Value, place: &dyn Fn() -> SourceRange) -> Value {
        self.warn_deprecated(value, &|_, _| place(), "")
    }

    /// Like [`Self::tell_deprecated`], for a decoded block. All content of the block counts as used. `user` is the
    /// address of the block's object.
    pub(super) fn tell_deprecated_in_body(&self, value: Value, body: &BodySource, user: &str) -> Value {
        self.warn_deprecated(value, &|value, path| body.locate(&last_siblings(value, path)), user)
    }

    fn warn_deprecated(&self, value: Value, place: &dyn Fn(&Value, &Path) -> SourceRange, user: &str) -> Value {
        if !value.deep().deprecated {
            return value;
        }
        let (value, warnings) = self.deprecated_in(&value, place, user);
        warnings.into_iter().for_each(|warning| self.evaluation.glue.report(warning));
        value
    }

    /// Removes the deprecation marks of a value. Returns a warning for each mark that was not yet reported for this
    /// `user` and for the source range that `place` returns for the mark.
    pub(super) fn deprecated_in(
        &self,
        value: &Value,
        place: &dyn Fn(&Value, &Path) -> SourceRange,
        user: &str,
    ) -> (Value, Vec<Diagnostic>) {
        let (bare, mut marks) = value.unmark_with_paths();
        let mut warnings = Vec::new();
        for (path, marks) in &mut marks {
            for notice in marks.deprecations() {
                warnings.extend(self.warning(notice, place(&bare, path), user));
            }
            *marks = marks.without_deprecations();
        }
        (bare.mark_paths(&marks), warnings)
    }

    fn warning(&self, notice: &Deprecation, at: SourceRange, user: &str) -> Option<Diagnostic> {
        if !self.evaluation.told_deprecations.lock().insert((at.clone(), SmolStr::new(user), notice.clone())) {
            return None;
        }
        let remote = self.evaluation.remote_deprecations.lock().contains(&notice.source);
        let source = notice.source.replace(".output.", ".");
        let code = if remote { REMOTE_MODULE } else { LOCAL_MODULE };
        let warning = problems::from_deprecated(&source, &notice.message, at).code(code);
        Some(if user.is_empty() { warning } else { warning.about(user) })
    }

    /// Warns about arguments for deprecated variables.
    pub(super) fn warn_of_variable(self: &Arc<Self>, variable: &Variable, at: SourceRange) {
        let Some(message) = &variable.deprecated else { return };
        let source = SmolStr::from(self.config.path.to_string() + ".var." + &variable.name);
        let notice = Deprecation { source, message: SmolStr::from(message.as_str()) };
        if !self.evaluation.told_deprecations.lock().insert((at.clone(), SmolStr::default(), notice)) {
            return;
        }
        let code = if self.is_remote() { REMOTE_MODULE } else { LOCAL_MODULE };
        self.evaluation.glue.report(problems::deprecated_variable(variable, message, at).code(code));
    }

    /// Whether the module comes from another place than a local directory.
    fn is_remote(&self) -> bool {
        let Some(caller) = &self.caller else { return false };
        let source = caller.parent.config.sources.get(&caller.call.name);
        let elsewhere = |address: &str| !address.starts_with("./") && !address.starts_with("../");
        source.is_some_and(|source| elsewhere(&source.address))
    }
}
