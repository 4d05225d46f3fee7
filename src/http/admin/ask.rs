//! The four questions of operators, read from a query or a body. Pure.

use super::given::{Given, clipped, meant, wrong};
use crate::domain::{Key, Principal, Tags};
use crate::http::fault::Fault;
use crate::idempotency::{Consent, Identity, Resolution, Selection, Settlement, StateName, Timestamp};

/// Keys of one piece of a list, when nobody says how many.
const LIMIT_DEFAULT: usize = 100;

/// Keys of one piece of a list.
const LIMIT_MAX: usize = 1_000;

/// Longest name of who resolves a key, in characters.
const BY_CHARACTERS_MAX: usize = 128;

/// Longest reason for it, in characters.
const WHY_CHARACTERS_MAX: usize = 512;

/// One key of one principal.
#[derive(Debug, PartialEq)]
pub struct Whose {
    /// Whose key it is.
    pub principal: Principal,
    /// The key.
    pub key: Key,
}

impl Whose {
    /// The name of its record.
    pub fn identity(&self) -> Identity {
        Identity::of(&self.principal, &self.key)
    }
}

/// An operator's word on a key in doubt.
#[derive(Debug)]
pub struct Resolve {
    /// Which key.
    pub whose: Whose,
    /// What the record shall say.
    pub settlement: Settlement,
    /// Who says so.
    pub by: String,
    /// How they know.
    pub why: String,
}

/// That a key shall be new again.
#[derive(Debug)]
pub struct Forget {
    /// Which key.
    pub whose: Whose,
    /// Whether its command may run again.
    pub consent: Consent,
}

/// Reads which keys shall be listed.
///
/// # Errors
/// Names the parameter that is wrong.
pub fn list(query: &str) -> Result<Selection, Fault> {
    let mut given = Given::in_query(query, &["principal", "state", "after", "limit"])?;
    Ok(Selection {
        principal: given.text("principal")?.map(|text| principal(&text)).transpose()?,
        state: given.text("state")?.map(|text| state(&text)).transpose()?,
        after: given.text("after")?.map(|text| after(&text)).transpose()?,
        max: given.text("limit")?.map_or(Ok(LIMIT_DEFAULT), |text| limit(&text))?,
    })
}

/// Reads which key shall be shown.
///
/// # Errors
/// Names the parameter that is wrong.
pub fn show(query: &str) -> Result<Whose, Fault> {
    whose(&mut Given::in_query(query, &["principal", "key"])?)
}

/// Reads which key is settled, how, by whom and why.
///
/// # Errors
/// Names the member that is wrong.
pub fn resolve(body: &[u8]) -> Result<Resolve, Fault> {
    let mut given = Given::in_body(body, &["principal", "key", "outcome", "by", "why"])?;
    let whose = whose(&mut given)?;
    let executed = executed(&given.required("outcome")?)?;
    let by = given.line("by", BY_CHARACTERS_MAX)?;
    let why = given.line("why", WHY_CHARACTERS_MAX)?;
    let settlement = Settlement {
        executed,
        // The ledger's own time; see `Settlement::at`.
        at: Timestamp::default(),
        elapsed_milliseconds: 0,
        error: String::new(),
        responder: String::new(),
        tags: Tags::new(),
        truncated: false,
        resolved: Some(Resolution { by: by.clone(), why: why.clone() }),
    };
    Ok(Resolve { whose, settlement, by, why })
}

/// Reads which key is forgotten.
///
/// # Errors
/// Names the member that is wrong.
pub fn forget(body: &[u8]) -> Result<Forget, Fault> {
    let mut given = Given::in_body(body, &["principal", "key", "may_run_again"])?;
    let whose = whose(&mut given)?;
    let consent = if given.switch("may_run_again")? { Consent::MayRunAgain } else { Consent::Missing };
    Ok(Forget { whose, consent })
}

fn whose(given: &mut Given) -> Result<Whose, Fault> {
    let principal = principal(&given.required("principal")?)?;
    let key = Key::parse(&given.required("key")?).map_err(|error| wrong(format!("`key` {error}")))?;
    Ok(Whose { principal, key })
}

fn principal(text: &str) -> Result<Principal, Fault> {
    Principal::parse_any(text).map_err(|error| wrong(format!("`principal` is not a name: {error}")))
}

fn state(text: &str) -> Result<StateName, Fault> {
    let states = StateName::ALL.map(StateName::as_str);
    StateName::parse(text)
        .ok_or_else(|| wrong(format!("unknown state `{}`, {}", clipped(text), meant(text, &states))))
}

fn executed(text: &str) -> Result<bool, Fault> {
    let outcomes = [StateName::Executed, StateName::Rejected].map(StateName::as_str);
    match outcomes.iter().position(|outcome| *outcome == text) {
        Some(index) => Ok(index == 0),
        None => Err(wrong(format!("unknown outcome `{}`, {}", clipped(text), meant(text, &outcomes)))),
    }
}

fn limit(text: &str) -> Result<usize, Fault> {
    // `parse` alone would take `+5`.
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse().ok().filter(|number| digits && (1..=LIMIT_MAX).contains(number));
    number.ok_or_else(|| wrong(format!("`limit` must be a number from 1 to {LIMIT_MAX}")))
}

/// A cursor as text. A text and no number: what it means is ours to change.
pub fn cursor(fence: u64) -> String {
    fence.to_string()
}

fn after(text: &str) -> Result<u64, Fault> {
    // `parse` alone would take `+5`.
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let fence = text.parse().ok().filter(|_| digits);
    fence.ok_or_else(|| wrong("`after` must be the `next` of an earlier list"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn message<T: std::fmt::Debug>(result: Result<T, Fault>) -> String {
        result.unwrap_err().message
    }

    #[test]
    fn a_list_has_its_defaults_and_its_limits() {
        assert_eq!(list("").unwrap(), Selection { max: 100, ..Selection::default() });
        assert_eq!(list("principal=&state=&after=&limit=").unwrap(), list("").unwrap());
        let all = list("principal=anonymous&state=in_doubt&limit=1000").unwrap();
        assert_eq!((all.principal, all.state), (Some(Principal::anonymous()), Some(StateName::InDoubt)));
        for wrong in ["0", "1001", "+5", "x", "99999999999999999999"] {
            assert_eq!(message(list(&format!("limit={wrong}"))), "`limit` must be a number from 1 to 1000");
        }
        assert_eq!(message(list("state=in_dobt")), "unknown state `in_dobt`, the nearest is `in_doubt`");
        assert!(message(list("principal=a%20b")).starts_with("`principal` is not a name: "));
    }

    #[test]
    fn a_key_is_named_by_its_principal_and_its_text() {
        let shown = show("principal=alice&key=a%2Fb").unwrap();
        assert_eq!((shown.principal.as_str(), shown.key.as_str()), ("alice", "a/b"));
        assert_eq!(message(show("key=k")), "the parameter `principal` is missing");
        assert_eq!(message(show("principal=a&key=")), "the parameter `key` is missing");
        let long = message(show(&format!("principal=a&key={}", "x".repeat(129))));
        assert_eq!(long, "`key` must be at most 128 characters long, got 129");
    }

    fn resolving(change: Value) -> Vec<u8> {
        let mut body =
            json!({ "principal": "a", "key": "k", "outcome": "rejected", "by": "ann", "why": "seen" });
        body.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        body.to_string().into_bytes()
    }

    #[test]
    fn a_word_on_a_key_in_doubt_says_who_and_why() {
        let word = resolve(&resolving(json!({}))).unwrap();
        assert!(!word.settlement.executed);
        assert_eq!(word.settlement.resolved, Some(Resolution { by: "ann".into(), why: "seen".into() }));
        assert!(resolve(&resolving(json!({ "outcome": "executed" }))).unwrap().settlement.executed);
        let longest = json!({ "by": "ä".repeat(128), "why": "ä".repeat(512) });
        assert!(resolve(&resolving(longest)).is_ok());
        for (change, part) in [
            (json!({ "outcome": "execute" }), "unknown outcome `execute`, the nearest is `executed`"),
            (json!({ "by": null }), "the member `by` is missing"),
            (json!({ "why": "" }), "`why` must not be empty"),
            (json!({ "by": "x".repeat(129) }), "`by` must be at most 128 characters long, got 129"),
            (json!({ "why": "x".repeat(513) }), "`why` must be at most 512 characters long, got 513"),
            (json!({ "whi": "x" }), "unknown member `whi`, the nearest is `why`"),
        ] {
            assert_eq!(message(resolve(&resolving(change))), part);
        }
    }

    #[test]
    fn consent_is_given_in_so_many_words() {
        let consent = |text: &str| {
            forget(format!(r#"{{"principal":"a","key":"k"{text}}}"#).as_bytes()).map(|forget| forget.consent)
        };
        assert_eq!(consent("").unwrap(), Consent::Missing);
        assert_eq!(consent(r#","may_run_again":false"#).unwrap(), Consent::Missing);
        assert_eq!(consent(r#","may_run_again":true"#).unwrap(), Consent::MayRunAgain);
        assert_eq!(message(consent(r#","may_run_again":"true""#)), "`may_run_again` must be true or false");
        assert!(message(consent(r#","may_run":true"#)).contains("the nearest is `may_run_again`"));
    }

    proptest! {
        #[test]
        fn a_cursor_is_read_as_it_was_written(fence in any::<u64>(), wrong in ".{0,70}") {
            prop_assert_eq!(after(&cursor(fence)).unwrap(), fence);
            let _ = after(&wrong);
        }
    }
}
