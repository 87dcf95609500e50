//! Providers from registries, mirrors and OCI repositories on this machine, over TLS. The tests include the lock file.

mod loopback;

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::Path;

use aws_lc_rs::digest::{SHA256, digest};
use data_encoding::HEXLOWER;
use loopback::{Host, Reply};
use pgp::composed::{
    ArmorOptions, DetachedSignature, EncryptionCaps, KeyType, SecretKeyParamsBuilder, SignedPublicKey, SignedSecretKey,
};
use pgp::crypto::hash::HashAlgorithm;
use pgp::ser::Serialize as _;
use pgp::types::Password;
use serde_json::json;
use weft_graph_format::address::ProviderSource;
use weft_graph_format::diagnostic::has_errors;
use weft_providers::lock_file::LockFile;
use weft_providers::packages::Requirements;
use weft_providers::platform::Platform;
use weft_registry::cli_config::{CliConfig, ProcessEnvironment};
use weft_registry::sources::Network;
use weft_registry::{Installation, Installer};

/// A package whose program prints this text. Packages with different texts have different checksums.
fn package(text: &str) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default().unix_permissions(0o755);
    zip.start_file("terraform-provider-lab_v1.0.0", options).unwrap();
    zip.write_all(text.as_bytes()).unwrap();
    zip.finish().unwrap().into_inner()
}

fn sha256(bytes: &[u8]) -> String {
    HEXLOWER.encode(digest(&SHA256, bytes).as_ref())
}

fn signing_key() -> SignedSecretKey {
    let mut params = SecretKeyParamsBuilder::default();
    params
        .key_type(KeyType::Ed25519Legacy)
        .can_certify(true)
        .can_sign(true)
        .can_encrypt(EncryptionCaps::None)
        .primary_user_id("Registry <registry@weft.test>".into());
    params.build().unwrap().generate(rand_of_pgp::thread_rng()).unwrap()
}

fn armored(key: &SignedSecretKey) -> String {
    SignedPublicKey::from(key.clone()).to_armored_string(ArmorOptions::default()).unwrap()
}

fn signature(key: &SignedSecretKey, document: &[u8]) -> Vec<u8> {
    let rng = rand_of_pgp::thread_rng();
    let signed =
        DetachedSignature::sign_binary_data(rng, &key.primary_key, &Password::empty(), HashAlgorithm::Sha256, document);
    signed.unwrap().to_bytes().unwrap()
}

/// A registry with one provider, `acme/lab`.
struct Registry {
    host: Host,
    key: SignedSecretKey,
    home: tempfile::TempDir,
}

impl Registry {
    async fn start() -> Registry {
        let host = Host::start().await;
        host.put("/.well-known/terraform.json", Reply::json(json!({"providers.v1": "/p/"})));
        Registry { host, key: signing_key(), home: tempfile::tempdir().unwrap() }
    }

    fn source(&self) -> ProviderSource {
        weft_providers::source::parse(&format!("{}/acme/lab", self.host.name())).unwrap()
    }

    fn publish(&self, versions: &[&str]) {
        let platform = Platform::current();
        let list: Vec<_> = versions
            .iter()
            .map(|version| {
                let platforms = [json!({"os": platform.os, "arch": platform.arch})];
                json!({"version": version, "protocols": ["5.0"], "platforms": platforms})
            })
            .collect();
        self.host.put("/p/acme/lab/versions", Reply::json(json!({ "versions": list })));
        for version in versions {
            self.put_version(version, |_| {});
        }
    }

    /// Adds a version. `change` can change its document first.
    fn put_version(&self, version: &str, change: impl FnOnce(&mut serde_json::Value)) {
        let Platform { os, arch } = Platform::current();
        let zip = package(version);
        let name = format!("terraform-provider-lab_{version}_{os}_{arch}.zip");
        let sums = format!(
            "{}  {name}\n{}  terraform-provider-lab_{version}_plan9_mips.zip\n",
            sha256(&zip),
            sha256(b"other")
        );
        let mut document = json!({
            "protocols": ["5.0", "6.0"], "os": os, "arch": arch, "filename": name,
            "download_url": format!("/files/{name}"), "shasum": sha256(&zip),
            "shasums_url": format!("/files/{version}_SHA256SUMS"),
            "shasums_signature_url": format!("/files/{version}_SHA256SUMS.sig"),
            "signing_keys": {"gpg_public_keys": [{"key_id": "X", "ascii_armor": armored(&self.key)}]},
        });
        self.host.put(&format!("/files/{name}"), Reply::bytes("application/zip", zip));
        let signed = signature(&self.key, sums.as_bytes());
        self.host.put(&format!("/files/{version}_SHA256SUMS.sig"), Reply::bytes("application/octet-stream", signed));
        self.host.put(&format!("/files/{version}_SHA256SUMS"), Reply::bytes("text/plain", sums.into_bytes()));
        change(&mut document);
        self.host.put(&format!("/p/acme/lab/{version}/download/{os}/{arch}"), Reply::json(document));
    }

    async fn install(
        &self,
        config: &str,
        constraints: &str,
        lock: &LockFile,
        upgrade: bool,
    ) -> (Installation, Vec<String>) {
        self.install_as(&self.source(), &[], config, constraints, lock, upgrade).await
    }

    /// Installs from the source address of another host name, with additional variables set to `true`.
    async fn install_as(
        &self,
        source: &ProviderSource,
        variables: &[&str],
        config: &str,
        constraints: &str,
        lock: &LockFile,
        upgrade: bool,
    ) -> (Installation, Vec<String>) {
        let more = variables.iter().map(|name| (*name, Path::new("true")));
        let variables: Vec<(&str, &Path)> = [("HOME", self.home.path())].into_iter().chain(more).collect();
        let environment = ProcessEnvironment::new(self.home.path(), &variables);
        let (config, problems) = CliConfig::parse(config, Path::new("tofurc"), self.home.path());
        assert!(problems.is_empty(), "{problems:?}");
        let network = Network::with(&config, &environment, self.host.settings());
        let installer = Installer::new(&config, &environment, &[], self.home.path().join(".terraform"));
        let installer = installer.with_network(network);
        let requirements = Requirements::from([(source.clone(), constraints.parse().unwrap_or_default())]);
        let mut said = Vec::new();
        let report = &mut |event: weft_registry::InstallEvent| said.push(event.to_string());
        (installer.install(&requirements, lock, upgrade, report).await, said)
    }
}

fn problem(installation: &Installation) -> String {
    assert!(has_errors(&installation.diagnostics), "{installation:?}");
    let all = installation.diagnostics.iter().map(|d| format!("{}: {}", d.summary, d.detail));
    all.collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn a_package_is_installed_from_a_registry_and_locked() {
    let registry = Registry::start().await;
    registry.publish(&["1.0.0", "1.1.0", "2.0.0-beta"]);
    let (done, said) = registry.install("", "~> 1.0", &LockFile::default(), false).await;
    assert!(done.diagnostics.is_empty(), "{:?}", done.diagnostics);
    assert_eq!(said.len(), 3, "{said:?}");
    assert!(said[2].contains("v1.1.0 (signed, key ID "), "{said:?}");
    let lock = &done.lock.providers[&registry.source()];
    assert_eq!(lock.version.to_string(), "1.1.0");
    let schemes: Vec<&str> = lock.checksums.iter().map(|sum| sum.scheme()).collect();
    assert_eq!(schemes, ["h1", "zh", "zh"], "this platform's files, and the archives of all");
    // A second run fetches nothing. With -upgrade, it selects the newest version, and finds the same checksums.
    let (again, said) = registry.install("", "~> 1.0", &done.lock, false).await;
    assert_eq!(again.lock, done.lock);
    let Platform { os, arch } = Platform::current();
    let fetched = registry.host.count(&format!("/files/terraform-provider-lab_1.1.0_{os}_{arch}.zip"));
    assert_eq!(fetched, 1, "nothing is fetched again that is there");
    assert!(said[1].starts_with("- Using previously-installed"), "{said:?}");
    registry.publish(&["1.0.0", "1.1.0", "1.2.0"]);
    let (kept, _) = registry.install("", "~> 1.0", &done.lock, false).await;
    assert_eq!(kept.lock, done.lock);
    let (newer, _) = registry.install("", "~> 1.0", &done.lock, true).await;
    assert_eq!(newer.lock.providers[&registry.source()].version.to_string(), "1.2.0");
    // Only the locked package is installed.
    std::fs::remove_dir_all(registry.home.path().join(".terraform")).unwrap();
    let mut wrong = done.lock.clone();
    let lock = wrong.providers.get_mut(&registry.source()).unwrap();
    lock.checksums = BTreeSet::from(["h1:AAAA".parse().unwrap()]);
    let (refused, _) = registry.install("", "~> 1.0", &wrong, false).await;
    assert!(problem(&refused).contains("doesn't match any of the checksums previously recorded"));
}

#[tokio::test]
async fn packages_without_a_valid_signature_are_refused() {
    let registry = Registry::start().await;
    registry.publish(&["1.0.0"]);
    let other = signing_key();
    type Spoiling<'a> = Box<dyn Fn(&mut serde_json::Value) + 'a>;
    let cases: [(&str, Spoiling<'_>); 7] = [
        (
            "unknown issuer",
            Box::new(|d| d["signing_keys"]["gpg_public_keys"][0]["ascii_armor"] = armored(&other).into()),
        ),
        ("unknown issuer", Box::new(|d| d["signing_keys"] = json!({"gpg_public_keys": []}))),
        ("no list of checksums", Box::new(|d| d["shasums_url"] = "".into())),
        ("has a different checksum", Box::new(|d| d["shasum"] = sha256(b"x").into())),
        ("has no checksum for", Box::new(|d| d["filename"] = "y.zip".into())),
        ("an invalid checksum", Box::new(|d| d["shasum"] = "short".into())),
        ("key cannot be read", Box::new(|d| d["signing_keys"]["gpg_public_keys"][0]["ascii_armor"] = "no key".into())),
    ];
    for (why, change) in cases {
        registry.put_version("1.0.0", change);
        let (refused, _) = registry.install("", "", &LockFile::default(), false).await;
        assert!(problem(&refused).contains(why), "{why}: {}", problem(&refused));
        assert!(problem(&refused).starts_with("Failed to install provider"));
    }
    // First, the list changes after it was signed. Then, the package changes.
    registry.put_version("1.0.0", |_| {});
    let Platform { os, arch } = Platform::current();
    let name = format!("terraform-provider-lab_1.0.0_{os}_{arch}.zip");
    let sums = format!("{}  {name}\n{}  evil.zip\n", sha256(&package("1.0.0")), sha256(b"evil"));
    registry.host.put("/files/1.0.0_SHA256SUMS", Reply::bytes("text/plain", sums.into_bytes()));
    let (refused, _) = registry.install("", "", &LockFile::default(), false).await;
    assert!(problem(&refused).contains("the signed document was changed"), "{}", problem(&refused));
    registry.put_version("1.0.0", |_| {});
    registry.host.put(&format!("/files/{name}"), Reply::bytes("application/zip", package("evil")));
    let (refused, _) = registry.install("", "", &LockFile::default(), false).await;
    assert!(problem(&refused).contains("doesn't match any of the expected checksums"), "{}", problem(&refused));
    assert!(!registry.home.path().join(".terraform/providers").exists());
}

#[tokio::test]
async fn unavailable_providers_are_reported() {
    let registry = Registry::start().await;
    let (none, _) = registry.install("", "", &LockFile::default(), false).await;
    assert!(problem(&none).starts_with("Failed to query available provider packages"), "{}", problem(&none));
    assert!(problem(&none).contains("does not have a provider named"));
    registry.publish(&["1.0.0"]);
    let (none, _) = registry.install("", "> 2", &LockFile::default(), false).await;
    assert!(problem(&none).contains("no available releases match the given constraints"), "{}", problem(&none));
    let old = json!({"versions": [{"version": "1.0.0", "protocols": ["4.0"]}], "warnings": ["old"]});
    registry.host.put("/p/acme/lab/versions", Reply::json(old));
    let (none, said) = registry.install("", "", &LockFile::default(), false).await;
    assert!(problem(&none).starts_with("Incompatible provider version"), "{}", problem(&none));
    assert!(said.iter().any(|line| line.contains("Additional provider information from registry")), "{said:?}");
    let elsewhere = json!({"versions": [{"version": "1.0.0", "protocols": ["5.0"]}, {"version": "9.0.0"}]});
    registry.host.put("/p/acme/lab/versions", Reply::json(elsewhere));
    let (none, _) = registry.install("", "9.0.0", &LockFile::default(), false).await;
    assert!(problem(&none).starts_with("Incompatible provider version"), "{}", problem(&none));
    registry.host.put("/.well-known/terraform.json", Reply::json(json!({"modules.v1": "/m/"})));
    let (none, _) = registry.install("", "", &LockFile::default(), false).await;
    assert!(problem(&none).starts_with("Invalid provider registry host"), "{}", problem(&none));
    registry.host.put("/.well-known/terraform.json", Reply::status(500));
    let (none, _) = registry.install("", "", &LockFile::default(), false).await;
    assert!(problem(&none).contains("failed to request discovery document"), "{}", problem(&none));
}

#[tokio::test]
async fn tokens_go_to_their_host_and_settings_replace_discovery() {
    let registry = Registry::start().await;
    registry.publish(&["1.0.0"]);
    registry.host.put("/.well-known/terraform.json", Reply::status(404));
    let config = format!(
        "credentials \"{0}\" {{\n  token = \"sesame\"\n}}\nhost \"{0}\" {{\n  services = {{\n    \"providers.v1\" = \
         \"https://{0}/p\"\n  }}\n}}\n",
        registry.host.name()
    );
    let (done, _) = registry.install(&config, "", &LockFile::default(), false).await;
    assert!(done.diagnostics.is_empty(), "{:?}", done.diagnostics);
    assert_eq!(registry.host.authorization("/p/acme/lab/versions").as_deref(), Some("Bearer sesame"));
    assert_eq!(registry.host.count("/.well-known/terraform.json"), 0);
}

#[tokio::test]
async fn a_network_mirror_may_have_checksums() {
    let registry = Registry::start().await;
    let source = registry.source();
    let base = format!("/mirror/{}/acme/lab", source.host);
    let zip = package("mirrored");
    registry.host.put(&format!("{base}/index.json"), Reply::json(json!({"versions": {"1.0.0": {}, "x": {}}})));
    registry.host.put(&format!("{base}/lab.zip"), Reply::bytes("application/zip", zip.clone()));
    let put = |hashes: serde_json::Value| {
        let archives = json!({
            Platform::current().to_string(): {"url": "lab.zip", "hashes": hashes},
            "plan9_mips": {"url": "x.zip", "hashes": ["zh:".to_owned() + &sha256(b"other")]},
        });
        registry.host.put(&format!("{base}/1.0.0.json"), Reply::json(json!({ "archives": archives })));
    };
    let config = |more: &str| {
        let url = registry.host.url("/mirror");
        format!("provider_installation {{\n  network_mirror {{\n    url = \"{url}\"\n{more}  }}\n}}\n")
    };
    put(json!(["zh:".to_owned() + &sha256(&zip)]));
    let (done, said) = registry.install(&config(""), "", &LockFile::default(), false).await;
    assert!(done.diagnostics.is_empty(), "{:?}", done.diagnostics);
    assert!(said[2].ends_with("(verified checksum)"), "{said:?}");
    assert_eq!(done.lock.providers[&source].checksums.len(), 2, "its own only: {:?}", done.lock);
    let trusting = config("    trust_all_hashes = true\n");
    let (done, _) = registry.install(&trusting, "", &LockFile::default(), false).await;
    assert_eq!(done.lock.providers[&source].checksums.len(), 3);
    put(json!(["zh:".to_owned() + &sha256(b"x")]));
    let (refused, _) = registry.install(&config(""), "", &LockFile::default(), false).await;
    assert!(problem(&refused).contains("expected checksums"), "{}", problem(&refused));
    put(json!([]));
    let (done, said) = registry.install(&config(""), "", &LockFile::default(), false).await;
    assert!(said[2].ends_with("(unauthenticated)"), "{said:?}");
    assert_eq!(done.lock.providers[&source].checksums.len(), 1);
    let excluded = config(&format!("    exclude = [\"{}/*/*\"]\n", registry.host.name()));
    let (none, _) = registry.install(&excluded, "", &LockFile::default(), false).await;
    assert!(problem(&none).contains("not found in any of the search locations"), "{}", problem(&none));
}

#[tokio::test]
async fn an_oci_mirror_may_require_a_token() {
    let registry = Registry::start().await;
    let (zip, Platform { os, arch }) = (package("oci"), Platform::current());
    let manifest = json!({
        "schemaVersion": 2, "artifactType": "application/vnd.opentofu.provider-target",
        "layers": [{"mediaType": "archive/zip", "digest": format!("sha256:{}", sha256(&zip)), "size": zip.len()}],
    });
    let manifest = manifest.to_string().into_bytes();
    let index = json!({
        "schemaVersion": 2, "artifactType": "application/vnd.opentofu.provider",
        "manifests": [{"mediaType": "application/vnd.oci.image.manifest.v1+json", "size": manifest.len(),
            "digest": format!("sha256:{}", sha256(&manifest)), "platform": {"os": os, "architecture": arch},
            "artifactType": "application/vnd.opentofu.provider-target"}],
    });
    let host = &registry.host;
    let guarded = |reply: Reply| {
        let mut reply = reply.only_with("Bearer pass");
        let challenge = format!("Bearer realm=\"{}\",service=\"oci\"", host.url("/token"));
        reply.headers.push(("www-authenticate".to_owned(), challenge));
        reply
    };
    host.put("/token?service=oci&scope=repository%3Ap%2Facme%2Flab%3Apull", {
        Reply::json(json!({"token": "pass"})).only_with("Basic bWU6c2VjcmV0")
    });
    let mut first = Reply::json(json!({"tags": ["latest", "1.0.0"]}));
    first.headers.push(("link".to_owned(), "</v2/p/acme/lab/tags/list?last=1>; rel=\"next\"".to_owned()));
    host.put("/v2/p/acme/lab/tags/list", guarded(first));
    host.put("/v2/p/acme/lab/tags/list?last=1", guarded(Reply::json(json!({"tags": ["1.2.0_build"]}))));
    host.put("/v2/p/acme/lab/manifests/1.2.0_build", guarded(Reply::json(index)));
    let by_digest = format!("/v2/p/acme/lab/manifests/sha256:{}", sha256(&manifest));
    host.put(&by_digest, guarded(Reply::bytes("application/json", manifest.clone())));
    let blob = format!("/v2/p/acme/lab/blobs/sha256:{}", sha256(&zip));
    host.put(&blob, guarded(Reply::bytes("application/zip", zip.clone())));
    let config = format!(
        "provider_installation {{\n  oci_mirror {{\n    repository_template = \"{0}/p/${{namespace}}/${{type}}\"\n    \
         include = [\"{0}/*/*\"]\n  }}\n}}\noci_credentials \"{0}/p\" {{\n  username = \"me\"\n  \
         password = \"secret\"\n}}\n",
        host.name()
    );
    let (done, said) = registry.install(&config, "", &LockFile::default(), false).await;
    assert!(done.diagnostics.is_empty(), "{:?}", done.diagnostics);
    assert!(said[2].ends_with("v1.2.0+build (verified checksum)"), "{said:?}");
    // A manifest and a blob do not match their digests.
    std::fs::remove_dir_all(registry.home.path().join(".terraform")).unwrap();
    host.put(&by_digest, guarded(Reply::bytes("application/json", b"{}".to_vec())));
    let (refused, _) = registry.install(&config, "", &LockFile::default(), false).await;
    assert!(problem(&refused).contains("should have the digest"), "{}", problem(&refused));
    host.put(&by_digest, guarded(Reply::bytes("application/json", manifest)));
    host.put(&blob, guarded(Reply::bytes("application/zip", package("evil"))));
    let (refused, _) = registry.install(&config, "", &LockFile::default(), false).await;
    assert!(problem(&refused).contains("expected checksums"), "{}", problem(&refused));
}

#[tokio::test]
async fn projects_share_the_plugin_cache() {
    let registry = Registry::start().await;
    registry.publish(&["1.0.0"]);
    let cache = registry.home.path().join("cache");
    std::fs::create_dir(&cache).unwrap();
    let config = format!("plugin_cache_dir = \"{}\"\n", cache.display());
    let (first, said) = registry.install(&config, "", &LockFile::default(), false).await;
    assert!(first.diagnostics.is_empty() && said[2].contains("Installed"), "{:?} {said:?}", first.diagnostics);
    let Platform { os, arch } = Platform::current();
    let download = format!("/files/terraform-provider-lab_1.0.0_{os}_{arch}.zip");
    assert_eq!(registry.host.count(&download), 1);
    let data = registry.home.path().join(".terraform");
    assert!(first.packages[&registry.source()].directory.symlink_metadata().unwrap().is_symlink());
    // Another project with the same lock file uses the package in the cache. A project without a lock file fetches it.
    std::fs::remove_dir_all(&data).unwrap();
    let (second, said) = registry.install(&config, "", &first.lock, false).await;
    assert!(said[1].ends_with("from the shared cache directory"), "{said:?}");
    assert_eq!((registry.host.count(&download), second.lock), (1, first.lock));
    std::fs::remove_dir_all(&data).unwrap();
    registry.install(&config, "", &LockFile::default(), false).await;
    assert_eq!(registry.host.count(&download), 2);
    std::fs::remove_dir_all(&data).unwrap();
    let may_break = format!("{config}plugin_cache_may_break_dependency_lock_file = true\n");
    let (_, said) = registry.install(&may_break, "", &LockFile::default(), false).await;
    assert!(said[1].ends_with("from the shared cache directory"), "{said:?}");
}

/// Providers of the default registry are accepted without keys, unless configured otherwise.
#[tokio::test]
async fn the_default_registry_may_have_no_key() {
    let registry = Registry::start().await;
    registry.publish(&["1.0.0"]);
    registry.put_version("1.0.0", |document| document["signing_keys"] = json!({"gpg_public_keys": []}));
    let config = format!(
        "host \"registry.opentofu.org\" {{\n  services = {{\n    \"providers.v1\" = \"{}\"\n  }}\n}}\n",
        registry.host.url("/p/")
    );
    let (source, none) = (weft_providers::source::parse("acme/lab").unwrap(), LockFile::default());
    let strict = ["OPENTOFU_ENFORCE_GPG_VALIDATION"];
    let (refused, _) = registry.install_as(&source, &strict, &config, "", &none, false).await;
    assert!(problem(&refused).contains("unknown issuer"), "{}", problem(&refused));
    let (done, said) = registry.install_as(&source, &[], &config, "", &none, false).await;
    assert!(said[2].ends_with("acme/lab v1.0.0 (signing skipped)"), "{said:?}");
    assert_eq!(done.lock.providers[&source].checksums.len(), 3);
}
