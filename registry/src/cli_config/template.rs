//! Names of repositories with placeholders for parts of a provider's address: `example.com/${namespace}/${type}`.

use weft_graph_format::address::ProviderSource;

/// A parsed template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepositoryTemplate(Vec<TemplateSegment>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum TemplateSegment {
    Text(String),
    Host,
    Namespace,
    Type,
}

/// Why a string is not a template.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// A placeholder that is not a part of an address.
    #[error("\"${{{0}}}\" is not one of ${{hostname}}, ${{namespace}} and ${{type}}")]
    Unknown(String),
    /// A placeholder without a closing brace.
    #[error("a \"${{\" is not closed")]
    Open,
    /// A part that is missing. Without it, different providers would share a repository.
    #[error("the template must contain ${{{0}}}, because it applies to providers that differ in their {0}")]
    Missing(&'static str),
}

impl RepositoryTemplate {
    /// Parses a template. `$${` stands for `${`.
    ///
    /// # Errors
    /// Returns an error if a placeholder is not valid.
    pub fn parse(text: &str) -> Result<RepositoryTemplate, TemplateError> {
        let mut parts = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some(at) = rest.find("${") {
            if rest[..at].ends_with('$') {
                plain.push_str(&rest[..at - 1]);
                plain.push_str("${");
                rest = &rest[at + 2..];
                continue;
            }
            plain.push_str(&rest[..at]);
            let end = rest[at..].find('}').ok_or(TemplateError::Open)? + at;
            let part = match rest[at + 2..end].trim() {
                "hostname" => TemplateSegment::Host,
                "namespace" => TemplateSegment::Namespace,
                "type" => TemplateSegment::Type,
                other => return Err(TemplateError::Unknown(other.to_owned())),
            };
            if !plain.is_empty() {
                parts.push(TemplateSegment::Text(std::mem::take(&mut plain)));
            }
            parts.push(part);
            rest = &rest[end + 1..];
        }
        plain.push_str(rest);
        if !plain.is_empty() {
            parts.push(TemplateSegment::Text(plain));
        }
        Ok(RepositoryTemplate(parts))
    }

    /// Checks that providers have different repositories if they differ in a part for which the patterns have a
    /// wildcard. `host`, `namespace` and `type_name` say which parts have a wildcard.
    ///
    /// # Errors
    /// Returns an error if two such providers would share a repository.
    pub fn check(&self, host: bool, namespace: bool, type_name: bool) -> Result<(), TemplateError> {
        let parts = [
            (host, TemplateSegment::Host, "hostname"),
            (namespace, TemplateSegment::Namespace, "namespace"),
            (type_name, TemplateSegment::Type, "type"),
        ];
        match parts.into_iter().find(|(open, part, _)| *open && !self.0.contains(part)) {
            Some((_, _, name)) => Err(TemplateError::Missing(name)),
            None => Ok(()),
        }
    }

    /// The name of the repository of a provider.
    pub fn expand(&self, source: &ProviderSource) -> String {
        let part = |part: &TemplateSegment| match part {
            TemplateSegment::Text(text) => text.clone(),
            TemplateSegment::Host => source.host.to_string(),
            TemplateSegment::Namespace => source.namespace.to_string(),
            TemplateSegment::Type => source.type_name.to_string(),
        };
        self.0.iter().map(part).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_contain_parts_of_addresses() {
        let source = weft_providers::source::parse("x.test/acme/lab").unwrap();
        let template = RepositoryTemplate::parse("oci.test/p/${ hostname }/${namespace}/${type}-$${x}").unwrap();
        assert_eq!(template.expand(&source), "oci.test/p/x.test/acme/lab-${x}");
        assert!(template.check(true, true, true).is_ok());
        assert!(RepositoryTemplate::parse("${other}").is_err() && RepositoryTemplate::parse("${type").is_err());
        let fixed = RepositoryTemplate::parse("oci.test/${type}").unwrap();
        assert_eq!(fixed.check(true, false, true), Err(TemplateError::Missing("hostname")));
    }
}
