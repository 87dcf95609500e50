//! Removes secrets from error output. A shell script under `set -x` prints everything that it reads.

/// The text that replaces a secret.
const HIDDEN: &str = "(secret)";

/// The minimum length of a word that may be a secret or a part of a truncated one. The shortest key has 22 characters.
const SHORTEST: usize = 10;

/// The maximum number of words that are compared with the secrets. A secret may have a size of gigabytes, so a
/// comparison is slow. All further words of at least [`SHORTEST`] characters are hidden.
const MOST_WORDS: usize = 128;

/// Hides base64 words of at least [`SHORTEST`] characters. The first [`MOST_WORDS`] of these words are hidden only if
/// they share a piece with a secret, and all later ones are hidden in any case. Removes control characters except line
/// breaks and tabs, because they could control a terminal.
pub(super) fn without(text: &str, secrets: &[&str]) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut looked = 0;
    let mut rest = text;
    while !rest.is_empty() {
        let length = rest.find(|character| !is_base64(character)).unwrap_or(rest.len());
        let (word, behind) = rest.split_at(length);
        let hidden = word.len() >= SHORTEST && {
            looked += 1;
            looked > MOST_WORDS || secrets.iter().any(|secret| shares_piece(word, secret))
        };
        shown.push_str(if hidden { HIDDEN } else { word });
        let mut characters = behind.chars();
        if let Some(character) = characters.next()
            && (!character.is_control() || matches!(character, '\n' | '\t'))
        {
            shown.push(character);
        }
        rest = characters.as_str();
    }
    shown.trim().to_owned()
}

fn is_base64(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '+' | '/')
}

/// Whether a word contains a part of the secret, possibly between other characters. For a short word, the secret must
/// contain the whole word. A word of at least twice the minimum length is cut into pieces of this length, and the
/// secret must contain one of the pieces. If the word contains a whole key, at least one of the pieces consists only of
/// characters of the key.
fn shares_piece(word: &str, secret: &str) -> bool {
    if word.len() < 2 * SHORTEST {
        return secret.contains(word);
    }
    // The word is ASCII, so a slice at any index is valid.
    (0..word.len() / SHORTEST).any(|piece| secret.contains(&word[piece * SHORTEST..(piece + 1) * SHORTEST]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_secrets_are_hidden() {
        let secret = "{\"key\":\"c2VjcmV0IGtleSBvZiBtaW5l\"}";
        for (text, shown) in [
            (" file not found: /etc/keys/one.key \n", "file not found: /etc/keys/one.key"),
            ("+ key=c2VjcmV0IGtleSBvZiBtaW5l\n", "+ key=(secret)"),
            ("got 'c2VjcmV0IGtleSBvZi'", "got '(secret)'"),
            ("xxxc2VjcmV0IGtleSBvZiBtaW5l==", "(secret)=="),
            ("cut off at c2VjcmV0IG", "cut off at (secret)"),
            ("a\u{1b}[31mb\tc", "a[31mb\tc"),
            ("arn:aws:kms:eu-west-1:111122223333:key/1234abcd", "arn:aws:kms:eu-west-1:111122223333:key/1234abcd"),
        ] {
            assert_eq!(without(text, &[secret]), shown);
        }
        let many = "abcdefghijklmnopqrstuvwxyz ".repeat(MOST_WORDS + 2);
        assert!(without(&many, &[]).ends_with("abcdefghijklmnopqrstuvwxyz (secret) (secret)"));
    }
}
