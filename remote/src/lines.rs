//! Splits output into lines.

/// The maximum length of a line. Longer output without a line break is split.
const LONGEST_LINE: usize = 64 * 1024;

/// Splits output into lines.
#[derive(Debug, Default)]
pub(crate) struct Lines(Vec<u8>);

impl Lines {
    /// The lines that this piece completes.
    pub(crate) fn add(&mut self, piece: &[u8]) -> Vec<String> {
        let mut found = Vec::new();
        for byte in piece {
            match byte {
                b'\n' => found.extend(self.take()),
                _ => self.0.push(*byte),
            }
            if self.0.len() >= LONGEST_LINE {
                found.extend(self.take());
            }
        }
        found
    }

    /// The last line, if it has no line break.
    pub(crate) fn rest(&mut self) -> Option<String> {
        if self.0.is_empty() { None } else { self.take() }
    }

    fn take(&mut self) -> Option<String> {
        let line = String::from_utf8_lossy(&self.0).trim_end_matches('\r').to_owned();
        self.0.clear();
        Some(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_is_split_at_line_breaks() {
        let mut lines = Lines::default();
        assert_eq!(lines.add(b"one\r\ntw"), ["one"]);
        assert_eq!(lines.add(b"o\n\nthree"), ["two", ""]);
        assert_eq!((lines.rest().as_deref(), lines.rest()), (Some("three"), None));
        let long = vec![b'x'; LONGEST_LINE + 1];
        assert_eq!(lines.add(&long).len(), 1);
        assert_eq!(lines.rest().as_deref(), Some("x"));
    }
}
