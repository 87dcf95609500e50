//! Numbers with their nouns.

use std::fmt::Display;

/// A number with a noun: `1 result`, `2 results`. `noun` is the singular. Its plural must end with `s`.
pub fn counted<N: Display + PartialEq + From<u8>>(count: N, noun: &str) -> String {
    let ending = if count == N::from(1) { "" } else { "s" };
    format!("{count} {noun}{ending}")
}

#[cfg(test)]
mod tests {
    use super::counted;

    #[test]
    fn only_one_is_followed_by_the_singular() {
        assert_eq!(
            [counted(0_u32, "file"), counted(1_u64, "file"), counted(2_usize, "open file")],
            ["0 files", "1 file", "2 open files"]
        );
    }
}
