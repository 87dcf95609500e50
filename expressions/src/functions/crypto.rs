//! Identifiers, password hashes and decryption.

use num_bigint::BigUint;
use uuid::Uuid;
use weft_graph_format::types::Type;
use weft_graph_format::value::Value;

use super::arguments::{text, whole_at};
use super::encoding::{base64_bytes, lossy};
use super::rsa_key::{PrivateKey, read_private_key};
use super::{CallContext, Function, FunctionError, Parameter, Symbolic, problems};

/// The cost of `bcrypt` if the argument is missing or below the minimum.
const DEFAULT_COST: u32 = 10;

/// The costs that bcrypt is defined for.
const COSTS: std::ops::RangeInclusive<i64> = 4..=31;

/// The maximum length of a password, in bytes. Longer passwords are refused and not truncated.
const LONGEST_PASSWORD: usize = 72;

pub(super) fn functions() -> Vec<Function> {
    let string = |name, description| Parameter::new(name, Type::String, description);
    vec![
        Function::new("bcrypt", "A salted bcrypt hash of a password, different in each call.", Symbolic::Impure)
            .parameter(string("str", "The password."))
            .variadic(Parameter::new("cost", Type::Number, "The cost of the hash; 10 by default."))
            .returns(Type::String)
            .not_null()
            .calls(bcrypt_hash),
        Function::new("uuid", "A random UUID, different in each call.", Symbolic::Impure)
            .returns(Type::String)
            .not_null()
            .calls(|_, _, _| Ok(Value::string(Uuid::new_v4().to_string()))),
        Function::new("uuidv5", "The UUID of a name in a namespace.", Symbolic::Opaque)
            .parameter(string("namespace", "dns, url, oid, x500 or a UUID."))
            .parameter(string("name", "The name."))
            .returns(Type::String)
            .not_null()
            .calls(uuidv5),
        Function::new("rsadecrypt", "The text decrypted with an RSA private key.", Symbolic::Opaque)
            .parameter(string("ciphertext", "The encrypted text, in base64."))
            .parameter(string("privatekey", "The private key, in PEM format."))
            .returns(Type::String)
            .not_null()
            .calls(rsadecrypt),
    ]
}

fn bcrypt_hash(_: &CallContext<'_>, arguments: &[Value], _: &Type) -> Result<Value, FunctionError> {
    if arguments.len() > 2 {
        return Err(problems::crypto::too_many_bcrypt_arguments());
    }
    let cost = match arguments.get(1) {
        None => DEFAULT_COST,
        Some(_) => match whole_at(arguments, 1)? {
            cost if cost < *COSTS.start() => DEFAULT_COST,
            cost if COSTS.contains(&cost) => u32::try_from(cost).unwrap_or(DEFAULT_COST),
            cost => return Err(problems::crypto::cost_out_of_range(cost)),
        },
    };
    let password = text(arguments, 0)?;
    if password.len() > LONGEST_PASSWORD {
        return Err(problems::crypto::password_too_long());
    }
    let hashed = bcrypt::hash_with_result(password, cost).map_err(problems::crypto::cannot_hash_password)?;
    Ok(Value::string(hashed.format_for_version(bcrypt::Version::TwoA)))
}

fn uuidv5(_: &CallContext<'_>, arguments: &[Value], _: &Type) -> Result<Value, FunctionError> {
    let (namespace, name) = (text(arguments, 0)?, text(arguments, 1)?);
    let space = match namespace {
        "dns" => Uuid::NAMESPACE_DNS,
        "url" => Uuid::NAMESPACE_URL,
        "oid" => Uuid::NAMESPACE_OID,
        "x500" => Uuid::NAMESPACE_X500,
        other => {
            Uuid::parse_str(&other.to_ascii_lowercase()).map_err(|e| problems::crypto::invalid_namespace(other, e))?
        }
    };
    Ok(Value::string(Uuid::new_v5(&space, name.as_bytes()).to_string()))
}

fn rsadecrypt(_: &CallContext<'_>, arguments: &[Value], _: &Type) -> Result<Value, FunctionError> {
    let cipher = base64_bytes(text(arguments, 0)?).map_err(|_| problems::crypto::cipher_not_base64())?;
    let key = read_private_key(text(arguments, 1)?).map_err(problems::crypto::invalid_private_key)?;
    let plain = decrypt(&key, &cipher).ok_or_else(problems::crypto::cannot_decrypt)?;
    Ok(Value::string(lossy(&plain)))
}

/// The minimum padding in bytes of PKCS #1 v1.5 (RFC 8017, section 7.2.2).
const LEAST_PADDING: usize = 8;

/// Decrypts RSAES-PKCS1-v1_5 (RFC 8017, section 7.2.2).
///
/// Uses big integers, because the cryptography library rejects keys below 2048 bits, and users still have such keys.
/// The running time depends on the key. This would not be acceptable for a server. It is acceptable here, because the
/// owner of the key makes the plan.
fn decrypt(key: &PrivateKey, cipher: &[u8]) -> Option<Vec<u8>> {
    let length = usize::try_from(key.modulus.bits().div_ceil(8)).ok()?;
    if cipher.len() > length {
        return None;
    }
    let number = BigUint::from_bytes_be(cipher);
    if number >= key.modulus {
        return None;
    }
    let block = number.modpow(&key.exponent, &key.modulus).to_bytes_be();
    // The block starts with a zero byte, which the bytes of the number do not contain.
    if block.len() + 1 != length {
        return None;
    }
    let padded = block.strip_prefix(&[2])?;
    let end = padded.iter().position(|b| *b == 0)?;
    if end < LEAST_PADDING {
        return None;
    }
    Some(padded[end + 1..].to_vec())
}
