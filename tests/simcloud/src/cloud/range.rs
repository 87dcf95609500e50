//! Ranges of IPv4 addresses, and the addresses of a range that are in use.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use ipnet::Ipv4Net;

/// The allowed prefix lengths of ranges. Even the narrowest range still has free addresses after the [`RESERVED`] ones.
pub const PREFIXES: std::ops::RangeInclusive<u8> = 8..=29;

/// The number of addresses at the start of a subnet that the cloud reserves: network, gateway, resolver, one spare.
pub const RESERVED: u32 = 4;

/// Parses `A.B.C.D/N`. The error describes the fault without naming the field.
pub fn parse(text: &str) -> Result<Ipv4Net, String> {
    let range: Ipv4Net = text.parse().map_err(|_| format!("{text:?} is not an IPv4 range such as 10.1.0.0/16"))?;
    if range.network() != range.addr() {
        return Err(format!("{text:?} has bits beyond its prefix; the range is {}", range.trunc()));
    }
    if !PREFIXES.contains(&range.prefix_len()) {
        let (widest, narrowest) = (PREFIXES.start(), PREFIXES.end());
        return Err(format!("the prefix of {text:?} must be from /{widest} to /{narrowest}"));
    }
    Ok(range)
}

/// The first and the last address of a range.
pub fn bounds(range: &Ipv4Net) -> (u32, u32) {
    (range.network().to_bits(), range.broadcast().to_bits())
}

/// The addresses of one subnet that are in use.
#[derive(Debug)]
pub struct Hosts {
    first: u32,
    last: u32,
    /// No address below this one is free.
    free_from: u32,
    taken: BTreeSet<u32>,
}

impl Hosts {
    /// A range in which no address is in use.
    pub fn new(range: &Ipv4Net) -> Hosts {
        let (network, broadcast) = bounds(range);
        let first = network.saturating_add(RESERVED);
        Hosts { first, last: broadcast.saturating_sub(1), free_from: first, taken: BTreeSet::new() }
    }

    /// Takes the lowest free address, or returns `None` if there is none.
    pub fn take(&mut self) -> Option<Ipv4Addr> {
        let mut address = self.free_from;
        while self.taken.contains(&address) {
            address += 1;
        }
        self.free_from = address;
        (address <= self.last).then(|| {
            self.taken.insert(address);
            self.free_from = address + 1;
            Ipv4Addr::from_bits(address)
        })
    }

    /// Marks an address as in use that was assigned before a restart.
    pub fn restore(&mut self, address: Ipv4Addr) {
        self.taken.insert(address.to_bits());
    }

    /// Makes an address free again.
    pub fn release(&mut self, address: Ipv4Addr) {
        let address = address.to_bits();
        if self.taken.remove(&address) {
            self.free_from = self.free_from.min(address).max(self.first);
        }
    }

    /// Whether no address is in use.
    pub fn is_empty(&self) -> bool {
        self.taken.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_free_address_is_taken() {
        let mut hosts = Hosts::new(&parse("10.0.0.0/29").unwrap());
        let taken: Vec<_> = std::iter::from_fn(|| hosts.take()).map(|address| address.to_string()).collect();
        assert_eq!(taken, ["10.0.0.4", "10.0.0.5", "10.0.0.6"]);
        hosts.release("10.0.0.5".parse().unwrap());
        assert_eq!(hosts.take().map(|address| address.to_string()).as_deref(), Some("10.0.0.5"));
        assert_eq!(hosts.take(), None);
    }

    #[test]
    fn ranges_are_checked() {
        for bad in ["10.0.0.0", "10.0.0.1/24", "10.0.0.0/30", "0.0.0.0/0", "::/64", ""] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
