//! Every outcome has its published answer.

use std::time::{Duration, UNIX_EPOCH};

use serde_json::Value;

use super::*;
use crate::domain::{Ending, Outcome, Principal, RequestId, Timeout, Tool};
use crate::mcp::catalogue;

fn report(tool: Tool, cause: Cause) -> Report {
    let sent = cause.outcome() != Outcome::NotSent;
    Report {
        request_id: Some(RequestId::from("id-1")),
        timeout: Some(Timeout::capped_at(10, 300).unwrap()),
        elapsed: Duration::from_millis(12),
        first_sent_at: sent.then_some(UNIX_EPOCH),
        ..Report::refused(
            Principal::anonymous(),
            tool,
            Some("orders".into()),
            Ending::new(cause, "the detail"),
        )
    }
}

fn texts(result: &CallToolResult) -> Vec<String> {
    result.content.iter().filter_map(|block| block.as_text()).map(|text| text.text.clone()).collect()
}

#[test]
fn the_published_texts_are_said_to_the_letter() {
    let text = |tool, cause| texts(&answer(report(tool, cause))).remove(0);
    assert_eq!(
        text(Tool::CommandSend, Cause::Completed),
        "Command executed successfully on channel 'orders'"
    );
    assert_eq!(
        text(Tool::CommandSend, Cause::TimedOut),
        "Command timed out: no subscriber on channel 'orders' within 10s"
    );
    assert_eq!(
        text(Tool::QuerySend, Cause::TimedOut),
        "Query timed out: no subscriber on channel 'orders' within 10s"
    );
    assert_eq!(text(Tool::CommandSend, Cause::Rejected), "Command rejected on channel 'orders': the detail");
    assert_eq!(text(Tool::QuerySend, Cause::Rejected), "Query rejected on channel 'orders': the detail");
    assert_eq!(text(Tool::QuerySend, Cause::ReservedChannel), "Channel 'orders' uses a reserved prefix");
}

#[test]
fn every_cause_of_a_command_fits_the_published_schema() {
    let schema = Value::Object((*catalogue::command_output_schema()).clone());
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    for cause in Cause::ALL {
        let result = answer(report(Tool::CommandSend, cause));
        let structured = result.structured_content.clone().unwrap();
        let problems: Vec<String> =
            validator.iter_errors(&structured).map(|error| error.to_string()).collect();
        assert!(problems.is_empty(), "{cause:?}: {problems:?}");
        assert_eq!(result.is_error, Some(cause != Cause::Completed), "{cause:?}");
        // One sentence about the effect, on every failure.
        if cause != Cause::Completed {
            assert_eq!(texts(&result).len(), 2, "{cause:?}");
        }
    }
}

#[test]
fn a_query_is_answered_byte_for_byte() {
    let completed = |body: &[u8]| {
        let mut report = report(Tool::QuerySend, Cause::Completed);
        report.reply = Some(Reply { executed: true, body: body.to_vec(), ..Reply::default() });
        answer(report)
    };
    let result = completed(" {\"a\":1}\n\u{0}".as_bytes());
    assert_eq!(texts(&result), [" {\"a\":1}\n\u{0}"]);
    assert_eq!((result.is_error, result.structured_content.is_none()), (Some(false), true));
    let binary = serde_json::to_value(completed(&[0xff, 0x00, 0x80])).unwrap();
    assert_eq!(binary["content"][0]["type"], "resource");
    assert_eq!(binary["content"][0]["resource"]["blob"], "/wCA");
}

#[test]
fn a_foreign_text_is_bounded_and_loses_its_control_characters() {
    let mut report = report(Tool::CommandSend, Cause::Rejected);
    report.ending.detail = format!("bad\u{1b}[31m\n{}", "x".repeat(5_000));
    let text = texts(&answer(report)).remove(0);
    assert!(!text.chars().any(char::is_control));
    assert!(text.chars().count() < 2_100);
}

#[test]
fn an_operators_word_is_not_put_into_the_responders_mouth() {
    let mut report = report(Tool::CommandSend, Cause::Rejected);
    report.ending.detail = String::new();
    report.memory.replayed = true;
    report.memory.resolved =
        Some(crate::idempotency::Resolution { by: "ann".into(), why: "no such order".into() });
    let texts = texts(&answer(report));
    assert!(!texts.iter().any(|text| text.contains("responder")), "{texts:?}");
    assert!(texts[2].contains("Settled by the operator ann: no such order"), "{texts:?}");
}
