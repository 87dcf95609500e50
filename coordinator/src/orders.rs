//! Orders on their way to workers. Each order belongs to the connection for which it was decided. After a reconnect, a
//! worker receives none of the unsent orders for its earlier connection. Otherwise, it could receive an order after
//! earlier orders were lost with that connection.

use std::collections::BTreeMap;

use weft_protocol::Order;
use weft_state::WorkerId;

use crate::event::Event;

/// The connections that a term knows, with unsent orders.
#[derive(Debug, Default)]
pub struct Orders {
    lines: BTreeMap<WorkerId, Line>,
}

#[derive(Debug)]
struct Line {
    connection: u64,
    unsent: Vec<Order>,
}

impl Orders {
    /// Updates the connections. The caller calls this method with every event, before it handles the event.
    pub fn hear(&mut self, event: &Event) {
        match event {
            Event::Joined(hello) => {
                let line = Line { connection: hello.connection, unsent: Vec::new() };
                self.lines.insert(hello.worker.clone(), line);
            }
            Event::Left(worker) => drop(self.lines.remove(worker)),
            _ => {}
        }
    }

    /// The connection of a worker that the term knows. For the simulation.
    #[cfg(any(test, feature = "simulation"))]
    pub fn connection(&self, worker: &WorkerId) -> Option<u64> {
        self.lines.get(worker).map(|line| line.connection)
    }

    /// Adds orders for a worker. If the worker is not connected, the orders are dropped: the worker receives new orders
    /// when it reconnects.
    pub fn add(&mut self, worker: &WorkerId, orders: Vec<Order>) {
        if let Some(line) = self.lines.get_mut(worker) {
            line.unsent.extend(orders);
        }
    }

    /// Takes the unsent orders of each worker, with its connection.
    pub fn take(&mut self) -> Vec<(WorkerId, u64, Vec<Order>)> {
        let filled = self.lines.iter_mut().filter(|(_, line)| !line.unsent.is_empty());
        filled.map(|(worker, line)| (worker.clone(), line.connection, std::mem::take(&mut line.unsent))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Hello;

    fn joined(connection: u64) -> Event {
        let (labels, packages, held) = (BTreeMap::new(), Vec::new(), Vec::new());
        Event::Joined(Hello { worker: worker(), connection, labels, capacity: 1, packages, held })
    }

    fn worker() -> WorkerId {
        WorkerId("w/1".to_owned())
    }

    #[test]
    fn orders_of_an_earlier_connection_are_dropped() {
        let mut orders = Orders::default();
        orders.add(&worker(), vec![Order::Drain]);
        assert!(orders.take().is_empty(), "it is not connected");
        orders.hear(&joined(3));
        orders.add(&worker(), vec![Order::Drain]);
        orders.hear(&joined(4));
        orders.add(&worker(), vec![Order::Stop]);
        assert_eq!(orders.take(), [(worker(), 4, vec![Order::Stop])]);
        assert!(orders.take().is_empty());
        orders.add(&worker(), vec![Order::Stop]);
        orders.hear(&Event::Left(worker()));
        assert!(orders.take().is_empty() && orders.connection(&worker()).is_none());
    }
}
