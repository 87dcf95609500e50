//! What came of checks: written to the state as a whole when a term ends, since each write replaces all of it.

use std::collections::{BTreeMap, BTreeSet};

use weft_graph_format::diagnostic::{Diagnostic, HIDDEN_MESSAGE, READ_FOR_CHECK, in_one_text};
use weft_state::{CheckObject, CheckRecord, Opaque, StoreStep, Writes};

use super::answers::Step;
use super::{Coordinator, Position};
use crate::event::FinishReason;
use crate::outline::OperationKind;
use crate::result::decode_diagnostics;
use crate::status::Status;

/// The kind of object that a check block is.
const CHECK: &str = "check";

/// What the operations of one object say.
#[derive(Default)]
struct Checked<'op> {
    open: bool,
    failures: Vec<&'op CheckFailure>,
}

/// What a run did not do.
#[derive(Default)]
struct Undone<'op> {
    /// Addresses as configured, without a key and with the last one.
    configured: BTreeSet<String>,
    /// Objects that are not there; those that failed halfway are.
    objects: BTreeSet<&'op str>,
}

/// Why a check did not pass.
#[derive(Clone, Debug)]
pub(super) struct CheckFailure {
    /// The condition does not hold; else it could not be evaluated.
    holds_not: bool,
    /// None where it cannot be shown.
    message: Option<String>,
}

impl Coordinator {
    /// Remembers why a check failed. An assertion that does not hold is a warning, and its operation done.
    pub(super) fn note_check(&mut self, position: Position, diagnostics: &Opaque) {
        if self.operation(position).kind == OperationKind::Read {
            let told = decode_diagnostics(diagnostics);
            let unread: Vec<Diagnostic> = told.into_iter().filter(|told| told.code == READ_FOR_CHECK).collect();
            if !unread.is_empty() {
                let message = Some(in_one_text(&unread));
                self.checks.failures.insert(position, CheckFailure { holds_not: true, message });
            }
            return;
        }
        if self.operation(position).kind != OperationKind::Check {
            return;
        }
        let mut reported = decode_diagnostics(diagnostics).into_iter();
        let Some(failure) = reported.find(|one| one.is_error() || one.is_failed_condition()) else { return };
        let holds_not = failure.is_failed_condition();
        let message = Some(failure.detail).filter(|_| failure.code != HIDDEN_MESSAGE);
        self.checks.failures.insert(position, CheckFailure { holds_not, message });
    }

    /// At the end of a term: gives the results of checks to the store, where they are not there yet. Says whether the
    /// end has to wait for that.
    pub(super) fn write_checks(&mut self, reason: FinishReason) -> bool {
        let early = matches!(
            reason,
            FinishReason::Left | FinishReason::Fenced | FinishReason::StoreRefused | FinishReason::Defect
        );
        if early || self.options.only_resolve || std::mem::replace(&mut self.checks.written, true) {
            return false;
        }
        let results = Some(self.check_results()).filter(|results| !results.is_empty());
        // A configuration without conditions leaves alone what it never wrote.
        let stored = self.checks.stored.as_ref().filter(|stored| !stored.is_empty());
        if results.as_ref() == stored {
            return false;
        }
        self.store(Step::Told, StoreStep::Checks(Writes { checks: Some(results), ..Writes::default() }));
        true
    }

    /// What the run did not come to, or did not bring to a good end.
    fn undone(&self) -> Undone<'_> {
        use OperationKind::{Check, Create, Read, Update};
        let mut undone = Undone::default();
        for (operation, progress) in self.outline.operations.iter().zip(&self.ops) {
            let counts = matches!(operation.kind, Create | Update | Read | Check);
            if counts && progress.status != Status::Done {
                let config = configured(&operation.address);
                undone.configured.insert(format!("{config}{}", last_key(&operation.address)));
                undone.configured.insert(config);
                // An update that failed leaves the object there, as does a create that failed halfway.
                let there = progress.keeps || (progress.status == Status::Failed && operation.kind == Update);
                if operation.kind != Check && !there {
                    undone.objects.insert(&operation.address);
                }
            }
        }
        undone
    }

    /// For each check block whose data source could not be read, what was wrong with that.
    fn unread(&self) -> BTreeMap<&str, &String> {
        let mut found = BTreeMap::new();
        let failures = self.checks.failures.iter().filter_map(|(position, failure)| {
            let operation = self.operation(*position);
            let message = failure.message.as_ref().filter(|_| operation.kind == OperationKind::Read)?;
            Some((operation.address.as_str(), configured(&operation.address), message))
        });
        let blocks = || self.outline.checks.iter().filter(|record| record.object_kind == CHECK);
        for (address, config, message) in failures {
            // Nothing else can name the data source of a block.
            let needs = |record: &&CheckRecord| self.outline.check_needs.get(&record.config_addr);
            let Some(record) = blocks().find(|record| needs(record).is_some_and(|needs| needs.contains(&config)))
            else {
                continue;
            };
            let is_of = |object: &&CheckObject| {
                let module = object.object_addr.rfind("check.").map(|at| &object.object_addr[..at]);
                module.and_then(|module| address.strip_prefix(module)).is_some_and(|rest| rest.starts_with("data."))
            };
            let object = record.objects.iter().flatten().find(is_of);
            found.extend(object.map(|object| (object.object_addr.as_str(), message)));
        }
        found
    }

    /// The plan's results with what the run has found.
    fn check_results(&self) -> Vec<CheckRecord> {
        let objects: BTreeSet<&str> = self
            .outline
            .checks
            .iter()
            .flat_map(|r| r.objects.iter().flatten())
            .map(|o| o.object_addr.as_str())
            .collect();
        let mut found: BTreeMap<&str, Checked<'_>> = BTreeMap::new();
        for (position, operation) in self.outline.operations.iter().enumerate() {
            if operation.kind != OperationKind::Check {
                continue;
            }
            let checked = found.entry(object_of(&operation.address, &objects)).or_default();
            match self.ops[position].status {
                Status::Done | Status::Failed => {
                    checked.failures.extend(self.checks.failures.get(&(position as Position)))
                }
                _ => checked.open = true,
            }
        }
        let undone = self.undone();
        let unread = self.unread();
        let mut records = self.outline.checks.clone();
        for record in &mut records {
            let mut worst = 0;
            let needs = self.outline.check_needs.get(&record.config_addr).map_or(&[][..], Vec::as_slice);
            let blocked = needs.iter().any(|need| *need != record.config_addr && undone.configured.contains(need));
            let after_itself = needs.contains(&record.config_addr);
            for object in record.objects.iter_mut().flatten() {
                let checked = found.get(object.object_addr.as_str());
                if checked.is_some() && record.object_kind == CHECK {
                    // Apply looks at all of a block anew.
                    forget(object);
                }
                match checked {
                    _ if blocked => forget(object),
                    _ if let Some(message) = unread.get(object.object_addr.as_str()) => {
                        object.status = "fail".to_owned();
                        object.failure_messages = vec![(*message).clone()];
                    }
                    Some(checked) if !checked.failures.is_empty() => {
                        let erred = checked.failures.iter().any(|failure| !failure.holds_not);
                        object.status = if erred { "error" } else { "fail" }.to_owned();
                        let messages = checked.failures.iter().filter(|failure| failure.holds_not);
                        // The plan may have said the same.
                        let told = object.failure_messages.clone();
                        let new = messages.filter_map(|failure| failure.message.clone());
                        object.failure_messages.extend(new.filter(|message| !told.contains(message)));
                        object.failure_messages.sort();
                    }
                    _ if after_itself && undone.objects.contains(object.object_addr.as_str()) => forget(object),
                    Some(checked) if !checked.open && object.status == "unknown" => object.status = "pass".to_owned(),
                    _ => {}
                }
                worst = worst.max(rank(&object.status));
            }
            if record.objects.is_some() {
                record.status = RANKS[worst].to_owned();
            }
        }
        records
    }
}

/// The object that a condition belongs to: assertions are told apart by an index behind the name of their block.
fn object_of<'a>(address: &'a str, objects: &BTreeSet<&str>) -> &'a str {
    if objects.contains(address) {
        return address;
    }
    address.rsplit_once('[').map_or(address, |(block, _)| block)
}

/// Nobody came to the object.
fn forget(object: &mut CheckObject) {
    object.status = "unknown".to_owned();
    object.failure_messages.clear();
}

/// The address as configured: without keys.
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

/// The key that an address ends with.
fn last_key(address: &str) -> &str {
    // A key may hold brackets between its quotes, but no quote that is not escaped.
    let start = match address.strip_suffix("\"]") {
        Some(quoted) => {
            quoted.match_indices("[\"").filter(|(at, _)| !quoted[at + 2..].contains("\"]")).map(|(at, _)| at).next()
        }
        None if address.ends_with(']') => address.rfind('['),
        None => None,
    };
    start.map_or("", |start| &address[start..])
}

/// Each hides those before it.
const RANKS: [&str; 4] = ["pass", "unknown", "fail", "error"];

fn rank(status: &str) -> usize {
    RANKS.iter().position(|rank| *rank == status).unwrap_or_default()
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

    #[test]
    fn keys_at_the_end() {
        for (address, expected) in [
            ("a.b", ""),
            ("module.m[0].a.b", ""),
            ("module.m[0].a.b[12]", "[12]"),
            ("module.m[\"k\"].a.b[\"x].y\"]", "[\"x].y\"]"),
            ("a.b[\"c[\\\"d\"]", "[\"c[\\\"d\"]"),
        ] {
            assert_eq!(last_key(address), expected);
        }
    }
}
