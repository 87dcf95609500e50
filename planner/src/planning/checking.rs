//! What came of conditions, also of those that nobody came to.

use std::collections::BTreeSet;

use weft_evaluator::selection::Selection;
use weft_graph_format::address::ConfigResource;
use weft_graph_format::plan_file::{CheckResult, CheckStatus, CheckedKind};

use super::Planning;

/// The address of an object as configured, from that of one of its instances: without keys.
fn configured(address: &str) -> String {
    let mut out = String::with_capacity(address.len());
    let mut rest = address.chars();
    while let Some(c) = rest.next() {
        if c != '[' {
            out.push(c);
            continue;
        }
        // A key may hold brackets between its quotes.
        let mut quoted = false;
        while let Some(inner) = rest.next() {
            match inner {
                '\\' if quoted => drop(rest.next()),
                '"' => quoted = !quoted,
                ']' if !quoted => break,
                _ => {}
            }
        }
    }
    out
}

impl Planning {
    /// The results, ordered by what they belong to. Where a part is planned, everything else that has conditions is
    /// there as well, unreached.
    pub(super) fn check_results(&self) -> Vec<CheckResult> {
        let mut results = std::mem::take(&mut *self.checks.lock());
        if self.options.selection == Selection::All {
            return results.into_values().collect();
        }
        let reached: BTreeSet<String> = results.keys().map(|(_, address)| configured(address)).collect();
        for (kind, address) in self.configured_checks() {
            if !reached.contains(&address) {
                let result = CheckResult {
                    address: address.clone(),
                    kind,
                    status: CheckStatus::Unreached,
                    messages: Vec::new(),
                };
                results.insert((kind, address), result);
            }
        }
        results.into_values().collect()
    }

    /// Everything in the configuration that has conditions.
    fn configured_checks(&self) -> Vec<(CheckedKind, String)> {
        let mut found = Vec::new();
        for module in self.root.all() {
            let within = |name: String| if module.path.is_root() { name } else { format!("{}.{name}", module.path) };
            for (resource, block) in &module.resources {
                let lifecycle = &block.lifecycle;
                if !(lifecycle.preconditions.is_empty() && lifecycle.postconditions.is_empty()) {
                    let config = ConfigResource { module: module.path.clone(), resource: resource.clone() };
                    found.push((CheckedKind::Resource, config.to_string()));
                }
            }
            let outputs = module.outputs.values().filter(|output| !output.preconditions.is_empty());
            found.extend(outputs.map(|output| (CheckedKind::Output, within(format!("output.{}", output.name)))));
            let variables = module.variables.values().filter(|variable| !variable.validations.is_empty());
            found.extend(variables.map(|variable| (CheckedKind::Variable, within(format!("var.{}", variable.name)))));
            found.extend(module.checks.keys().map(|name| (CheckedKind::Check, within(format!("check.{name}")))));
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_without_keys() {
        for (address, expected) in [
            ("a.b", "a.b"),
            ("module.m[0].a.b[\"x].y\"]", "module.m.a.b"),
            ("module.m[\"q\\\"]\"].output.o", "module.m.output.o"),
        ] {
            assert_eq!(configured(address), expected);
        }
    }
}
