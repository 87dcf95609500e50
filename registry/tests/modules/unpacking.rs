//! Unpacking archives of modules.

use super::*;

fn unpacked(bytes: &[u8], packing: Packing) -> (Result<(), ArchiveError>, tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let (archive, into) = (dir.path().join("archive"), dir.path().join("into"));
    std::fs::write(&archive, bytes).unwrap();
    assert!(matches!(Packing::of_content(&archive), Ok(Some(found)) if found == packing));
    (unpack(&archive, packing, &into), dir, into)
}

#[test]
fn every_packing_is_unpacked() {
    let files = [("main.tf", MAIN), ("d/e/f", "deep"), ("d/link -> e/f", "")];
    let tar = tar(&files);
    for (bytes, packing) in [
        (gzip(&tar), Packing::TarGzip),
        (bzip2(&tar), Packing::TarBzip2),
        (xz(&tar), Packing::TarXz),
        ([gzip(&tar[..512]), gzip(&tar[512..])].concat(), Packing::TarGzip),
    ] {
        let (done, _dir, into) = unpacked(&bytes, packing);
        done.unwrap();
        assert_eq!(std::fs::read_to_string(into.join("main.tf")).unwrap(), MAIN);
        assert_eq!(std::fs::read_to_string(into.join("d/link")).unwrap(), "deep");
    }
    let (done, _dir, into) = unpacked(&zip(&files[..2]), Packing::Zip);
    done.unwrap();
    assert_eq!(std::fs::read_to_string(into.join("d/e/f")).unwrap(), "deep");
}

#[test]
fn hostile_archives_are_refused_and_leave_nothing() {
    let escapes = |error: &ArchiveError| matches!(error, ArchiveError::Escapes(_));
    let link = |error: &ArchiveError| matches!(error, ArchiveError::Link { .. });
    type Kind<'a> = &'a dyn Fn(&ArchiveError) -> bool;
    let cases: &[(&[(&str, &str)], Kind<'_>)] = &[
        (&[("../x", "")], &escapes),
        (&[("/x", "")], &escapes),
        (&[("a/../../x", "")], &escapes),
        (&[("l -> /etc/passwd", "")], &link),
        (&[("l -> ../x", "")], &link),
        (&[("d/up -> ..", ""), ("l -> d/up/../x", "")], &link),
        (&[("l -> d", ""), ("l/f -> g", "")], &|error| matches!(error, ArchiveError::Twice(_))),
        (&[("f", ""), ("f -> g", "")], &|error| matches!(error, ArchiveError::Twice(_))),
    ];
    for (entries, expected) in cases {
        let (done, _dir, into) = unpacked(&gzip(&tar(entries)), Packing::TarGzip);
        let error = done.unwrap_err();
        assert!(expected(&error), "{entries:?}: {error}");
        assert!(!into.exists());
    }
    for name in ["../x", "/x"] {
        let (done, _dir, into) = unpacked(&zip(&[(name, "")]), Packing::Zip);
        assert!(done.is_err() && !into.exists(), "{name}");
    }
    // The file `d/x` is written before the link `d` would be created, so the file is never written through the link.
    let (done, dir, _) = unpacked(&gzip(&tar(&[("d -> ..", ""), ("d/x", "out")])), Packing::TarGzip);
    assert!(done.is_err());
    assert!(!dir.path().join("x").exists());
}

#[test]
fn bombs_are_refused() {
    let zeros = vec![0; 300 << 20];
    let mut header = tar::Header::new_gnu();
    header.set_path("zeros").unwrap();
    header.set_size(zeros.len() as u64);
    header.set_mode(0o644);
    header.set_cksum();
    let bomb = gzip(&[header.as_bytes().as_slice(), &zeros].concat());
    let (done, _dir, into) = unpacked(&bomb, Packing::TarGzip);
    assert!(matches!(done, Err(ArchiveError::TooLarge(_))), "{done:?}");
    assert!(!into.exists());
    // The name of this entry has many megabytes. Such a name is refused, because names are read into memory.
    let mut header = tar::Header::new_gnu();
    header.set_path("././@LongLink").unwrap();
    header.set_entry_type(tar::EntryType::GNULongName);
    header.set_size(zeros.len() as u64);
    header.set_cksum();
    let (done, ..) = unpacked(&gzip(&[header.as_bytes().as_slice(), &zeros].concat()), Packing::TarGzip);
    assert!(matches!(done, Err(ArchiveError::Damaged(_))), "{done:?}");
    let mut builder = tar::Builder::new(flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast()));
    for _ in 0..=MAX_ENTRIES {
        let mut header = tar::Header::new_gnu();
        header.set_path("d").unwrap();
        header.set_entry_type(tar::EntryType::Directory);
        header.set_size(0);
        header.set_cksum();
        builder.append(&header, std::io::empty()).unwrap();
    }
    let bytes = builder.into_inner().unwrap().finish().unwrap();
    let (done, ..) = unpacked(&bytes, Packing::TarGzip);
    assert!(matches!(done, Err(ArchiveError::TooMany)), "{done:?}");
}

#[test]
fn damaged_archives_end_in_errors() {
    let whole = gzip(&tar(&[("main.tf", MAIN), ("d/e", "deep")]));
    for cut in (3..whole.len()).step_by(7) {
        let dir = tempfile::tempdir().unwrap();
        let archive = dir.path().join("a");
        std::fs::write(&archive, &whole[..cut]).unwrap();
        let _ = unpack(&archive, Packing::TarGzip, &dir.path().join("into"));
        for other in [Packing::Zip, Packing::TarXz, Packing::TarBzip2, Packing::SingleFile] {
            assert!(unpack(&archive, other, &dir.path().join("other")).is_err());
        }
    }
}
