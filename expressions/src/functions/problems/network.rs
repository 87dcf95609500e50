//! The errors of the functions of IP networks.

use std::fmt::Display;

use num_bigint::BigInt;

use crate::functions::FunctionError;

/// The text is not a network. The error concerns the whole call.
pub(in crate::functions) fn invalid_network(why: impl Display) -> FunctionError {
    FunctionError::new(invalid_network_text(why))
}

/// An argument is not a network.
pub(in crate::functions) fn invalid_network_argument(argument: usize, why: impl Display) -> FunctionError {
    FunctionError::argument(argument, invalid_network_text(why))
}

fn invalid_network_text(why: impl Display) -> String {
    format!("invalid CIDR expression: {why}")
}

/// A text is neither an address nor a network.
pub(in crate::functions) fn invalid_address_or_prefix(text: &str) -> FunctionError {
    FunctionError::new(format!("invalid IP address or prefix: {text}"))
}

/// One argument is IPv4, but the other argument is IPv6.
pub(in crate::functions) fn families_differ(outer: &str, inner: &str) -> FunctionError {
    FunctionError::new(format!("address family mismatch: {outer} vs. {inner}"))
}

/// A number is not an integer.
pub(in crate::functions) fn not_an_integer() -> FunctionError {
    FunctionError::new("value must be a whole number")
}

/// A network has no host with this number.
pub(in crate::functions) fn no_such_host(prefix: u32, host: &BigInt) -> FunctionError {
    FunctionError::new(format!("prefix of {prefix} does not accommodate a host numbered {host}"))
}

/// A host number has more than 128 bits.
pub(in crate::functions) fn host_out_of_range() -> FunctionError {
    FunctionError::new("host number out of range")
}

/// The network of `cidrnetmask` is IPv6.
pub(in crate::functions) fn no_netmask(network: &str) -> FunctionError {
    FunctionError::new(format!("IPv6 addresses cannot have a netmask: {network}"))
}

/// The extended prefix is longer than an address.
pub(in crate::functions) fn no_space_to_extend(prefix: u32, by: i64) -> FunctionError {
    FunctionError::new(format!("insufficient address space to extend prefix of {prefix} by {by}"))
}

/// The number of a subnet has more bits than the extension of the prefix.
pub(in crate::functions) fn no_such_subnet(extension: i64, subnet: &BigInt) -> FunctionError {
    FunctionError::new(format!("prefix extension of {extension} does not accommodate a subnet numbered {subnet}"))
}

/// An address has more than 128 bits.
pub(in crate::functions) fn address_out_of_range() -> FunctionError {
    FunctionError::new("address out of range")
}

/// A subnet is not smaller than its network.
pub(in crate::functions) fn extension_too_small(argument: usize) -> FunctionError {
    FunctionError::argument(argument, "must extend prefix by at least one bit")
}

/// The extension of a prefix exceeds the limit.
pub(in crate::functions) fn extension_too_large(argument: usize, largest: i64) -> FunctionError {
    FunctionError::argument(argument, format!("may not extend prefix by more than {largest} bits"))
}

/// The prefix of a subnet is longer than an address of `bits` bits.
pub(in crate::functions) fn prefix_too_long(argument: usize, prefix: u32, bits: u32) -> FunctionError {
    let protocol = if bits == 32 { "IPv4" } else { "IPv6" };
    FunctionError::argument(
        argument,
        format!("would extend prefix to {prefix} bits, which is too long for an {protocol} address"),
    )
}

/// A network has no room for another subnet after `after`.
pub(in crate::functions) fn no_space_left(argument: usize, prefix: u32, after: impl Display) -> FunctionError {
    FunctionError::argument(
        argument,
        format!("not enough remaining address space for a subnet with a prefix of {prefix} bits after {after}"),
    )
}
