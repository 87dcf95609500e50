//! Tables of import ids, by which planned objects can be found.
//!
//! A table belongs to one or more provider sources. A line contains a type and the import id of its objects, with
//! planned attributes in braces. Each line is a promise about the type: the plan determines each part of the id, and at
//! most one object has the id at any time. `tests/aws/lookups` checks the lines for AWS with the provider itself.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::address::ProviderSource;

/// The tables by provider source. A provider of the same name in another registry is a different provider.
const TABLES: &[(&[&str], &str)] = &[
    (
        &["registry.opentofu.org/hashicorp/aws", "registry.terraform.io/hashicorp/aws"],
        include_str!("lookups/hashicorp_aws.toml"),
    ),
    // The simulated cloud of the tests. No registry has the host `weft.test`.
    (&["weft.test/sim/cloud"], include_str!("lookups/sim_cloud.toml")),
];

/// The import ids of a provider's types: templates, with names of attributes in braces.
pub type LookupTable = BTreeMap<&'static str, &'static str>;

static BY_SOURCE: LazyLock<BTreeMap<&str, LookupTable>> = LazyLock::new(|| {
    let tables = TABLES.iter().flat_map(|(sources, text)| sources.iter().map(move |source| (*source, table(text))));
    tables.collect()
});

/// The table of a provider, if there is one.
pub fn lookup_table(source: &ProviderSource) -> Option<&'static LookupTable> {
    BY_SOURCE.get(source.to_string().as_str())
}

/// Parses lines of the form `type = "template"`. Comments begin with `#`. `text` is part of the program, and a test
/// parses every line.
fn table(text: &'static str) -> LookupTable {
    text.lines().filter_map(entry).collect()
}

fn entry(line: &'static str) -> Option<(&'static str, &'static str)> {
    let (name, template) = line.split_once('=')?;
    let template = template.trim().strip_prefix('"')?.strip_suffix('"')?;
    Some((name.trim(), template)).filter(|(name, _)| !name.starts_with('#'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_an_entry_or_a_comment() {
        for (sources, text) in TABLES {
            let entries = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
            let count = entries.inspect(|line| assert!(entry(line).is_some(), "{sources:?}: {line}")).count();
            let table = table(text);
            assert_eq!(table.len(), count, "{sources:?}: a type has two entries");
            for (name, template) in table {
                let parts: Vec<&str> = template.split('{').skip(1).collect();
                let closed = |part: &&str| part.split_once('}').is_some_and(|(name, _)| !name.is_empty());
                assert!(!parts.is_empty() && parts.iter().all(closed), "{name}: {template}");
            }
        }
    }

    #[test]
    fn a_type_is_found_by_the_whole_source_of_its_provider() {
        let source =
            |host: &str| ProviderSource { host: host.into(), namespace: "hashicorp".into(), type_name: "aws".into() };
        let template = |host: &str, kind: &str| lookup_table(&source(host)).and_then(|table| table.get(kind).copied());
        assert_eq!(template("registry.terraform.io", "aws_s3_bucket"), Some("{bucket}"));
        assert_eq!(template("registry.opentofu.org", "aws_s3_bucket"), Some("{bucket}"));
        assert_eq!(template("registry.example.com", "aws_s3_bucket"), None);
        assert_eq!(template("registry.terraform.io", "aws_instance"), None);
    }
}
