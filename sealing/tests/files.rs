//! States and plans: files of OpenTofu, and round trips.

mod block;

use block::*;
use weft_sealing::*;

/// The state of `conformance/cases/workflow/encryption-recorded-state`, which OpenTofu 1.12 wrote.
const RECORDED: &[u8] = include_bytes!("recorded/terraform.tfstate");

#[test]
fn a_state_of_opentofu_opens() {
    assert!(is_sealed(RECORDED));
    let opened = simple(PASSPHRASE).sealing().open_state(RECORDED).unwrap();
    assert_eq!((opened.through, opened.outdated), (Through::Main, false));
    let state = json(&opened.plain);
    assert_eq!(state["lineage"], "a25f9f70-2bbd-2682-821f-6dfce9854a20");
    assert_eq!(state["outputs"]["o"]["value"], "secret words");
    assert_eq!(state["version"], serde_json::json!(4));
    assert!(!is_sealed(&opened.plain));
    assert!(!format!("{opened:?}").contains("secret words"));
}

#[test]
fn files_have_the_form_of_opentofu() {
    let recorded = json(RECORDED);
    let sealing = simple(PASSPHRASE).sealing();
    let plain = sealing.open_state(RECORDED).unwrap().plain;
    let sealed = sealing.seal_state(&plain).unwrap();
    let written = json(&sealed);
    let keys = |value: &serde_json::Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(&written), keys(&recorded));
    assert_eq!(keys(&written["meta"]), keys(&recorded["meta"]));
    for same in ["serial", "lineage", "encryption_version"] {
        assert_eq!(written[same], recorded[same]);
    }
    let (one, other) = (metadata(RECORDED), metadata(&sealed));
    let (one, other) = (&one["key_provider.pbkdf2.main"], &other["key_provider.pbkdf2.main"]);
    assert_eq!(keys(one), keys(other));
    assert_ne!(one["salt"], other["salt"], "each process has its own salt");
    for same in ["iterations", "hash_function", "key_length"] {
        assert_eq!(one[same], other[same]);
    }
    let line_ends = |bytes: &[u8]| bytes.iter().filter(|&&byte| byte == b'\n').count();
    assert_eq!(line_ends(&sealed), line_ends(RECORDED));
    assert_eq!(written["encrypted_data"].as_str().unwrap().len(), recorded["encrypted_data"].as_str().unwrap().len());
}

#[test]
fn states_and_plans_round_trip() {
    let sealing = simple(PASSPHRASE).sealing();
    assert!(sealing.seals(&TargetName::State) && !sealing.seals(&TargetName::DefaultRemoteState));
    let state = sealing.seal_state(STATE).unwrap();
    let plan = sealing.seal_plan(b"PK\x03\x04 any bytes \xff\0").unwrap();
    assert!(is_sealed(&state) && is_sealed(&plan));
    assert!(json(&plan).get("serial").is_none() && json(&plan).get("lineage").is_none());
    assert_eq!(json(&state)["meta"], json(&plan)["meta"], "one key for the life of an instance");
    assert_ne!(sealing.seal_state(STATE).unwrap(), state, "each with a nonce of its own");
    // A second `Sealing` stands for another process.
    for sealing in [sealing, simple(PASSPHRASE).sealing()] {
        assert_eq!(sealing.open_state(&state).unwrap().plain.as_slice(), STATE);
        assert_eq!(sealing.open_plan(&plan).unwrap().plain.as_slice(), b"PK\x03\x04 any bytes \xff\0");
    }
    assert!(sealing_nothing().open_plan(b"PK").unwrap().through == Through::Plain);
}

fn sealing_nothing() -> Sealing {
    Sealing::default()
}

#[test]
fn every_kind_of_settings_round_trips() {
    for (length, hash_function, salt_length) in
        [(16, HashFunction::Sha256, 1), (24, HashFunction::Sha512, 16), (32, HashFunction::Sha256, 1024)]
    {
        let passphrase = Passphrase::Words(Secret::new(PASSPHRASE));
        let settings = Pbkdf2::new(passphrase, length, 200_000, hash_function, salt_length).unwrap();
        let block = Block::new()
            .provider("pbkdf2.main", KeyProvider::new(KeySource::Pbkdf2(settings)))
            .aes_with("aes_gcm.main", "pbkdf2.main", b"bound to this")
            .both(&["aes_gcm.main"]);
        let sealed = block.sealing().seal_state(STATE).unwrap();
        let own = &metadata(&sealed)["key_provider.pbkdf2.main"];
        assert_eq!(own["hash_function"], hash_function.word());
        assert_eq!(block.sealing().open_state(&sealed).unwrap().plain.as_slice(), STATE);
        // Everything about a key except the passphrase comes from the metadata.
        let error = simple(PASSPHRASE).sealing().open_state(&sealed).unwrap_err();
        assert_eq!(attempts(&error), [MethodError::Wrong], "without the additional data");
    }
}

fn attempts(error: &OpenError) -> Vec<MethodError> {
    let OpenError::NoMethodOpens { attempts, .. } = error else { panic!("{error}") };
    attempts.iter().map(|attempt| attempt.error.clone()).collect()
}

#[test]
fn another_passphrase_opens_nothing() {
    let error = simple("not the same words").sealing().open_state(RECORDED).unwrap_err();
    let OpenError::NoMethodOpens { target: TargetName::State, attempts, metadata_keys } = &error else {
        panic!("{error}")
    };
    assert_eq!(attempts, &[FailedMethod { method: method("aes_gcm.main"), error: MethodError::Wrong }]);
    assert_eq!(metadata_keys, &["key_provider.pbkdf2.main"]);
    let text = error.to_string();
    assert!(text.contains("method.aes_gcm.main: ") && !text.contains("the same words"), "{text}");
}

#[test]
fn a_key_provider_of_another_name_opens_nothing() {
    let block = Block::new().words("pbkdf2.other", PASSPHRASE).aes("aes_gcm.main", "pbkdf2.other");
    let error = block.both(&["aes_gcm.main"]).sealing().open_state(RECORDED).unwrap_err();
    let key = "key_provider.pbkdf2.other".to_owned();
    let missing = KeyError::NoMetadata { provider: provider("pbkdf2.other"), key };
    assert_eq!(attempts(&error), [MethodError::Key(missing)]);
}

#[test]
fn an_alias_replaces_the_name() {
    let named = |name: &str| {
        let block = Block::new().words(name, PASSPHRASE).alias(name, "certificates").aes("aes_gcm.main", name);
        block.both(&["aes_gcm.main"]).sealing()
    };
    let sealed = named("pbkdf2.one").seal_state(STATE).unwrap();
    assert_eq!(metadata(&sealed).keys().collect::<Vec<_>>(), ["certificates"]);
    assert_eq!(named("pbkdf2.renamed").open_state(&sealed).unwrap().plain.as_slice(), STATE);
    let aliased = simple(PASSPHRASE).alias("pbkdf2.main", "key_provider.pbkdf2.main");
    assert!(aliased.sealing().open_state(RECORDED).is_ok());
    let empty = simple(PASSPHRASE).alias("pbkdf2.main", "");
    assert!(empty.sealing().open_state(RECORDED).is_ok());
}

#[test]
fn a_chain_keeps_the_metadata_of_all_its_links() {
    let block = Block::new()
        .words("pbkdf2.first", PASSPHRASE)
        .chain("pbkdf2.second", "pbkdf2.first")
        .aes("aes_gcm.main", "pbkdf2.second")
        .both(&["aes_gcm.main"]);
    let sealed = block.sealing().seal_state(STATE).unwrap();
    let keys: Vec<String> = metadata(&sealed).into_keys().collect();
    assert_eq!(keys, ["key_provider.pbkdf2.first", "key_provider.pbkdf2.second"]);
    assert_eq!(block.sealing().open_state(&sealed).unwrap().plain.as_slice(), STATE);
    let other = block.words("pbkdf2.first", "not the same words");
    assert_eq!(attempts(&other.sealing().open_state(&sealed).unwrap_err()), [MethodError::Wrong]);
}

#[test]
fn serial_and_lineage_outside_must_match_those_inside() {
    let sealing = simple(PASSPHRASE).sealing();
    let sealed = String::from_utf8(sealing.seal_state(STATE).unwrap()).unwrap();
    let changed = |from: &str, to: &str| {
        assert!(sealed.contains(from));
        sealing.open_state(sealed.replace(from, to).as_bytes())
    };
    let target = TargetName::State;
    assert_eq!(
        changed("\"serial\": 7", "\"serial\": 8").unwrap_err(),
        OpenError::Serial { target: target.clone(), outer: 8, inner: 7 }
    );
    assert_eq!(
        changed("\"lineage\": \"one\"", "\"lineage\": \"two\"").unwrap_err(),
        OpenError::Lineage { target, outer: "two".to_owned(), inner: "one".to_owned() }
    );
    // The first versions of OpenTofu with encryption wrote neither a serial nor a lineage.
    assert!(changed("\"serial\": 7,", "").is_ok() && changed("\"lineage\": \"one\",", "").is_ok());
    // A sealed plan is refused if a state is expected.
    let plan = sealing.seal_plan(b"PK").unwrap();
    let with_serial = String::from_utf8(plan).unwrap().replacen('{', "{\"serial\": 7,", 1);
    assert!(matches!(sealing.open_state(with_serial.as_bytes()).unwrap_err(), OpenError::NotAState { .. }));
}

#[test]
fn remote_states_have_their_own_targets() {
    let theirs = simple("the words of others").sealing().seal_state(STATE).unwrap();
    let mine = simple(PASSPHRASE).sealing().seal_state(STATE).unwrap();
    let block = simple(PASSPHRASE)
        .words("pbkdf2.theirs", "the words of others")
        .alias("pbkdf2.theirs", "key_provider.pbkdf2.main")
        .aes("aes_gcm.theirs", "pbkdf2.theirs")
        .target(TargetName::RemoteState("network[0]".to_owned()), &["aes_gcm.theirs"]);
    let sealing = block.sealing();
    assert_eq!(sealing.open_remote_state("network[0]", &theirs).unwrap().plain.as_slice(), STATE);
    assert!(sealing.open_remote_state("network[0]", &mine).is_err());
    let error = sealing.open_remote_state("other", &mine).unwrap_err();
    assert!(matches!(error, OpenError::NotConfigured { target: TargetName::DefaultRemoteState, .. }));
    let sealing = block.target(TargetName::DefaultRemoteState, &["aes_gcm.main"]).sealing();
    assert!(sealing.open_remote_state("other", &mine).is_ok() && sealing.open_remote_state("other", &theirs).is_err());
}

#[test]
fn invalid_data_is_not_sealed() {
    let sealing = simple(PASSPHRASE).sealing();
    assert!(matches!(sealing.seal_state(b"{\"version\":4}").unwrap_err(), SealError::NotAState(_)));
    let refused = SealError::AlreadySealed { target: TargetName::State };
    assert_eq!(sealing.seal_state(RECORDED).unwrap_err(), refused);
    assert_eq!(Sealing::default().seal_state(RECORDED).unwrap_err(), refused);
}

#[test]
fn threads_share_keys() {
    let sealing = simple(PASSPHRASE).sealing();
    let sealed: Vec<Vec<u8>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| sealing.seal_plan(b"PK").unwrap())).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(sealed.iter().all(|one| json(one)["meta"] == json(&sealed[0])["meta"]));
    let begun = std::time::Instant::now();
    for _ in 0..500 {
        assert!(sealing.open_plan(&sealed[0]).is_ok());
    }
    assert!(begun.elapsed().as_secs() < 5, "derived once, not 500 times");
}
