//! Who gets a copy of a request: every subscriber without a group, and one random member of each group.
//!
//! The choice is random and blind to load, as in the NATS inside the real broker: a member that is busy or gone
//! unnoticed still gets its share.

use std::collections::HashMap;

use super::validation::Kind;

/// Where a subscriber listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// Commands and queries never cross, even on channels of the same name.
    pub kind: Kind,
    /// The whole name of the channel.
    pub channel: String,
    /// The group, or the empty string for a subscriber on its own.
    pub group: String,
}

/// One subscriber's place, to leave by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Seat(u64);

/// No more subscribers fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// The table of subscribers; `T` is the way to one.
#[derive(Debug)]
pub struct Routes<T> {
    commands: HashMap<String, Audience<T>>,
    queries: HashMap<String, Audience<T>>,
    subscribers: usize,
    subscribers_max: usize,
    seats_given: u64,
}

/// The subscribers of one channel, by group. The group without a name holds those who all get a copy.
type Audience<T> = HashMap<String, Vec<(Seat, T)>>;

impl<T: Clone> Routes<T> {
    /// An empty table for at most `subscribers_max`.
    pub fn new(subscribers_max: usize) -> Self {
        Self {
            commands: HashMap::new(),
            queries: HashMap::new(),
            subscribers: 0,
            subscribers_max,
            seats_given: 0,
        }
    }

    /// Adds a subscriber.
    ///
    /// # Errors
    /// The table is full.
    pub fn join(&mut self, address: &Address, outlet: T) -> Result<Seat, Full> {
        if self.subscribers >= self.subscribers_max {
            return Err(Full);
        }
        self.subscribers += 1;
        self.seats_given += 1;
        let seat = Seat(self.seats_given);
        let audience = self.namespace_mut(address.kind).entry(address.channel.clone()).or_default();
        audience.entry(address.group.clone()).or_default().push((seat, outlet));
        Ok(seat)
    }

    /// Removes a subscriber, its place in a group, and whatever is empty then.
    pub fn leave(&mut self, address: &Address, seat: Seat) {
        let namespace = self.namespace_mut(address.kind);
        let Some(audience) = namespace.get_mut(&address.channel) else {
            return;
        };
        let Some(members) = audience.get_mut(&address.group) else {
            return;
        };
        let Some(index) = members.iter().position(|(taken, _)| *taken == seat) else {
            return;
        };
        members.swap_remove(index);
        if members.is_empty() {
            audience.remove(&address.group);
        }
        if audience.is_empty() {
            namespace.remove(&address.channel);
        }
        self.subscribers -= 1;
    }

    /// Chooses who gets a copy; `pick` draws one of so many.
    pub fn recipients(&self, kind: Kind, channel: &str, mut pick: impl FnMut(usize) -> usize) -> Vec<T> {
        let Some(audience) = self.namespace(kind).get(channel) else {
            return Vec::new();
        };
        let mut recipients = Vec::new();
        for (group, members) in audience {
            if group.is_empty() {
                recipients.extend(members.iter().map(|(_, outlet)| outlet.clone()));
            } else {
                recipients.push(members[pick(members.len())].1.clone());
            }
        }
        recipients
    }

    /// How many subscribers there are.
    pub fn len(&self) -> usize {
        self.subscribers
    }

    fn namespace(&self, kind: Kind) -> &HashMap<String, Audience<T>> {
        match kind {
            Kind::Command => &self.commands,
            Kind::Query => &self.queries,
        }
    }

    fn namespace_mut(&mut self, kind: Kind) -> &mut HashMap<String, Audience<T>> {
        match kind {
            Kind::Command => &mut self.commands,
            Kind::Query => &mut self.queries,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use super::*;

    fn address(channel: &str, group: &str) -> Address {
        Address { kind: Kind::Command, channel: channel.into(), group: group.into() }
    }

    #[test]
    fn every_loner_and_one_of_each_group_get_a_copy() {
        let mut routes = Routes::new(10);
        for (group, name) in [("", 1), ("", 2), ("g", 3), ("g", 4), ("h", 5)] {
            routes.join(&address("orders", group), name).expect("room");
        }
        let mut recipients = routes.recipients(Kind::Command, "orders", |members| members - 1);
        recipients.sort_unstable();
        assert_eq!(recipients, [1, 2, 4, 5]);
    }

    #[test]
    fn commands_and_queries_of_one_channel_never_cross() {
        let mut routes = Routes::new(10);
        routes.join(&address("orders", ""), 1).expect("room");
        assert!(routes.recipients(Kind::Query, "orders", |_| 0).is_empty());
    }

    #[test]
    fn a_full_table_takes_nobody_until_somebody_leaves() {
        let mut routes = Routes::new(1);
        let seat = routes.join(&address("orders", "g"), 1).expect("room");
        assert_eq!(routes.join(&address("orders", "g"), 2), Err(Full));
        routes.leave(&address("orders", "g"), seat);
        routes.leave(&address("orders", "g"), seat);
        assert_eq!(routes.len(), 0);
        routes.join(&address("orders", "g"), 2).expect("room again");
    }

    proptest! {
        #[test]
        fn any_history_leaves_exactly_those_who_stayed(
            joins in prop::collection::vec(("[ab]", "(|g|h)", any::<bool>()), 0..40),
            draw in any::<usize>(),
        ) {
            let mut routes = Routes::new(40);
            let seats: Vec<_> = joins.iter().enumerate()
                .map(|(name, (channel, group, _))| routes.join(&address(channel, group), name).expect("room"))
                .collect();
            let mut stayed: BTreeMap<(&str, &str), BTreeSet<usize>> = BTreeMap::new();
            for (name, (channel, group, stays)) in joins.iter().enumerate() {
                if *stays {
                    stayed.entry((channel, group)).or_default().insert(name);
                } else {
                    routes.leave(&address(channel, group), seats[name]);
                }
            }
            prop_assert_eq!(routes.len(), stayed.values().map(BTreeSet::len).sum::<usize>());
            for channel in ["a", "b"] {
                let recipients = routes.recipients(Kind::Command, channel, |members| draw % members);
                let expected: usize = stayed.iter().filter(|((there, _), _)| *there == channel)
                    .map(|((_, group), members)| if group.is_empty() { members.len() } else { 1 }).sum();
                prop_assert_eq!(recipients.len(), expected);
                for name in recipients {
                    prop_assert!(stayed.iter().any(|((there, _), members)| *there == channel && members.contains(&name)));
                }
            }
        }
    }
}
