//! Names and passwords of hosts in `.netrc`, as curl and git read them.

use std::path::PathBuf;

/// The default file.
const FILE: &str = ".netrc";
/// The maximum size of the file, in bytes.
const LARGEST: u64 = 1 << 20;

/// The name and password for a host.
pub(super) fn login(host: &str) -> Option<(String, String)> {
    let named = std::env::var_os("NETRC").filter(|path| !path.is_empty()).map(PathBuf::from);
    let path = named.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(FILE)))?;
    if std::fs::metadata(&path).ok()?.len() > LARGEST {
        return None;
    }
    find(&std::fs::read_to_string(path).ok()?, host)
}

/// The entry of a host, or else the default entry.
fn find(text: &str, host: &str) -> Option<(String, String)> {
    let mut words = text.lines().map(|line| line.split('#').next().unwrap_or_default()).flat_map(str::split_whitespace);
    let (mut ours, mut name, mut password) = (false, None, None);
    while let Some(word) = words.next() {
        match word {
            "machine" | "default" => {
                if ours {
                    break;
                }
                ours = word == "default" || words.next() == Some(host);
                (name, password) = (None, None);
            }
            "login" => name = words.next(),
            "password" => password = words.next(),
            "account" | "macdef" => drop(words.next()),
            _ => {}
        }
    }
    if ours { Some((name?.to_owned(), password.unwrap_or_default().to_owned())) } else { None }
}

#[cfg(test)]
mod tests {
    use super::find;

    #[test]
    fn credentials_are_found_by_host() {
        let text =
            "machine a.org login me password s1\nmachine b.org\n  login you\n  password s2 # no\ndefault login any";
        let pair = |name: &str, password: &str| Some((name.to_owned(), password.to_owned()));
        assert_eq!(find(text, "a.org"), pair("me", "s1"));
        assert_eq!(find(text, "b.org"), pair("you", "s2"));
        assert_eq!(find(text, "c.org"), pair("any", ""));
        assert_eq!(find("machine a.org login me", "b.org"), None);
    }
}
