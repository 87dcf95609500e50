//! Checksums in addresses: `checksum=sha256:HEX`, `checksum=HEX`, `checksum=file:URL`.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use aws_lc_rs::digest::{Context, SHA1_FOR_LEGACY_USE_ONLY, SHA256, SHA512};
use data_encoding::{HEXLOWER, HEXLOWER_PERMISSIVE};
use md5::Digest as _;

use super::FetchError;

/// The expected checksum of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Checksum {
    kind: Kind,
    value: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Md5,
    Sha1,
    Sha256,
    Sha512,
}

/// The hash functions, with their names and the lengths of their digests in bytes.
const KINDS: [(Kind, &str, usize); 4] =
    [(Kind::Md5, "md5", 16), (Kind::Sha1, "sha1", 20), (Kind::Sha256, "sha256", 32), (Kind::Sha512, "sha512", 64)];

impl Checksum {
    /// Parses `sha256:HEX`, or `HEX`, whose length determines the function.
    pub(super) fn parse(text: &str) -> Result<Checksum, FetchError> {
        let wrong =
            |problem| FetchError::Argument { name: "checksum", value: text.chars().take(200).collect(), problem };
        let (name, digits) = text.split_once(':').map_or((None, text), |(name, digits)| (Some(name), digits));
        let value = HEXLOWER_PERMISSIVE
            .decode(digits.as_bytes())
            .map_err(|_| wrong("a checksum must consist of hexadecimal digits"))?;
        let found = match name {
            Some(name) => KINDS.iter().find(|(_, known, _)| name.eq_ignore_ascii_case(known)),
            None => KINDS.iter().find(|(_, _, length)| *length == value.len()),
        };
        let Some((kind, _, length)) = found else {
            return Err(wrong("the kind of checksum must be md5, sha1, sha256 or sha512"));
        };
        if value.len() != *length {
            return Err(wrong("the number of digits does not match the kind of checksum"));
        }
        Ok(Checksum { kind: *kind, value })
    }

    /// The checksum of a file in a list, which has the format of `sha256sum` or of BSD's `md5`.
    pub(super) fn in_list(list: &str, name: &str) -> Option<Checksum> {
        list.lines().find_map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let (text, of) = match words[..] {
                [kind, file, "=", digits] => {
                    (format!("{kind}:{digits}"), file.strip_prefix('(')?.strip_suffix(')')?.to_owned())
                }
                [digits, file] => (digits.to_owned(), file.trim_start_matches(['*', '?']).to_owned()),
                // The list has a single checksum without a name.
                [digits] => (digits.to_owned(), name.to_owned()),
                _ => return None,
            };
            let of = of.rsplit('/').next().unwrap_or_default().to_owned();
            if of == name { Checksum::parse(&text).ok() } else { None }
        })
    }

    /// Checks that a file has this checksum.
    pub(super) fn check(&self, path: &Path) -> Result<(), FetchError> {
        let found = self.of(path).map_err(FetchError::io(path))?;
        if found == self.value {
            return Ok(());
        }
        let kind = KINDS.iter().find(|(kind, ..)| *kind == self.kind).map_or("", |(_, name, _)| *name);
        Err(FetchError::Checksum { kind, wanted: HEXLOWER.encode(&self.value), found: HEXLOWER.encode(&found) })
    }

    fn of(&self, path: &Path) -> io::Result<Vec<u8>> {
        let mut file = File::open(path)?;
        let mut buffer = vec![0; 1 << 16];
        let mut md5 = md5::Md5::new();
        let mut other = Context::new(match self.kind {
            Kind::Sha512 => &SHA512,
            Kind::Sha1 => &SHA1_FOR_LEGACY_USE_ONLY,
            Kind::Md5 | Kind::Sha256 => &SHA256,
        });
        loop {
            let read = file.read(&mut buffer)?;
            if read == 0 {
                break;
            }
            match self.kind {
                Kind::Md5 => md5.update(&buffer[..read]),
                _ => other.update(&buffer[..read]),
            }
        }
        Ok(match self.kind {
            Kind::Md5 => md5.finalize().to_vec(),
            _ => other.finish().as_ref().to_vec(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_compared_with_checksums() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        std::fs::write(&path, "abc").unwrap();
        let sha256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        for text in [
            "900150983cd24fb0d6963f7d28e17f72",
            "MD5:900150983cd24fb0d6963f7d28e17f72",
            "a9993e364706816aba3e25717850c26c9cd0d89d",
            sha256,
        ] {
            Checksum::parse(text).unwrap().check(&path).unwrap();
        }
        let other = format!("sha256:{}", sha256.replace('b', "c"));
        assert!(matches!(Checksum::parse(&other).unwrap().check(&path), Err(FetchError::Checksum { .. })));
        for text in ["", "xyz", "sha256:00", "crc:00", "00"] {
            assert!(Checksum::parse(text).is_err(), "{text}");
        }
        for list in [
            format!("{sha256}  f\n"),
            format!("00  g\n{sha256} *f\n"),
            format!("SHA256 (d/f) = {sha256}"),
            sha256.to_owned(),
        ] {
            Checksum::in_list(&list, "f").unwrap().check(&path).unwrap();
        }
        assert_eq!(Checksum::in_list(&format!("{sha256}  g"), "f"), None);
    }
}
