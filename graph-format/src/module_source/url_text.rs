//! URLs as text: their syntax, and the escapes of their parts (RFC 3986).

/// Whether a text is a URL with a scheme and a valid address. The query is not checked.
pub(super) fn is_url(text: &str) -> bool {
    if text.bytes().any(|b| b < 0x20 || b == 0x7f) {
        return false;
    }
    let text = text.split('#').next().unwrap_or(text);
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    let mut letters = scheme.bytes();
    let begins = letters.next().is_some_and(|b| b.is_ascii_alphabetic());
    if !begins || !letters.all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b)) {
        return false;
    }
    let rest = rest.split('?').next().unwrap_or(rest);
    let Some(after) = rest.strip_prefix("//") else { return escapes_are_whole(rest) };
    let (authority, path) = after.split_at(after.find('/').unwrap_or(after.len()));
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let name_end = if host.starts_with('[') { host.find(']').map_or(host.len(), |end| end + 1) } else { 0 };
    let port = host[name_end..].rsplit_once(':').map(|(_, port)| port);
    port.is_none_or(|port| port.bytes().all(|b| b.is_ascii_digit()))
        && !authority.bytes().any(|b| b" <>\"\\^`{|}".contains(&b))
        && escapes_are_whole(authority)
        && escapes_are_whole(path)
}

/// Whether two hexadecimal digits follow each `%`.
fn escapes_are_whole(text: &str) -> bool {
    text.split('%').skip(1).all(|after| {
        let bytes = after.as_bytes();
        bytes.len() >= 2 && bytes[..2].iter().all(u8::is_ascii_hexdigit)
    })
}

fn escape(text: &str, plain: &[u8], out: &mut String) {
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) || plain.contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
}

/// Escapes a path where that is necessary.
pub(super) fn encode_path(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    escape(path, b"$&+,/:;=@", &mut out);
    out
}

/// Encodes names and values as a query, sorted by name.
pub(super) fn encode_query(mut pairs: Vec<(String, String)>) -> String {
    pairs.sort_by(|a, b| a.0.cmp(&b.0));
    let mut out = String::new();
    for (name, value) in &pairs {
        if !out.is_empty() {
            out.push('&');
        }
        escape(name, b" ", &mut out);
        out.push('=');
        escape(value, b" ", &mut out);
    }
    out.replace(' ', "+")
}

/// The names and values of a query; `None` if an escape is invalid.
pub fn query_pairs(query: &str) -> Option<Vec<(String, String)>> {
    let plain = |text: &str| decode(&text.replace('+', " "));
    let pairs = query.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        Some((plain(name)?, plain(value)?))
    });
    pairs.collect()
}

/// Decodes escapes; `None` if one is invalid or the result is not UTF-8.
pub fn decode(text: &str) -> Option<String> {
    if !escapes_are_whole(text) {
        return None;
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        if *first == b'%' {
            let digits = std::str::from_utf8(after.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = after.get(2..)?;
        } else {
            bytes.push(*first);
            rest = after;
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_recognized() {
        for text in ["https://h.org/x", "git+ssh://h", "file:///x", "a:b", "https://u:p@[::1]:80/x?y=%zz", "h.org:x/y"]
        {
            assert!(is_url(text), "{text}");
        }
        for text in ["x/y", "git@h.org:x", ":x", "1a:b", "https://h:x/", "https://a b/", "https://h/%4", "a\n:b"] {
            assert!(!is_url(text), "{text}");
        }
    }

    #[test]
    fn queries_are_decoded_and_encoded() {
        let pairs = query_pairs("b=1+2&a=%2F&c").unwrap();
        assert_eq!(encode_query(pairs), "a=%2F&b=1+2&c=");
        assert_eq!(query_pairs("a=%x"), None);
        assert_eq!(decode("%C3%A4%2b").as_deref(), Some("ä+"));
        assert_eq!(decode("%ff"), None);
        assert_eq!(encode_path("a b/ä"), "a%20b/%C3%A4");
    }
}
