//! Pages with the address of a module: `<meta name="terraform-get" content="...">` in the page's head.

/// The name of the tag.
const NAME: &str = "terraform-get";

/// The address in the first such tag in a page's head.
pub(super) fn source(page: &str) -> Option<String> {
    let mut rest = page;
    while let Some(start) = rest.find('<') {
        rest = &rest[start + 1..];
        if let Some(comment) = rest.strip_prefix("!--") {
            rest = &comment[comment.find("-->")?..];
            continue;
        }
        let tag = &rest[..tag_end(rest)?];
        let end = tag.find(|c: char| !c.is_ascii_alphanumeric() && c != '/').unwrap_or(tag.len());
        match tag[..end].to_ascii_lowercase().as_str() {
            "body" | "/head" => return None,
            "meta" | "meta/" => {
                let attributes = attributes(&tag[end..]);
                let value = |name: &str| attributes.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, v)| v);
                if value("name").is_some_and(|name| name == NAME)
                    && let Some(content) = value("content").filter(|content| !content.is_empty())
                {
                    return Some(content.clone());
                }
            }
            _ => {}
        }
        rest = &rest[tag.len()..];
    }
    None
}

/// The end of a tag. Ignores `>` in quotes.
fn tag_end(text: &str) -> Option<usize> {
    let mut quote = None;
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (None, '>') => return Some(at),
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), c) if open == c => quote = None,
            _ => {}
        }
    }
    None
}

fn attributes(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((name, after)) = rest.split_once('=') {
        let name = name.trim().rsplit(char::is_whitespace).next().unwrap_or_default().to_owned();
        let after = after.trim_start();
        let (value, next) = match after.chars().next() {
            Some(quote @ ('"' | '\'')) => match after[1..].split_once(quote) {
                Some(parts) => parts,
                None => break,
            },
            _ => after.split_at(after.find(|c: char| c.is_whitespace() || c == '/').unwrap_or(after.len())),
        };
        found.push((name, unescaped(value)));
        rest = next;
    }
    found
}

fn unescaped(text: &str) -> String {
    let pairs = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&apos;", "'"), ("&amp;", "&")];
    pairs.iter().fold(text.to_owned(), |text, (entity, plain)| text.replace(entity, plain))
}

#[cfg(test)]
mod tests {
    use super::source;

    #[test]
    fn a_source_is_found_in_the_head_of_a_page() {
        let of = |page: &str| source(page);
        let found = Some("git::https://h.org/r.git?a=1&b=2".to_owned());
        let meta = r#"<META charset=x><meta content="git::https://h.org/r.git?a=1&amp;b=2" name='terraform-get' />"#;
        assert_eq!(of(&format!("<!DOCTYPE html><html><head><title>a > b</title>{meta}</head>")), found);
        assert_eq!(of(&format!("<head><!-- {meta} --></head>")), None);
        assert_eq!(of(&format!("<head></head><body>{meta}")), None);
        assert_eq!(of("<meta name=\"terraform-get\" content=\""), None);
        assert_eq!(of("<"), None);
        assert_eq!(of(""), None);
    }
}
