//! A complaint without secrets. A shell script under `set -x` prints all that it reads.

/// What takes the place of a secret.
const HIDDEN: &str = "(secret)";

/// Shortest word that may be a secret, or the rest of one that was cut off. The shortest key has 22 characters.
const SHORTEST: usize = 10;

/// Most words that are looked for: secrets may have gigabytes. Further ones are hidden unseen.
const MOST_WORDS: usize = 128;

/// A text in which each word of base64 that is found in one of the secrets is hidden. Control characters, which could
/// steer a terminal, are dropped.
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

/// Whether a word has something of the secret: some piece of it, since a secret may be glued to other letters. Cut into
/// pieces of the shortest length, a word that holds a whole key has a piece of nothing else.
fn shares_piece(word: &str, secret: &str) -> bool {
    if word.len() < 2 * SHORTEST {
        return secret.contains(word);
    }
    // The word is ASCII: any cut is between characters.
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
