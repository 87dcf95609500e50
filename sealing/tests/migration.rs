//! Tests of migrations: to encryption, from encryption, and from one key to another. Also tests of refused data.

mod block;

use block::*;
use weft_sealing::*;

const NEW: &str = "the new words of all";

/// The old and the new key, with these methods for states and plans.
fn rollover(methods: &[&str]) -> Block {
    simple(PASSPHRASE).words("pbkdf2.new", NEW).aes("aes_gcm.new", "pbkdf2.new").unencrypted().both(methods)
}

fn how(opened: Result<Opened, OpenError>) -> (Through, bool) {
    let opened = opened.unwrap();
    assert_eq!(opened.plain.as_slice(), STATE);
    (opened.through, opened.outdated)
}

#[test]
fn fallbacks_are_tried_in_their_order() {
    let old = simple(PASSPHRASE).sealing().seal_state(STATE).unwrap();
    let sealing = rollover(&["aes_gcm.new", "unencrypted.none", "aes_gcm.main"]).sealing();
    assert_eq!(how(sealing.open_state(&old)), (Through::Fallback(1), true));
    assert_eq!(how(sealing.open_state(STATE)), (Through::Plain, true));
    let new = sealing.seal_state(STATE).unwrap();
    assert_eq!(metadata(&new).keys().collect::<Vec<_>>(), ["key_provider.pbkdf2.new"]);
    assert_eq!(how(sealing.open_state(&new)), (Through::Main, false));
    // Each failed method is reported, in order.
    let error = rollover(&["aes_gcm.new", "aes_gcm.main"]).words("pbkdf2.main", "not the same words").sealing();
    let OpenError::NoMethodOpens { attempts, .. } = error.open_state(&old).unwrap_err() else { panic!() };
    let tried: Vec<String> = attempts.iter().map(|attempt| attempt.method.to_string()).collect();
    assert_eq!(tried, ["method.aes_gcm.new", "method.aes_gcm.main"]);
    assert!(matches!(&attempts[0].error, MethodError::Key(KeyError::NoMetadata { .. })));
    assert_eq!(attempts[1].error, MethodError::Wrong);
}

#[test]
fn plain_text_is_refused_unless_it_is_allowed() {
    let refused = OpenError::PlainText { target: TargetName::State };
    assert_eq!(simple(PASSPHRASE).sealing().open_state(STATE).unwrap_err(), refused);
    assert!(refused.to_string().contains("unencrypted"));
    assert!(simple(PASSPHRASE).sealing().open_plan(b"PK").is_err());
    assert!(simple(PASSPHRASE).sealing().open_record(&TargetName::Plan, b"", b"plain").is_err());
    // A damaged envelope counts as plain text, which an encrypted target refuses. So damage does not circumvent the
    // encryption.
    let mut sealed = simple(PASSPHRASE).sealing().seal_state(STATE).unwrap();
    sealed.truncate(sealed.len() - 3);
    assert_eq!(simple(PASSPHRASE).sealing().open_state(&sealed).unwrap_err(), refused);
    assert_eq!(
        how(rollover(&["aes_gcm.main", "unencrypted.none"]).sealing().open_state(STATE)),
        (Through::Plain, true)
    );
}

#[test]
fn a_fallback_allows_the_move_away_from_encryption() {
    let sealed = simple(PASSPHRASE).sealing().seal_state(STATE).unwrap();
    let sealing = rollover(&["unencrypted.none", "aes_gcm.main"]).sealing();
    assert!(!sealing.seals(&TargetName::State));
    assert_eq!(how(sealing.open_state(&sealed)), (Through::Fallback(0), true));
    assert_eq!(sealing.seal_state(STATE).unwrap(), STATE);
    assert_eq!(sealing.seal_state(b"anything").unwrap(), b"anything");
    assert_eq!(how(sealing.open_state(STATE)), (Through::Plain, false));
    let error = rollover(&["unencrypted.none"]).sealing().open_state(&sealed).unwrap_err();
    assert!(matches!(&error, OpenError::NoMethodOpens { attempts, .. } if attempts.is_empty()), "{error}");
    assert!(error.to_string().contains("\"key_provider.pbkdf2.main\""), "{error}");
}

#[test]
fn without_configuration_only_plain_text_opens() {
    let nothing = Sealing::default();
    assert_eq!(how(nothing.open_state(STATE)), (Through::Plain, false));
    assert_eq!(nothing.seal_state(STATE).unwrap(), STATE);
    assert_eq!(nothing.seal_plan(b"PK").unwrap(), b"PK");
    let sealed = simple(PASSPHRASE).sealing();
    let state = sealed.seal_state(STATE).unwrap();
    let error = nothing.open_state(&state).unwrap_err();
    let metadata_keys = vec!["key_provider.pbkdf2.main".to_owned()];
    assert_eq!(error, OpenError::NotConfigured { target: TargetName::State, metadata_keys });
    let only_state = simple(PASSPHRASE);
    let mut settings = only_state.0;
    settings.targets.remove(&TargetName::Plan);
    let error = Sealing::new(settings).unwrap().open_plan(&sealed.seal_plan(b"PK").unwrap()).unwrap_err();
    assert!(matches!(error, OpenError::NotConfigured { target: TargetName::Plan, .. }));
}

#[test]
fn enforced_allows_no_plain_text() {
    let target = |name| SettingsProblem::UnencryptedForbidden { target: name, method: method("unencrypted.none") };
    for methods in [&["unencrypted.none"][..], &["aes_gcm.main", "unencrypted.none"]] {
        let problems = rollover(methods).enforced().problems();
        assert_eq!(problems, [target(TargetName::State), target(TargetName::Plan)]);
        assert_eq!(problems[1].about(), SealingPart::Target(TargetName::Plan));
    }
    let sealing = rollover(&["aes_gcm.main"]).enforced().sealing();
    assert!(sealing.open_state(STATE).is_err());
    // The case in OpenTofu's documentation: the settings should come from the environment, but the environment does not
    // have them.
    let problems = Block::new().target(TargetName::State, &[]).enforced().problems();
    assert_eq!(problems, [SettingsProblem::NoMethod { target: TargetName::State, enforced: true }]);
    assert!(problems[0].to_string().contains("TF_ENCRYPTION"));
}
