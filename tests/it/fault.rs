//! The tools of the power, crash and space tests, tried on a small program: this test binary in a process of its own, which
//! keeps a journal and says on a socket what it has kept.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;

use regex::bytes::Regex;

use crate::harness::child::{Process, ROLE};
use crate::harness::disk::{Disk, Durable, Image, Survival};
use crate::harness::recording::Recording;
use crate::harness::shim::{Failure, Kill, Moment, Operation, Shim};

/// Where the child works, where it tells, and in which order it does its steps.
const DIRECTORY: &str = "KUBEMQ_MCP_TEST_DIRECTORY";
const ADDRESS: &str = "KUBEMQ_MCP_TEST_ADDRESS";
const ORDER: &str = "KUBEMQ_MCP_TEST_ORDER";

/// Entries of a journal, and the bytes of each: more than a page, so that one can be torn.
const ENTRIES: usize = 12;
const ENTRY_BYTES: usize = 5_000;

/// What is wrong with the journal, if anything.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Order {
    /// Write, sync, tell.
    Right,
    /// Write, tell, sync.
    TellsFirst,
    /// Nothing is ever synced after the start.
    NeverSyncs,
}

fn entry(number: usize) -> Vec<u8> {
    vec![b'a' + u8::try_from(number).expect("few entries"); ENTRY_BYTES]
}

#[test]
fn child_that_keeps_a_journal() {
    if std::env::var_os(ROLE).is_none() {
        return;
    }
    let variable = |name| std::env::var(name).expect("the parent sets it");
    let (directory, order) = (variable(DIRECTORY), variable(ORDER));
    let mut parent = TcpStream::connect(variable(ADDRESS)).expect("the parent listens");
    let folder = Path::new(&directory).join("store");
    std::fs::create_dir_all(&folder).expect("its parent is there");
    let journal = OpenOptions::new().create(true).append(true).open(folder.join("journal"));
    let mut journal = journal.expect("the folder is there");
    for made in
        [&journal, &File::open(&folder).expect("a folder"), &File::open(&directory).expect("a folder")]
    {
        made.sync_all().unwrap_or_else(|error| tell(&mut parent, &format!("unsafe {error}")));
    }
    for number in 0..ENTRIES {
        if order == "TellsFirst" {
            tell(&mut parent, &format!("kept {number}"));
        }
        let kept = journal.write_all(&entry(number));
        let kept = if order == "NeverSyncs" { kept } else { kept.and_then(|()| journal.sync_data()) };
        match kept {
            Ok(()) => tell(&mut parent, &format!("kept {number}")),
            Err(error) => tell(&mut parent, &format!("failed {number} {:?}", error.raw_os_error())),
        }
    }
}

/// Tells the parent and waits until it has heard.
fn tell(parent: &mut TcpStream, text: &str) {
    parent.write_all(format!("{text};").as_bytes()).expect("the parent reads");
    parent.read_exact(&mut [0]).expect("the parent answers");
}

#[test]
fn child_that_does_everything_to_files() {
    if std::env::var_os(ROLE).is_none() {
        return;
    }
    let folder = Path::new(&std::env::var(DIRECTORY).expect("the parent sets it")).to_owned();
    std::env::set_current_dir(&folder).expect("it is there");
    std::fs::create_dir("relative").expect("a new name");
    let file = File::create(folder.join("relative/one")).expect("a new name");
    file.write_all_at(b"at a place", 5_000).expect("room");
    file.write_all_at(b"at the start", 0).expect("room");
    file.set_len(7_000).expect("room");
    let mut second = file.try_clone().expect("a handle");
    drop(file);
    let parts = [std::io::IoSlice::new(b"in "), std::io::IoSlice::new(b"parts")];
    let written = second.write_vectored(&parts).expect("room");
    assert!(written > 0);
    std::fs::rename("relative/one", folder.join("two")).expect("a name");
    second.write_all(b" under its new name").expect("room");
    second.sync_all().expect("a disk");
    second.set_len(5_005).expect("a file");
    OpenOptions::new().append(true).open("two").expect("a name").write_all(b"appended").expect("room");
    std::fs::write("three", b"long and gone").expect("room");
    std::fs::write("three", b"short").expect("room");
    std::fs::write("four", b"renamed over").expect("room");
    std::fs::rename("three", "four").expect("a name");
    std::fs::write("five", b"removed").expect("room");
    std::fs::remove_file("five").expect("a name");
    std::fs::create_dir_all("deep/er").expect("new names");
    std::fs::write("deep/er/file", b"").expect("room");
    std::fs::create_dir_all("gone/with").expect("new names");
    std::fs::write("gone/with/it", b"all").expect("room");
    std::fs::remove_dir_all("gone").expect("a name");
}

/// A journal below this directory, kept by a process with this shim, and what it said until it ended.
fn journal(directory: &Path, order: Order, shim: &Shim, mut heard: impl FnMut(&str)) -> bool {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("it is bound").to_string();
    let order = format!("{order:?}");
    let own = [(DIRECTORY, directory.to_str().expect("a text")), (ADDRESS, &address), (ORDER, &order)];
    let child = Process::run("fault::child_that_keeps_a_journal", &[&own[..], &shim.variables()].concat());
    let (mut child_says, _) = listener.accept().expect("the child connects");
    let (mut text, mut bytes) = (Vec::new(), [0]);
    // A child that is killed resets the connection, if it has not read our answer yet.
    while child_says.read(&mut bytes).is_ok_and(|count| count > 0) {
        if bytes == *b";" {
            heard(&String::from_utf8_lossy(&text));
            text.clear();
            let _ = child_says.write_all(b".");
        } else {
            text.push(bytes[0]);
        }
    }
    child.passed()
}

/// How long the journal is.
fn length(directory: &Path) -> usize {
    std::fs::read(directory.join("store/journal")).expect("it was made").len()
}

fn recorded_journal(order: Order) -> Recording {
    let directory = tempfile::tempdir().expect("a directory");
    let record = tempfile::NamedTempFile::new().expect("a file");
    let shim = Shim::over(directory.path()).recording(record.path());
    assert!(journal(directory.path(), order, &shim, |_| {}));
    Recording::read(record.path())
}

/// How many cuts of this recording have lost an entry that the process had told as kept.
fn losses(recording: &Recording, durable: Durable) -> usize {
    let mut disk = Disk::new(&Image::default(), durable);
    let mut survivals = [0.0, 0.5, 0.9].map(|chance| Survival::new(chance, 7));
    let told = recording.first_sent(&Regex::new("kept ([0-9]+);").expect("a pattern"));
    let told: Vec<_> = (0..ENTRIES).map(|number| told[&number.to_string()]).collect();
    let mut losses = 0;
    for (position, event) in recording.events().iter().enumerate() {
        disk.apply(event);
        for survival in &mut survivals {
            let image = disk.cut(survival);
            let bytes = image.file("store/journal").unwrap_or_default();
            let kept = told.iter().filter(|told| **told <= position).count();
            let whole = (0..kept).all(|number| {
                bytes.get(number * ENTRY_BYTES..(number + 1) * ENTRY_BYTES) == Some(&entry(number)[..])
            });
            losses += usize::from(!whole);
        }
    }
    losses
}

#[test]
fn a_recording_replayed_to_its_end_is_the_directory() {
    let directory = tempfile::tempdir().expect("a directory");
    let record = tempfile::NamedTempFile::new().expect("a file");
    let shim = Shim::over(directory.path()).recording(record.path());
    let place = directory.path().to_str().expect("a text");
    let variables = [&[(DIRECTORY, place)], &shim.variables()[..]].concat();
    assert!(Process::run("fault::child_that_does_everything_to_files", &variables).passed());
    let recording = Recording::read(record.path());
    for durable in [Durable::AtOnce, Durable::AfterSync] {
        let mut disk = Disk::new(&Image::default(), durable);
        recording.events().iter().for_each(|event| disk.apply(event));
        let all = disk.cut(&mut Survival::new(1.1, 0));
        assert_eq!(all, Image::of(directory.path()));
        let built = tempfile::tempdir().expect("a directory");
        all.build(built.path());
        assert_eq!(all, Image::of(built.path()));
    }
}

#[test]
fn what_was_told_after_its_sync_survives_every_cut() {
    let recording = recorded_journal(Order::Right);
    assert_eq!(losses(&recording, Durable::AfterSync), 0);
    assert_eq!(losses(&recording, Durable::AtOnce), 0);
}

#[test]
fn what_was_told_before_its_sync_is_lost_by_a_cut_in_between() {
    let recording = recorded_journal(Order::TellsFirst);
    let losses = losses(&recording, Durable::AtOnce);
    // Once for each entry and a survival of nothing, at the least.
    assert!(losses >= ENTRIES, "{losses}");
}

#[test]
fn what_was_never_synced_is_lost_and_so_is_all_on_a_disk_that_lies() {
    let never = losses(&recorded_journal(Order::NeverSyncs), Durable::AtOnce);
    assert!(never >= ENTRIES, "{never}");
    let lies = losses(&recorded_journal(Order::Right).without_syncs(), Durable::AtOnce);
    assert!(lies >= ENTRIES, "{lies}");
}

#[test]
fn a_process_dies_at_the_operation_it_is_told() {
    for (moment, bytes, told) in [
        (Moment::Before, 2 * ENTRY_BYTES, 2),
        (Moment::Halfway, 2 * ENTRY_BYTES + ENTRY_BYTES / 2, 2),
        (Moment::After, 3 * ENTRY_BYTES, 2),
    ] {
        let directory = tempfile::tempdir().expect("a directory");
        let kill = Kill { operation: Operation::Write, number: 3, moment };
        let mut heard = 0;
        let ended =
            journal(directory.path(), Order::Right, &Shim::over(directory.path()).killing(kill), |_| {
                heard += 1
            });
        assert_eq!((ended, length(directory.path()), heard), (false, bytes, told), "{kill}");
    }
}

#[test]
fn a_sync_that_the_process_dies_after_is_in_its_record_and_the_one_it_dies_before_is_not() {
    for (moment, kept) in [(Moment::Before, 1), (Moment::After, 2)] {
        let directory = tempfile::tempdir().expect("a directory");
        let record = tempfile::NamedTempFile::new().expect("a file");
        let kill = Kill { operation: Operation::DataSync, number: 2, moment };
        let shim = Shim::over(directory.path()).recording(record.path()).killing(kill);
        assert!(!journal(directory.path(), Order::Right, &shim, |_| {}));
        let recording = Recording::read(record.path());
        let mut disk = Disk::new(&Image::default(), Durable::AfterSync);
        recording.events().iter().for_each(|event| disk.apply(event));
        let image = disk.cut(&mut Survival::new(0.0, 0));
        assert_eq!(image.file("store/journal").map(<[u8]>::len), Some(kept * ENTRY_BYTES), "{kill}");
    }
}

#[test]
fn counting_begins_when_the_file_is_there() {
    let directory = tempfile::tempdir().expect("a directory");
    let outside = tempfile::tempdir().expect("a directory");
    let arm = outside.path().join("armed");
    let kill = Kill { operation: Operation::Any, number: 1, moment: Moment::Before };
    let shim = Shim::over(directory.path()).killing(kill).armed_by(&arm);
    let mut heard = Vec::new();
    let ended = journal(directory.path(), Order::Right, &shim, |text| {
        heard.push(text.to_owned());
        if heard.len() == 5 {
            std::fs::write(&arm, "").expect("room");
        }
    });
    assert_eq!((ended, heard.len()), (false, 5), "{heard:?}");
}

#[test]
fn a_disk_fails_while_it_is_told_to() {
    for (failure, code) in [(Failure::NoSpace, 28), (Failure::NoSync, 5)] {
        let directory = tempfile::tempdir().expect("a directory");
        let outside = tempfile::tempdir().expect("a directory");
        let when = outside.path().join("failing");
        let shim = Shim::over(directory.path()).failing(failure, &when);
        let mut heard = Vec::new();
        let ended = journal(directory.path(), Order::Right, &shim, |text| {
            heard.push(text.to_owned());
            match heard.len() {
                3 => std::fs::write(&when, "").expect("room"),
                6 => std::fs::remove_file(&when).expect("a name"),
                _ => {}
            }
        });
        let failed = |number| format!("failed {number} Some({code})");
        assert!(ended);
        assert_eq!(heard[2..7], ["kept 2".into(), failed(3), failed(4), failed(5), "kept 6".into()]);
        assert_eq!(heard.len(), ENTRIES);
        // A full disk took half of each entry that failed.
        let lost = if failure == Failure::NoSpace { 3 * (ENTRY_BYTES - ENTRY_BYTES / 2) } else { 0 };
        assert_eq!(length(directory.path()), ENTRIES * ENTRY_BYTES - lost);
    }
}

#[test]
fn a_full_disk_says_so_when_it_is_asked() {
    let directory = tempfile::tempdir().expect("a directory");
    let when = directory.path().join("failing");
    let shim = Shim::over(directory.path()).failing(Failure::NoSpace, &when);
    let bytes_left = || {
        let mut asking = Command::new("df");
        asking.args(["--output=avail", "--block-size=1"]).arg(directory.path()).envs(shim.variables());
        let said = String::from_utf8(asking.output().expect("it runs").stdout).expect("a text");
        said.lines().last().and_then(|line| line.trim().parse::<u64>().ok()).expect("a number")
    };
    assert!(bytes_left() > 0);
    std::fs::write(&when, "").expect("room");
    assert_eq!(bytes_left(), 0);
}
