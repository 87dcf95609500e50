//! What modules call deprecated: a warning where a value of theirs is used, once, and where a caller gives one.

use std::sync::Arc;

use smol_str::SmolStr;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::marks::{Deprecation, Marks};
use weft_graph_format::path::Path;
use weft_graph_format::source::SourceRange;
use weft_graph_format::value::Value;

use super::calls::ModuleNode;
use crate::config::{Output, Variable};

/// The code of warnings about what a module with a local source calls deprecated.
pub const LOCAL_MODULE: &str = "deprecated-local";
/// The code of those about any other module, whose author is somebody else.
pub const REMOTE_MODULE: &str = "deprecated-remote";

impl ModuleNode {
    /// The mark on the values of a deprecated output; none for others, and for the root module's, which nothing uses.
    pub(super) fn deprecation(&self, output: &Output) -> Option<Marks> {
        self.caller.as_ref()?;
        let message = output.deprecated.as_ref()?;
        let source = SmolStr::from(self.name_of(&format!("output.{}", output.name)));
        if self.is_remote() {
            self.evaluation.remote_deprecations.lock().insert(source.clone());
        }
        Some(Marks::deprecated(Deprecation { source, message: SmolStr::from(message.as_str()) }))
    }

    /// Warns about everything deprecated in a value that is used, and gives it without these marks. `place` is where
    /// a part of the value is written.
    pub(super) fn tell_deprecated(&self, value: Value, place: &dyn Fn(&Path) -> SourceRange) -> Value {
        if !value.deep().deprecated {
            return value;
        }
        let (bare, mut marks) = value.unmark_with_paths();
        for (path, marks) in &mut marks {
            for notice in marks.deprecations() {
                self.warn(notice, place(path));
            }
            *marks = marks.without_deprecations();
        }
        bare.mark_paths(&marks)
    }

    fn warn(&self, notice: &Deprecation, at: SourceRange) {
        // Instances of one block say it once.
        if !self.evaluation.told_deprecations.lock().insert((at.clone(), notice.clone())) {
            return;
        }
        let remote = self.evaluation.remote_deprecations.lock().contains(&notice.source);
        let source = notice.source.replace(".output.", ".");
        self.evaluation.glue.report(
            Diagnostic::warning(
                "Value derived from a deprecated source",
                format!(
                    "This value is derived from {source}, which is deprecated with the following message:\n\n{}",
                    notice.message
                ),
            )
            .code(if remote { REMOTE_MODULE } else { LOCAL_MODULE })
            .at(at),
        );
    }

    /// Warns where the caller gives a value to a deprecated variable.
    pub(super) fn warn_of_variable(self: &Arc<Self>, variable: &Variable, at: SourceRange) {
        let Some(message) = &variable.deprecated else { return };
        let source = SmolStr::from(self.config.path.to_string() + ".var." + &variable.name);
        let notice = Deprecation { source, message: SmolStr::from(message.as_str()) };
        if !self.evaluation.told_deprecations.lock().insert((at.clone(), notice)) {
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
