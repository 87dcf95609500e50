//! Valid archives, and many invalid ones.

use std::fs;
use std::io::Write as _;

use ::zip::ZipWriter;
use ::zip::write::SimpleFileOptions;

use super::*;
use crate::checksum;

fn archive(folder: &Path, entries: &[(&str, &str, u32)]) -> PathBuf {
    let path = folder.join("package.zip");
    let mut zip = ZipWriter::new(File::create(&path).unwrap());
    for (name, text, mode) in entries {
        zip.start_file(*name, SimpleFileOptions::default().unix_permissions(*mode)).unwrap();
        zip.write_all(text.as_bytes()).unwrap();
    }
    zip.finish().unwrap();
    path
}

#[test]
fn unpacked_and_packed_have_the_same_checksum() {
    let folder = tempfile::tempdir().unwrap();
    let entries = [("terraform-provider-x_v1.0.0", "program", 0o644), ("docs/LICENSE", "text", 0o644)];
    let path = archive(folder.path(), &entries);
    let target = tempfile::tempdir().unwrap();
    unpack(&path, target.path()).unwrap();
    assert_eq!(super::checksum(&path).unwrap(), checksum::of_directory(target.path()).unwrap());
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = |name: &str| fs::metadata(target.path().join(name)).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(entries[0].0), mode(entries[1].0)), (0o755, 0o644));
    }
    let again = folder.path().join("again.zip");
    pack(target.path(), &again).unwrap();
    assert_eq!(super::checksum(&again).unwrap(), super::checksum(&path).unwrap());
}

#[test]
fn names_that_lead_out_are_refused() {
    for name in ["../out", "a/../../out", "/etc/out", "a\\..\\..\\out", "a/../b"] {
        let folder = tempfile::tempdir().unwrap();
        let path = archive(folder.path(), &[(name, "x", 0o644)]);
        let target = folder.path().join("target");
        fs::create_dir_all(&target).unwrap();
        assert!(matches!(unpack(&path, &target), Err(ArchiveError::Escapes { .. })), "{name}");
        assert!(!folder.path().join("out").exists() && !Path::new("/etc/out").exists(), "{name}");
    }
}

#[test]
fn packages_have_no_links() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("link.zip");
    let mut zip = ZipWriter::new(File::create(&path).unwrap());
    zip.add_symlink("link", "LICENSE", SimpleFileOptions::default()).unwrap();
    zip.finish().unwrap();
    let target = tempfile::tempdir().unwrap();
    assert!(matches!(unpack(&path, target.path()), Err(ArchiveError::Link { .. })));
    fs::write(folder.path().join("no.zip"), "no zip").unwrap();
    assert!(matches!(unpack(&folder.path().join("no.zip"), target.path()), Err(ArchiveError::Damaged { .. })));
}

#[test]
fn repeated_and_overlapping_names_are_refused() {
    for entries in [&[("x", "1", 0o644), ("./x", "2", 0o644)][..], &[("x", "1", 0o644), ("x/y", "2", 0o644)][..]] {
        let folder = tempfile::tempdir().unwrap();
        let path = archive(folder.path(), entries);
        let target = tempfile::tempdir().unwrap();
        assert!(unpack(&path, target.path()).is_err(), "{entries:?}");
    }
}

#[test]
fn bombs_stop_at_their_limit() {
    let folder = tempfile::tempdir().unwrap();
    let zeros = vec![0u8; 4 << 20];
    // Far more than 200 times its size, in many files.
    let path = folder.path().join("bomb.zip");
    let mut zip = ZipWriter::new(File::create(&path).unwrap());
    for index in 0..12 {
        zip.start_file(format!("f{index}"), SimpleFileOptions::default()).unwrap();
        zip.write_all(&zeros).unwrap();
    }
    zip.finish().unwrap();
    let target = tempfile::tempdir().unwrap();
    assert!(matches!(unpack(&path, target.path()), Err(ArchiveError::TooLarge { .. })));
    assert!(matches!(super::checksum(&path), Err(ArchiveError::TooLarge { .. })));
    assert!(limits_of(1).bytes == FREE_BYTES && limits_of(u64::MAX).bytes == MAX_UNPACKED);
}
