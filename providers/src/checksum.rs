//! Checksums of packages: `h1:` of the unpacked files, `zh:` of the distributed archive.
//!
//! `h1` is Go's directory hash: SHA-256 in base64 over one line `HEX  NAME\n` for each file, in the order of the names.
//! An archive and the directory to which it unpacks have the same `h1` checksum.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use aws_lc_rs::digest::{Context, Digest, SHA256};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use data_encoding::HEXLOWER;

/// A checksum in a lock file: `h1:...`, `zh:...`, or of an unknown scheme.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Checksum(String);

/// The text has no scheme.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is not a checksum: it must begin with a scheme, such as \"h1:\"")]
pub struct ChecksumFormatError(pub String);

/// Why a checksum cannot be computed.
#[derive(Debug, thiserror::Error)]
pub enum ChecksumError {
    /// A file or directory cannot be read.
    #[error("cannot read {path}: {error}")]
    Read {
        /// The path.
        path: PathBuf,
        /// The reason.
        error: io::Error,
    },
    /// A file name that cannot be part of the hashed list.
    #[error("the file name {0:?} has a line break or is not UTF-8")]
    Name(PathBuf),
}

impl Checksum {
    /// The scheme: `h1`, `zh`, ...
    pub fn scheme(&self) -> &str {
        self.0.split_once(':').map_or("", |(scheme, _)| scheme)
    }

    /// Whether the scheme is known, so that packages can be compared with it.
    pub fn is_known(&self) -> bool {
        matches!(self.scheme(), "h1" | "zh")
    }

    /// The checksum with its scheme.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The `zh` checksum of an archive with this SHA-256; `None` unless `hex` consists of 64 hexadecimal digits.
    pub fn of_archive_digest(hex: &str) -> Option<Checksum> {
        let sound = hex.len() == 64 && hex.bytes().all(|b| b.is_ascii_hexdigit());
        sound.then(|| Checksum(format!("zh:{}", hex.to_ascii_lowercase())))
    }

    /// The `h1` checksum of files, given with the digests of their contents.
    pub(crate) fn of_files(mut files: Vec<(String, Digest)>) -> Checksum {
        files.sort_by(|(a, _), (b, _)| a.cmp(b));
        let mut lines = Context::new(&SHA256);
        for (name, digest) in &files {
            lines.update(format!("{}  {name}\n", HEXLOWER.encode(digest.as_ref())).as_bytes());
        }
        Checksum(format!("h1:{}", STANDARD.encode(lines.finish())))
    }
}

/// The `h1` checksum of an unpacked package.
pub fn of_directory(directory: &Path) -> Result<Checksum, ChecksumError> {
    let at = |path: &Path| {
        let path = path.to_owned();
        move |error| ChecksumError::Read { path, error }
    };
    let root = directory.canonicalize().map_err(at(directory))?;
    let mut files = Vec::new();
    let mut pending = vec![(root.clone(), String::new())];
    while let Some((folder, prefix)) = pending.pop() {
        for entry in std::fs::read_dir(&folder).map_err(at(&folder))? {
            let entry = entry.map_err(at(&folder))?;
            let path = entry.path();
            let name = entry.file_name();
            let name = name.to_str().filter(|n| !n.contains('\n')).ok_or_else(|| ChecksumError::Name(path.clone()))?;
            let name = format!("{prefix}{name}");
            if entry.file_type().map_err(at(&path))?.is_dir() {
                pending.push((path, format!("{name}/")));
            } else {
                let digest = File::open(&path).and_then(digest).map_err(at(&path))?;
                files.push((name, digest));
            }
        }
    }
    Ok(Checksum::of_files(files))
}

/// The `zh` checksum of an archive.
pub fn of_archive_file(archive: &Path) -> Result<Checksum, ChecksumError> {
    let digest = File::open(archive)
        .and_then(digest)
        .map_err(|error| ChecksumError::Read { path: archive.to_owned(), error })?;
    Ok(Checksum(format!("zh:{}", HEXLOWER.encode(digest.as_ref()))))
}

/// The SHA-256 of a reader's contents.
pub(crate) fn digest(mut from: impl Read) -> io::Result<Digest> {
    let mut context = Context::new(&SHA256);
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return Ok(context.finish()),
            Ok(n) => context.update(&buffer[..n]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

impl FromStr for Checksum {
    type Err = ChecksumFormatError;

    fn from_str(text: &str) -> Result<Checksum, ChecksumFormatError> {
        match text.split_once(':') {
            Some((scheme, rest)) if !scheme.is_empty() && !rest.is_empty() => Ok(Checksum(text.to_owned())),
            _ => Err(ChecksumFormatError(text.to_owned())),
        }
    }
}

impl fmt::Display for Checksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Recorded from OpenTofu's lock file.
    #[test]
    fn the_h1_checksum_of_a_package_is_as_recorded() {
        let folder = tempfile::tempdir().unwrap();
        let text = "#!/bin/sh\n# port/crane 1.0.0 linux_amd64: a package that is installed but never started\nexit 3\n";
        std::fs::write(folder.path().join("terraform-provider-crane_v1.0.0"), text).unwrap();
        let expected = "h1:x1IwOVXgpX8lQauambWBZ9572EMESf54y3JpoQkKwzw=";
        assert_eq!(of_directory(folder.path()).unwrap().as_str(), expected);
    }

    #[test]
    fn names_are_sorted_over_all_folders() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("b")).unwrap();
        std::fs::write(folder.path().join("b/x"), "1").unwrap();
        std::fs::write(folder.path().join("b.txt"), "2").unwrap();
        let by_hand = Checksum::of_files(vec![
            ("b/x".into(), digest(&b"1"[..]).unwrap()),
            ("b.txt".into(), digest(&b"2"[..]).unwrap()),
        ]);
        assert_eq!(of_directory(folder.path()).unwrap(), by_hand);
    }

    #[test]
    fn unknown_schemes_are_kept_and_invalid_checksums_refused() {
        assert!("h1:x".parse::<Checksum>().unwrap().is_known());
        assert!(!"zz:x".parse::<Checksum>().unwrap().is_known());
        for bad in ["", "h1", "h1:", ":x"] {
            assert!(bad.parse::<Checksum>().is_err(), "{bad}");
        }
    }
}
