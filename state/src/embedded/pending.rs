//! The pending content of an edit, stored beside the state file until the state file has it. An edit has no journal
//! from which a torn write could be redone.
//!
//! The file is `.NAME.edit`: the blake3 of the content in hex, a line end, and the content. The digest reveals an
//! incomplete file. In that case, the state file is still untouched.

use std::path::PathBuf;

use serde::de::IgnoredAny;

use super::medium::Document;
use super::private::write_private;
use super::problems;
use crate::error::StoreError;
use crate::run::Digest;

fn place(handle: &dyn Document) -> PathBuf {
    let name = handle.path().file_name().unwrap_or_default().to_string_lossy();
    handle.path().with_file_name(format!(".{}.edit", name.strip_prefix('.').unwrap_or(&name)))
}

/// Writes new content in place. A crash leaves the old content or the new one, and never a mixture.
pub(super) fn write(handle: &dyn Document, content: &[u8]) -> Result<(), StoreError> {
    let path = place(handle);
    let mut kept = Digest::of(content).hex().into_bytes();
    kept.push(b'\n');
    kept.extend(content);
    if let Err(error) = write_private(&path, &kept) {
        // If the disk is full, this removes the partial file.
        let _ = std::fs::remove_file(&path);
        return Err(error);
    }
    handle.write(content)?;
    std::fs::remove_file(&path).map_err(problems::removing(&path))
}

/// Finishes the edit of a dead process by redoing a torn write. Returns the content of the state file.
pub(super) fn settle(handle: &dyn Document, content: Vec<u8>) -> Result<Vec<u8>, StoreError> {
    let path = place(handle);
    let kept = match std::fs::read(&path) {
        Ok(kept) => kept,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(content),
        Err(error) => return Err(problems::reading(&path)(error)),
    };
    let parts = kept.iter().position(|byte| *byte == b'\n').map(|end| (&kept[..end], &kept[end + 1..]));
    let whole = parts.filter(|(digest, image)| *digest == Digest::of(image).hex().as_bytes()).map(|(_, image)| image);
    // Another tool may have written the file in the meantime. In that case, the file is valid and stays as it is.
    let torn = !content.is_empty() && serde_json::from_slice::<IgnoredAny>(&content).is_err();
    let content = match whole.filter(|_| torn) {
        Some(image) => {
            handle.write(image)?;
            image.to_vec()
        }
        None => content,
    };
    std::fs::remove_file(&path).map_err(problems::removing(&path))?;
    Ok(content)
}
