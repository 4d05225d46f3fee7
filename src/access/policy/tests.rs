//! The rules of the policy, against a model that is nothing but the sentences of the README.

use proptest::prelude::*;

use super::*;
use crate::domain::{ChannelPattern, Principal};

fn entry(who: &str) -> Entry {
    Entry {
        who: Who::parse(who).unwrap(),
        tools: Vec::new(),
        channels: Vec::new(),
        deny_tools: Vec::new(),
        deny_channels: Vec::new(),
        read_only: false,
        tool_timeout_seconds: None,
        body_bytes_max: None,
        require_key: false,
        place: String::new(),
    }
}

fn patterns(texts: &[&str]) -> Vec<ChannelPattern> {
    texts.iter().map(|text| ChannelPattern::parse(text).unwrap()).collect()
}

fn allowing(who: &str, tools: &[&str], channels: &[&str]) -> Entry {
    let tools = tools.iter().map(|word| ToolSet::parse(word).unwrap()).collect();
    Entry { tools, channels: patterns(channels), ..entry(who) }
}

fn caller(name: &str) -> Subject {
    Subject::named(Principal::named(name))
}

fn channel(name: &str) -> Channel {
    Channel::parse(name).unwrap()
}

fn reason(policy: &Policy, subject: &Subject, tool: Tool, name: &str) -> Option<Reason> {
    policy.decide(subject, tool, Some(&channel(name))).err().map(|denied| denied.reason)
}

#[test]
fn without_entries_everybody_may_do_everything() {
    let allowed =
        Policy::default().decide(&caller("a"), Tool::CommandSend, Some(&channel("orders"))).unwrap();
    assert_eq!(allowed, Allowed { basis: Basis::NoPolicy, bounds: Bounds::default() });
}

#[test]
fn with_the_first_entry_what_none_allows_is_denied() {
    let policy = Policy::new(vec![allowing("a", &["query_send"], &["orders.>"])], Service::Whole);
    assert_eq!(reason(&policy, &caller("a"), Tool::QuerySend, "orders.eu"), None);
    for (who, tool, name) in [
        ("a", Tool::CommandSend, "orders.eu"),
        ("a", Tool::QuerySend, "billing"),
        ("b", Tool::QuerySend, "orders.eu"),
        ("anonymous", Tool::QuerySend, "orders.eu"),
    ] {
        assert_eq!(reason(&policy, &caller(who), tool, name), Some(Reason::NotAllowed), "{who}");
    }
}

#[test]
fn a_denial_stands_above_what_allows_in_either_order() {
    let mut denying = entry("group:interns");
    denying.deny_channels = patterns(&["orders.secret"]);
    let open = allowing("*", &["*"], &[">"]);
    let intern = Subject { groups: vec!["interns".to_owned()].into(), ..caller("i") };
    for entries in [vec![open.clone(), denying.clone()], vec![denying, open]] {
        let policy = Policy::new(entries, Service::Whole);
        assert_eq!(reason(&policy, &intern, Tool::QuerySend, "orders.secret"), Some(Reason::Denied));
        assert_eq!(reason(&policy, &intern, Tool::QuerySend, "orders.eu"), None);
        assert_eq!(reason(&policy, &caller("o"), Tool::QuerySend, "orders.secret"), None);
    }
}

#[test]
fn read_only_is_told_by_who_says_so() {
    let open = allowing("*", &["*"], &[">"]);
    let read_only = Entry { read_only: true, ..entry("preview") };
    let policy = Policy::new(vec![open.clone(), read_only], Service::Whole);
    assert_eq!(reason(&policy, &caller("preview"), Tool::CommandSend, "c"), Some(Reason::ReadOnlyCaller));
    assert_eq!(reason(&policy, &caller("preview"), Tool::QuerySend, "c"), None);
    let reads = Subject { read_only: true, ..caller("a") };
    assert_eq!(reason(&policy, &reads, Tool::CommandSend, "c"), Some(Reason::ReadOnlyCredential));
    assert_eq!(reason(&Policy::default(), &reads, Tool::CommandSend, "c"), Some(Reason::ReadOnlyCredential));
    let service = Policy::new(vec![open], Service::ReadOnly);
    assert_eq!(reason(&service, &caller("a"), Tool::CommandSend, "c"), Some(Reason::ReadOnlyService));
    assert_eq!(reason(&service, &caller("a"), Tool::QuerySend, "c"), None);
}

#[test]
fn the_narrowest_bound_of_the_entries_that_allow_holds() {
    let wide = Entry { tool_timeout_seconds: Some(60), ..allowing("*", &["*"], &[">"]) };
    let narrow = Entry {
        tool_timeout_seconds: Some(5),
        require_key: true,
        body_bytes_max: Some(10),
        ..allowing("a", &["commands"], &["orders.*"])
    };
    let elsewhere = Entry { tool_timeout_seconds: Some(1), ..allowing("a", &["*"], &["billing"]) };
    let policy = Policy::new(vec![wide, narrow, elsewhere], Service::Whole);
    let allowed = policy.decide(&caller("a"), Tool::CommandSend, Some(&channel("orders.eu"))).unwrap();
    let bounds = Bounds { timeout_seconds_max: Some(5), body_bytes_max: Some(10), require_key: true };
    assert_eq!(allowed, Allowed { basis: Basis::Entry(0), bounds });
    let query = policy.decide(&caller("a"), Tool::QuerySend, Some(&channel("orders.eu"))).unwrap();
    assert_eq!(query.bounds, Bounds { timeout_seconds_max: Some(60), ..Bounds::default() });
}

#[test]
fn a_tool_is_open_when_it_is_on_some_channel() {
    let policy = Policy::new(
        vec![allowing("a", &["commands", "command_status"], &["orders"]), allowing("b", &["*"], &[])],
        Service::Whole,
    );
    let open = |who: &str, tool| policy.decide(&caller(who), tool, None).is_ok();
    assert!(open("a", Tool::CommandSend) && open("a", Tool::CommandStatus) && !open("a", Tool::QuerySend));
    assert!(
        open("b", Tool::CommandStatus) && !open("b", Tool::CommandSend),
        "without a channel nothing is sent"
    );
}

#[test]
fn a_wrong_word_says_what_would_be_right() {
    for wrong in ["", "two words", "scope:", "scope:a b", "group:", "jwt:", "a/b"] {
        assert!(Who::parse(wrong).is_err(), "{wrong}");
    }
    for right in ["*", "alice", "anonymous", "jwt:ada", "scope:orders.write", "group:on call"] {
        assert_eq!(Who::parse(right).unwrap().to_string(), right);
    }
    assert!(ToolSet::words().all(|word| ToolSet::parse(word).is_some()) && ToolSet::parse("query").is_none());
}

fn any_set() -> impl Strategy<Value = Vec<ToolSet>> {
    let words: Vec<&str> = ToolSet::words().collect();
    prop::collection::vec(prop::sample::select(words), 0..3)
        .prop_map(|words| words.into_iter().map(|word| ToolSet::parse(word).unwrap()).collect())
}

fn any_patterns() -> impl Strategy<Value = Vec<ChannelPattern>> {
    prop::collection::vec(prop::sample::select(vec!["a", "b", "a.*", "a.>", ">"]), 0..3)
        .prop_map(|texts| patterns(&texts))
}

fn any_entry() -> impl Strategy<Value = Entry> {
    let who = prop::sample::select(vec!["*", "ann", "bob", "anonymous", "scope:s", "group:g"]);
    let bounds = (prop::option::of(1u64..9), prop::option::of(1usize..9), any::<bool>());
    (who, any_set(), any_patterns(), any_set(), any_patterns(), prop::bool::weighted(0.2), bounds).prop_map(
        |(who, tools, channels, deny_tools, deny_channels, read_only, bounds)| Entry {
            tools,
            channels,
            deny_tools: if deny_tools.len() > 1 { deny_tools } else { Vec::new() },
            deny_channels: if deny_channels.len() > 1 { deny_channels } else { Vec::new() },
            read_only,
            tool_timeout_seconds: bounds.0,
            body_bytes_max: bounds.1,
            require_key: bounds.2,
            ..entry(who)
        },
    )
}

fn any_subject() -> impl Strategy<Value = Subject> {
    (prop::sample::select(vec!["ann", "bob", "anonymous"]), any::<[bool; 3]>()).prop_map(|(name, has)| {
        Subject {
            scopes: has[0].then(|| "s".to_owned()).into_iter().collect::<Vec<_>>().into(),
            groups: has[1].then(|| "g".to_owned()).into_iter().collect::<Vec<_>>().into(),
            read_only: has[2],
            ..caller(name)
        }
    })
}

fn any_call() -> impl Strategy<Value = (Subject, Tool, Channel)> {
    let name = prop::sample::select(vec!["a", "b", "c", "a.x", "a.x.y"]);
    (any_subject(), prop::sample::select(Tool::ALL.to_vec()), name.prop_map(channel))
}

/// The sentences of the README, one after the other.
fn model(entries: &[Entry], service: Service, (subject, tool, name): &(Subject, Tool, Channel)) -> bool {
    let mine: Vec<&Entry> = entries.iter().filter(|entry| entry.who.is(subject)).collect();
    let command = tool.kind() == Kind::Command;
    let read_only =
        service == Service::ReadOnly || subject.read_only || mine.iter().any(|entry| entry.read_only);
    let has = |sets: &[ToolSet]| sets.iter().any(|set| set.has(*tool));
    let on = |patterns: &[ChannelPattern]| patterns.iter().any(|pattern| pattern.matches(name));
    if command && read_only {
        return false;
    }
    entries.is_empty()
        || (mine.iter().any(|entry| has(&entry.tools) && on(&entry.channels))
            && !mine.iter().any(|entry| has(&entry.deny_tools) || on(&entry.deny_channels)))
}

proptest! {
    #[test]
    fn the_decision_is_the_models(
        entries in prop::collection::vec(any_entry(), 0..6),
        read_only in prop::bool::weighted(0.1),
        call in any_call(),
    ) {
        let service = if read_only { Service::ReadOnly } else { Service::Whole };
        let expected = model(&entries, service, &call);
        let policy = Policy::new(entries, service);
        let decided = policy.decide(&call.0, call.1, Some(&call.2));
        prop_assert_eq!(decided.is_ok(), expected, "{:?}", decided);
        // What may be used on a channel is shown; what is shown may still be denied on this one.
        prop_assert!(decided.is_err() || policy.decide(&call.0, call.1, None).is_ok());
    }

    #[test]
    fn the_order_of_entries_decides_nothing(
        entries in prop::collection::vec(any_entry(), 0..6).prop_shuffle(), call in any_call(),
    ) {
        let mut sorted = entries.clone();
        sorted.sort_by_key(|entry| format!("{entry:?}"));
        let decide = |entries| Policy::new(entries, Service::Whole).decide(&call.0, call.1, Some(&call.2));
        let (one, other) = (decide(entries), decide(sorted));
        prop_assert_eq!(one.map(|allowed| allowed.bounds).map_err(|denied| denied.reason),
            other.map(|allowed| allowed.bounds).map_err(|denied| denied.reason));
    }

    #[test]
    fn what_only_allows_takes_nothing_away(
        entries in prop::collection::vec(any_entry(), 1..5), more in any_entry(), call in any_call(),
    ) {
        let more = Entry { deny_tools: Vec::new(), deny_channels: Vec::new(), read_only: false, ..more };
        let before = Policy::new(entries.clone(), Service::Whole).decide(&call.0, call.1, Some(&call.2));
        let after = Policy::new([entries, vec![more]].concat(), Service::Whole).decide(&call.0, call.1, Some(&call.2));
        prop_assert!(before.is_err() || after.is_ok());
    }
}
