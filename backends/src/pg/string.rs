//! Connection strings: `postgres://...`, or `key=value` pairs. Variables of the environment provide missing values.

use std::collections::BTreeMap;

use crate::arguments::Environment;
use percent_encoding::percent_decode_str;
use url::Url;

/// The variables of libpq, with the key that each of them sets.
const VARIABLES: &[(&str, &str)] = &[
    ("PGHOST", "host"),
    ("PGHOSTADDR", "hostaddr"),
    ("PGPORT", "port"),
    ("PGDATABASE", "dbname"),
    ("PGUSER", "user"),
    ("PGPASSWORD", "password"),
    ("PGPASSFILE", "passfile"),
    ("PGOPTIONS", "options"),
    ("PGAPPNAME", "application_name"),
    ("PGSSLMODE", "sslmode"),
    ("PGSSLCERT", "sslcert"),
    ("PGSSLKEY", "sslkey"),
    ("PGSSLROOTCERT", "sslrootcert"),
    ("PGCONNECT_TIMEOUT", "connect_timeout"),
    ("PGTARGETSESSIONATTRS", "target_session_attrs"),
];

/// Why a connection string is not read. The messages contain no values of the string.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum StringProblem {
    #[error("{0}")]
    Url(url::ParseError),
    #[error("a key has no value")]
    NoValue,
    #[error("a quoted value has no end")]
    NoEnd,
}

/// Parses a connection string. Returns its keys and values. Variables of the environment set missing keys.
///
/// # Errors
/// Returns an error if the text is not valid.
pub(super) fn parse(text: &str, environment: Environment<'_>) -> Result<BTreeMap<String, String>, StringProblem> {
    let mut found = BTreeMap::new();
    for (variable, key) in VARIABLES {
        if let Some(value) = environment(variable).filter(|value| !value.is_empty()) {
            found.insert((*key).to_owned(), value);
        }
    }
    let given = match text.starts_with("postgres://") || text.starts_with("postgresql://") {
        true => of_url(text)?,
        false => of_pairs(text)?,
    };
    found.extend(given);
    Ok(found)
}

fn of_url(text: &str) -> Result<BTreeMap<String, String>, StringProblem> {
    let url = Url::parse(text).map_err(StringProblem::Url)?;
    let decoded = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
    let mut found = BTreeMap::new();
    let mut set = |key: &str, value: String| {
        if !value.is_empty() {
            found.insert(key.to_owned(), value);
        }
    };
    set("host", decoded(url.host_str().unwrap_or_default()).trim_matches(['[', ']']).to_owned());
    set("port", url.port().map(|port| port.to_string()).unwrap_or_default());
    set("user", decoded(url.username()));
    set("password", decoded(url.password().unwrap_or_default()));
    set("dbname", decoded(url.path().trim_start_matches('/')));
    for (key, value) in url.query_pairs() {
        set(&key, value.into_owned());
    }
    Ok(found)
}

/// Parses `key=value` pairs as libpq does: values with spaces are in single quotes, and a backslash escapes the next
/// character.
fn of_pairs(text: &str) -> Result<BTreeMap<String, String>, StringProblem> {
    let mut found = BTreeMap::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let (key, after) = rest.split_once('=').ok_or(StringProblem::NoValue)?;
        let (value, after) = value(after.trim_start())?;
        found.insert(key.trim().to_owned(), value);
        rest = after.trim_start();
    }
    Ok(found)
}

/// The value at the start of a string, and the rest of the string.
fn value(text: &str) -> Result<(String, &str), StringProblem> {
    let quoted = text.starts_with('\'');
    let mut value = String::new();
    let mut characters = text.char_indices().skip(usize::from(quoted));
    while let Some((at, character)) = characters.next() {
        match character {
            '\\' => value.extend(characters.next().map(|(_, next)| next)),
            '\'' if quoted => return Ok((value, &text[at + 1..])),
            space if space.is_whitespace() && !quoted => return Ok((value, &text[at..])),
            other => value.push(other),
        }
    }
    match quoted {
        true => Err(StringProblem::NoEnd),
        false => Ok((value, "")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<(String, String)> {
        parse(text, &|_| None).unwrap().into_iter().collect()
    }

    fn pairs(list: &[(&str, &str)]) -> Vec<(String, String)> {
        list.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn strings_of_both_forms() {
        for (text, want) in [
            ("", vec![]),
            ("host=a  port = 1", vec![("host", "a"), ("port", "1")]),
            (r"password='a b\'c' user=x\ y", vec![("password", "a b'c"), ("user", "x y")]),
            (
                "postgres://u%40v:p%2Fw@h:6000/db?sslmode=disable",
                vec![
                    ("dbname", "db"),
                    ("host", "h"),
                    ("password", "p/w"),
                    ("port", "6000"),
                    ("sslmode", "disable"),
                    ("user", "u@v"),
                ],
            ),
            ("postgresql:///db?host=%2Frun%2Fpg", vec![("dbname", "db"), ("host", "/run/pg")]),
            ("postgres://[::1]/db", vec![("dbname", "db"), ("host", "::1")]),
        ] {
            assert_eq!(read(text), pairs(&want), "{text}");
        }
        for text in ["host", "password='x"] {
            assert!(parse(text, &|_| None).is_err(), "{text}");
        }
    }

    #[test]
    fn the_environment_fills_in() {
        let environment = |name: &str| match name {
            "PGHOST" => Some("a".to_owned()),
            "PGUSER" => Some("ann".to_owned()),
            "PGPORT" => Some(String::new()),
            _ => None,
        };
        let found: Vec<_> = parse("host=b", &environment).unwrap().into_iter().collect();
        assert_eq!(found, pairs(&[("host", "b"), ("user", "ann")]));
    }
}
