//! Encoding of packages as bytes.

use super::container::{Magic, assemble};
use super::error::{Damage, PlanFileError, WriteError};
use super::package::FragmentPackage;
use super::read_back::ReadBackPackage;
use super::section::SectionKind;
use super::{FORMAT_VERSION, PlanReader, reader, record, writer};
use crate::graph::verify_fragment;

impl FragmentPackage {
    /// Encodes the package: a container with one section.
    ///
    /// # Errors
    /// The errors of [`super::write()`].
    pub fn encode(&self) -> Result<Vec<u8>, WriteError> {
        let section = writer::section::<ReadBackPackage>(SectionKind::Package, 0, self)?;
        Ok(assemble(Magic::Package, vec![section]))
    }

    /// Decodes a package, with the checks of [`PlanReader::fragment`].
    ///
    /// # Errors
    /// Returns an error if the package is damaged.
    pub fn decode(bytes: &[u8]) -> Result<FragmentPackage, PlanFileError> {
        let content = reader::only_section(Magic::Package, SectionKind::Package, bytes)?;
        let package: FragmentPackage =
            record::decode(SectionKind::Package, &content).map_err(PlanFileError::Damaged)?;
        if package.manifest.format_version != FORMAT_VERSION {
            return Err(PlanFileError::Version { found: package.manifest.format_version, supported: FORMAT_VERSION });
        }
        let flaws = verify_fragment(&package.fragment);
        if flaws.is_empty() { Ok(package) } else { Err(PlanFileError::Unsound(flaws)) }
    }
}

impl PlanReader {
    /// The encoded package of one shard, which a coordinator forwards.
    ///
    /// # Errors
    /// Returns an error if a section that the package needs is damaged. A package that was read can always be encoded.
    pub fn fragment_bytes(&self, index: usize) -> Result<Vec<u8>, PlanFileError> {
        self.package(index)?.encode().map_err(|error| match error {
            WriteError::Io(error) => PlanFileError::Io(error),
            WriteError::Unreadable { damage, .. } => PlanFileError::Damaged(damage),
            WriteError::Unwritable(kind) => PlanFileError::Damaged(Damage::Record(kind)),
            WriteError::TooManySections(count) => PlanFileError::Damaged(Damage::SectionCount(count as u32)),
        })
    }
}
