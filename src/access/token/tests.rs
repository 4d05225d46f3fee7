//! What a tokens file may be, and what is said of one that is wrong.

use std::time::{Duration, SystemTime};

use proptest::prelude::*;

use super::*;
use crate::access::refusal::Refusal;
use crate::domain::{Principal, PrincipalError};

fn line(name: &str, token: &str) -> String {
    format!("{name} {}", Hash::of(token))
}

fn owner(tokens: &Tokens, token: &str) -> Option<String> {
    tokens.grant(token).map(|grant| grant.subject.principal.to_string())
}

#[test]
fn a_hash_is_the_sha_256_of_the_token() {
    let known = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(Hash::of("abc").to_string(), known);
    assert_eq!(Hash::parse(known), Some(Hash::of("abc")));
    assert_eq!(Hash::parse(&format!("sha256:{}", known[7..].to_uppercase())), Some(Hash::of("abc")));
}

#[test]
fn comments_blank_lines_and_line_ends_of_any_kind_are_read() {
    let text = format!("# who\r\n\r\n  {}  \r\n\t# more\n{}", line("a", "one"), line("b", "two"));
    let tokens = Tokens::parse(text.as_bytes()).unwrap();
    assert_eq!((owner(&tokens, "one"), owner(&tokens, "two")), (Some("a".into()), Some("b".into())));
    assert_eq!(owner(&tokens, "three"), None);
    assert_eq!((tokens.len(), tokens.principals()), (2, 2));
}

#[test]
fn a_name_may_have_many_tokens_and_a_file_none() {
    let text = [line("a", "old"), line("a", "new")].join("\n");
    let tokens = Tokens::parse(text.as_bytes()).unwrap();
    assert_eq!((owner(&tokens, "old"), owner(&tokens, "new")), (Some("a".into()), Some("a".into())));
    assert_eq!((tokens.len(), tokens.principals()), (2, 1));
    assert!(Tokens::parse(b"# nobody\n").unwrap().is_empty());
}

#[test]
fn the_first_wrong_line_is_told_with_what_would_be_right() {
    let good = line("a", "one");
    let digits = good.split_once(':').unwrap().1;
    let cases = [
        ("a".to_owned(), Mistake::Words(1)),
        (format!("{good} # mine"), Mistake::Attribute(3)),
        (format!("{good} revoked mine"), Mistake::Attribute(4)),
        (format!("{good} expires"), Mistake::Attribute(3)),
        (format!("{good} Revoked"), Mistake::Attribute(3)),
        (format!("{good} revoked=yes"), Mistake::Attribute(3)),
        (format!("{good} read-only read-only"), Mistake::Repeated(4)),
        (format!("{good} scope=a group=a scope=a"), Mistake::Repeated(5)),
        (format!("{good} expires=2027-01-01T00:00:00Z expires=2028-01-01T00:00:00Z"), Mistake::Repeated(4)),
        (format!("{good} expires=2027-01-01"), Mistake::Expires(3)),
        (format!("{good} expires=2027-01-01T00:00:00+01:00"), Mistake::Expires(3)),
        (format!("{good} expires=never"), Mistake::Expires(3)),
        (format!("{good} scope="), Mistake::ScopeOrGroup(3)),
        (format!("{good} scope=a\"b"), Mistake::ScopeOrGroup(3)),
        (format!("{good} group={}", "x".repeat(257)), Mistake::ScopeOrGroup(3)),
        (format!("anonymous sha256:{digits}"), Mistake::Name(PrincipalError::Reserved)),
        (format!("a/b sha256:{digits}"), Mistake::Name(PrincipalError::Character)),
        (format!("{} sha256:{digits}", "x".repeat(65)), Mistake::Name(PrincipalError::Length(65))),
        (format!("a {digits}"), Mistake::Hash),
        (format!("a SHA256:{digits}"), Mistake::Hash),
        (format!("a sha256:{}", &digits[1..]), Mistake::Hash),
        (format!("a sha256:+{}", &digits[1..]), Mistake::Hash),
        (format!("a sha256:ä{}", &digits[2..]), Mistake::Hash),
        (format!("b sha256:{digits}"), Mistake::Twice { first: 2 }),
    ];
    for (wrong, mistake) in cases {
        let text = format!("# first\n{good}\n{wrong}\nalso wrong");
        assert_eq!(Tokens::parse(text.as_bytes()), Err((3, mistake)), "{wrong}");
    }
    assert_eq!(Tokens::parse(b"\n\xff"), Err((2, Mistake::NotText)));
}

#[test]
fn a_line_says_until_when_and_for_what_a_token_is() {
    let (end, second) = (humantime::parse_rfc3339("2027-01-01T00:00:00Z").unwrap(), Duration::from_secs(1));
    let text =
        format!("{} group=ops scope=r scope=w read-only expires=2027-01-01T00:00:00Z", line("a", "one"));
    let tokens = Tokens::parse(text.as_bytes()).unwrap();
    let grant = tokens.grant("one").unwrap();
    let subject = grant.judge(end - second).unwrap();
    assert_eq!((&*subject.scopes, &*subject.groups), (&["r".into(), "w".into()][..], &["ops".into()][..]));
    assert!(subject.read_only && subject.principal.as_str() == "a");
    assert_eq!(grant.judge(end), Err(Refusal::Expired));
    assert_eq!(grant.judge(end + second), Err(Refusal::Expired));
    let revoked = Tokens::parse(format!("{text} revoked").as_bytes()).unwrap();
    for time in [end - second, end + second] {
        assert_eq!(revoked.grant("one").unwrap().judge(time), Err(Refusal::Revoked));
    }
}

#[test]
fn one_token_more_than_the_limit_is_refused_and_the_limit_fits_into_a_file() {
    let longest = "n".repeat(crate::domain::NAME_CHARACTERS_MAX);
    let lines = |count: usize| -> String {
        (0..count).map(|index| format!("{}\n", line(&longest, &index.to_string()))).collect()
    };
    let full = lines(TOKENS_MAX);
    assert_eq!(Tokens::parse(full.as_bytes()).unwrap().len(), TOKENS_MAX);
    assert!(full.len() < TOKENS_FILE_BYTES_MAX);
    let over = lines(TOKENS_MAX + 1);
    assert_eq!(Tokens::parse(over.as_bytes()), Err((TOKENS_MAX + 1, Mistake::TooMany)));
}

proptest! {
    #[test]
    fn whoever_is_written_down_is_found_and_nobody_else(
        entries in proptest::collection::btree_map("[!-~]{1,50}", "[A-Za-z0-9._@-]{1,64}", 0..20),
        stranger in "[!-~]{1,50}",
    ) {
        prop_assume!(entries.values().all(|name| name != "anonymous"));
        let text: String = entries.iter().map(|(token, name)| line(name, token) + "\n").collect();
        let tokens = Tokens::parse(text.as_bytes()).unwrap();
        for (token, name) in &entries {
            prop_assert_eq!(owner(&tokens, token), Some(name.clone()));
        }
        prop_assert_eq!(owner(&tokens, &stranger), entries.get(&stranger).cloned());
    }

    #[test]
    fn a_line_is_read_as_it_was_written(
        scopes in proptest::collection::btree_set("[!#-\\[\\]-~]{1,30}", 0..5),
        groups in proptest::collection::btree_set("[!-~\u{e4}\u{4e00}]{1,30}", 0..5),
        seconds in proptest::option::of(0_u64..200_000_000_000),
        read_only: bool,
        revoked: bool,
    ) {
        let mut grant = Grant::to(Principal::named("a"));
        grant.subject.scopes = scopes.into_iter().collect::<Vec<_>>().into();
        grant.subject.groups = groups.into_iter().collect::<Vec<_>>().into();
        grant.subject.read_only = read_only;
        grant.revoked = revoked;
        grant.expires = seconds.map(|seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
        let tokens = Tokens::parse(grant.line(Hash::of("one")).as_bytes()).unwrap();
        prop_assert_eq!(tokens.grant("one"), Some(&grant));
    }

    #[test]
    fn any_file_is_judged_without_a_panic(content in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = Tokens::parse(&content);
    }

    #[test]
    fn any_text_in_place_of_a_line_is_judged_and_never_quoted(before in ".{0,20}", after in "[ -~]{0,80}") {
        let text = format!("{before}kmcp_hunter2{after}");
        if let Err((_, mistake)) = Tokens::parse(text.as_bytes()) {
            let told = format!("{mistake} {mistake:?}");
            prop_assert!(!told.contains("hunter2"), "{}", told);
        }
    }
}
