//! A cache of schemas in memory and on disk, by the checksum of the package.
//!
//! A file contains the plugin's replies as received, so its format does not change when Weft's types do. A damaged or
//! unreadable file counts as missing, and a failure to write a file is only logged.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use aws_lc_rs::digest::{SHA256, SHA256_OUTPUT_LEN, digest};
use data_encoding::HEXLOWER;
use parking_lot::Mutex;
use prost::Message as _;
use tokio::sync::Mutex as AsyncMutex;
use weft_graph_format::schema::ProviderSchema;
use weft_proto::tfplugin6::get_resource_identity_schemas;

use crate::handshake::Protocol;
use crate::wire::SchemaReply;

/// The first bytes of a cache file. The digit is the version of the layout.
const MAGIC: &[u8; 8] = b"weftsch1";

/// The folder of the cache in the data directory.
pub const FOLDER: &str = "weft/schemas";

/// Schemas by package checksum. Shared by all sessions of a process.
#[derive(Debug, Default)]
pub struct SchemaCache {
    folder: Option<PathBuf>,
    known: Mutex<BTreeMap<String, Arc<ProviderSchema>>>,
    /// Held while a file is read, so that other callers find its schema in memory afterwards.
    reading: AsyncMutex<()>,
}

impl SchemaCache {
    /// A cache in memory only.
    pub fn in_memory() -> SchemaCache {
        SchemaCache::default()
    }

    /// A cache that also stores files, in [`FOLDER`] of the data directory (usually `.terraform`).
    pub fn on_disk(data_directory: &Path) -> SchemaCache {
        SchemaCache { folder: Some(data_directory.join(FOLDER)), ..SchemaCache::default() }
    }

    /// The schema of the package with this checksum, if it is cached. One caller reads the file, and the others wait
    /// for the result. The file is read on a blocking thread, because decoding the schema of a large provider can take
    /// a considerable part of a second.
    pub async fn load(self: &Arc<Self>, checksum: &str) -> Option<Arc<ProviderSchema>> {
        let known = || self.known.lock().get(checksum).cloned();
        if let Some(schema) = known() {
            return Some(schema);
        }
        let _reading = self.reading.lock().await;
        if let Some(schema) = known() {
            return Some(schema);
        }
        let (cache, checksum) = (self.clone(), checksum.to_owned());
        tokio::task::spawn_blocking(move || cache.get(&checksum)).await.ok().flatten()
    }

    /// Like [`SchemaCache::load`], but on the current thread.
    pub fn get(&self, checksum: &str) -> Option<Arc<ProviderSchema>> {
        if let Some(schema) = self.known.lock().get(checksum) {
            return Some(schema.clone());
        }
        let bytes = std::fs::read(self.file(checksum)?).ok()?;
        let Some((reply, identities)) = decode(&bytes) else {
            tracing::warn!(checksum, "a file of the schema cache is damaged and not used");
            return None;
        };
        let schema = Arc::new(reply.convert(identities).ok()?);
        Some(self.remember(checksum, schema))
    }

    pub(crate) fn remember(&self, checksum: &str, schema: Arc<ProviderSchema>) -> Arc<ProviderSchema> {
        self.known.lock().entry(checksum.to_owned()).or_insert(schema).clone()
    }

    /// Writes the file for a package atomically.
    pub(crate) fn save(
        &self,
        checksum: &str,
        reply: &SchemaReply,
        identities: &get_resource_identity_schemas::Response,
    ) {
        let Some(file) = self.file(checksum) else { return };
        let written = || -> std::io::Result<()> {
            let folder = file.parent().unwrap_or(Path::new("."));
            std::fs::create_dir_all(folder)?;
            let mut temporary = tempfile::NamedTempFile::new_in(folder)?;
            temporary.write_all(&encode(reply, identities))?;
            temporary.persist(&file)?;
            Ok(())
        };
        if let Err(error) = written() {
            tracing::debug!(%error, "the schema cache could not be written");
        }
    }

    fn file(&self, checksum: &str) -> Option<PathBuf> {
        let name = HEXLOWER.encode(digest(&SHA256, checksum.as_bytes()).as_ref());
        Some(self.folder.as_ref()?.join(name))
    }
}

/// Encodes a cache file: [`MAGIC`]; SHA-256 of the rest; protocol (one byte); length of the schema (8 bytes,
/// little-endian); schema; identities.
fn encode(reply: &SchemaReply, identities: &get_resource_identity_schemas::Response) -> Vec<u8> {
    let schema = reply.encode();
    let mut rest = vec![reply.protocol().number()];
    rest.extend_from_slice(&(schema.len() as u64).to_le_bytes());
    rest.extend_from_slice(&schema);
    rest.extend_from_slice(&identities.encode_to_vec());
    let mut file = MAGIC.to_vec();
    file.extend_from_slice(digest(&SHA256, &rest).as_ref());
    file.extend_from_slice(&rest);
    file
}

fn decode(file: &[u8]) -> Option<(SchemaReply, get_resource_identity_schemas::Response)> {
    let (sum, rest) = file.strip_prefix(MAGIC)?.split_at_checked(SHA256_OUTPUT_LEN)?;
    if digest(&SHA256, rest).as_ref() != sum {
        return None;
    }
    let (protocol, rest) = rest.split_first()?;
    let protocol = match protocol {
        5 => Protocol::V5,
        6 => Protocol::V6,
        _ => return None,
    };
    let (length, rest) = rest.split_first_chunk::<8>()?;
    let (schema, identities) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
    let reply = SchemaReply::decode(protocol, schema).ok()?;
    Some((reply, get_resource_identity_schemas::Response::decode(identities).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use weft_proto::tfplugin6;

    fn reply() -> SchemaReply {
        let mut reply = tfplugin6::get_provider_schema::Response::default();
        let attribute = tfplugin6::schema::Attribute {
            name: "id".into(),
            r#type: br#""string""#.to_vec(),
            computed: true,
            ..Default::default()
        };
        let block = tfplugin6::schema::Block { attributes: vec![attribute], ..Default::default() };
        reply.resource_schemas.insert("a_b".into(), tfplugin6::Schema { version: 3, block: Some(block) });
        SchemaReply::V6(reply)
    }

    #[test]
    fn a_saved_schema_is_found_by_another_cache_and_a_damaged_one_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let cache = SchemaCache::on_disk(folder.path());
        assert!(cache.get("h1:x").is_none());
        cache.save("h1:x", &reply(), &Default::default());
        let schema = SchemaCache::on_disk(folder.path()).get("h1:x").unwrap();
        assert_eq!(schema.resources["a_b"].version, 3);
        assert!(schema.resources["a_b"].block.attributes["id"].computed);
        let file = cache.file("h1:x").unwrap();
        let mut bytes = std::fs::read(&file).unwrap();
        let last = bytes.len() - 1;
        bytes[last] ^= 1;
        std::fs::write(&file, bytes).unwrap();
        assert!(SchemaCache::on_disk(folder.path()).get("h1:x").is_none());
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            let _ = decode(&bytes);
            let mut marked = MAGIC.to_vec();
            marked.extend_from_slice(digest(&SHA256, &bytes).as_ref());
            marked.extend_from_slice(&bytes);
            let _ = decode(&marked);
        }
    }
}
