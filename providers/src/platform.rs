//! Operating system and processor, as in the names of packages: `linux_amd64`.

use std::fmt;
use std::str::FromStr;

/// The platform of a package.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Platform {
    /// `linux`, `darwin`, `windows`, ...
    pub os: String,
    /// `amd64`, `arm64`, ...
    pub arch: String,
}

/// A text that is not a platform.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is not a platform: must be two words separated by an underscore")]
pub struct PlatformError(pub String);

impl Platform {
    /// This machine's platform. Go's names differ from Rust's.
    pub fn current() -> Platform {
        let os = match std::env::consts::OS {
            "macos" => "darwin",
            other => other,
        };
        let arch = match std::env::consts::ARCH {
            "x86_64" => "amd64",
            "aarch64" => "arm64",
            "x86" => "386",
            "powerpc64" if cfg!(target_endian = "little") => "ppc64le",
            "powerpc64" => "ppc64",
            "loongarch64" => "loong64",
            other => other,
        };
        Platform { os: os.to_owned(), arch: arch.to_owned() }
    }
}

impl FromStr for Platform {
    type Err = PlatformError;

    fn from_str(text: &str) -> Result<Platform, PlatformError> {
        let word = |w: &str| !w.is_empty() && w.bytes().all(|b| b.is_ascii_alphanumeric());
        match text.split_once('_') {
            Some((os, arch)) if word(os) && word(arch) => Ok(Platform { os: os.to_owned(), arch: arch.to_owned() }),
            _ => Err(PlatformError(text.to_owned())),
        }
    }
}

impl fmt::Display for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}_{}", self.os, self.arch)
    }
}
