//! Splits `TF_CLI_ARGS` into words as a shell does.

/// The error for a quote that is not closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a quote is not closed")]
pub struct Unclosed;

/// Splits a text at whitespace. Single and double quotes preserve whitespace. A backslash escapes the next character,
/// except in single quotes.
pub fn split(text: &str) -> Result<Vec<String>, Unclosed> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        match (quote, c) {
            (Some(q), c) if c == q => quote = None,
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None | Some('"'), '\\') => {
                let next = characters.next().ok_or(Unclosed)?;
                word.get_or_insert_default().push(next);
            }
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    if quote.is_some() {
        return Err(Unclosed);
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_and_backslashes_are_unescaped() {
        assert_eq!(split("-a  -b=\"x y\" 'c d'\\ e \"\"").unwrap(), ["-a", "-b=x y", "c d e", ""]);
        assert_eq!(split(""), Ok(vec![]));
        assert_eq!(split("'a"), Err(Unclosed));
        assert_eq!(split("a\\"), Err(Unclosed));
    }
}
