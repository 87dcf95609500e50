//! Paths inside packages: parts separated by `/`, without access to a file system.

/// Removes `.`, empty parts, and each `..` together with the part before it. An empty result is `.`. A path that begins
/// with `/` stays below its root.
pub fn clean(path: &str) -> String {
    let rooted = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => drop(parts.pop()),
            ".." if rooted => {}
            part => parts.push(part),
        }
    }
    match (rooted, parts.join("/")) {
        (true, rest) => format!("/{rest}"),
        (false, rest) if rest.is_empty() => ".".to_owned(),
        (false, rest) => rest,
    }
}

/// Joins two paths. An empty path adds nothing.
pub fn join(base: &str, rest: &str) -> String {
    match (base, rest) {
        ("", "") => String::new(),
        ("", only) | (only, "") => clean(only),
        (base, rest) => clean(&format!("{base}/{rest}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redundant_steps_are_removed() {
        for (given, cleaned) in [
            ("", "."),
            (".", "."),
            ("a//b/./c/", "a/b/c"),
            ("a/../..", ".."),
            ("../../a", "../../a"),
            ("a/b/../../c", "c"),
            ("/..", "/"),
            ("/a/../../b", "/b"),
        ] {
            assert_eq!(clean(given), cleaned, "{given}");
        }
        assert_eq!(join("a", "../b"), "b");
        assert_eq!(join("", "b/"), "b");
        assert_eq!(join("", ""), "");
    }
}
