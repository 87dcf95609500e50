//! Names of AWS resources (ARN): `arn:PARTITION:SERVICE:REGION:ACCOUNT:RESOURCE`.

/// The parts of an ARN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Arn<'a> {
    pub(super) partition: &'a str,
    pub(super) service: &'a str,
    pub(super) region: &'a str,
    pub(super) account: &'a str,
    pub(super) resource: &'a str,
}

impl<'a> Arn<'a> {
    /// The parts of an ARN. `None` if the text does not have the form of one.
    pub(super) fn parse(text: &'a str) -> Option<Arn<'a>> {
        let mut parts = text.splitn(6, ':');
        let mut next = || parts.next();
        let (first, partition, service) = (next()?, next()?, next()?);
        let (region, account, resource) = (next()?, next()?, next()?);
        (first == "arn").then_some(Arn { partition, service, region, account, resource })
    }
}

/// The suffix of the names of multi-region access points.
const MANY: &str = ".mrap";

/// The meaning of the argument `bucket`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BucketName<'a> {
    /// The bucket with this name.
    Plain(&'a str),
    /// An access point of a bucket: its name, its account and its region.
    AccessPoint([&'a str; 3]),
    /// A multi-region access point: its name, which ends in `.mrap`.
    ManyRegions(&'a str),
    /// Another resource, which cannot store states.
    Other,
}

impl<'a> BucketName<'a> {
    /// Parses the argument `bucket`.
    pub(super) fn parse(text: &'a str) -> BucketName<'a> {
        let Some(Arn { service, region, account, resource, .. }) = Arn::parse(text) else {
            return if text.starts_with("arn:") { BucketName::Other } else { BucketName::Plain(text) };
        };
        let name = resource.strip_prefix("accesspoint").and_then(|rest| rest.strip_prefix([':', '/']));
        // The name becomes a part of a host name.
        let plain = |text: &str| {
            !text.is_empty()
                && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
        };
        match name {
            Some(name) if service == "s3" && region.is_empty() && plain(account) => match name.strip_suffix(MANY) {
                Some(alias) if plain(alias) => BucketName::ManyRegions(name),
                _ => BucketName::Other,
            },
            Some(name) if service == "s3" && [name, account, region].into_iter().all(plain) => {
                BucketName::AccessPoint([name, account, region])
            }
            _ => BucketName::Other,
        }
    }
}

/// Whether a string has the form of a KMS key id: a UUID, the id of a multi-region key, or an alias. As in OpenTofu,
/// other text may follow a UUID, surround the id of a multi-region key, or precede an alias.
pub(super) fn is_key_id(text: &str) -> bool {
    let alias = |at: usize| text.get(at..).is_some_and(is_alias);
    text.get(..UUID.len()).is_some_and(is_uuid)
        || text
            .match_indices(MULTI_REGION)
            .any(|(at, _)| text.get(at..at + MULTI_REGION.len() + 32).is_some_and(is_multi))
        || text.match_indices("alias/").any(|(at, _)| alias(at))
}

/// Whether the ARN belongs to a KMS key.
pub(super) fn is_key_arn(arn: &Arn<'_>) -> bool {
    is_alias(arn.resource) || arn.resource.strip_prefix("key/").is_some_and(|key| is_uuid(key) || is_multi(key))
}

/// The form of a UUID: `x` is a hexadecimal digit, `V` is a digit from 1 to 5, and `A` is one of 8, 9, a and b.
const UUID: &str = "xxxxxxxx-xxxx-Vxxx-Axxx-xxxxxxxxxxxx";
/// The prefix of the id of a multi-region key.
const MULTI_REGION: &str = "mrk-";

fn is_hexadecimal(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'a'..=b'f')
}

fn is_uuid(text: &str) -> bool {
    let fits = |(form, byte): (u8, u8)| match form {
        b'x' => is_hexadecimal(byte),
        b'V' => (b'1'..=b'5').contains(&byte),
        b'A' => matches!(byte, b'8' | b'9' | b'a' | b'b'),
        other => byte == other,
    };
    text.len() == UUID.len() && UUID.bytes().zip(text.bytes()).all(fits)
}

fn is_multi(text: &str) -> bool {
    text.strip_prefix(MULTI_REGION).is_some_and(|id| id.len() == 32 && id.bytes().all(is_hexadecimal))
}

fn is_alias(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'_' | b'-');
    text.strip_prefix("alias/").is_some_and(|name| !name.is_empty() && name.bytes().all(fits))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_keys() {
        let key = "57ff7a43-341d-46b6-aee3-a450c9de6dc8";
        let many = "mrk-f827515944fb43f9b902a09d2c8b554f";
        for (text, id, arn) in [
            (key, true, false),
            (many, true, false),
            ("alias/a/b-c_1", true, false),
            ("alias/", false, false),
            ("57ff7a43-341d-06b6-aee3-a450c9de6dc8", false, false),
            ("57ff7a43-341d-46b6-cee3-a450c9de6dc8", false, false),
            ("mrk-f827", false, false),
            ("key", false, false),
            (&format!("arn:aws:kms:us-west-2:111122223333:key/{key}"), false, true),
            (&format!("arn:aws:kms:us-west-2:111122223333:key/{many}"), true, true),
            ("arn:aws:kms:us-west-2:111122223333:alias/a", true, true),
            ("arn:aws:kms:us-west-2:111122223333:key/x", false, false),
            ("é", false, false),
        ] {
            assert_eq!(is_key_id(text), id, "{text}");
            assert_eq!(Arn::parse(text).is_some_and(|parsed| is_key_arn(&parsed)), arn, "{text}");
        }
    }

    #[test]
    fn names_of_buckets() {
        let point = BucketName::AccessPoint(["p", "123456789012", "eu-west-1"]);
        for (text, want) in [
            ("states", BucketName::Plain("states")),
            ("arn:aws:s3:eu-west-1:123456789012:accesspoint/p", point),
            ("arn:aws:s3:eu-west-1:123456789012:accesspoint:p", point),
            ("arn:aws:s3::123456789012:accesspoint/p.mrap", BucketName::ManyRegions("p.mrap")),
            ("arn:aws:s3::123456789012:accesspoint:p.mrap", BucketName::ManyRegions("p.mrap")),
            ("arn:aws:s3::123456789012:accesspoint/p", BucketName::Other),
            ("arn:aws:s3::123456789012:accesspoint/p.x.mrap", BucketName::Other),
            ("arn:aws:s3:eu-west-1:123456789012:accesspoint/p.mrap", BucketName::Other),
            ("arn:aws:s3:eu-west-1:123456789012:accesspoint/p/x", BucketName::Other),
            ("arn:aws:s3-outposts:eu-west-1:123456789012:outpost/o/accesspoint/p", BucketName::Other),
            ("arn:aws:s3:::states", BucketName::Other),
            ("arn:x", BucketName::Other),
        ] {
            assert_eq!(BucketName::parse(text), want, "{text}");
        }
    }
}
