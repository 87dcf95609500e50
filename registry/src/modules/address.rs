//! Addresses of packages: `[WAY::]URL[?QUERY]`.

use url::Url;
use weft_graph_format::module_source::{query_pairs, split_forced};

use super::FetchError;

/// A parsed address of a package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackageAddress {
    /// The method of fetching: the text before `::`, or the scheme of the URL.
    pub way: String,
    /// The URL without its query.
    pub base: String,
    /// The names and values of the query.
    pub query: Vec<(String, String)>,
}

/// The names of query arguments with secret values.
const SECRETS: [&str; 2] = ["sshkey", "aws_access_key_secret"];

impl PackageAddress {
    /// Parses an address.
    ///
    /// # Errors
    /// Returns an error if the address has no scheme, or if its query cannot be parsed.
    pub fn parse(text: &str) -> Result<PackageAddress, FetchError> {
        let wrong = || FetchError::Address(shown(text));
        let (forced, url) = split_forced(text);
        let (base, query) = url.split_once('?').map_or((url, ""), |(base, query)| (base, query));
        let (scheme, _) = base.split_once(':').ok_or_else(wrong)?;
        let way = forced.unwrap_or(scheme).to_ascii_lowercase();
        Ok(PackageAddress { way, base: base.to_owned(), query: query_pairs(query).ok_or_else(wrong)? })
    }

    /// Removes an argument from the query. Returns its first value, if that is not empty.
    pub fn take(&mut self, name: &str) -> Option<String> {
        let found = self.query.iter().find(|(given, _)| given == name).map(|(_, value)| value.clone());
        self.query.retain(|(given, _)| given != name);
        found.filter(|value| !value.is_empty())
    }

    /// The URL with the remaining arguments of the query.
    ///
    /// # Errors
    /// Returns an error if the URL is not valid.
    pub fn url(&self) -> Result<Url, FetchError> {
        let mut url = Url::parse(&self.base).map_err(|_| FetchError::Address(shown(&self.base)))?;
        if !self.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&self.query);
        }
        Ok(url)
    }

    /// The URL as written, with the remaining arguments of the query.
    pub fn text(&self) -> String {
        if self.query.is_empty() {
            return self.base.clone();
        }
        let query = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(&self.query).finish();
        format!("{}?{query}", self.base)
    }
}

/// An address for messages: without passwords and keys.
pub fn shown(text: &str) -> String {
    let (address, query) = text.split_once('?').map_or((text, None), |(address, query)| (address, Some(query)));
    let mut out = match address.split_once("://") {
        Some((scheme, rest)) => {
            let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            match authority.rsplit_once('@').map(|(user, host)| (user.split_once(':'), host)) {
                Some((Some((user, _)), host)) => format!("{scheme}://{user}:(hidden)@{host}{path}"),
                _ => address.to_owned(),
            }
        }
        None => address.to_owned(),
    };
    if let Some(query) = query {
        let pairs = query.split('&').map(|pair| match pair.split_once('=') {
            Some((name, _)) if SECRETS.contains(&name) => format!("{name}=(hidden)"),
            _ => pair.to_owned(),
        });
        out.push('?');
        out.push_str(&pairs.collect::<Vec<_>>().join("&"));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_getter_and_arguments() {
        let mut address = PackageAddress::parse("git::https://h.org/r.git?ref=v%2F1&depth=1&x=y").unwrap();
        assert_eq!((address.way.as_str(), address.base.as_str()), ("git", "https://h.org/r.git"));
        assert_eq!(address.take("ref").as_deref(), Some("v/1"));
        assert_eq!(address.take("depth").as_deref(), Some("1"));
        assert_eq!(address.take("depth"), None);
        assert_eq!(address.text(), "https://h.org/r.git?x=y");
        assert_eq!(PackageAddress::parse("HTTPS://h.org/a.zip").unwrap().way, "https");
        assert!(PackageAddress::parse("no-scheme").is_err());
        assert!(PackageAddress::parse("https://h.org/?a=%zz").is_err());
    }

    #[test]
    fn secrets_are_hidden() {
        for (text, wanted) in [
            ("https://u:p@h.org/a?x=1", "https://u:(hidden)@h.org/a?x=1"),
            ("git::ssh://git@h.org/a?sshkey=abc&ref=1", "git::ssh://git@h.org/a?sshkey=(hidden)&ref=1"),
            ("/a/b", "/a/b"),
        ] {
            assert_eq!(shown(text), wanted);
        }
    }
}
