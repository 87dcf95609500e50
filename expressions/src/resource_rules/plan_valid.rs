//! How a plan may differ from the configuration. The rules are from section 8 of the reference page on providers.

use std::collections::BTreeMap;

use smol_str::SmolStr;
use weft_graph_format::path::{Path, ValueStep};
use weft_graph_format::schema::{Attribute, Block, NestedAttributes, NestedBlock, Nesting};
use weft_graph_format::value::{Entries, Transform, Value};

use super::sets::unmatched;
use super::{RuleProblem, part};
use crate::stack;

const ABSENT: &str = "planned for absence but config wants existence";
const PRESENT: &str = "planned for existence but config wants absence";

/// Everything in the planned object that the provider must not set. Null means absence.
pub fn plan_problems(block: &Block, prior: &Value, config: &Value, planned: &Value) -> Vec<RuleProblem> {
    let mut problems = Vec::new();
    check_block(block, prior, &unrefined(config), &unrefined(planned), &Path::ROOT, &mut problems);
    problems
}

/// The value without refinements. Providers need not repeat them.
fn unrefined(value: &Value) -> Value {
    if value.is_wholly_known() {
        return value.clone();
    }
    value.transform(&mut |_, part| {
        if part.is_known() { Transform::Descend } else { Transform::Replace(Value::unknown(part.ty())) }
    })
}

/// Whether nothing remains to be compared, because one or both values are absent. If only one value is absent, adds a
/// problem.
fn settled(config: &Value, planned: &Value, path: &Path, problems: &mut Vec<RuleProblem>) -> bool {
    match (planned.is_null(), config.is_null()) {
        (true, false) => problems.push(RuleProblem::new(path, ABSENT)),
        (false, true) => problems.push(RuleProblem::new(path, PRESENT)),
        (true, true) => {}
        (false, false) => return false,
    }
    true
}

fn check_block(
    block: &Block,
    prior: &Value,
    config: &Value,
    planned: &Value,
    path: &Path,
    problems: &mut Vec<RuleProblem>,
) {
    if settled(config, planned, path, problems) {
        return;
    }
    stack::guarded(|| {
        check_attributes(&block.attributes, prior, config, planned, path, problems);
        for (name, nested) in &block.blocks {
            let ty = nested.implied_type();
            let planned = part(planned, name, &ty);
            let config = part(config, name, &ty);
            if planned.same_unmarked(&config) {
                continue;
            }
            let path = path.attribute(name.clone());
            check_nested_block(nested, &part(prior, name, &ty), &config, &planned, &path, problems);
        }
    });
}

fn check_nested_block(
    nested: &NestedBlock,
    prior: &Value,
    config: &Value,
    planned: &Value,
    path: &Path,
    problems: &mut Vec<RuleProblem>,
) {
    if !config.is_known() {
        problems.push(RuleProblem::new(path, "planned a value for an unknown dynamic block"));
        return;
    }
    if !planned.is_known() {
        problems.push(RuleProblem::new(
            path,
            "attribute representing nested block must not be unknown itself; set nested attribute values to unknown \
             instead",
        ));
        return;
    }
    let words = match nested.nesting {
        Nesting::Single | Nesting::Group => {
            return check_block(&nested.block, prior, config, planned, path, problems);
        }
        Nesting::List => "list",
        Nesting::Map => "map",
        Nesting::Set => "set",
    };
    if planned.is_null() {
        let message =
            format!("attribute representing a {words} of nested blocks must be empty to represent no blocks, not null");
        problems.push(RuleProblem::new(path, message));
        return;
    }
    let mut each = |prior: &Value, config: &Value, planned: &Value, path: &Path, problems: &mut Vec<RuleProblem>| {
        if planned.is_known() {
            check_block(&nested.block, prior, config, planned, path, problems);
        } else {
            problems.push(RuleProblem::new(
                path,
                "element representing nested block must not be unknown itself; set nested attribute values to unknown \
                 instead",
            ));
        }
    };
    match nested.nesting {
        Nesting::Map => check_map("block", prior, config, planned, path, problems, &mut each),
        Nesting::Set => {
            let null = Value::null(nested.block.implied_type());
            let fits = |planned: &Value, config: &Value| {
                let mut inner = Vec::new();
                check_block(&nested.block, &null, config, planned, path, &mut inner);
                inner.is_empty()
            };
            check_set(config, planned, path, problems, &fits);
        }
        _ => check_list("block count", prior, config, planned, path, problems, &mut each),
    }
}

type CheckElement<'c> = dyn FnMut(&Value, &Value, &Value, &Path, &mut Vec<RuleProblem>) + 'c;

fn check_list(
    what: &str,
    prior: &Value,
    config: &Value,
    planned: &Value,
    path: &Path,
    problems: &mut Vec<RuleProblem>,
    each: &mut CheckElement<'_>,
) {
    // Legacy providers and `ignore_changes` may lead to null instead of an empty list of blocks.
    let configured = config.as_items().unwrap_or_default();
    let items = planned.as_items().unwrap_or_default();
    if configured.len() != items.len() {
        problems.push(RuleProblem::new(
            path,
            format!("{what} in plan ({}) disagrees with count in config ({})", items.len(), configured.len()),
        ));
        return;
    }
    for (place, (planned, config)) in items.iter().zip(configured).enumerate() {
        let prior = prior.as_items().and_then(|items| items.get(place)).cloned();
        let prior = prior.unwrap_or_else(|| Value::null(planned.ty()));
        each(&prior, config, planned, &path.with(ValueStep::Index(place as u64)), problems);
    }
}

fn check_map(
    what: &str,
    prior: &Value,
    config: &Value,
    planned: &Value,
    path: &Path,
    problems: &mut Vec<RuleProblem>,
    each: &mut CheckElement<'_>,
) {
    let none = Entries::default();
    let configured = config.as_fields().unwrap_or(&none);
    let fields = planned.as_fields().unwrap_or(&none);
    for (key, planned) in fields {
        let Some(config) = configured.get(key) else {
            let message = format!("{what} key {:?} from plan is not present in config", key.as_str());
            problems.push(RuleProblem::new(path, message));
            continue;
        };
        let prior = prior.as_fields().and_then(|fields| fields.get(key)).cloned();
        let prior = prior.unwrap_or_else(|| Value::null(planned.ty()));
        each(&prior, config, planned, &path.with(ValueStep::Key(key.clone())), problems);
    }
    for key in configured.keys().filter(|key| !fields.contains_key(key)) {
        let message = format!("{what} key {:?} from config is not present in plan", key.as_str());
        problems.push(RuleProblem::new(path, message));
    }
}

fn check_set(
    config: &Value,
    planned: &Value,
    path: &Path,
    problems: &mut Vec<RuleProblem>,
    fits: &dyn Fn(&Value, &Value) -> bool,
) {
    let configured = config.as_items().unwrap_or_default();
    let items = planned.as_items().unwrap_or_default();
    let (extra, missing) = unmatched(items, configured, fits);
    if !extra.is_empty() {
        problems.push(RuleProblem::new(path, "a planned set element does not correlate with any element in config"));
    }
    if !missing.is_empty() {
        problems.push(RuleProblem::new(path, "a set element in config does not correlate with any planned element"));
    }
}

fn check_attributes(
    attributes: &BTreeMap<SmolStr, Attribute>,
    prior: &Value,
    config: &Value,
    planned: &Value,
    path: &Path,
    problems: &mut Vec<RuleProblem>,
) {
    for (name, attribute) in attributes {
        let (prior, config, planned) =
            (part(prior, name, &attribute.ty), part(config, name, &attribute.ty), part(planned, name, &attribute.ty));
        if !may_keep(attribute, &prior, &config, &planned) {
            check_attribute(attribute, &prior, &config, &planned, &path.attribute(name.clone()), problems);
        }
    }
}

/// Whether a planned value is valid without a closer check. It is valid if it is the configured value, a prior value
/// that the provider considers equivalent to the configured value, or a value that the configuration leaves to the
/// provider. The planned value of a write-only attribute must be null.
fn may_keep(attribute: &Attribute, prior: &Value, config: &Value, planned: &Value) -> bool {
    if attribute.write_only {
        return planned.is_null();
    }
    planned.same_unmarked(config)
        || (planned.same_unmarked(prior) && !prior.is_null() && !config.is_null())
        || (attribute.computed && config.is_null())
}

/// Reports what is wrong with a value that [`may_keep`] does not accept.
fn check_attribute(
    attribute: &Attribute,
    prior: &Value,
    config: &Value,
    planned: &Value,
    path: &Path,
    problems: &mut Vec<RuleProblem>,
) {
    if attribute.write_only {
        problems.push(RuleProblem::new(path, "planned value for a write-only attribute must be null"));
        return;
    }
    if let Some(nested) = &attribute.nested {
        check_nested_attribute(nested, prior, config, planned, path, problems);
        return;
    }
    let message = match (attribute.sensitive, prior.is_null()) {
        (true, true) => "sensitive planned value does not match config value".to_owned(),
        (true, false) => "sensitive planned value does not match config value or prior value".to_owned(),
        (false, true) => format!("planned value {planned:?} does not match config value {config:?}"),
        (false, false) => {
            format!("planned value {planned:?} does not match config value {config:?} nor prior value {prior:?}")
        }
    };
    problems.push(RuleProblem::new(path, message));
}

fn check_nested_attribute(
    nested: &NestedAttributes,
    prior: &Value,
    config: &Value,
    planned: &Value,
    path: &Path,
    problems: &mut Vec<RuleProblem>,
) {
    if settled(config, planned, path, problems) {
        return;
    }
    if !planned.is_known() {
        problems.push(RuleProblem::new(path, "planned unknown value for configured value"));
        return;
    }
    if !config.is_known() {
        problems.push(RuleProblem::new(path, "planned a known value for an unknown configured value"));
        return;
    }
    let mut each = |prior: &Value, config: &Value, planned: &Value, path: &Path, problems: &mut Vec<RuleProblem>| {
        if !planned.same_unmarked(config) && !settled(config, planned, path, problems) {
            stack::guarded(|| check_attributes(&nested.attributes, prior, config, planned, path, problems));
        }
    };
    match nested.nesting {
        Nesting::Single | Nesting::Group => each(prior, config, planned, path, problems),
        Nesting::List => check_list("count", prior, config, planned, path, problems, &mut each),
        Nesting::Map => check_map("map", prior, config, planned, path, problems, &mut each),
        Nesting::Set => {
            // Set elements have no identity, so the provider decides which elements match.
            let (have, want) =
                (planned.as_items().unwrap_or_default().len(), config.as_items().unwrap_or_default().len());
            if have != want {
                problems.push(RuleProblem::new(
                    path,
                    format!("count in plan ({have}) disagrees with count in config ({want})"),
                ));
            }
        }
    }
}
