//! What the program is called: Weft, or the tool that it stands in for when it is started through a link of that name.

use std::ffi::OsStr;
use std::path::Path;

/// The version of OpenTofu whose language, formats and command line these are.
pub const OPENTOFU_VERSION: &str = "1.12.6";
/// The newest version of Terraform with that language.
pub const TERRAFORM_VERSION: &str = "1.12.2";
/// The version of Weft.
pub const WEFT_VERSION: &str = env!("CARGO_PKG_VERSION");

/// A tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Product {
    /// Itself.
    Weft,
    /// OpenTofu.
    OpenTofu,
    /// Terraform.
    Terraform,
}

impl Product {
    /// The one that this process was started as.
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

    /// The first line of `version`. Wrappers take the name before the first number, and the number, for the tool that
    /// they talk to and its version.
    pub fn version_line(self) -> String {
        match self {
            Product::Weft => format!("OpenTofu v{OPENTOFU_VERSION} compatible: Weft v{WEFT_VERSION}"),
            Product::OpenTofu => format!("OpenTofu v{OPENTOFU_VERSION}"),
            Product::Terraform => format!("Terraform v{TERRAFORM_VERSION}"),
        }
    }

    /// The version that wrappers are to go by.
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
    fn links_decide_what_it_is_called() {
        let named = |text: &str| Product::named(OsStr::new(text));
        assert_eq!(named("/usr/local/bin/tofu"), Product::OpenTofu);
        assert_eq!(named("terraform"), Product::Terraform);
        assert_eq!(named("./weft"), Product::Weft);
        assert_eq!(named(""), Product::Weft);
    }
}
