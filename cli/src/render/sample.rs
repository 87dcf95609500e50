//! Hand-made changes, for tests of their display.

use weft_graph_format::address::{ModuleInstance, ProviderParts, ProviderSource};
use weft_graph_format::changes::{ChangeAction, Reason, ResourceChange};
use weft_graph_format::value::Value;

/// The version of the schemas of these changes.
pub const SCHEMA_VERSION: u64 = 1;

/// A plain change of an object of the provider `lab`.
pub fn change(address: &str, action: ChangeAction, before: Value, after: Value) -> ResourceChange {
    let Ok(address) = address.parse() else { panic!("no address: {address}") };
    ResourceChange {
        address,
        previous_address: None,
        deposed: None,
        provider: ProviderParts {
            module: ModuleInstance::root(),
            source: ProviderSource::default_for("lab"),
            alias: None,
            key: Default::default(),
        }
        .into(),
        action,
        reason: Reason::None,
        before,
        after,
        replace_paths: Vec::new(),
        importing: None,
        before_record: None,
        schema_version: SCHEMA_VERSION,
    }
}
