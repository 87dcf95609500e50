//! `terraform` and `language` blocks: the requirements of a module.

use super::backend::{backend, cloud, provider_meta};
use super::compiling::Compiling;
use super::content::{BlockRule, ContentRules, FoundBlock};
use super::encryption::encryption;
use super::literal::{literal_string, optional};
use super::problems;
use super::required_version::{RequiredVersion, allows};

/// The content of a `terraform` block.
pub(super) const RULES: ContentRules = ContentRules {
    attributes: &[optional("required_version"), optional("experiments"), optional("language")],
    blocks: &[
        BlockRule { name: "required_providers", labels: &[] },
        BlockRule { name: "backend", labels: &["type"] },
        BlockRule { name: "cloud", labels: &[] },
        BlockRule { name: "provider_meta", labels: &["provider"] },
        BlockRule { name: "encryption", labels: &[] },
    ],
    open: false,
};

const LANGUAGE: ContentRules = ContentRules {
    attributes: &[optional("edition"), optional("experiments")],
    blocks: &[BlockRule { name: "compatible_with", labels: &[] }],
    open: false,
};

/// Reads a `terraform` block.
pub(super) fn terraform(compiling: &mut Compiling<'_>, block: &FoundBlock) {
    let content = compiling.content(block, &RULES);
    for inner in &content.blocks {
        match inner.block_type {
            "required_providers" => compiling.required_providers(inner),
            "backend" => backend(compiling, inner),
            "provider_meta" => provider_meta(compiling, inner),
            "encryption" => encryption(compiling, inner),
            "cloud" => cloud(compiling, inner),
            other => compiling.report(problems::terraform::unsupported_block(other, &inner.range)),
        }
    }
    // In `.tf` files, `required_version` refers to Terraform, not to OpenTofu.
    let own = block.range.file.ends_with(".tofu") || block.range.file.ends_with(".tofu.json");
    if let Some(found) = content.attributes.get("required_version").filter(|_| own) {
        let constraint = found.value.clone();
        compiling.module.settings.required_versions.push(RequiredVersion { constraint, range: found.range.clone() });
    }
}

/// The last version of OpenTofu that does not support `compatible_with`.
const BEFORE_COMPATIBLE_WITH: [u64; 3] = [1, 11, 0];

/// Reads a `language` block.
pub(super) fn language(compiling: &mut Compiling<'_>, block: &FoundBlock) {
    /// The only edition of the language.
    const EDITION: &str = "tofu2024";
    let content = compiling.content(block, &LANGUAGE);
    if let Some(edition) = content.get("edition")
        && edition.as_keyword() != Some(EDITION)
    {
        let problem = match edition.as_keyword() {
            None => problems::terraform::invalid_edition(EDITION, edition.range()),
            Some(_) => problems::terraform::unsupported_edition(EDITION, edition.range()),
        };
        compiling.report(problem);
    }
    if let Some(experiments) = content.get("experiments") {
        compiling.check_experiments(experiments);
    }
    for inner in &content.blocks {
        let tree = &inner.tree;
        if let Some(found) = tree.argument(inner.body, "opentofu") {
            let constraint = tree.expression(found.expression);
            let range = tree.range(found.span);
            if literal_string(&constraint).is_some_and(|text| allows(&text, BEFORE_COMPATIBLE_WITH) == Some(true)) {
                compiling.report(problems::terraform::ineffective_constraint(range.clone()));
            }
            compiling.module.settings.required_versions.push(RequiredVersion { constraint, range });
        }
    }
}
