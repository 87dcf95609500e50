//! Packages of modules: from git repositories and archives on this machine, and from a host over TLS.

mod loopback;
#[path = "modules/unpacking.rs"]
mod unpacking;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use aws_lc_rs::digest::{SHA256, digest};
use data_encoding::HEXLOWER;
use loopback::{Host, Reply};
use serde_json::json;
use weft_graph_format::module_source::{ModuleSource, RegistryModule};
use weft_registry::archive::{ArchiveError, MAX_ENTRIES, Packing, unpack};
use weft_registry::modules::{FetchError, GitError, ModuleFetcher, PackageLocation, RegistryError};
use weft_registry::{CliConfig, Network, ProcessEnvironment};

const MAIN: &str = "output \"x\" {\n  value = 1\n}\n";

fn fetcher(host: Option<&Host>) -> ModuleFetcher {
    let text = host.map(|host| format!("credentials \"{}\" {{\n  token = \"sesame\"\n}}\n", host.name()));
    let (config, problems) = CliConfig::parse(&text.unwrap_or_default(), Path::new("tofurc"), Path::new("/"));
    assert!(problems.is_empty(), "{problems:?}");
    let settings = host.map(Host::settings).unwrap_or_default();
    ModuleFetcher::new(&Network::with(&config, &ProcessEnvironment::new("/", &[]), settings))
}

fn sha256(bytes: &[u8]) -> String {
    HEXLOWER.encode(digest(&SHA256, bytes).as_ref())
}

fn zip(files: &[(&str, &str)]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, content) in files {
        writer.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
        writer.write_all(content.as_bytes()).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// A tar file. Links have the form `name -> target`.
fn tar(entries: &[(&str, &str)]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, content) in entries {
        let mut header = tar::Header::new_gnu();
        header.set_mode(0o755);
        let (name, content) = match name.split_once(" -> ") {
            Some((name, target)) => {
                header.set_entry_type(tar::EntryType::Symlink);
                header.as_gnu_mut().unwrap().linkname[..target.len()].copy_from_slice(target.as_bytes());
                (name, "")
            }
            None => (*name, *content),
        };
        header.set_size(content.len() as u64);
        // The library refuses to write some names that a reader must refuse, so the name is written directly.
        header.as_gnu_mut().unwrap().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_cksum();
        builder.append(&header, content.as_bytes()).unwrap();
    }
    builder.into_inner().unwrap()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn bzip2(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn xz(bytes: &[u8]) -> Vec<u8> {
    let mut writer = lzma_rust2::XzWriter::new(Vec::new(), lzma_rust2::XzOptions::with_preset(1)).unwrap();
    writer.write_all(bytes).unwrap();
    writer.finish().unwrap()
}

fn git(at: &Path, words: &[&str]) {
    let done = Command::new("git")
        .args(["-c", "user.name=n", "-c", "user.email=n@example.com", "-c", "init.defaultBranch=main"])
        .args(words)
        .current_dir(at)
        .output()
        .unwrap();
    assert!(done.status.success(), "{words:?}: {}", String::from_utf8_lossy(&done.stderr));
}

/// Creates a bare repository with a tag `v1`, and a later branch `next` with the directory `sub`.
fn repository(dir: &Path) -> (String, String) {
    let work = dir.join("work");
    std::fs::create_dir_all(work.join("sub")).unwrap();
    git(&work, &["init", "-q"]);
    for (text, name) in [("one", "v1"), ("two", "v2")] {
        std::fs::write(work.join("main.tf"), format!("# {text}\n")).unwrap();
        std::fs::write(work.join("sub/main.tf"), format!("# sub {text}\n")).unwrap();
        git(&work, &["add", "."]);
        git(&work, &["commit", "-q", "-m", text]);
        git(&work, &["tag", name]);
    }
    git(&work, &["branch", "feature/next", "v1"]);
    git(dir, &["clone", "-q", "--bare", "work", "bare.git"]);
    let commit = Command::new("git").args(["rev-parse", "v1"]).current_dir(&work).output().unwrap();
    let commit = String::from_utf8(commit.stdout).unwrap().trim().to_owned();
    (format!("git::file://{}/bare.git", dir.display()), commit)
}

#[tokio::test]
async fn git_repositories_are_fetched() {
    let dir = tempfile::tempdir().unwrap();
    let (address, commit) = repository(dir.path());
    let mut fetcher = fetcher(None);
    let long = format!("?ref={commit}");
    let short = format!("?ref={}", &commit[..8]);
    for (n, (query, first)) in [
        ("", "# two"),
        ("?ref=v1", "# one"),
        (long.as_str(), "# one"),
        (short.as_str(), "# one"),
        ("?ref=feature%2Fnext", "# one"),
        ("?depth=1", "# two"),
        ("?depth=1&ref=v1", "# one"),
        ("?ref=v1&depth=nonsense", "# one"),
    ]
    .into_iter()
    .enumerate()
    {
        let to = dir.path().join(n.to_string());
        fetcher.fetch(&format!("{address}{query}"), &to).await.unwrap_or_else(|error| panic!("{query}: {error}"));
        assert_eq!(std::fs::read_to_string(to.join("main.tf")).unwrap().trim(), first, "{query}");
        assert!(to.join(".git").exists());
    }
    // A package that was fetched before is copied, without git's directory.
    let again = dir.path().join("again");
    fetcher.fetch(&address, &again).await.unwrap();
    assert!(again.join("sub/main.tf").exists() && !again.join(".git").exists());
}

#[tokio::test]
async fn hostile_git_arguments_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let (address, commit) = repository(dir.path());
    let mut fetcher = fetcher(None);
    let mut n = 0;
    let mut fetch = async |address: String| {
        n += 1;
        fetcher.fetch(&address, &dir.path().join(format!("to-{n}"))).await.unwrap_err()
    };
    let touch = dir.path().join("touched");
    let run = format!("--upload-pack=touch%20{}", touch.display());
    for bad in [run.as_str(), "-x", "a%20b"] {
        let error = fetch(format!("{address}?ref={bad}")).await;
        assert!(matches!(error, FetchError::Argument { name: "ref", .. }), "{error}");
    }
    let error = fetch(format!("{address}?ref=gone")).await;
    assert!(matches!(error, FetchError::Git(GitError::NoRef(_))), "{error}");
    let error = fetch(format!("{address}?depth=1&ref={commit}")).await;
    assert!(matches!(error, FetchError::Git(GitError::ShallowCommit(_))), "{error}");
    let error = fetch(format!("{address}?sshkey=%21")).await;
    assert!(matches!(error, FetchError::Argument { name: "sshkey", .. }), "{error}");
    // A transport that runs programs is refused.
    let error = fetch(format!("git::ext::sh -c touch% {}", touch.display())).await;
    assert!(matches!(error, FetchError::Git(_)), "{error}");
    let error = fetch(format!("git::https://me:s3cret@localhost:1/{}", "r.git")).await;
    assert!(matches!(error, FetchError::Git(_)) && !error.to_string().contains("s3cret"), "{error}");
    assert!(!touch.exists());
    // Submodules are fetched only from remote hosts.
    let work = dir.path().join("work");
    let inner = dir.path().join("bare.git");
    git(&work, &["-c", "protocol.file.allow=always", "submodule", "add", "-q", &inner.display().to_string(), "m"]);
    git(&work, &["commit", "-q", "-m", "submodule"]);
    let error = fetch(format!("git::file://{}", work.display())).await;
    assert!(matches!(&error, FetchError::Git(GitError::Failed { command, .. }) if command == "submodule"), "{error}");
}

#[tokio::test]
async fn local_directories_and_archives_are_fetched() {
    let dir = tempfile::tempdir().unwrap();
    let package = dir.path().join("pack age");
    std::fs::create_dir_all(package.join("sub")).unwrap();
    std::fs::write(package.join("main.tf"), MAIN).unwrap();
    let mut fetcher = fetcher(None);
    let to = dir.path().join("to/link");
    fetcher.fetch(&format!("file://{}", package.display()), &to).await.unwrap();
    assert_eq!(std::fs::read_link(&to).unwrap(), package);
    let archive = dir.path().join("m.zip");
    std::fs::write(&archive, zip(&[("main.tf", MAIN)])).unwrap();
    let to = dir.path().join("to/zip");
    let good = sha256(&std::fs::read(&archive).unwrap());
    fetcher.fetch(&format!("file://{}?checksum=sha256:{good}", archive.display()), &to).await.unwrap();
    assert_eq!(std::fs::read_to_string(to.join("main.tf")).unwrap(), MAIN);
    for (address, text) in [
        (format!("file://{}/gone", dir.path().display()), "is not a directory"),
        (format!("file://{}", archive.display().to_string().replace("m.zip", "n")), "is not a directory"),
        (format!("file://{}?checksum=md5:{}", archive.display(), "0".repeat(32)), "checksum"),
        ("hg::https://h.org/r".to_owned(), "Mercurial"),
        ("s3::https://s3.amazonaws.com/b/k".to_owned(), "S3"),
        ("gcs::https://www.googleapis.com/storage/v1/b/k".to_owned(), "Google"),
        ("ftp://h.org/r".to_owned(), "\"ftp\""),
    ] {
        let error = fetcher.fetch(&address, &dir.path().join("to/none")).await.unwrap_err();
        assert!(error.to_string().contains(text), "{address}: {error}");
    }
}

#[tokio::test]
async fn archives_are_fetched_over_tls() {
    let host = Host::start().await;
    let dir = tempfile::tempdir().unwrap();
    let archive = zip(&[("top/main.tf", MAIN), ("top/sub/main.tf", "# sub\n")]);
    let good = sha256(&archive);
    host.put("/m.zip", Reply::bytes("application/zip", archive.clone()));
    host.put("/m?x=1", Reply::bytes("application/octet-stream", gzip(&tar(&[("main.tf", MAIN)]))));
    host.put("/sums", Reply::bytes("text/plain", format!("{}  other\n{good}  m.zip\n", "0".repeat(64)).into_bytes()));
    let mut fetcher = fetcher(Some(&host));
    let mut n = 0;
    let mut fetch = async |path: &str| {
        n += 1;
        let to = dir.path().join(n.to_string());
        fetcher.fetch(&host.url(path), &to).await.map(|()| to)
    };
    for path in [
        "/m.zip".to_owned(),
        format!("/m.zip?checksum={good}"),
        format!("/m.zip?checksum=sha256:{good}"),
        format!("/m.zip?checksum=file:{}", host.url("/sums")),
    ] {
        let to = fetch(&path).await.unwrap_or_else(|error| panic!("{path}: {error}"));
        assert_eq!(std::fs::read_to_string(to.join("top/main.tf")).unwrap(), MAIN);
    }
    let to = fetch("/m?archive=tgz&x=1").await.unwrap();
    assert!(to.join("main.tf").exists());
    // The page has another address, which includes a directory in the package.
    let mut elsewhere = Reply::bytes("text/html", Vec::new());
    elsewhere.headers.push(("X-Terraform-Get".to_owned(), "./m.zip//top".to_owned()));
    host.put("/page?terraform-get=1", elsewhere);
    let page = format!("<head><meta name=\"terraform-get\" content=\"{}//*/sub\"></head>", host.url("/m.zip"));
    host.put("/meta?a=b&terraform-get=1", Reply::bytes("text/html", page.into_bytes()));
    let to = fetch("/page").await.unwrap();
    assert!(to.join("main.tf").exists() && to.join("sub").exists());
    let to = fetch("/meta?a=b").await.unwrap();
    assert_eq!(std::fs::read_to_string(to.join("main.tf")).unwrap(), "# sub\n");
    for (path, answer, text) in [
        ("/empty", "", "names no other address"),
        ("/circle", "/circle", "more than 10"),
        ("/inward", "file:///etc", "local directory"),
        ("/inward-git", "git::file:///srv/r.git", "local directory"),
        ("/nothing-there", "./m.zip//gone", "is not a directory"),
    ] {
        let mut reply = Reply::bytes("text/html", Vec::new());
        if !answer.is_empty() {
            reply.headers.push(("X-Terraform-Get".to_owned(), answer.to_owned()));
        }
        host.put(&format!("{path}?terraform-get=1"), reply);
        let error = fetch(path).await.unwrap_err();
        assert!(error.to_string().contains(text), "{path}: {error}");
    }
    for (path, text) in [
        (format!("/m.zip?checksum=sha256:{}", "0".repeat(64)), "checksum"),
        ("/m.zip?checksum=zz".to_owned(), "hexadecimal"),
        (format!("/gone?checksum={good}"), "does not end like that of an archive"),
        ("/gone.zip".to_owned(), "404"),
        ("/m.zip?archive=tar.gz".to_owned(), "damaged"),
    ] {
        let error = fetch(&path).await.unwrap_err();
        assert!(error.to_string().contains(text), "{path}: {error}");
    }
    let mut stranger = self::fetcher(None);
    let error = stranger.fetch(&host.url("/m.zip"), &dir.path().join("stranger")).await.unwrap_err();
    assert!(matches!(error, FetchError::Http(_)), "{error}");
}

fn registry_module(host: &Host, rest: &str) -> RegistryModule {
    // A registry address needs a dot in the host's name. The test's host has none.
    let Ok(ModuleSource::Registry(mut module)) = ModuleSource::parse(&format!("example.com/{rest}")) else {
        panic!("{rest} is no address in a registry")
    };
    module.host = host.name();
    module
}

#[tokio::test]
async fn modules_of_registries_are_fetched() {
    let host = Host::start().await;
    let dir = tempfile::tempdir().unwrap();
    host.put("/.well-known/terraform.json", Reply::json(json!({"modules.v1": "/v1/modules/"})));
    let versions =
        json!({"modules": [{"versions": [{"version": "1.0.0"}, {"version": "v1.1"}, {"version": "x"}]}, {}]});
    host.put("/v1/modules/ns/m/aws/versions", Reply::json(versions).only_with("Bearer sesame"));
    host.put("/v1/modules/ns/none/aws/versions", Reply::json(json!({"modules": []})));
    let mut fetcher = fetcher(Some(&host));
    let module = registry_module(&host, "ns/m/aws//sub");
    let listed = fetcher.versions(&module).await.unwrap();
    assert_eq!(listed.versions.iter().map(ToString::to_string).collect::<Vec<_>>(), ["1.0.0", "1.1.0"]);
    assert_eq!(listed.unreadable, ["x"]);
    fetcher.versions(&module).await.unwrap();
    assert_eq!(host.count("/v1/modules/ns/m/aws/versions"), 1);
    let gone = fetcher.versions(&registry_module(&host, "ns/gone/aws")).await.unwrap_err();
    assert!(matches!(gone, RegistryError::NotFound), "{gone}");
    let none = fetcher.versions(&registry_module(&host, "ns/none/aws")).await.unwrap_err();
    assert!(matches!(none, RegistryError::NoModule), "{none}");

    host.put("/p/m.tgz", Reply::bytes("application/gzip", gzip(&tar(&[("top/sub/main.tf", MAIN)]))));
    let header = |text: &str, status| {
        let mut reply = Reply::status(status);
        reply.headers.push(("X-Terraform-Get".to_owned(), text.to_owned()));
        reply
    };
    let download = |version: &str| format!("/v1/modules/ns/m/aws/{version}/download");
    host.put(&download("1.0.0"), header("/p/m.tgz//top", 204));
    host.put(&download("1.1.0"), Reply::json(json!({"location": "../../../../../../p/m.tgz//*?archive=tgz"})));
    for (n, version) in listed.versions.iter().enumerate() {
        let location = fetcher.location(&module, version).await.unwrap();
        let subdir = if n == 0 { "top/sub" } else { "*/sub" };
        assert_eq!(location.subdir(), subdir);
        let to = dir.path().join(n.to_string());
        fetcher.fetch_location(&module, &location, &to).await.unwrap();
        assert!(to.join("top/sub/main.tf").exists());
    }
    let version = &listed.versions[0];
    for (n, (module, reply, wanted)) in [
        ("direct", Reply::json(json!({"location": "/p/direct", "use_registry_credentials": true})), "Bearer sesame"),
        ("open", Reply::json(json!({"location": "/p/open", "use_registry_credentials": false})), ""),
    ]
    .into_iter()
    .enumerate()
    {
        host.put(&format!("/v1/modules/ns/{module}/aws/1.0.0/download"), reply);
        host.put(&format!("/p/{module}"), Reply::bytes("application/octet-stream", zip(&[("main.tf", MAIN)])));
        let address = registry_module(&host, &format!("ns/{module}/aws"));
        let location = fetcher.location(&address, version).await.unwrap();
        assert!(matches!(location, PackageLocation::Direct { .. }));
        let to = dir.path().join(format!("direct-{n}"));
        fetcher.fetch_location(&address, &location, &to).await.unwrap();
        assert!(to.join("main.tf").exists());
        let sent = host.authorization(&format!("/p/{module}")).unwrap_or_default();
        assert_eq!(sent, wanted);
    }
    for (module, reply, text) in [
        ("a", Reply::json(json!({"location": "file:///etc"})), "local directory"),
        ("b", Reply::json(json!({"location": "ns/m/aws"})), "not the address of a remote package"),
        ("c", Reply::json(json!({})), "did not return the address"),
        ("d", Reply::bytes("text/html", b"<html>".to_vec()), "expected JSON document"),
        ("e", Reply::status(404), "lists version 1.0.0 of this module, but does not have it"),
        ("f", Reply::json(json!({"location": "ftp://x/y", "use_registry_credentials": true})), "not the address"),
        ("g", Reply::json(json!({"location": "x"})), "not the address of a package"),
    ] {
        host.put(&format!("/v1/modules/ns/{module}/aws/1.0.0/download"), reply);
        let address = registry_module(&host, &format!("ns/{module}/aws"));
        let error = match fetcher.location(&address, version).await {
            Ok(location) => {
                fetcher.fetch_location(&address, &location, &dir.path().join("none")).await.unwrap_err().to_string()
            }
            Err(error) => error.to_string(),
        };
        assert!(error.contains(text), "{module}: {error}");
    }
}

#[tokio::test]
async fn artifacts_of_oci_registries_are_fetched() {
    let host = Host::start().await;
    let dir = tempfile::tempdir().unwrap();
    let archive = zip(&[("main.tf", MAIN)]);
    let digest = format!("sha256:{}", sha256(&archive));
    let zeros = format!("sha256:{}", "0".repeat(64));
    let manifest = |artifact: &str, layers: serde_json::Value| {
        json!({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "artifactType": artifact,
            "layers": layers})
    };
    let module = "application/vnd.opentofu.modulepkg";
    let layer = json!({"mediaType": "archive/zip", "digest": digest, "size": archive.len()});
    let good = manifest(module, json!([layer, {"mediaType": "x/y", "digest": "sha256:0", "size": 1}]));
    let of_manifest = sha256(good.to_string().as_bytes());
    for (tag, document) in [
        ("latest", good.clone()),
        ("1.0", good.clone()),
        ("other", manifest("application/x", json!([layer]))),
        ("two", manifest(module, json!([layer, layer]))),
        ("index", json!({"mediaType": "application/vnd.oci.image.index.v1+json", "manifests": []})),
        ("wrong", manifest(module, json!([{"mediaType": "archive/zip", "digest": zeros, "size": archive.len()}]))),
    ] {
        host.put(&format!("/v2/a/m/manifests/{tag}"), Reply::json(document));
    }
    host.put(&format!("/v2/a/m/manifests/sha256:{of_manifest}"), Reply::json(good));
    host.put(&format!("/v2/a/m/blobs/{digest}"), Reply::bytes("application/octet-stream", archive.clone()));
    host.put(
        &format!("/v2/a/m/blobs/sha256:{}", "0".repeat(64)),
        Reply::bytes("application/octet-stream", archive.clone()),
    );
    let mut fetcher = fetcher(Some(&host));
    let address = format!("oci://{}/a/m", host.name());
    for (n, query) in ["".to_owned(), "?tag=1.0".to_owned(), format!("?digest=sha256:{of_manifest}")].iter().enumerate()
    {
        let to = dir.path().join(n.to_string());
        fetcher.fetch(&format!("{address}{query}"), &to).await.unwrap_or_else(|error| panic!("{query}: {error}"));
        assert_eq!(std::fs::read_to_string(to.join("main.tf")).unwrap(), MAIN);
    }
    for (query, text) in [
        ("?tag=gone", "does not exist"),
        ("?tag=other", "artifact of the type"),
        ("?tag=two", "one layer"),
        ("?tag=index", "not an OCI image manifest"),
        ("?tag=wrong", "checksum"),
        ("?archive=zip", "tag and digest only"),
    ] {
        let error = fetcher.fetch(&format!("{address}{query}"), &dir.path().join("none")).await.unwrap_err();
        assert!(error.to_string().contains(text), "{query}: {error}");
    }
}
