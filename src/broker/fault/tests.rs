//! The table of faults, row by row, and what holds for any text. `tests/it/broker/faults.rs` provokes the rows for real.

use proptest::prelude::*;

use super::*;

const LIMITS: Limits = Limits { reply_bytes_max: 1_000, message_bytes_max: 1_500 };
const AT_ITS_TIME: Elapsed = Elapsed { elapsed: Duration::from_secs(9), timeout: Duration::from_secs(10) };
const EARLY: Elapsed = Elapsed { elapsed: Duration::from_millis(8_999), timeout: Duration::from_secs(10) };

fn status(shape: Shape, code: Code, message: &str) -> Symptom {
    let message = message.to_owned();
    Symptom { shape, message, code: Some(code), stage: Stage::MayHaveLeft, sources: Vec::new() }
}

fn internal_at(message: &str, time: Elapsed) -> Fault {
    decide(&status(Shape::Fatal, Code::Internal, message), time, LIMITS)
}

#[test]
fn error_301_is_a_timeout_only_at_its_time() {
    let text = "Error 301: timeout for request message";
    assert_eq!(internal_at(text, AT_ITS_TIME), Fault::TimedOut);
    let expected = Fault::Failed("Error 301: timeout for request message after 8.999 s of 10 s".into());
    assert_eq!(internal_at(text, EARLY), expected);
}

#[test]
fn a_deadline_is_a_timeout_only_at_its_time() {
    let deadline = status(Shape::Timeout, Code::DeadlineExceeded, "context deadline exceeded");
    let own = Symptom { code: None, ..status(Shape::Cancellation, Code::Cancelled, "Timeout expired") };
    for symptom in [deadline, own] {
        assert_eq!(decide(&symptom, AT_ITS_TIME, LIMITS), Fault::TimedOut);
        assert!(matches!(decide(&symptom, EARLY, LIMITS), Fault::Failed(_)));
    }
}

#[test]
fn what_the_broker_checks_before_publishing_was_not_sent() {
    for refused in ["Error 102: a", "Error 119: a", "Error 206: a", "Error 412: a", "Error 421: a"] {
        assert_eq!(internal_at(refused, AT_ITS_TIME), Fault::Refused(refused.into()));
    }
    for unavailable in ["Error 302: a", "Error 409: a"] {
        assert_eq!(internal_at(unavailable, AT_ITS_TIME), Fault::Unavailable(unavailable.into()));
    }
}

#[test]
fn a_number_counts_only_where_the_broker_writes_it() {
    for other in
        ["Error 4120: a", "Error 41: a", "error 412: a", " Error 412: a", "Error 412", "x Error 412: a"]
    {
        assert!(matches!(internal_at(other, AT_ITS_TIME), Fault::Failed(_)), "{other}");
    }
    let unknown = status(Shape::Transient, Code::Unknown, "Error 412: access denied to resource");
    assert!(matches!(decide(&unknown, AT_ITS_TIME, LIMITS), Fault::Failed(_)));
}

#[test]
fn a_connection_text_from_a_server_does_not_prove_that_nothing_left() {
    let forged = status(Shape::Transient, Code::Unavailable, "tcp connect error");
    assert!(matches!(decide(&forged, EARLY, LIMITS), Fault::Failed(_)));
    let real = Symptom {
        stage: Stage::Connecting,
        sources: vec!["tcp connect error".into(), "Connection refused (os error 111)".into()],
        ..forged
    };
    assert_eq!(decide(&real, EARLY, LIMITS), Fault::Unavailable("Connection refused (os error 111)".into()));
}

#[test]
fn an_http2_error_is_a_lost_connection_whatever_its_code() {
    for (shape, code) in [
        (Shape::Authorization, Code::PermissionDenied),
        (Shape::Throttling, Code::ResourceExhausted),
        (Shape::Fatal, Code::Internal),
    ] {
        let symptom = status(shape, code, "h2 protocol error: http2 error");
        assert!(matches!(decide(&symptom, EARLY, LIMITS), Fault::ConnectionLost(_)), "{code:?}");
    }
}

#[test]
fn the_limit_in_the_text_tells_a_large_reply_from_a_large_request() {
    let text = |limit| {
        let text =
            format!("Error, decoded message length too large: found 2000 bytes, the limit is: {limit} bytes");
        Symptom { code: None, ..status(Shape::Validation, Code::OutOfRange, &text) }
    };
    let reply = decide(&text(1_500), EARLY, LIMITS);
    assert_eq!(reply, Fault::ReplyTooLarge { size: Some(2_000), limit: 1_000 });
    assert!(matches!(decide(&text(1_700), EARLY, LIMITS), Fault::Refused(_)));
}

#[test]
fn a_detail_is_one_bounded_line() {
    assert_eq!(detail("a\nb\u{1b}[31m\u{0}c. "), "a b c");
    assert_eq!(detail(&"é".repeat(1_000)).chars().count(), DETAIL_CHARACTERS_MAX);
}

fn shapes() -> impl Strategy<Value = Shape> {
    prop::sample::select(vec![
        Shape::Transient,
        Shape::Timeout,
        Shape::Validation,
        Shape::Fatal,
        Shape::Cancellation,
        Shape::Throttling,
        Shape::Other,
    ])
}

proptest! {
    #[test]
    fn any_text_gives_one_bounded_fault_and_an_unlisted_one_never_says_not_sent(
        shape in shapes(),
        code in prop::option::of((0..17).prop_map(Code::from_i32)),
        message in prop_oneof![".{0,400}", "Error [0-9]{1,4}: .{0,40}", "(tcp|dns|transport|h2) .{0,40}"],
        sources in prop::collection::vec(".{0,80}", 0..3),
        elapsed in 0u64..400_000,
    ) {
        let listed = ["Error 1", "Error 206:", "Error 302:", "Error 409:", "Error 412:", "Error 421:"]
            .iter()
            .any(|text| message.starts_with(text)) || message.contains(MESSAGE_TOO_LARGE);
        let symptom = Symptom { shape, message, code, stage: Stage::MayHaveLeft, sources };
        let time = Elapsed { elapsed: Duration::from_millis(elapsed), timeout: Duration::from_secs(10) };
        let fault = decide(&symptom, time, LIMITS);
        prop_assert!(fault.to_string().chars().count() < DETAIL_CHARACTERS_MAX + 60);
        prop_assert!(!fault.to_string().chars().any(char::is_control));
        if !listed {
            prop_assert!(!matches!(fault, Fault::Unavailable(_) | Fault::Refused(_)), "{fault:?}");
        }
    }
}
