//! The state when a term began. It is in the name of the write-ahead file, where earlier versions ignore it.

use std::fmt;
use std::path::Path;

/// The mark before the serial.
const FROM: &str = ".from-";
/// The mark of a state with a copy.
const COPIED: &str = "-copied";

/// The state when a term began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Origin {
    /// The serial: 0 if nothing had been written to the state.
    pub(super) serial: u64,
    /// Whether the state has a second copy.
    pub(super) copied: bool,
}

impl Origin {
    /// The origin in the name of a file. A file of an earlier version has none, and counts as the file of a new state.
    pub(super) fn of(path: &Path) -> Origin {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let Some((_, mark)) = name.rsplit_once(FROM) else { return Origin::default() };
        let (serial, copied) = match mark.strip_suffix(COPIED) {
            Some(serial) => (serial, true),
            None => (mark, false),
        };
        Origin { serial: serial.parse().unwrap_or_default(), copied }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{FROM}{}{}", self.serial, if self.copied { COPIED } else { "" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_its_origin() {
        for origin in [Origin { serial: 0, copied: false }, Origin { serial: 17, copied: true }] {
            assert_eq!(Origin::of(Path::new(&format!("weft/ahead-0123-abc{origin}"))), origin);
        }
        assert_eq!(Origin::of(Path::new("weft/ahead-0123-abc")), Origin::default());
    }
}
