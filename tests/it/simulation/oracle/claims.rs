//! What is durable, what leaves, and what becomes of it: a key leaves once in its life.

use kubemq_mcp::idempotency::{
    Answer as Says, Consent, Decision, Ended, Identity, Record, Settled, State, Timestamp, View,
};

use super::super::commits::Task;
use super::super::disk::Disk;
use super::super::stage::CallId;
use super::{Life, Oracle, Way, call_of, takes_care};

impl Oracle {
    /// A batch begins at that time of the wall clock.
    pub fn begins(&mut self, wall: Timestamp) {
        self.now = self.now.max(wall);
    }

    pub fn time_is(&self, now: Timestamp) {
        assert_eq!(now, self.now, "the store's time is the highest that it has ever seen");
    }

    /// The connector has started, or has failed to; what it had open is in doubt.
    pub fn recovered(&mut self, wall: Timestamp, is_written: bool, is_started: bool) {
        self.now = self.now_on_disk.max(wall);
        if is_written {
            self.now_on_disk = self.now;
        }
        let open = self.lives.values_mut().flatten().filter(|life| life.is_open);
        for life in open {
            if is_started {
                (life.is_open, life.doubted) = (false, true);
                self.figures.count("recovered in doubt");
            }
        }
    }

    /// The disk has the time of this batch.
    pub fn wrote(&mut self) {
        self.now_on_disk = self.now;
    }

    /// What a batch says is on the disk, whether or not anybody will hear of it.
    pub fn durable(&mut self, tasks: &[Task], says: &[Says]) {
        let arrivals = self.arrivals;
        for (task, says) in tasks.iter().zip(says) {
            match (task, says) {
                (Task::Claim(call), Says::Decision(Decision::Run(record))) => self.claimed(*call, record),
                (Task::Settle { claimed, ended, .. }, Says::Settled(settled)) => {
                    self.settled(claimed, ended, settled);
                }
                (Task::Resolve(identity), Says::Governed(Ok(record))) => self.resolved(*identity, record),
                (Task::Forget { identity, consent }, Says::Governed(Ok(_))) => {
                    let life = self.last_mut(*identity).expect("what is forgotten was there");
                    assert!(!life.is_open, "what runs is forgotten");
                    let may = life.settled.is_some() || *consent == Consent::MayRunAgain;
                    assert!(may, "what may have run is forgotten without consent");
                    life.is_forgotten = true;
                    life.over_at = Some(arrivals);
                }
                _ => {}
            }
        }
    }

    fn claimed(&mut self, call: CallId, record: &Record) {
        assert_eq!(call_of(&record.request_id), call);
        let (identity, now, attempts_max) = (self.calls[call].identity, self.now, self.attempts_max);
        let arrivals = self.arrivals;
        let is_alive = self.last(identity).is_some_and(|life| self.is_alive(life));
        if record.attempt == 1 {
            assert!(!is_alive, "a key that is known is let go as a new one");
            assert_eq!(record.first_seen, now);
            match self.last(identity) {
                Some(life) if life.is_forgotten => self.figures.count("lives after a forget"),
                Some(life) if !life.is_withdrawn => self.figures.count("lives after expiry"),
                _ => {}
            }
            let lives = self.lives.entry(identity).or_default();
            if let Some(life) = lives.last_mut() {
                life.over_at = life.over_at.or(Some(arrivals));
            }
            lives.push(Life {
                first_seen: now,
                takes_care: takes_care(self.calls[call].errand.key),
                attempts: vec![call],
                claims: vec![call],
                is_open: true,
                doubted: false,
                settled: None,
                is_withdrawn: false,
                is_forgotten: false,
                over_at: None,
                is_denied: false,
            });
            self.is_as_it_should(identity, record);
            return;
        }
        assert!(is_alive, "a later attempt of a key that is new");
        let life = self.last_mut(identity).expect("it is alive");
        assert!(life.takes_care, "a key is let go again, and its responder does not take care");
        assert!(!life.is_open && life.doubted && life.settled.is_none(), "only what is in doubt is resent");
        life.attempts.push(call);
        life.claims.push(call);
        life.is_open = true;
        assert!(life.attempts.len() <= attempts_max, "too many attempts");
        self.is_as_it_should(identity, record);
    }

    fn settled(&mut self, claimed: &Record, ended: &Ended, settled: &Settled) {
        let call = call_of(&claimed.request_id);
        let was_sent = self.calls[call].request != Way::Never;
        let (identity, arrivals) = (self.calls[call].identity, self.arrivals);
        let is_alive = self.last(identity).is_some_and(|life| self.is_alive(life));
        let is_gone = |life: &Life| life.is_withdrawn || life.is_forgotten;
        let own =
            self.last_mut(identity).filter(|life| !is_gone(life) && life.attempts.last() == Some(&call));
        let Some(life) = own else {
            assert_eq!(*settled, Settled::Foreign, "a foreign attempt settles");
            self.figures.count("foreign settles");
            return;
        };
        let answered = match ended {
            Ended::Answered(settlement) => Some(settlement.executed),
            _ => None,
        };
        match settled {
            Settled::Foreign => {
                let contradicts = life.settled.is_some() && life.settled != answered;
                assert!(!is_alive || contradicts, "a settle of its own attempt is refused");
                self.figures.count("foreign settles");
            }
            Settled::Withdrawn => {
                assert_eq!(*ended, Ended::NotSent);
                assert!(!was_sent && life.settled.is_none(), "what has left is withdrawn");
                life.attempts.pop();
                life.is_open = false;
                life.is_withdrawn = life.attempts.is_empty();
                life.over_at = life.is_withdrawn.then_some(arrivals);
                let what = if life.is_withdrawn { "withdrawals" } else { "withdrawn resends" };
                self.figures.count(what);
            }
            Settled::Recorded(record) => {
                let was_doubted = life.doubted && !life.is_open;
                life.is_open = false;
                let is_definite = answered == Some(true) || life.attempts.len() == 1;
                match answered {
                    Some(executed) if is_definite || life.settled == Some(executed) => {
                        assert!(life.settled.is_none_or(|told| told == executed), "a settle overwrites");
                        let is_late = was_doubted && life.settled.is_none();
                        life.settled = Some(executed);
                        if is_late {
                            self.figures.count("late replies recorded");
                        }
                    }
                    _ => {
                        assert!(life.settled.is_none(), "a doubt overwrites what is definite");
                        life.doubted = true;
                        if answered.is_some() {
                            self.figures.count("rejected later");
                        }
                    }
                }
                self.is_as_it_should(identity, record);
            }
        }
    }

    fn resolved(&mut self, identity: Identity, record: &Record) {
        let life = self.last_mut(identity).expect("what is resolved was there");
        assert!(life.doubted && !life.is_open && life.settled.is_none(), "only what is in doubt is resolved");
        let executed = says(record, true);
        assert!(executed || says(record, false));
        life.settled = Some(executed);
        self.figures.count("resolved");
        self.is_as_it_should(identity, record);
    }

    /// At the end: what is kept is what should be kept, and everything else is gone.
    pub fn rests(&self, identity: Identity, record: Option<&Record>) {
        let life = self.last(identity).filter(|life| self.is_alive(life));
        assert_eq!(record.is_some(), life.is_some(), "kept too long, or lost: {record:?}");
        if let Some(record) = record {
            self.is_as_it_should(identity, record);
        }
    }

    /// A record says what has happened in the life of its key, and nothing of it but state and result ever changes.
    fn is_as_it_should(&self, identity: Identity, record: &Record) {
        let life = self.last(identity).expect("it was claimed");
        let last = *life.attempts.last().expect("what is kept was claimed");
        assert_eq!(call_of(&record.request_id), last, "the request of another attempt");
        assert_eq!(record.attempt as usize, life.attempts.len());
        assert_eq!(record.fingerprint, [self.calls[last].errand.command; 32].into());
        assert_eq!(record.first_seen, life.first_seen);
        assert_eq!(record.doubt.is_some(), life.doubted);
        let keep = if life.doubted { self.keep_doubts } else { self.keep };
        let expires = (!life.is_open).then(|| life.first_seen.plus(keep));
        assert_eq!(record.expires(), expires, "its time has changed");
        match &record.state {
            State::InProgress => assert!(life.is_open, "in progress for ever"),
            State::InDoubt => assert!(!life.is_open && life.settled.is_none()),
            State::Settled(settlement) => assert_eq!(Some(settlement.executed), life.settled),
        }
    }

    /// What an operator finds out at the responder; `None` while nobody can know.
    pub fn truth(&self, identity: Identity) -> Option<bool> {
        let life = self.last(identity).filter(|life| !life.is_open)?;
        if self.any(life, Way::Ran) {
            return Some(true);
        }
        (!self.any(life, Way::Travelling)).then_some(false)
    }

    /// A command leaves the connector.
    pub fn dispatched(&mut self, call: CallId, disk: &Disk) {
        let identity = self.calls[call].identity;
        let record = disk.get(&identity).expect("reads do not fail here");
        let record = record.expect("a command leaves without a claim on the disk");
        assert_eq!(call_of(&record.request_id), call, "a command leaves on the claim of another");
        assert_eq!(record.state, State::InProgress, "a command leaves on a claim that is settled");
        assert!(self.calls[call].answer.is_none(), "a command leaves after its answer");
        assert_eq!(self.calls[call].request, Way::Never, "a command leaves twice");
        self.calls[call].request = Way::Travelling;
        let life = self.last(identity).expect("it was claimed");
        assert!(life.is_open && life.attempts.last() == Some(&call), "a command leaves on an old claim");
        let left = life.claims.iter().filter(|call| self.calls[**call].request != Way::Never).count();
        let most = if life.takes_care { self.attempts_max } else { 1 };
        assert!(left <= most, "a key leaves {left} times in one life");
        self.figures.count(if left > 1 { "resends" } else { "dispatches" });
    }

    pub fn lost(&mut self, call: CallId) {
        self.calls[call].request = Way::Lost;
    }

    /// It has come to the responder, who did not do it.
    pub fn arrived(&mut self, call: CallId) {
        self.calls[call].request = Way::Refused;
    }

    /// It has come to the responder, who did it.
    pub fn ran(&mut self, call: CallId) {
        self.calls[call].request = Way::Ran;
        assert!(!self.life_of(call).is_denied, "a command runs whose agent was told that it did not");
    }
}

fn says(record: &Record, executed: bool) -> bool {
    matches!(&record.state, State::Settled(settlement) if settlement.executed == executed)
}
