//! External key providers and methods, run as real processes.
#![cfg(unix)]

mod block;

use std::path::Path;

use block::*;
use weft_sealing::*;

/// A script of a key provider. It makes the keys 1, 2, 3 and so on, stores the number of the key in the metadata, and
/// logs its input.
const KEYS: &str = r#"
folder="$1"
echo '{"magic":"OpenTofu-External-Key-Provider","version":1}'
input="$(cat)"
echo "$input" >> "$folder/keys.log"
key() { printf '%032d' "$1" | base64; }
next="$(grep -c '^null$' "$folder/keys.log")"
decryption=""
if [ "$input" != null ]; then
    number="$(echo "$input" | sed -n 's/.*"number":\([0-9]*\).*/\1/p')"
    next="$number"
    decryption=",\"decryption_key\":\"$(key "$number")\""
fi
printf '{"keys":{"encryption_key":"%s"%s},"meta":{"external_data":{"number":%s,"exact":1.50}}}' \
    "$(key "$next")" "$decryption" "$next"
"#;

/// A script of a method. To encrypt, it concatenates the key and the payload. To decrypt, it splits them again if the
/// key is the same. This is not secure.
const METHOD: &str = r#"
echo '{"magic":"OpenTofu-External-Encryption-Method","version":1}'
input="$(cat)"
echo "$1" >> "$2/method.log"
key="$(echo "$input" | sed -n 's/.*"key":"\([^"]*\)".*/\1/p')"
payload="$(echo "$input" | sed -n 's/.*"payload":"\([^"]*\)".*/\1/p')"
if [ "$1" = encrypt ]; then
    payload="$(printf '%s|%s' "$key" "$payload" | base64 | tr -d '\n')"
else
    both="$(echo "$payload" | base64 -d)"
    if [ "${both%%|*}" != "$key" ]; then echo "not with this key" >&2; exit 1; fi
    payload="${both#*|}"
fi
printf '{"payload":"%s"}' "$payload"
"#;

struct Programs(tempfile::TempDir);

impl Programs {
    fn new() -> Programs {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("keys.sh"), KEYS).unwrap();
        std::fs::write(folder.path().join("method.sh"), METHOD).unwrap();
        std::fs::write(folder.path().join("keys.log"), "").unwrap();
        Programs(folder)
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).display().to_string()
    }

    fn folder(&self) -> String {
        self.0.path().display().to_string()
    }

    /// The lines of a log: the inputs of the key provider, or the calls of the method.
    fn log(&self, name: &str) -> Vec<String> {
        std::fs::read_to_string(self.path(name)).unwrap_or_default().lines().map(str::to_owned).collect()
    }

    fn keys(&self) -> Block {
        Block::new().command("external.keys", &["sh", &self.path("keys.sh"), &self.folder()])
    }

    fn method(&self, keys: Option<&str>) -> Method {
        let command = |word: &str| vec!["sh".to_owned(), self.path("method.sh"), word.to_owned(), self.folder()];
        Method::External {
            keys: keys.map(provider),
            encrypt_command: command("encrypt"),
            decrypt_command: command("decrypt"),
        }
    }
}

#[test]
fn keys_come_from_a_program() {
    let programs = Programs::new();
    let block = programs.keys().aes("aes_gcm.main", "external.keys").both(&["aes_gcm.main"]);
    let sealing = block.sealing();
    assert!(programs.log("keys.log").is_empty(), "nothing is run before it is used");
    let one = sealing.seal_state(STATE).unwrap();
    let two = sealing.seal_plan(b"PK").unwrap();
    assert_eq!(programs.log("keys.log"), ["null"]);
    let own = &metadata(&one)["key_provider.external.keys"];
    assert_eq!(own.to_string(), r#"{"external_data":{"number":1,"exact":1.50}}"#, "to the digit");
    for _ in 0..3 {
        assert_eq!(sealing.open_state(&one).unwrap().plain.as_slice(), STATE);
        assert_eq!(sealing.open_plan(&two).unwrap().plain.as_slice(), b"PK");
    }
    let asked = r#"{"external_data":{"number":1,"exact":1.50}}"#;
    assert_eq!(programs.log("keys.log"), ["null", asked], "once for each metadata");
    let next = block.sealing();
    assert_ne!(json(&next.seal_plan(b"PK").unwrap())["meta"], json(&two)["meta"]);
    assert_eq!(next.open_state(&one).unwrap().plain.as_slice(), STATE);
    assert_eq!(programs.log("keys.log"), ["null", asked, "null", asked]);
}

#[test]
fn a_passphrase_comes_from_a_program() {
    let programs = Programs::new();
    let block = programs.keys().chain("pbkdf2.main", "external.keys").aes("aes_gcm.main", "pbkdf2.main");
    let block = block.both(&["aes_gcm.main"]);
    let sealed = block.sealing().seal_state(STATE).unwrap();
    let keys: Vec<String> = metadata(&sealed).into_keys().collect();
    assert_eq!(keys, ["key_provider.external.keys", "key_provider.pbkdf2.main"]);
    assert_eq!(block.sealing().open_state(&sealed).unwrap().plain.as_slice(), STATE);
    assert_eq!(programs.log("keys.log").len(), 2);
}

#[test]
fn a_program_encrypts() {
    let programs = Programs::new();
    for keys in [None, Some("external.keys")] {
        let block = programs.keys().method("external.x", programs.method(keys)).both(&["external.x"]);
        let sealed = block.sealing().seal_state(STATE).unwrap();
        assert_eq!(metadata(&sealed).len(), usize::from(keys.is_some()));
        assert_eq!(block.sealing().open_state(&sealed).unwrap().plain.as_slice(), STATE);
    }
}

#[test]
fn a_program_that_refuses_is_quoted() {
    let programs = Programs::new();
    let with = |keys| programs.keys().method("external.x", programs.method(keys)).both(&["external.x"]);
    let sealed = with(Some("external.keys")).sealing().seal_state(STATE).unwrap();
    let error = with(None).sealing().open_state(&sealed).unwrap_err();
    let OpenError::NoMethodOpens { attempts, .. } = &error else { panic!("{error}") };
    let [FailedMethod { error: MethodError::Command(CommandError::Failed { said, .. }), .. }] = &attempts[..] else {
        panic!("{error}")
    };
    assert_eq!(said, "not with this key");
    assert!(error.to_string().ends_with("the command sh failed (exit status: 1): not with this key"), "{error}");
}

#[test]
fn many_records_cost_one_run_of_a_program() {
    let programs = Programs::new();
    let block = programs.keys().method("external.x", programs.method(Some("external.keys"))).both(&["external.x"]);
    let (one, other) = (block.sealing(), block.sealing());
    for index in 0..200_u8 {
        let record = one.seal_record(&TargetName::State, &[index], b"plain").unwrap();
        assert_eq!(other.open_record(&TargetName::State, &[index], &record).unwrap().plain.as_slice(), b"plain");
        assert!(other.open_record(&TargetName::State, b"elsewhere", &record).is_err());
    }
    assert_eq!(programs.log("method.log"), ["encrypt", "decrypt"]);
    assert_eq!(programs.log("keys.log").len(), 2);
}

/// A key provider that prints `output` after its first line.
fn printing(folder: &Path, output: &str) -> Sealing {
    let file = folder.join("output");
    std::fs::write(&file, output).unwrap();
    let script = "echo '{\"magic\":\"OpenTofu-External-Key-Provider\",\"version\":1}'; cat > /dev/null; cat \"$0\"";
    let block = Block::new().command("external.keys", &["sh", "-c", script, &file.display().to_string()]);
    block.aes("aes_gcm.main", "external.keys").both(&["aes_gcm.main"]).sealing()
}

#[test]
fn invalid_output_is_reported_without_its_secrets() {
    let folder = tempfile::tempdir().unwrap();
    let shown = |output: &str| {
        let error = printing(folder.path(), output).seal_plan(b"PK").unwrap_err();
        let SealError::Method { error, .. } = error else { panic!("{error}") };
        error
    };
    let usual = r#"{"keys":{"encryption_key":"MDEyMzQ1Njc4OWFiY2RlZg=="},"meta":{}}"#;
    assert!(printing(folder.path(), usual).seal_plan(b"PK").is_ok());
    for (output, expected) in [
        ("", "it is not valid JSON, at line 1, column 0"),
        ("\"MDEyMzQ1Njc4OWFiY2RlZg==\"", "it is JSON of an unexpected form, at line 1, column 26"),
        (r#"{"keys":{"encryption_key":"MDEyMzQ1Njc4OWFiY2RlZg="},"meta":{}}"#, "encryption_key is not base64"),
        (r#"{"keys":{"encryption_key":""},"meta":{}}"#, "encryption_key is missing or empty"),
    ] {
        let error = shown(output);
        assert_eq!(
            error.to_string(),
            format!("key_provider.external.keys: the output of the command sh cannot be used: {expected}")
        );
    }
    assert_eq!(shown(r#"{"keys":{"encryption_key":"MDEyMw=="},"meta":{}}"#), MethodError::KeyLength { length: 4 });
    let long = format!(
        r#"{{"keys":{{"encryption_key":"MDEyMw=="}},"meta":{{"external_data":{{"x":"{}"}}}}}}"#,
        "x".repeat(40_000)
    );
    assert!(shown(&long).to_string().contains("which is too long"));
    // Opening needs a key from the command too.
    let sealing = printing(folder.path(), usual);
    let sealed = sealing.seal_plan(b"PK").unwrap();
    let error = sealing.open_plan(&sealed).unwrap_err();
    assert!(error.to_string().contains("decryption_key is missing or empty"), "{error}");
}
