//! Limits on concurrent handshakes, in total and for each address. A flood of connections cannot exhaust memory, and a
//! flood from one machine does not block other machines.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

use parking_lot::Mutex;

/// The maximum number of concurrent handshakes. Further connections are closed at once. Established connections are not
/// counted.
const MAX_HANDSHAKES: usize = 1024;
/// The maximum number of handshakes from one address while at least half of [`MAX_HANDSHAKES`] are running. While fewer
/// are running, there is no limit for a single address.
const MAX_OF_ADDRESS: usize = 128;
/// The bits of an IPv6 address that identify its network. Addresses of one network are counted together, because one
/// machine may have all addresses of a network.
const NETWORK: u128 = !0 << 64;

/// The running handshakes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Handshakes(Arc<Mutex<Counts>>);

#[derive(Debug, Default)]
struct Counts {
    all: usize,
    /// The number of running handshakes by address. Contains only addresses with running handshakes.
    by_address: HashMap<IpAddr, usize>,
}

/// A running handshake. The handshake counts as ended when this value is dropped.
#[derive(Debug)]
pub(crate) struct Handshake {
    all: Handshakes,
    from: IpAddr,
}

impl Handshakes {
    /// Begins a handshake. Returns `None` if too many handshakes are running.
    pub(crate) fn begin(&self, from: IpAddr) -> Option<Handshake> {
        let from = match from.to_canonical() {
            IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & NETWORK)),
            address => address,
        };
        let mut counts = self.0.lock();
        let of_address = counts.by_address.get(&from).copied().unwrap_or_default();
        let is_crowded = counts.all >= MAX_HANDSHAKES / 2;
        if counts.all >= MAX_HANDSHAKES || is_crowded && of_address >= MAX_OF_ADDRESS {
            return None;
        }
        counts.all += 1;
        counts.by_address.insert(from, of_address + 1);
        Some(Handshake { all: self.clone(), from })
    }
}

impl Drop for Handshake {
    fn drop(&mut self) {
        let mut counts = self.all.0.lock();
        counts.all -= 1;
        match counts.by_address.get_mut(&self.from) {
            Some(count) if *count > 1 => *count -= 1,
            _ => drop(counts.by_address.remove(&self.from)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn a_flood_from_one_address_leaves_room_for_others() {
        let handshakes = Handshakes::default();
        let flood: Vec<_> = (0..MAX_HANDSHAKES / 2).map(|_| handshakes.begin(address("10.0.0.1")).unwrap()).collect();
        assert!(handshakes.begin(address("10.0.0.1")).is_none());
        assert!(handshakes.begin(address("::ffff:10.0.0.1")).is_none(), "the same address");
        assert!(handshakes.begin(address("10.0.0.2")).is_some());
        drop(flood);
        assert!(handshakes.begin(address("10.0.0.1")).is_some());
        assert!(handshakes.0.lock().by_address.is_empty(), "nothing is kept of handshakes that ended");
    }

    #[test]
    fn addresses_of_one_network_are_one() {
        let handshakes = Handshakes::default();
        let from = |number: usize| address(&format!("fd00:0:0:1::{number:x}"));
        let flood: Vec<_> = (0..MAX_HANDSHAKES / 2).map(|number| handshakes.begin(from(number)).unwrap()).collect();
        assert!(handshakes.begin(from(MAX_HANDSHAKES)).is_none());
        assert!(handshakes.begin(address("fd00:0:0:2::1")).is_some());
        drop(flood);
    }

    #[test]
    fn all_together_are_bounded() {
        let handshakes = Handshakes::default();
        let from = |number: usize| address(&format!("10.0.{}.{}", number / 250, number % 250));
        let under_way: Vec<_> = (0..MAX_HANDSHAKES).map(|number| handshakes.begin(from(number)).unwrap()).collect();
        assert!(handshakes.begin(address("10.1.0.1")).is_none());
        drop(under_way);
        assert!(handshakes.begin(address("10.1.0.1")).is_some());
    }
}
