//! `required_providers` blocks.

use std::collections::BTreeSet;

use smol_str::SmolStr;
use weft_expressions::constant::evaluate_constant;
use weft_expressions::convert::convert;
use weft_graph_format::address::ProviderSource;
use weft_graph_format::diagnostic::{Diagnostic, has_errors};
use weft_graph_format::source::SourceRange;
use weft_graph_format::types::Type;
use weft_syntax::{ExprKind, Expression, Syntax};

use super::compiling::Compiling;
use super::content::FoundBlock;
use super::{RequiredProvider, problems};

impl Compiling<'_> {
    /// Reads a `required_providers` block.
    pub(super) fn required_providers(&mut self, block: &FoundBlock) {
        if let Some(first) = &self.requirements {
            let problem = problems::requirements::duplicate(first, &block.range);
            self.report_together(problem);
        }
        let counts = self.requirements.is_none();
        self.requirements.get_or_insert_with(|| block.range.clone());
        let tree = &block.tree;
        let body = self.only_arguments(tree, block.body, "required_providers");
        if !body.blocks.is_empty() {
            return;
        }
        for attribute in &body.attributes {
            let name = attribute.name.text.clone();
            let value = tree.expression(attribute.expression);
            if !self.normalised_provider(&name, &value.range()) {
                continue;
            }
            if let Some(required) = self.required_provider(&name, &value).filter(|_| counts) {
                self.module.settings.required_providers.insert(name, required);
            }
        }
    }

    /// Whether a local name of a provider is valid. Reports the problem of an invalid name.
    pub(super) fn normalised_provider(&mut self, name: &str, at: &SourceRange) -> bool {
        let problem = if !is_part(name) {
            problems::provider::invalid_local_name(name, at)
        } else if name.to_lowercase() != name {
            problems::provider::local_name_not_lowercase(name, at)
        } else {
            return true;
        };
        self.report(problem);
        false
    }

    fn required_provider(&mut self, name: &SmolStr, value: &Expression) -> Option<RequiredProvider> {
        let mut required = RequiredProvider {
            source: match name.as_str() {
                "terraform" => ProviderSource::builtin("terraform"),
                _ => ProviderSource::default_for(name),
            },
            version: None,
            configuration_aliases: Vec::new(),
            whole_aliases: BTreeSet::new(),
            range: value.range(),
        };
        let (constant, problems) = evaluate_constant(value);
        if !has_errors(&problems) && matches!(constant.ty(), Type::String | Type::Number | Type::Bool) {
            // The legacy form of an entry is only a version.
            required.version = self.version_text(value);
            return Some(required);
        }
        let Some(entries) = value.as_map() else {
            self.report(problems::requirements::invalid_entry(value.range()));
            return None;
        };
        let mut sound = true;
        for (key, entry) in entries {
            let text = key.as_keyword().map(SmolStr::new).or_else(|| key.as_string_literal()).unwrap_or_default();
            match text.as_str() {
                "source" => match self.source_text(&entry) {
                    Some(source) => required.source = source,
                    None => sound = false,
                },
                "version" => match self.quoted_version(&entry) {
                    Some(version) => required.version = Some(version),
                    None => sound = false,
                },
                "configuration_aliases" => match self.aliases(name, &entry) {
                    Some(aliases) => {
                        for Promised { local_name, alias, whole } in aliases {
                            required.whole_aliases.extend(alias.clone().filter(|_| whole));
                            required.configuration_aliases.push((local_name, alias));
                        }
                    }
                    None => sound = false,
                },
                other => {
                    sound = false;
                    self.report(problems::requirements::unknown_attribute(other, key.range()));
                }
            }
        }
        sound.then_some(required)
    }

    fn source_text(&mut self, entry: &Expression) -> Option<ProviderSource> {
        let Some(text) = constant_text(entry, false) else {
            self.report(problems::requirements::source_not_text(entry.range()));
            return None;
        };
        match read_source(&text) {
            Ok(source) => Some(source),
            Err(problem) => {
                self.report(problem.at(entry.range()));
                None
            }
        }
    }

    /// Reads a literal version constraint.
    pub(super) fn version_text(&mut self, entry: &Expression) -> Option<SmolStr> {
        let text = constant_text(entry, true);
        let Some(text) = text else {
            self.report(problems::versions::not_a_string(entry.range()));
            return None;
        };
        if !is_constraint(&text) {
            self.report(problems::versions::not_a_constraint(&text, entry.range()));
            return None;
        }
        Some(text)
    }

    /// Reads the version constraint of an entry that is an object. The constraint must be a string, because values in
    /// the objects of `required_providers` are not converted.
    fn quoted_version(&mut self, entry: &Expression) -> Option<SmolStr> {
        if constant_text(entry, false).is_none() {
            self.report(problems::versions::not_a_string(entry.range()));
            return None;
        }
        self.version_text(entry)
    }

    fn aliases(&mut self, name: &SmolStr, entry: &Expression) -> Option<Vec<Promised>> {
        let Some(items) = entry.as_list() else {
            self.report(problems::requirements::aliases_not_a_list(entry.range()));
            return None;
        };
        let mut found = Vec::new();
        let mut sound = true;
        for item in items {
            let whole = whole_configuration(&item);
            if whole.is_some() && !self.module.settings.experiments.provider_iteration {
                self.report(problems::requirements::whole_without_experiment(item.range()));
                sound = false;
                continue;
            }
            if whole.is_none() && item.as_traversal().is_none() {
                self.report(problems::references::not_static(item.range()));
                sound = false;
                continue;
            }
            let problem = match super::meta::provider_name(whole.as_ref().unwrap_or(&item)) {
                Some((_, None, _)) if whole.is_some() => problems::requirements::whole_default(entry.range()),
                Some((local, _, None)) if local != *name => {
                    problems::requirements::alias_of_other(name, &local, entry.range())
                }
                Some((local_name, alias, None)) => {
                    found.push(Promised { local_name, alias, whole: whole.is_some() });
                    continue;
                }
                _ => problems::requirements::invalid_alias(entry.range()),
            };
            self.report(problem);
            sound = false;
        }
        sound.then_some(found)
    }
}

/// An entry of `configuration_aliases`.
struct Promised {
    local_name: SmolStr,
    alias: Option<SmolStr>,
    /// Whether the entry is written with `[*]`.
    whole: bool,
}

/// The part before `[*]` in `aws.by_region[*]`. `None` for other expressions.
fn whole_configuration(item: &Expression) -> Option<Expression> {
    let item = item.unquoted().ok().filter(|_| item.tree.syntax() == Syntax::Json).unwrap_or_else(|| item.clone());
    match item.kind() {
        ExprKind::Splat(splat) if splat.full && splat.each == splat.element => Some(item.child(splat.source)),
        _ => None,
    }
}

/// The string value of an expression without references. If `converted` is set, other primitive values are converted.
fn constant_text(expression: &Expression, converted: bool) -> Option<SmolStr> {
    let (value, problems) = evaluate_constant(expression);
    if has_errors(&problems) || (!converted && value.ty() != Type::String) {
        return None;
    }
    convert(&value, &Type::String).ok()?.as_str().map(SmolStr::new)
}

/// Whether a text is a list of version constraints, separated by commas.
fn is_constraint(text: &str) -> bool {
    /// Longer operators come before their prefixes.
    const OPERATORS: [&str; 7] = ["!=", ">=", "<=", "~>", "=", ">", "<"];
    text.split(',').all(|part| {
        let part = part.trim();
        let version = OPERATORS.iter().find_map(|sign| part.strip_prefix(sign)).unwrap_or(part).trim_start();
        let version = version.strip_prefix('v').unwrap_or(version);
        let numbers = version.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        let written = &version[..version.len() - numbers.len()];
        let suffix = numbers.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '~' | '.' | '+'));
        suffix && !written.is_empty() && written.split('.').all(|number| !number.is_empty())
    })
}

/// Whether a text is a valid part of a provider's address.
pub(super) fn is_part(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with('-')
        && !text.ends_with('-')
        && !text.contains("--")
        && text.chars().all(|c| c == '-' || c.is_alphanumeric())
}

/// Whether a text is a valid host name for display, with or without a port. A label must not start or end with a
/// hyphen. Its third and fourth characters must not both be hyphens, which would mark an encoded name.
fn is_host(text: &str) -> bool {
    let label = |label: &str| {
        !label.is_empty()
            && !label.starts_with('-')
            && !label.ends_with('-')
            && !label.chars().skip(2).take(2).eq("--".chars())
            && label.chars().all(|c| c == '-' || c.is_alphanumeric())
    };
    let (name, port) = text.split_once(':').unwrap_or((text, "443"));
    port.parse::<u16>().is_ok() && name.split('.').all(label)
}

/// Parses a source address.
///
/// # Errors
/// Returns the problem without a source range.
pub fn read_source(text: &str) -> Result<ProviderSource, Diagnostic> {
    let parts: Vec<&str> = text.split('/').collect();
    if parts.len() > 3 || parts.iter().any(|part| part.is_empty()) {
        return Err(problems::requirements::malformed_source(text));
    }
    let part = |at: usize| parts.len().checked_sub(at).and_then(|at| parts.get(at)).copied();
    let type_name = part(1).unwrap_or_default();
    if !is_part(type_name) {
        return Err(problems::requirements::invalid_type(type_name, text));
    }
    for prefix in ["terraform-provider-", "terraform-"] {
        if let Some(rest) = type_name.strip_prefix(prefix) {
            return Err(problems::requirements::type_with_prefix(text, prefix, rest));
        }
    }
    if let Some(namespace) = part(2)
        && namespace != "-"
        && !is_part(namespace)
    {
        return Err(problems::requirements::invalid_namespace(namespace, text));
    }
    if let Some(host) = part(3)
        && !is_host(host)
    {
        return Err(problems::requirements::invalid_host(host, text));
    }
    text.parse().map_err(|_| match parts.len() {
        3 => problems::requirements::invalid_host(parts[0], text),
        _ => problems::requirements::malformed_source(text),
    })
}
