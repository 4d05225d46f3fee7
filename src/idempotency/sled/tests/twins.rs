//! The store on a disk and the one in memory go through the same changes, and say the same after each.

use proptest::prelude::*;

use super::*;
use crate::idempotency::{Doubt, MemoryStore};

/// What happens to one of a few keys, or to the store.
#[derive(Clone, Debug)]
enum Step {
    Claim(u64),
    Settle(u64),
    Doubt(u64),
    Forget(u64),
    Commit,
    Reopen,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let key = 0..12u64;
    let step = prop_oneof![
        3 => key.clone().prop_map(Step::Claim),
        3 => key.clone().prop_map(Step::Settle),
        2 => key.clone().prop_map(Step::Doubt),
        2 => key.prop_map(Step::Forget),
        3 => Just(Step::Commit),
        1 => Just(Step::Reopen),
    ];
    prop::collection::vec(step, 1..60)
}

/// Both stores, and what is to be committed to both.
struct Twins {
    directory: TempDir,
    memory: MemoryStore,
    disk: Option<SledStore>,
    staged: Vec<Change>,
}

impl Twins {
    fn step(&mut self, step: &Step) {
        match *step {
            Step::Claim(number) => self.stage(number, |_| Some(claimed(number))),
            Step::Settle(number) => self.stage(number, |record| Some(settled(record?, "done".into()))),
            Step::Doubt(number) => self.stage(number, |record| {
                let doubt = Some((Timestamp::from_milliseconds(1_600), Doubt::Interrupted));
                Some(Record { state: State::InDoubt, doubt, ..record? })
            }),
            Step::Forget(number) => self.stage(number, |_| None),
            Step::Commit => self.commit(),
            Step::Reopen => {
                self.disk = None;
                self.disk = Some(opened(&self.directory));
            }
        }
    }

    /// At most one change of a key stands in a batch, as the ledger has it.
    fn stage(&mut self, number: u64, after: impl FnOnce(Option<Record>) -> Option<Record>) {
        let identity = claimed(number).identity();
        if self.staged.iter().all(|change| change.identity != identity) {
            let before = self.memory.get(&identity).unwrap();
            self.staged.push(Change { identity, after: after(before.clone()), before });
        }
    }

    fn commit(&mut self) {
        let head = self.memory.head();
        let head = Head { fence: head.fence + 1, ..head };
        let changes = std::mem::take(&mut self.staged);
        self.memory.commit(&changes, &head).unwrap();
        self.disk.as_mut().unwrap().commit(&changes, &head).unwrap();
    }

    fn agree(&self) {
        let disk = self.disk.as_ref().unwrap();
        assert_eq!(all(disk), all(&self.memory));
        assert_eq!(disk.head().fence, self.memory.head().fence);
        for number in 0..12 {
            let identity = claimed(number).identity();
            assert_eq!(disk.get(&identity), self.memory.get(&identity));
        }
        let next = |view: &dyn View| {
            let mut next = None;
            let walked = view.walk(Some(5), &mut |record| {
                next = Some(record);
                Walk::End
            });
            walked.map(|()| next)
        };
        assert_eq!(next(disk), next(&self.memory));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn the_disk_says_what_a_store_in_memory_says(steps in steps()) {
        let directory = TempDir::new().unwrap();
        let disk = opened(&directory);
        let memory = MemoryStore::new(disk.head().instance);
        let mut twins = Twins { directory, memory, disk: Some(disk), staged: Vec::new() };
        for step in &steps {
            twins.step(step);
            twins.agree();
        }
        let Twins { directory, disk, .. } = twins;
        drop(disk);
        let report = SledStore::check(directory.path()).unwrap();
        // Nobody counts here.
        prop_assert!(report.problems.iter().all(|problem| matches!(problem, Problem::Count { .. })), "{:?}", report);
    }
}
