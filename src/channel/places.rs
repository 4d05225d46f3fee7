//! Who stands in a registry, and who has not been asked for longest: a pure table.
//!
//! A place is found by its name in constant time, and given away in the order of the last use.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

/// How many places one search for an idle one looks at. Those it finds at work go to the end, so the next search looks at
/// others, and no call pays for a look at all of them.
const LOOKS_MAX: usize = 64;

/// The table. `Name` finds an `Item`.
#[derive(Debug)]
pub struct Places<Name, Item> {
    by_name: HashMap<Name, (u64, Item)>,
    by_use: BTreeMap<u64, Name>,
    uses: u64,
}

impl<Name: Clone + Eq + Hash, Item> Places<Name, Item> {
    /// An empty table.
    pub fn new() -> Self {
        Self { by_name: HashMap::new(), by_use: BTreeMap::new(), uses: 0 }
    }

    /// Whoever stands there, without a use.
    pub fn get(&self, name: &Name) -> Option<&Item> {
        self.by_name.get(name).map(|(_, item)| item)
    }

    /// Whoever stands there, as the one used last.
    pub fn used(&mut self, name: &Name) -> Option<&Item> {
        let (used, item) = self.by_name.get_mut(name)?;
        let name = self.by_use.remove(used).expect("every place has a use");
        self.uses += 1;
        *used = self.uses;
        self.by_use.insert(self.uses, name);
        Some(item)
    }

    /// Puts somebody there, as the one used last.
    pub fn insert(&mut self, name: Name, item: Item) {
        self.remove(&name);
        self.uses += 1;
        self.by_use.insert(self.uses, name.clone());
        self.by_name.insert(name, (self.uses, item));
    }

    /// Takes whoever stands there out.
    pub fn remove(&mut self, name: &Name) -> Option<Item> {
        let (used, item) = self.by_name.remove(name)?;
        self.by_use.remove(&used);
        Some(item)
    }

    /// Takes out whoever has not been used for longest and is idle.
    pub fn take_idle(&mut self, is_idle: impl Fn(&Item) -> bool) -> Option<Item> {
        for _ in 0..LOOKS_MAX {
            let name = self.by_use.values().next()?.clone();
            if self.get(&name).is_some_and(&is_idle) {
                return self.remove(&name);
            }
            self.used(&name);
        }
        None
    }

    /// All of them.
    pub fn items(&self) -> impl Iterator<Item = &Item> {
        self.by_name.values().map(|(_, item)| item)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(names: impl IntoIterator<Item = u32>) -> Places<u32, u32> {
        let mut places = Places::new();
        names.into_iter().for_each(|name| places.insert(name, name));
        places
    }

    #[test]
    fn the_one_that_was_used_first_goes_first() {
        let mut places = of([1, 2, 3]);
        places.used(&1);
        assert_eq!(places.take_idle(|_| true), Some(2));
        assert_eq!(places.take_idle(|name| *name != 3), Some(1));
        assert_eq!(places.take_idle(|name| *name != 3), None);
        assert_eq!(places.get(&3), Some(&3), "who works stays");
    }

    #[test]
    fn a_search_is_short_and_the_next_one_looks_further() {
        let busy = u32::try_from(LOOKS_MAX).unwrap();
        let mut places = of(0..busy + 1);
        assert_eq!(places.take_idle(|name| *name == busy), None);
        assert_eq!(places.take_idle(|name| *name == busy), Some(busy));
    }

    proptest! {
        #[test]
        fn both_orders_hold_the_same_places(steps in proptest::collection::vec((0u8..4, 0u32..6), 0..60)) {
            let mut places = Places::new();
            for (step, name) in steps {
                match step {
                    0 => places.insert(name, name),
                    1 => drop(places.remove(&name)),
                    2 => prop_assert_eq!(places.used(&name).copied().is_some(), places.get(&name).is_some()),
                    _ => drop(places.take_idle(|item| *item != name)),
                }
                prop_assert_eq!(places.by_name.len(), places.by_use.len());
                for (used, name) in &places.by_use {
                    prop_assert_eq!(places.by_name[name].0, *used);
                }
            }
        }
    }
}
