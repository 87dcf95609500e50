//! Tests of the problems of settings.

mod block;

use block::*;
use weft_sealing::*;

fn pbkdf2(passphrase: &str, key_length: u64, iterations: u64, salt_length: u64) -> Result<Pbkdf2, Vec<Pbkdf2Problem>> {
    let passphrase = Passphrase::Words(Secret::new(passphrase));
    Pbkdf2::new(passphrase, key_length, iterations, HashFunction::Sha512, salt_length)
}

fn below(setting: Pbkdf2Setting, value: u64, least: u64) -> Pbkdf2Problem {
    Pbkdf2Problem::Below { setting, value, least }
}

fn above(setting: Pbkdf2Setting, value: u64, most: u64) -> Pbkdf2Problem {
    Pbkdf2Problem::Above { setting, value, most }
}

#[test]
fn every_setting_of_pbkdf2_has_limits() {
    use Pbkdf2Setting::*;
    for (found, expected) in [
        (pbkdf2("short", 32, 200_000, 32), vec![below(Passphrase, 5, 16)]),
        (pbkdf2("fifteen letters", 32, 200_000, 32), vec![below(Passphrase, 15, 16)]),
        (pbkdf2("sixteen letters!", 32, 199_999, 32), vec![below(Iterations, 199_999, 200_000)]),
        (
            pbkdf2(PASSPHRASE, 0, 0, 0),
            vec![below(Iterations, 0, 200_000), below(KeyLength, 0, 1), below(SaltLength, 0, 1)],
        ),
        (pbkdf2(PASSPHRASE, 1025, 200_000, 1025), vec![above(KeyLength, 1025, 1024), above(SaltLength, 1025, 1024)]),
        (pbkdf2(PASSPHRASE, 64, 100_000_001, 1), vec![above(Iterations, 100_000_001, 100_000_000)]),
        (pbkdf2(PASSPHRASE, 65, 50_000_001, 1), vec![above(Iterations, 50_000_001, 50_000_000)]),
        (
            pbkdf2(PASSPHRASE, u64::MAX, u64::MAX, u64::MAX),
            vec![
                above(KeyLength, u64::MAX, 1024),
                above(Iterations, u64::MAX, 6_250_000),
                above(SaltLength, u64::MAX, 1024),
            ],
        ),
    ] {
        assert_eq!(found.unwrap_err(), expected);
    }
    assert!(pbkdf2("sixteen letters!", 1, 200_000, 1).is_ok());
    assert!(pbkdf2("ümläute, sechzeh", 1, 100_000_000, 1024).is_ok());
    let shown = below(Passphrase, 5, 16).to_string();
    assert_eq!(shown, "passphrase has 5 characters, but at least 16 are needed");
    assert_eq!(below(Iterations, 1000, 200_000).to_string(), "iterations is 1000, but at least 200000 are needed");
    let error = "sha1".parse::<HashFunction>().unwrap_err();
    assert_eq!(error.to_string(), "hash_function is \"sha1\", but must be \"sha256\" or \"sha512\"");
}

#[test]
fn defaults_are_those_of_opentofu() {
    let settings = Pbkdf2::with_defaults(Passphrase::Words(Secret::new(PASSPHRASE)));
    assert!(settings.problems().is_empty());
    assert_eq!((settings.key_length, settings.iterations, settings.salt_length), (32, 600_000, 32));
    assert_eq!(settings.hash_function, HashFunction::Sha512);
}

#[test]
fn secrets_are_not_shown() {
    let block = simple(PASSPHRASE);
    let sealing = block.sealing();
    let sealed = sealing.seal_state(STATE).unwrap();
    sealing.seal_record(&TargetName::State, b"", b"plain").unwrap();
    sealing.open_state(&sealed).unwrap();
    for shown in [format!("{sealing:?}"), format!("{:?}", block.0)] {
        assert!(shown.contains("(secret)") && !shown.contains("correct"), "{shown}");
    }
    let problems = format!("{:?}", simple("my short words").problems());
    assert!(problems.contains("14") && !problems.contains("words"), "{problems}");
}

#[test]
fn all_problems_are_reported_at_once() {
    let block = Block::new()
        .words("pbkdf2.short", "short")
        .words("pbkdf2.odd", PASSPHRASE)
        .command("external.empty", &[])
        .chain("pbkdf2.lost", "pbkdf2.gone")
        .aes("aes_gcm.short", "pbkdf2.short")
        .aes("aes_gcm.odd", "pbkdf2.odd")
        .aes("aes_gcm.empty", "external.empty")
        .aes("aes_gcm.lost", "pbkdf2.lost")
        .aes("aes_gcm.safe", "safe.x")
        .method(
            "external.none",
            Method::External { keys: None, encrypt_command: vec![], decrypt_command: vec!["x".to_owned()] },
        )
        .target(TargetName::State, &["aes_gcm.missing", "aes_gcm.short", "aes_gcm.odd", "aes_gcm.empty"])
        .target(TargetName::Plan, &[])
        .target(TargetName::DefaultRemoteState, &["aes_gcm.lost", "aes_gcm.safe", "external.none"]);
    let mut block = block;
    if let KeySource::Pbkdf2(odd) = &mut block.0.key_providers.get_mut(&provider("pbkdf2.odd")).unwrap().source {
        odd.key_length = 20;
    }
    let problems = block.problems();
    // Each message begins with the subject of its problem.
    let begins = |problem: &SettingsProblem| problem.to_string().starts_with(&problem.about().to_string());
    assert!(problems.iter().all(begins));
    let shown: Vec<String> = problems.iter().map(SettingsProblem::to_string).collect();
    let expected = [
        "state uses method.aes_gcm.missing, which is not declared",
        "plan has no method: set method, or remove the block",
        "key_provider.pbkdf2.lost uses key_provider.pbkdf2.gone, which is not declared",
        "method.aes_gcm.odd needs keys of 16, 24 or 32 bytes, but key_provider.pbkdf2.odd makes keys of 20 bytes",
        "method.aes_gcm.safe uses key_provider.safe.x, which is not declared",
        "method.external.none has an empty encrypt_command: its first element is the program to run",
        "key_provider.external.empty has an empty command: its first element is the program to run",
        "key_provider.pbkdf2.short: passphrase has 5 characters, but at least 16 are needed",
    ];
    assert_eq!(shown, expected);
}

#[test]
fn a_sealing_is_shared_among_threads() {
    fn shared<T: Send + Sync + 'static>() {}
    shared::<Sealing>();
    shared::<Opened>();
}

#[test]
fn unused_parts_may_be_invalid() {
    let block = simple(PASSPHRASE)
        .words("pbkdf2.unused", "")
        .chain("pbkdf2.circle", "pbkdf2.circle")
        .aes("aes_gcm.unused", "safe.x")
        .unencrypted();
    block.sealing();
}

#[test]
fn cycles_are_reported_once() {
    let circle = |block: Block| {
        let problems = block.problems();
        let [SettingsProblem::Circle { circle, .. }] = &problems[..] else { panic!("{problems:?}") };
        circle.iter().map(|name| name.name.clone()).collect::<Vec<_>>().join(" ")
    };
    let base = || Block::new().aes("aes_gcm.main", "pbkdf2.c").both(&["aes_gcm.main"]);
    assert_eq!(circle(base().chain("pbkdf2.c", "pbkdf2.c")), "c");
    let three = base().chain("pbkdf2.c", "pbkdf2.a").chain("pbkdf2.a", "pbkdf2.b").chain("pbkdf2.b", "pbkdf2.c");
    assert_eq!(circle(three.clone()), "a b c");
    // The cycle is also reported if a provider outside of the cycle leads into it.
    let outside = three.chain("pbkdf2.0", "pbkdf2.b").aes("aes_gcm.other", "pbkdf2.0").both(&["aes_gcm.other"]);
    let shown = outside.problems()[0].to_string();
    assert!(
        shown.ends_with(
            "key_provider.pbkdf2.a -> key_provider.pbkdf2.b -> key_provider.pbkdf2.c -> key_provider.pbkdf2.a"
        ),
        "{shown}"
    );
    assert_eq!(circle(outside), "a b c");
}

#[test]
fn chains_and_metadata_keys_have_a_maximum_length() {
    let chain = |links: usize| {
        let mut block = Block::new().words("pbkdf2.0", PASSPHRASE);
        for link in 1..links {
            block = block.chain(&format!("pbkdf2.{link}"), &format!("pbkdf2.{}", link - 1));
        }
        block.aes("aes_gcm.main", &format!("pbkdf2.{}", links - 1)).both(&["aes_gcm.main"])
    };
    chain(16).sealing();
    assert_eq!(chain(17).problems(), [SettingsProblem::LongChain { provider: provider("pbkdf2.16") }]);
    let long = simple(PASSPHRASE).alias("pbkdf2.main", &"x".repeat(1025));
    let length = 1025;
    assert_eq!(long.problems(), [SettingsProblem::LongMetadataKey { provider: provider("pbkdf2.main"), length }]);
}

#[test]
fn links_of_a_chain_keep_their_metadata_apart() {
    let block = Block::new()
        .words("pbkdf2.a", PASSPHRASE)
        .alias("pbkdf2.a", "same")
        .chain("pbkdf2.b", "pbkdf2.a")
        .alias("pbkdf2.b", "same")
        .words("pbkdf2.c", PASSPHRASE)
        .alias("pbkdf2.c", "same")
        .aes("aes_gcm.main", "pbkdf2.b")
        .aes("aes_gcm.old", "pbkdf2.c");
    let problem = SettingsProblem::SameMetadataKey {
        one: provider("pbkdf2.b"),
        other: provider("pbkdf2.a"),
        key: "same".to_owned(),
    };
    assert_eq!(block.clone().both(&["aes_gcm.main", "aes_gcm.old"]).problems(), [problem]);
    // Providers that do not depend on each other may share a metadata key. The metadata then belongs to the provider
    // that wrote last.
    block.aes("aes_gcm.main", "pbkdf2.a").both(&["aes_gcm.main", "aes_gcm.old"]).sealing();
}
