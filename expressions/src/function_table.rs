//! Tables of functions, for lookup by name.

use rustc_hash::FxHashMap;

use crate::function::Function;

/// The functions that expressions can call.
#[derive(Debug)]
pub struct FunctionTable {
    functions: Vec<Function>,
    by_name: FxHashMap<&'static str, usize>,
}

impl FunctionTable {
    /// Creates a table of these functions.
    pub(crate) fn new(mut functions: Vec<Function>) -> FunctionTable {
        functions.sort_by_key(|f| f.name);
        let by_name = functions.iter().enumerate().map(|(index, f)| (f.name, index)).collect();
        FunctionTable { functions, by_name }
    }

    /// Looks up a function by name, with or without the prefix `core::`.
    pub fn lookup(&self, name: &str) -> Option<&Function> {
        let name = name.strip_prefix("core::").unwrap_or(name);
        self.by_name.get(name).and_then(|index| self.functions.get(*index))
    }

    /// All functions, ordered by name.
    pub fn all(&self) -> &[Function] {
        &self.functions
    }
}
