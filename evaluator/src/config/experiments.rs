//! Experiments: constructs that OpenTofu does not have, enabled for each module.

use smol_str::SmolStr;
use weft_syntax::Expression;

use super::compiling::Compiling;
use super::content::FoundBlock;
use super::problems;

/// The experiments in `language { experiments = [...] }`. They only apply to the module of the block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Experiments {
    /// `provider_iteration`. It allows three things:
    ///
    /// - `for_each` of providers with any value that is known during planning,
    /// - provider blocks in modules that are called with `count`, `for_each`, `enabled` or `depends_on`,
    /// - passing a provider configuration with `for_each` as a whole.
    pub provider_iteration: bool,
    /// `provider_values`. It allows references to providers as values.
    pub provider_values: bool,
}

/// The name of [`Experiments::provider_iteration`].
pub(super) const PROVIDER_ITERATION: &str = "provider_iteration";
const PROVIDER_VALUES: &str = "provider_values";

impl Compiling<'_> {
    /// Records the experiments in `language` blocks. This must happen first, because experiments change the meaning of
    /// other blocks.
    pub(super) fn note_experiments(&mut self, blocks: &[FoundBlock]) {
        for block in blocks.iter().filter(|block| block.block_type == "language") {
            let Some(found) = block.tree.argument(block.body, "experiments") else { continue };
            for name in names(&block.tree.expression(found.expression)) {
                match name.as_str() {
                    PROVIDER_ITERATION => self.module.settings.experiments.provider_iteration = true,
                    PROVIDER_VALUES => self.module.settings.experiments.provider_values = true,
                    _ => {}
                }
            }
        }
    }

    /// Reports unknown experiments.
    pub(super) fn check_experiments(&mut self, expression: &Expression) {
        let Some(items) = expression.as_list() else {
            self.report(problems::experiments::not_a_list(expression.range()));
            return;
        };
        const KNOWN: [&str; 2] = [PROVIDER_ITERATION, PROVIDER_VALUES];
        for item in &items {
            match item.as_keyword() {
                Some(name) if KNOWN.contains(&name) => {}
                Some(name) => self.report(problems::experiments::unknown(name, &KNOWN, item.range())),
                None => self.report(problems::experiments::not_a_name(&KNOWN, item.range())),
            }
        }
    }
}

/// The names in a list. Other elements are skipped.
fn names(expression: &Expression) -> Vec<SmolStr> {
    let items = expression.as_list().unwrap_or_default();
    items.iter().filter_map(|item| item.as_keyword().map(SmolStr::new)).collect()
}
