//! `required_providers` blocks.

use std::collections::BTreeSet;

use smol_str::SmolStr;
use weft_expressions::constant::evaluate_constant;
use weft_expressions::convert::convert;
use weft_graph_format::address::ProviderSource;
use weft_graph_format::diagnostic::has_errors;
use weft_graph_format::source::SourceRange;
use weft_graph_format::types::Type;
use weft_syntax::{ExprKind, Expression, Syntax};

use super::RequiredProvider;
use super::compile::Compiling;
use super::content::FoundBlock;
use super::relative_address::not_static;

/// The characters of a provider name, for messages.
const PART: &str = "letters, digits and dashes, with no dash at either end and no two in a row";

impl Compiling<'_> {
    /// A `required_providers` block.
    pub(super) fn required_providers(&mut self, block: &FoundBlock) {
        if let Some(first) = &self.requirements {
            let place = format!("{}:{}", first.file, first.start.line);
            self.clash(
                "Duplicate required providers configuration",
                format!("A module may have only one required_providers block; the first is at {place}."),
                &block.range,
            );
        }
        let counts = self.requirements.is_none();
        self.requirements.get_or_insert_with(|| block.range.clone());
        let tree = &block.tree;
        let body = self.arguments(tree, block.body);
        for inner in &body.blocks {
            self.error(
                &format!("Unexpected {:?} block", inner.block_type.text.as_str()),
                "A required_providers block has no nested blocks: each provider is an argument.",
                &tree.range(inner.block_type.span),
            );
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

    /// Whether a local name of a provider is valid. Reports the problem.
    pub(super) fn normalised_provider(&mut self, name: &str, at: &SourceRange) -> bool {
        let detail = if !is_part(name) {
            format!("{name:?} cannot be the local name of a provider: such names are made of {PART}.")
        } else if name.to_lowercase() != name {
            format!("Local names of providers are written in small letters: write {:?}.", name.to_lowercase())
        } else {
            return true;
        };
        self.error("Invalid provider local name", detail, at);
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
            // The legacy form: only a version.
            required.version = self.version_text(value);
            return Some(required);
        }
        let Some(entries) = value.as_map() else {
            self.error(
                "Invalid required_providers object",
                "An entry of required_providers must be an object with source and version, or a version constraint.",
                &value.range(),
            );
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
                    self.error(
                        "Invalid required_providers object",
                        format!(
                            "required_providers objects have source, version and configuration_aliases, not {other:?}."
                        ),
                        &key.range(),
                    );
                }
            }
        }
        sound.then_some(required)
    }

    fn source_text(&mut self, entry: &Expression) -> Option<ProviderSource> {
        let Some(text) = constant_text(entry, false) else {
            self.error("Invalid source", "The source of a provider must be a quoted string.", &entry.range());
            return None;
        };
        match read_source(&text) {
            Ok(source) => Some(source),
            Err((summary, detail)) => {
                self.error(summary, detail, &entry.range());
                None
            }
        }
    }

    /// A literal version constraint.
    pub(super) fn version_text(&mut self, entry: &Expression) -> Option<SmolStr> {
        let text = constant_text(entry, true);
        const SUMMARY: &str = "Invalid version constraint";
        let Some(text) = text else {
            self.error(SUMMARY, "The version must be a quoted string, such as \"~> 1.2\".", &entry.range());
            return None;
        };
        if !is_constraint(&text) {
            self.error(
                SUMMARY,
                format!("{text:?} is no version constraint. Such are \">= 1.2.0\" and \"~> 1.2, != 1.2.3\"."),
                &entry.range(),
            );
            return None;
        }
        Some(text)
    }

    /// A version constraint as a string. In an object other values are not converted.
    fn quoted_version(&mut self, entry: &Expression) -> Option<SmolStr> {
        if constant_text(entry, false).is_none() {
            self.error(
                "Invalid version constraint",
                "The version must be a quoted string, such as \"~> 1.2\".",
                &entry.range(),
            );
            return None;
        }
        self.version_text(entry)
    }

    fn aliases(&mut self, name: &SmolStr, entry: &Expression) -> Option<Vec<Promised>> {
        const SUMMARY: &str = "Invalid configuration_aliases value";
        let Some(items) = entry.as_list() else {
            self.error("Invalid expression", "A static list expression is required.", &entry.range());
            return None;
        };
        let mut found = Vec::new();
        let mut sound = true;
        for item in items {
            let whole = whole_configuration(&item);
            if whole.is_some() && !self.module.settings.experiments.provider_iteration {
                self.error(
                    "Invalid expression",
                    "A single static reference is needed here. A configuration with for_each can be taken as a whole by \
                     modules that say experiments = [provider_iteration] in a language block.",
                    &item.range(),
                );
                sound = false;
                continue;
            }
            if whole.is_none() && item.as_traversal().is_none() {
                self.diagnostics.push(not_static(item.range()));
                sound = false;
                continue;
            }
            let problem = match super::meta::provider_name(whole.as_ref().unwrap_or(&item)) {
                Some((_, None, _)) if whole.is_some() => String::from(
                    "A default configuration is a single instance. Only one with an alias can have for_each, as in \
                     aws.by_region[*].",
                ),
                Some((local, _, None)) if local != *name => {
                    format!("Each entry begins with the local name of the provider: {name:?}, not {local:?}.")
                }
                Some((local_name, alias, None)) => {
                    found.push(Promised { local_name, alias, whole: whole.is_some() });
                    continue;
                }
                _ => String::from(
                    "Each entry is a provider's local name and an alias, such as aws.west, or aws.by_region[*] for a \
                     configuration with for_each and all its instances.",
                ),
            };
            self.error(SUMMARY, problem, &entry.range());
            sound = false;
        }
        sound.then_some(found)
    }
}

/// An entry of `configuration_aliases`.
struct Promised {
    local_name: SmolStr,
    alias: Option<SmolStr>,
    /// Written with `[*]`.
    whole: bool,
}

/// The part before `[*]` in `aws.by_region[*]`; `None` for other expressions.
fn whole_configuration(item: &Expression) -> Option<Expression> {
    let item = item.unquoted().ok().filter(|_| item.tree.syntax() == Syntax::Json).unwrap_or_else(|| item.clone());
    match item.kind() {
        ExprKind::Splat(splat) if splat.full && splat.each == splat.element => Some(item.child(splat.source)),
        _ => None,
    }
}

/// The string of an expression without references. With `converted` other primitive values are converted.
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

/// Whether a text is a valid host name for display, with or without a port. A label has no hyphen at its ends, and not
/// at its third and fourth position: such labels are encoded names.
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

/// Parses a source address. The error is the summary and detail of the problem.
///
/// # Errors
/// The hint for the user.
pub fn read_source(text: &str) -> Result<ProviderSource, (&'static str, String)> {
    const WHOLE: &str = "Invalid provider source string";
    let parts: Vec<&str> = text.split('/').collect();
    if parts.len() > 3 || parts.iter().any(|part| part.is_empty()) {
        return Err((WHOLE, format!("{text:?} is not of the form [hostname/][namespace/]name.")));
    }
    let part = |at: usize| parts.len().checked_sub(at).and_then(|at| parts.get(at)).copied();
    let not = |what: &str, part: &str| format!("The {what} {part:?} in {text:?} is not made of {PART}.");
    let type_name = part(1).unwrap_or_default();
    if !is_part(type_name) {
        return Err(("Invalid provider type", not("type", type_name)));
    }
    for prefix in ["terraform-provider-", "terraform-"] {
        if let Some(rest) = type_name.strip_prefix(prefix) {
            return Err((
                "Invalid provider type",
                format!(
                    "{text:?} has a type that begins with {prefix:?}: that is part of the name of a repository, not \
                     of the \
                     provider. {rest:?} may be meant."
                ),
            ));
        }
    }
    if let Some(namespace) = part(2)
        && namespace != "-"
        && !is_part(namespace)
    {
        return Err(("Invalid provider namespace", not("namespace", namespace)));
    }
    if let Some(host) = part(3)
        && !is_host(host)
    {
        return Err(("Invalid provider source hostname", format!("{host:?} in {text:?} is no host name.")));
    }
    text.parse().map_err(|_| match parts.len() {
        3 => ("Invalid provider source hostname", format!("{:?} in {text:?} is no host name.", parts[0])),
        _ => (WHOLE, format!("{text:?} is not of the form [hostname/][namespace/]name.")),
    })
}
