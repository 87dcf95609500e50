//! Tests of small records.

mod block;

use std::time::Instant;

use block::*;
use weft_sealing::*;

const STATE_TARGET: TargetName = TargetName::State;

/// The header of a record, which begins at byte 13.
fn header(record: &[u8]) -> &[u8] {
    let length = u32::from_le_bytes(record[9..13].try_into().unwrap()) as usize;
    &record[13..13 + length]
}

fn holds(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

#[test]
fn records_round_trip() {
    let sealing = simple(PASSPHRASE).sealing();
    for plain in [&b""[..], b"x", &[0xc1; 100_000]] {
        let record = sealing.seal_record(&STATE_TARGET, b"aws_x.y", plain).unwrap();
        assert!(is_sealed_record(&record) && !is_sealed(&record));
        assert!(record.len() < plain.len() + 300, "{} bytes beyond the plain text", record.len() - plain.len());
        for sealing in [&sealing, &simple(PASSPHRASE).sealing()] {
            let opened = sealing.open_record(&STATE_TARGET, b"aws_x.y", &record).unwrap();
            assert_eq!((opened.plain.as_slice(), opened.through, opened.outdated), (plain, Through::Main, false));
        }
        let error = simple("not the same words").sealing().open_record(&STATE_TARGET, b"aws_x.y", &record).unwrap_err();
        assert!(matches!(error, OpenError::NoMethodOpens { .. }), "{error}");
        assert!(matches!(
            Sealing::default().open_record(&STATE_TARGET, b"aws_x.y", &record).unwrap_err(),
            OpenError::NotConfigured { metadata_keys, .. } if metadata_keys == ["key_provider.pbkdf2.main"]
        ));
    }
}

#[test]
fn a_record_opens_only_in_its_own_place() {
    let sealing = simple(PASSPHRASE).sealing();
    let record = sealing.seal_record(&STATE_TARGET, b"aws_x.y", b"plain").unwrap();
    for elsewhere in [&b""[..], b"aws_x.z", b"aws_x.y ", b"aws_x."] {
        let error = sealing.open_record(&STATE_TARGET, elsewhere, &record).unwrap_err();
        assert_eq!(error, OpenError::Record { target: STATE_TARGET, error: RecordError::Changed });
    }
}

#[test]
fn a_changed_byte_of_a_record_is_detected() {
    let sealing = simple(PASSPHRASE).sealing();
    let record = sealing.seal_record(&STATE_TARGET, b"key", b"plain").unwrap();
    let wrapped = 13 + header(&record).len() - 79;
    // Each changed salt costs a derivation, so only a part of the metadata is tested.
    let positions = (0..14).chain((14..wrapped).step_by(16)).chain(wrapped..record.len());
    for position in positions {
        let mut changed = record.clone();
        changed[position] ^= 1;
        assert!(sealing.open_record(&STATE_TARGET, b"key", &changed).is_err(), "byte {position}");
    }
    for length in 0..record.len() {
        assert!(sealing.open_record(&STATE_TARGET, b"key", &record[..length]).is_err(), "{length} bytes");
    }
    let mut newer = record.clone();
    newer[8] = 2;
    let error = sealing.open_record(&STATE_TARGET, b"key", &newer).unwrap_err();
    assert_eq!(error, OpenError::Record { target: STATE_TARGET, error: RecordError::Version { version: 2 } });
}

#[test]
fn records_and_files_cannot_be_confused() {
    let sealing = simple(PASSPHRASE).sealing();
    let record = sealing.seal_record(&STATE_TARGET, b"", b"plain").unwrap();
    assert!(sealing.open_plan(&record).is_err() && sealing.open_state(&record).is_err());
    let plan = sealing.seal_plan(b"PK").unwrap();
    assert!(sealing.open_record(&TargetName::Plan, b"", &plan).is_err());
}

#[test]
fn many_records_cost_one_derivation() {
    let one = simple(PASSPHRASE).sealing();
    let begun = Instant::now();
    let records: Vec<Vec<u8>> = (0..20_000_u32)
        .map(|index| one.seal_record(&STATE_TARGET, &index.to_le_bytes(), b"plain text of a record").unwrap())
        .collect();
    let other = simple(PASSPHRASE).sealing();
    for (index, record) in (0_u32..).zip(&records) {
        assert!(other.open_record(&STATE_TARGET, &index.to_le_bytes(), record).is_ok());
    }
    assert!(begun.elapsed().as_secs() < 10, "{:?}", begun.elapsed());
}

#[test]
fn a_reader_of_records_writes_with_their_salt() {
    let first = simple(PASSPHRASE).sealing();
    let old = first.seal_record(&STATE_TARGET, b"a", b"old").unwrap();
    let second = simple(PASSPHRASE).sealing();
    second.open_record(&STATE_TARGET, b"a", &old).unwrap();
    let new = second.seal_record(&STATE_TARGET, b"b", b"new").unwrap();
    // The metadata is the same, but the record key differs.
    let metadata = |record: &[u8]| header(record)[..header(record).len() - 79].to_vec();
    assert_eq!(metadata(&new), metadata(&old));
    assert_ne!(header(&new), header(&old));
    assert!(first.open_record(&STATE_TARGET, b"b", &new).is_ok());
    // Each process still uses its own salt for states.
    let state = second.seal_state(STATE).unwrap();
    let salt = block::metadata(&state)["key_provider.pbkdf2.main"]["salt"].as_str().unwrap().to_owned();
    assert!(!holds(&old, salt.as_bytes()));
    // A key that other settings have made is not adopted.
    let mut block = simple(PASSPHRASE);
    if let KeySource::Pbkdf2(main) = &mut block.0.key_providers.get_mut(&provider("pbkdf2.main")).unwrap().source {
        main.iterations = 200_001;
    }
    let third = block.sealing();
    third.open_record(&STATE_TARGET, b"a", &old).unwrap();
    let new = third.seal_record(&STATE_TARGET, b"c", b"new").unwrap();
    assert!(holds(&new, b"\"iterations\":200001") && metadata(&new) != metadata(&old));
}

#[test]
fn records_are_migrated_like_states() {
    let old = simple(PASSPHRASE).sealing().seal_record(&STATE_TARGET, b"k", b"plain").unwrap();
    let block = simple(PASSPHRASE).words("pbkdf2.new", "the new words of all").aes("aes_gcm.new", "pbkdf2.new");
    let sealing = block.unencrypted().both(&["aes_gcm.new", "aes_gcm.main", "unencrypted.none"]).sealing();
    let how = |bytes: &[u8]| {
        let opened = sealing.open_record(&STATE_TARGET, b"k", bytes).unwrap();
        assert_eq!(opened.plain.as_slice(), b"plain");
        (opened.through, opened.outdated)
    };
    assert_eq!(how(&old), (Through::Fallback(0), true));
    assert_eq!(how(b"plain"), (Through::Plain, true));
    let new = sealing.seal_record(&STATE_TARGET, b"k", b"plain").unwrap();
    assert!(holds(&new, b"key_provider.pbkdf2.new"));
    assert_eq!(how(&new), (Through::Main, false));
    let error = sealing.seal_record(&STATE_TARGET, b"k", &new).unwrap_err();
    assert_eq!(error, SealError::AlreadySealed { target: STATE_TARGET });
    for passing in [Sealing::default(), simple(PASSPHRASE).unencrypted().both(&["unencrypted.none"]).sealing()] {
        assert_eq!(passing.seal_record(&STATE_TARGET, b"k", b"plain").unwrap(), b"plain");
        assert_eq!(passing.open_record(&STATE_TARGET, b"k", b"plain").unwrap().through, Through::Plain);
    }
}
