//! The name of the program: Weft, or OpenTofu or Terraform if a link with such a name started the process.

use std::ffi::OsStr;
use std::path::Path;

/// The version of OpenTofu that Weft is compatible with.
pub const OPENTOFU_VERSION: &str = "1.12.6";
/// The newest version of Terraform with the supported language.
pub const TERRAFORM_VERSION: &str = "1.12.2";
/// The version of Weft.
pub const WEFT_VERSION: &str = env!("CARGO_PKG_VERSION");

/// The commit of the sources, if it is known: `scripts/package` sets `WEFT_COMMIT`, and `build.rs` sets it for other
/// release builds from a git checkout.
pub const COMMIT: Option<&str> = option_env!("WEFT_COMMIT");

/// The tool that the name of the program stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Product {
    /// Weft itself.
    Weft,
    /// OpenTofu.
    OpenTofu,
    /// Terraform.
    Terraform,
}

impl Product {
    /// The tool that the name of this process stands for.
    pub fn of_process() -> Product {
        std::env::args_os().next().map_or(Product::Weft, |program| Product::named(&program))
    }

    fn named(program: &OsStr) -> Product {
        match Path::new(program).file_stem().and_then(OsStr::to_str) {
            Some("tofu" | "opentofu") => Product::OpenTofu,
            Some("terraform") => Product::Terraform,
            _ => Product::Weft,
        }
    }

    /// The first line of `version`. Wrappers read the name before the first number as the tool, and the number as the
    /// version of the tool.
    pub fn version_line(self) -> String {
        match self {
            Product::Weft => format!("OpenTofu v{OPENTOFU_VERSION} compatible: Weft v{WEFT_VERSION}"),
            Product::OpenTofu => format!("OpenTofu v{OPENTOFU_VERSION}"),
            Product::Terraform => format!("Terraform v{TERRAFORM_VERSION}"),
        }
    }

    /// The version that wrappers expect.
    pub fn version(self) -> &'static str {
        match self {
            Product::Weft | Product::OpenTofu => OPENTOFU_VERSION,
            Product::Terraform => TERRAFORM_VERSION,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_decides_the_name() {
        let named = |text: &str| Product::named(OsStr::new(text));
        assert_eq!(named("/usr/local/bin/tofu"), Product::OpenTofu);
        assert_eq!(named("terraform"), Product::Terraform);
        assert_eq!(named("./weft"), Product::Weft);
        assert_eq!(named(""), Product::Weft);
    }
}
