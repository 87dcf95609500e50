//! What modules call deprecated: a warning where a value of theirs is used, once, and where a caller gives one.

use std::sync::Arc;

use smol_str::SmolStr;
use weft_expressions::resource_rules::deprecated_paths;
use weft_graph_format::address::Resource;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::marks::{Deprecation, Marks};
use weft_graph_format::path::Path;
use weft_graph_format::schema::Block;
use weft_graph_format::source::SourceRange;
use weft_graph_format::value::Value;

use super::calls::ModuleNode;
use crate::config::{BodySource, Output, Variable};

/// The code of warnings about what a module with a local source calls deprecated.
pub const LOCAL_MODULE: &str = "deprecated-local";
/// The code of those about any other module, whose author is somebody else.
pub const REMOTE_MODULE: &str = "deprecated-remote";

impl ModuleNode {
    /// The mark on the values of a deprecated output; none for others, and for the root module's, which nothing uses.
    /// Validation knows no values, and says nothing of where they come from.
    pub(super) fn deprecation(&self, output: &Output) -> Option<Marks> {
        if self.caller.is_none() || self.evaluation.is_validation() {
            return None;
        }
        let message = output.deprecated.as_ref()?;
        let source = SmolStr::from(self.name_of(&format!("output.{}", output.name)));
        if self.is_remote() {
            self.evaluation.remote_deprecations.lock().insert(source.clone());
        }
        Some(Marks::deprecated(Deprecation { source, message: SmolStr::from(message.as_str()) }))
    }

    /// The value of an instance with marks on what its schema calls deprecated.
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

    /// Warns about everything deprecated in a value that is used, and gives it without these marks. `place` is where
    /// the value is written.
    pub(super) fn tell_deprecated(&self, value: Value, place: &dyn Fn() -> SourceRange) -> Value {
        self.told_deprecated(value, place, "")
    }

    /// The same of a decoded block: the whole block uses what is in it. `user` is the address of what it is for.
    pub(super) fn tell_deprecated_in_body(&self, value: Value, body: &BodySource, user: &str) -> Value {
        self.told_deprecated(value, &|| body.missing(), user)
    }

    fn told_deprecated(&self, value: Value, place: &dyn Fn() -> SourceRange, user: &str) -> Value {
        if !value.deep().deprecated {
            return value;
        }
        let (value, warnings) = self.deprecated_in(&value, place, user);
        warnings.into_iter().for_each(|warning| self.evaluation.glue.report(warning));
        value
    }

    /// The value without marks of what is deprecated, and a warning about each that was not told of this place before.
    pub(super) fn deprecated_in(
        &self,
        value: &Value,
        place: &dyn Fn() -> SourceRange,
        user: &str,
    ) -> (Value, Vec<Diagnostic>) {
        let (bare, mut marks) = value.unmark_with_paths();
        let mut warnings = Vec::new();
        for (_, marks) in &mut marks {
            for notice in marks.deprecations() {
                warnings.extend(self.warning(notice, place(), user));
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
        let warning = Diagnostic::warning(
            "Value derived from a deprecated source",
            format!("{source} is deprecated, and this value comes from it. Its author says:\n\n{}", notice.message),
        )
        .code(if remote { REMOTE_MODULE } else { LOCAL_MODULE })
        .at(at);
        Some(if user.is_empty() { warning } else { warning.about(user) })
    }

    /// Warns where the caller gives a value to a deprecated variable.
    pub(super) fn warn_of_variable(self: &Arc<Self>, variable: &Variable, at: SourceRange) {
        let Some(message) = &variable.deprecated else { return };
        let source = SmolStr::from(self.config.path.to_string() + ".var." + &variable.name);
        let notice = Deprecation { source, message: SmolStr::from(message.as_str()) };
        if !self.evaluation.told_deprecations.lock().insert((at.clone(), SmolStr::default(), notice)) {
            return;
        }
        self.evaluation.glue.report(
            Diagnostic::warning(
                "Variable marked as deprecated by the module author",
                format!(
                    "Variable {:?} is marked as deprecated with the following message:\n{message}",
                    variable.name.as_str()
                ),
            )
            .code(if self.is_remote() { REMOTE_MODULE } else { LOCAL_MODULE })
            .at(at),
        );
    }

    /// Whether the module comes from elsewhere than the folders around its caller.
    fn is_remote(&self) -> bool {
        let Some(caller) = &self.caller else { return false };
        let source = caller.parent.config.sources.get(&caller.call.name);
        let elsewhere = |address: &str| !address.starts_with("./") && !address.starts_with("../");
        source.is_some_and(|source| elsewhere(&source.address))
    }
}
