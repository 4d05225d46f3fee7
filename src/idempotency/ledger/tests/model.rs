//! The rules once more, as plainly as they can be said: a map, and no store. Written beside the ledger, not after it.

use std::collections::BTreeMap;

use crate::idempotency::Identity;

/// What is kept of a key.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    pub who: usize,
    pub command: u8,
    pub request: String,
    pub attempt: u32,
    pub first_seen: u64,
    pub phase: Phase,
    /// Whether it is or ever was in doubt.
    pub doubted: bool,
    /// Which claim may settle it.
    ticket: Option<usize>,
    /// What it was before this claim, for its withdrawal.
    before: Option<Box<Entry>>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Phase {
    Running,
    Doubt,
    Done { executed: bool },
}

/// How a claim ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum End {
    Answered { executed: bool },
    Unknown,
    NotSent,
}

/// What the model, and the ledger in its words, say to an operation.
#[derive(Clone, Debug, PartialEq)]
pub enum Told {
    Run(Entry),
    Free,
    Running(Entry),
    Known(Entry),
    Conflict,
    Full,
    Recorded(Entry),
    Withdrawn,
    Foreign,
    Shown(Option<Entry>),
    Listed(Vec<Entry>),
    Changed(Entry),
    Unchanged,
    Swept(usize),
}

/// A claim, as the model is asked for it.
pub struct Wish {
    pub identity: Identity,
    pub who: usize,
    pub command: u8,
    pub request: String,
    pub resends: bool,
}

#[derive(Clone, Copy)]
pub struct Limits {
    pub records: usize,
    pub records_each: usize,
    pub attempts: u32,
    pub keep: u64,
    pub keep_doubts: u64,
}

type Entries = BTreeMap<Identity, Entry>;

pub struct Model {
    limits: Limits,
    entries: Entries,
    now: u64,
    disk: Entries,
    disk_now: u64,
    tickets: usize,
}

impl Entry {
    /// The part that can be seen from outside.
    pub fn seen(&self) -> Self {
        Self { ticket: None, before: None, ..self.clone() }
    }

    /// One that was seen.
    pub fn of(who: usize, command: u8, request: &str, attempt: u32, first_seen: u64) -> Self {
        Self {
            who,
            command,
            request: request.into(),
            attempt,
            first_seen,
            phase: Phase::Running,
            doubted: false,
            ticket: None,
            before: None,
        }
    }
}

impl Model {
    pub fn new(limits: Limits, now: u64) -> Self {
        Self { limits, entries: Entries::new(), now, disk: Entries::new(), disk_now: now, tickets: 0 }
    }

    pub fn now(&self) -> u64 {
        self.now
    }

    pub fn begin(&mut self, wall: u64) {
        self.now = self.now.max(wall);
    }

    /// What was applied is on the disk. `written`: whether anything was; a record says more than an entry does, such as why
    /// it is in doubt.
    pub fn commit(&mut self, written: bool) {
        assert!(written || self.entries == self.disk, "what has changed was not written");
        if written {
            self.disk = self.entries.clone();
            self.disk_now = self.now;
        }
    }

    /// Memory is gone, and the disk is read again.
    pub fn restart(&mut self, wall: u64) {
        self.now = self.disk_now.max(wall);
        self.disk_now = self.now;
        self.entries = self.disk.clone();
        for entry in self.entries.values_mut() {
            entry.before = None;
            if entry.phase == Phase::Running {
                (entry.phase, entry.doubted) = (Phase::Doubt, true);
            }
        }
        self.disk = self.entries.clone();
    }

    fn end_of(&self, entry: &Entry) -> Option<u64> {
        match entry.phase {
            Phase::Running => None,
            Phase::Done { .. } if !entry.doubted => Some(entry.first_seen + self.limits.keep),
            Phase::Doubt | Phase::Done { .. } => Some(entry.first_seen + self.limits.keep_doubts),
        }
    }

    fn is_over(&self, entry: &Entry) -> bool {
        self.end_of(entry).is_some_and(|end| self.now >= end)
    }

    fn alive(&self, identity: Identity) -> Option<Entry> {
        self.entries.get(&identity).filter(|entry| !self.is_over(entry)).cloned()
    }

    /// The ticket comes with the answer; who was let go needs it to settle.
    pub fn claim(&mut self, wish: Wish, disk_is_full: bool) -> (Told, Option<usize>) {
        let known = self.alive(wish.identity);
        let is_resend = known.as_ref().is_some_and(|entry| {
            entry.phase == Phase::Doubt && wish.resends && entry.attempt < self.limits.attempts
        });
        match &known {
            Some(entry) if entry.command != wish.command => return (Told::Conflict, None),
            Some(entry) if !is_resend || disk_is_full => {
                let told = if entry.phase == Phase::Running { Told::Running } else { Told::Known };
                return (told(entry.seen()), None);
            }
            Some(_) => {}
            None => {
                let of_same = self.entries.values().filter(|entry| entry.who == wish.who).count();
                let is_full =
                    self.entries.len() >= self.limits.records || of_same >= self.limits.records_each;
                if disk_is_full || is_full {
                    return (Told::Full, None);
                }
            }
        }
        let ticket = self.tickets;
        self.tickets += 1;
        let mut entry =
            known.clone().unwrap_or_else(|| Entry::of(wish.who, wish.command, &wish.request, 0, self.now));
        entry.attempt += 1;
        entry.request = wish.request;
        entry.phase = Phase::Running;
        entry.ticket = Some(ticket);
        entry.before = known.map(Box::new);
        self.entries.insert(wish.identity, entry.clone());
        (Told::Run(entry.seen()), Some(ticket))
    }

    pub fn look(&self, identity: Identity, command: u8) -> Told {
        match self.alive(identity) {
            None => Told::Free,
            Some(entry) if entry.command != command => Told::Conflict,
            Some(entry) if entry.phase == Phase::Running => Told::Running(entry.seen()),
            Some(entry) => Told::Known(entry.seen()),
        }
    }

    pub fn settle(&mut self, identity: Identity, ticket: Option<usize>, end: End) -> Told {
        let own = self.entries.get(&identity).filter(|entry| ticket.is_some() && entry.ticket == ticket);
        let Some(mut entry) = own.cloned() else { return Told::Foreign };
        match (entry.phase, end) {
            (Phase::Done { executed: told }, End::Answered { executed }) if told == executed => {
                return Told::Recorded(entry.seen());
            }
            (Phase::Done { .. }, _) => return Told::Foreign,
            (Phase::Doubt, End::Unknown) => return Told::Recorded(entry.seen()),
            (_, End::NotSent) => {
                self.withdraw(identity, entry);
                return Told::Withdrawn;
            }
            (_, End::Answered { executed }) if executed || entry.attempt == 1 => {
                entry.phase = Phase::Done { executed };
            }
            (_, End::Answered { .. } | End::Unknown) => {
                (entry.phase, entry.doubted) = (Phase::Doubt, true);
            }
        }
        entry.before = None;
        self.entries.insert(identity, entry.clone());
        Told::Recorded(entry.seen())
    }

    fn withdraw(&mut self, identity: Identity, mut entry: Entry) {
        if entry.attempt == 1 {
            self.entries.remove(&identity);
        } else if let Some(before) = entry.before.take() {
            self.entries.insert(identity, *before);
        } else {
            entry.attempt -= 1;
            entry.ticket = None;
            entry.phase = Phase::Doubt;
            self.entries.insert(identity, entry);
        }
    }

    pub fn show(&self, identity: Identity) -> Told {
        Told::Shown(self.alive(identity).map(|entry| entry.seen()))
    }

    /// Everything of one principal that the disk has, in the order of claims, which is that of requests.
    pub fn list(&self, who: usize) -> Told {
        let listed = self.disk.values().filter(|entry| entry.who == who && !self.is_over(entry));
        let mut listed: Vec<Entry> = listed.map(Entry::seen).collect();
        listed.sort_by_key(|entry| (entry.request.len(), entry.request.clone()));
        Told::Listed(listed)
    }

    pub fn resolve(&mut self, identity: Identity, executed: bool) -> Told {
        match self.alive(identity) {
            Some(entry) if entry.phase == Phase::Doubt => {
                let entry = Entry { phase: Phase::Done { executed }, ..entry };
                self.entries.insert(identity, entry.clone());
                Told::Changed(entry.seen())
            }
            _ => Told::Unchanged,
        }
    }

    pub fn forget(&mut self, identity: Identity, may_run_again: bool) -> Told {
        match self.alive(identity) {
            Some(entry)
                if matches!(entry.phase, Phase::Done { .. })
                    || (entry.phase == Phase::Doubt && may_run_again) =>
            {
                self.entries.remove(&identity);
                Told::Changed(entry.seen())
            }
            _ => Told::Unchanged,
        }
    }

    /// What is over goes, oldest first.
    pub fn sweep(&mut self, max: usize) -> Told {
        let ends = self.entries.iter().filter(|(_, entry)| self.is_over(entry));
        let mut over: Vec<(u64, Identity)> =
            ends.filter_map(|(identity, entry)| self.end_of(entry).map(|end| (end, *identity))).collect();
        over.sort();
        over.truncate(max);
        let swept = over.len();
        over.into_iter().for_each(|(_, identity)| drop(self.entries.remove(&identity)));
        Told::Swept(swept)
    }
}
