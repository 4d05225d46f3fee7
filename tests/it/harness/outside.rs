//! What stands outside of the connector and outlives its deaths: a broker and a responder, in processes of their own.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use super::binary::Binary;
use super::event::within;

/// The channel that the responder answers on.
pub const CHANNEL: &str = "orders";

/// First the request is written down, then it is answered as its metadata says. A held one waits for a line at the gate. A
/// mute one gets none of those, and waits for the end of the test, when its gate has no writer any more.
const SHELL: &str = r#"
printf '%s %s\n' "$KUBEMQ_REQUEST_ID" "$KUBEMQ_TAGS" >> "$SEEN"
case $KUBEMQ_METADATA in
    rejects) printf 'no such order%1900s.' '' >&2; exit 1 ;;
    held) read -r _ < "$HELD" ;;
    mute) read -r _ < "$MUTE" ;;
esac
"#;

/// A broker and a responder.
pub struct Outside {
    broker: Binary,
    responder: Option<Binary>,
    /// The only writers of the gates.
    held: File,
    mute: Option<File>,
    directory: TempDir,
}

/// What the responder does with a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Behaviour {
    /// It says that it did it.
    Executes,
    /// It says that it did not, at length, so that records are large.
    Rejects,
    /// It says that it did it, once it is told to.
    Held,
    /// It says nothing until the test ends.
    Mute,
}

impl Behaviour {
    /// The metadata that asks for it.
    pub fn metadata(self) -> &'static str {
        match self {
            Self::Executes => "executes",
            Self::Rejects => "rejects",
            Self::Held => "held",
            Self::Mute => "mute",
        }
    }
}

impl Outside {
    /// Starts both, and returns when the responder answers.
    pub fn start() -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let broker = Binary::start(&["broker", "--listen", "127.0.0.1:0"], &[]);
        let ((held, held_writer), (mute, mute_writer)) = (gate(&directory, "held"), gate(&directory, "mute"));
        let seen = directory.path().join("seen");
        File::create(&seen).expect("a new file");
        let text = |path: &PathBuf| path.to_str().expect("a path of ours is text").to_owned();
        let responder = Binary::launch(
            &[
                "respond",
                CHANNEL,
                "--kind",
                "command",
                "--exec",
                SHELL,
                "--in-flight-max",
                "1000",
                "--broker",
                &broker.word("127.0.0.1:"),
            ],
            &[("SEEN", &text(&seen)), ("HELD", &text(&held)), ("MUTE", &text(&mute))],
        );
        assert!(responder.first_line().contains("answering"), "{}", responder.log());
        Self { broker, responder: Some(responder), held: held_writer, mute: Some(mute_writer), directory }
    }

    /// Where the broker listens.
    pub fn broker(&self) -> String {
        self.broker.word("127.0.0.1:")
    }

    /// The request ids that the responder has got so far, by key.
    pub fn seen(&self) -> BTreeMap<String, Vec<String>> {
        let text = std::fs::read_to_string(self.directory.path().join("seen")).expect("it was made");
        let mut seen: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for line in text.lines() {
            let Some((request_id, tags)) = line.split_once(' ') else { panic!("no id and tags: {line}") };
            let tags: Value = serde_json::from_str(tags).expect("an object");
            let key = tags["x-idempotency-key"].as_str().expect("every command of these tests has a key");
            seen.entry(key.to_owned()).or_default().push(request_id.to_owned());
        }
        seen
    }

    /// How often the responder has got the command of this key.
    pub fn times(&self, key: &str) -> usize {
        self.seen().get(key).map_or(0, Vec::len)
    }

    /// Waits until the responder has got the command of this key.
    pub async fn until_seen(&self, key: &str) {
        let until = async {
            while self.times(key) == 0 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        within(&format!("the responder gets {key}"), until).await;
    }

    /// Lets so many held commands be answered.
    pub fn release(&mut self, count: usize) {
        self.held.write_all("\n".repeat(count).as_bytes()).expect("a pipe has room");
    }

    /// Ends the responder in order, and tells all that it has got.
    pub fn stop(mut self) -> BTreeMap<String, Vec<String>> {
        self.mute = None;
        let mut responder = self.responder.take().expect("it runs until now");
        responder.signal("TERM");
        assert!(responder.wait().success(), "{}", responder.log());
        self.seen()
    }
}

/// A pipe that readers wait at, and its writer.
fn gate(directory: &TempDir, name: &str) -> (PathBuf, File) {
    let path = directory.path().join(name);
    assert!(Command::new("mkfifo").arg(&path).status().is_ok_and(|status| status.success()));
    // As a reader too, or opening would wait for one.
    let writer = OpenOptions::new().read(true).write(true).open(&path).expect("it was made");
    (path, writer)
}
