//! IP addresses and prefixes. They are treated as in Go's `net` package and related libraries: in most places, an IPv6
//! address of the form `::ffff:a.b.c.d` counts as IPv4.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

use num_bigint::{BigInt, Sign};
use num_traits::{One, Signed};
use weft_graph_format::types::Type;
use weft_graph_format::value::Value;

use super::arguments::{number, text, whole, whole_at};
use super::{CallContext, Function, FunctionError, Parameter, Symbolic, problems};

/// The maximum number of bits by which one subnet of `cidrsubnets` extends the prefix, as in OpenTofu.
const LARGEST_EXTENSION: i64 = 32;

pub(super) fn functions() -> Vec<Function> {
    let prefix = || Parameter::new("prefix", Type::String, "The prefix, such as 10.0.0.0/8.");
    let number = |name, description| Parameter::new(name, Type::Number, description);
    let network = |name, description| Function::new(name, description, Symbolic::Opaque).not_null();
    vec![
        // As in OpenTofu, a plan does not know that this result is not null.
        Function::new("cidrcontains", "Whether a prefix contains an address or another prefix.", Symbolic::Opaque)
            .parameter(Parameter::new("containing_prefix", Type::String, "The prefix."))
            .parameter(Parameter::new("contained_ip_or_prefix", Type::String, "The address or prefix to look for."))
            .returns(Type::Bool)
            .calls(cidrcontains),
        network("cidrhost", "The address of a host in a prefix.")
            .parameter(prefix())
            .parameter(number("hostnum", "The number of the host. A negative number counts from the end."))
            .returns(Type::String)
            .calls(cidrhost),
        network("cidrnetmask", "The mask of an IPv4 prefix as an address.")
            .parameter(prefix())
            .returns(Type::String)
            .calls(cidrnetmask),
        network("cidrsubnet", "A subnet of a prefix.")
            .parameter(prefix())
            .parameter(number("newbits", "The number of additional bits of the subnet."))
            .parameter(number("netnum", "The number of the subnet."))
            .returns(Type::String)
            .calls(cidrsubnet),
        network("cidrsubnets", "Consecutive subnets of a prefix.")
            .parameter(prefix())
            .variadic(number("newbits", "The number of additional bits of each subnet."))
            .returns(Type::list(Type::String))
            .calls(cidrsubnets),
    ]
}

/// An address of 32 or 128 bits.
#[derive(Clone, Copy, PartialEq)]
struct Address {
    bits: u32,
    value: u128,
}

/// The prefix of IPv6 addresses that stand for IPv4 addresses.
const MAPPED: u128 = 0xffff << 32;

impl Address {
    fn parse(text: &str) -> Option<Address> {
        if text.contains(':') {
            let address: Ipv6Addr = text.parse().ok()?;
            return Some(Address { bits: 128, value: address.into() });
        }
        let mut value = 0;
        let mut count = 0;
        for octet in text.split('.') {
            // Leading zeros are accepted and ignored.
            let digits = octet.trim_start_matches('0');
            if octet.is_empty() || digits.len() > 3 || !octet.bytes().all(|b| b.is_ascii_digit()) {
                return None;
            }
            let octet: u8 = if digits.is_empty() { 0 } else { digits.parse().ok()? };
            value = value << 8 | u128::from(octet);
            count += 1;
        }
        (count == 4).then_some(Address { bits: 32, value })
    }

    /// The IPv4 address, if this address has 32 bits or the form `::ffff:a.b.c.d`.
    fn v4(self) -> Option<Ipv4Addr> {
        match self.bits {
            32 => u32::try_from(self.value).ok().map(Ipv4Addr::from),
            _ => self.value.checked_sub(MAPPED).and_then(|low| u32::try_from(low).ok()).map(Ipv4Addr::from),
        }
    }

    /// The address with all bits after the prefix set to zero.
    fn masked(self, prefix: u32) -> Address {
        Address { value: self.value & mask(self.bits, prefix), ..self }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.v4() {
            Some(v4) => fmt::Display::fmt(&v4, f),
            None => fmt::Display::fmt(&Ipv6Addr::from(self.value), f),
        }
    }
}

/// A mask with the first `prefix` of `bits` bits set.
fn mask(bits: u32, prefix: u32) -> u128 {
    let all = if bits == 128 { u128::MAX } else { (1 << bits) - 1 };
    let hosts = bits.saturating_sub(prefix);
    if hosts == 128 { 0 } else { all >> hosts << hosts }
}

/// A network: an address whose bits after the prefix are zero.
#[derive(Clone, Copy, PartialEq)]
struct Network {
    address: Address,
    prefix: u32,
}

impl Network {
    fn parse(text: &str) -> Result<Network, String> {
        let read = || {
            let (address, prefix) = text.split_once('/')?;
            let address = Address::parse(address)?;
            let digits = prefix.trim_start_matches('0');
            if prefix.is_empty() || digits.len() > 3 || !prefix.bytes().all(|b| b.is_ascii_digit()) {
                return None;
            }
            let prefix: u32 = if digits.is_empty() { 0 } else { digits.parse().ok()? };
            (prefix <= address.bits).then(|| Network { address: address.masked(prefix), prefix })
        };
        read().ok_or_else(|| format!("invalid CIDR address: {text}"))
    }

    fn last(self) -> Address {
        let bits = self.address.bits;
        Address { value: self.address.value | (mask(bits, bits) & !mask(bits, self.prefix)), bits }
    }

    fn contains(self, address: Address) -> bool {
        address.bits == self.address.bits && address.masked(self.prefix) == self.address
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mapped = self.address.bits == 128 && self.address.v4().is_some();
        let prefix = if mapped { self.prefix.saturating_sub(96) } else { self.prefix };
        write!(f, "{}/{prefix}", self.address)
    }
}

fn network_argument(arguments: &[Value]) -> Result<Network, FunctionError> {
    Network::parse(text(arguments, 0)?).map_err(problems::network::invalid_network)
}

fn cidrcontains(_: &CallContext<'_>, arguments: &[Value], _: &Type) -> Result<Value, FunctionError> {
    let (outer_text, inner_text) = (text(arguments, 0)?, text(arguments, 1)?);
    let outer = Network::parse(outer_text).map_err(FunctionError::new)?;
    let (first, last) = match Network::parse(inner_text) {
        Ok(inner) => (inner.address, inner.last()),
        Err(_) => {
            let address =
                Address::parse(inner_text).ok_or_else(|| problems::network::invalid_address_or_prefix(inner_text))?;
            (address, address)
        }
    };
    if outer.address.v4().is_some() != first.v4().is_some() {
        return Err(problems::network::families_differ(outer_text, inner_text));
    }
    // Compares both in the longer form, so that an IPv4 address equals the IPv6 address that stands for it.
    let long = |address: Address| match address.v4() {
        Some(v4) => Address { bits: 128, value: MAPPED | u128::from(u32::from(v4)) },
        None => address,
    };
    let prefix = outer.prefix + (128 - outer.address.bits);
    let outer = Network { address: long(outer.address).masked(prefix), prefix };
    Ok(Value::bool(outer.contains(long(first)) && outer.contains(long(last))))
}

fn integer_at(arguments: &[Value], index: usize) -> Result<BigInt, FunctionError> {
    number(arguments, index)?.to_integer().ok_or_else(problems::network::not_an_integer)
}

fn cidrhost(_: &CallContext<'_>, arguments: &[Value], _: &Type) -> Result<Value, FunctionError> {
    let host = integer_at(arguments, 1)?;
    let network = network_argument(arguments)?;
    let largest = (BigInt::one() << (network.address.bits - network.prefix)) - 1;
    let from_start = if host.is_negative() { &largest + 1 + &host } else { host.clone() };
    if from_start.is_negative() || from_start > largest {
        return Err(problems::network::no_such_host(network.prefix, &host));
    }
    let offset = u128::try_from(&from_start).map_err(|_| problems::network::host_out_of_range())?;
    let address = Address { value: network.address.value | offset, ..network.address };
    Ok(Value::string(address.to_string()))
}

fn cidrnetmask(_: &CallContext<'_>, arguments: &[Value], _: &Type) -> Result<Value, FunctionError> {
    let network = network_argument(arguments)?;
    if network.address.v4().is_none() {
        return Err(problems::network::no_netmask(text(arguments, 0)?));
    }
    let bits = network.address.bits;
    Ok(Value::string(Address { bits, value: mask(bits, network.prefix) }.to_string()))
}

fn cidrsubnet(_: &CallContext<'_>, arguments: &[Value], _: &Type) -> Result<Value, FunctionError> {
    let new_bits = whole_at(arguments, 1)?;
    let subnet = integer_at(arguments, 2)?;
    let network = network_argument(arguments)?;
    let (bits, prefix) = (network.address.bits, network.prefix);
    let new_prefix = i64::from(prefix).saturating_add(new_bits);
    let Some(new_prefix) = u32::try_from(new_prefix).ok().filter(|p| *p <= bits) else {
        return Err(problems::network::no_space_to_extend(prefix, new_bits));
    };
    // As in OpenTofu, a negative extension does not limit the subnet number, except to 64 bits.
    let count_bits = u32::try_from(new_bits).unwrap_or(u64::BITS);
    if subnet.magnitude().bits() > u64::from(count_bits) {
        return Err(problems::network::no_such_subnet(new_bits, &subnet));
    }
    // As in OpenTofu, a negative number is used without its sign.
    let joined = BigInt::from_biguint(Sign::Plus, network.address.value.into()) | (subnet << (bits - new_prefix));
    let value = joined.magnitude() & num_bigint::BigUint::from(mask(bits, bits));
    let value = u128::try_from(value).map_err(|_| problems::network::address_out_of_range())?;
    Ok(Value::string(Network { address: Address { bits, value }, prefix: new_prefix }.to_string()))
}

fn cidrsubnets(_: &CallContext<'_>, arguments: &[Value], _: &Type) -> Result<Value, FunctionError> {
    let network = Network::parse(text(arguments, 0)?).map_err(|e| problems::network::invalid_network_argument(0, e))?;
    let bits = network.address.bits;
    let mut subnets = Vec::with_capacity(arguments.len());
    let mut previous: Option<Network> = None;
    for index in 1..arguments.len() {
        let extension = whole(number(arguments, index)?).map_err(|e| FunctionError::argument(index, e))?;
        if extension < 1 {
            return Err(problems::network::extension_too_small(index));
        }
        if extension > LARGEST_EXTENSION {
            return Err(problems::network::extension_too_large(index, LARGEST_EXTENSION));
        }
        let prefix = network.prefix + u32::try_from(extension).unwrap_or(0);
        if prefix > bits {
            return Err(problems::network::prefix_too_long(index, prefix, bits));
        }
        let value = match previous {
            None => Some(network.address.value),
            // If the previous subnet ends within a block of the new size, that block is in use, but the next block is
            // free.
            Some(previous) => {
                let used = previous.last().masked(prefix);
                let size = 1u128.checked_shl(bits - prefix);
                size.and_then(|size| used.value.checked_add(size))
            }
        };
        let next = value.map(|value| Network { address: Address { bits, value }, prefix });
        let Some(next) = next.filter(|next| network.contains(next.address)) else {
            let after = previous.map_or_else(|| network.to_string(), |previous| previous.to_string());
            return Err(problems::network::no_space_left(index, prefix, after));
        };
        subnets.push(Value::string(next.to_string()));
        previous = Some(next);
    }
    Ok(Value::list(Type::String, subnets))
}
