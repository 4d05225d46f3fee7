//! What the disk promises and what it does not, rule by rule.

use std::path::{Path, PathBuf};

use super::{Disk, Durable, Event, Image, Survival};

const PAGE: usize = 4_096;

/// Nothing survives that is not safe.
fn nothing() -> Survival {
    Survival::new(0.0, 0)
}

fn everything() -> Survival {
    Survival::new(1.1, 0)
}

fn by_chance() -> impl Iterator<Item = Survival> {
    (0..500).map(|seed| Survival::new(0.5, seed))
}

fn after<'a>(events: &'a [Event], durable: Durable) -> Disk<'a> {
    let mut disk = Disk::new(&Image::default(), durable);
    events.iter().for_each(|event| disk.apply(event));
    disk
}

fn path(name: &str) -> PathBuf {
    Path::new(name).to_owned()
}

fn created(name: &str) -> Event {
    Event::Created { path: path(name) }
}

fn written(name: &str, offset: usize, data: &[u8]) -> Event {
    Event::Written { path: path(name), offset: offset as u64, data: data.to_vec() }
}

fn resized(name: &str, length: u64) -> Event {
    Event::Resized { path: path(name), length }
}

fn renamed(from: &str, to: &str) -> Event {
    Event::Renamed { from: path(from), to: path(to) }
}

fn entered(name: &str, sync: u64) -> Event {
    Event::SyncEntered { path: path(name), sync }
}

fn returned(sync: u64) -> Event {
    Event::SyncReturned { sync }
}

#[test]
fn a_write_is_safe_once_a_sync_that_was_entered_after_it_has_returned() {
    let early = [created("f"), entered("f", 0), written("f", 0, b"a"), returned(0)];
    assert_eq!(after(&early, Durable::AtOnce).cut(&mut nothing()).file("f"), Some(&b""[..]));
    let unfinished = [created("f"), written("f", 0, b"a"), entered("f", 0)];
    assert_eq!(after(&unfinished, Durable::AtOnce).cut(&mut nothing()).file("f"), Some(&b""[..]));
    let safe = [created("f"), written("f", 0, b"a"), entered("f", 0), returned(0)];
    assert_eq!(after(&safe, Durable::AtOnce).cut(&mut nothing()).file("f"), Some(&b"a"[..]));
}

#[test]
fn two_syncs_at_once_keep_what_each_of_them_has_seen() {
    let events = [
        created("f"),
        written("f", 0, b"a"),
        entered("f", 0),
        written("f", 1, b"b"),
        entered("f", 1),
        written("f", 2, b"c"),
        returned(1),
        returned(0),
    ];
    assert_eq!(after(&events[..7], Durable::AtOnce).cut(&mut nothing()).file("f"), Some(&b"ab"[..]));
    assert_eq!(after(&events, Durable::AtOnce).cut(&mut nothing()).file("f"), Some(&b"ab"[..]));
}

#[test]
fn a_sync_dies_with_its_process_and_the_page_cache_does_not() {
    let events = [created("f"), written("f", 0, b"a"), entered("f", 0), Event::Ended, returned(0)];
    let disk = after(&events, Durable::AtOnce);
    assert_eq!(disk.cut(&mut nothing()).file("f"), Some(&b""[..]));
    assert_eq!(disk.cut(&mut everything()).file("f"), Some(&b"a"[..]));
}

#[test]
fn pages_of_one_write_survive_each_on_their_own() {
    let safe = [created("f"), resized("f", 2 * PAGE as u64), entered("f", 0), returned(0)];
    let torn = written("f", 10, &vec![b'x'; PAGE]);
    let mut disk = after(&safe, Durable::AtOnce);
    disk.apply(&torn);
    let states: std::collections::BTreeSet<(u8, u8)> = by_chance()
        .map(|mut survival| disk.cut(&mut survival))
        .map(|image| image.file("f").map(|bytes| (bytes[10], bytes[PAGE])).expect("it is safe"))
        .collect();
    assert_eq!(states.into_iter().collect::<Vec<_>>(), [(0, 0), (0, b'x'), (b'x', 0), (b'x', b'x')]);
}

#[test]
fn a_later_change_of_a_page_does_not_survive_an_earlier_one() {
    let events = [created("f"), resized("f", 8), entered("f", 0), returned(0)];
    let changes = [written("f", 0, b"1"), written("f", 1, b"2"), written("f", 2, b"3")];
    let mut disk = after(&events, Durable::AtOnce);
    changes.iter().for_each(|change| disk.apply(change));
    for mut survival in by_chance() {
        let image = disk.cut(&mut survival);
        let text = String::from_utf8_lossy(image.file("f").expect("it is safe")).replace('\0', "");
        assert!("123".starts_with(&text), "{text}");
    }
}

#[test]
fn the_length_of_a_file_can_be_lost_without_its_pages_and_the_pages_without_the_length() {
    let events = [created("f"), written("f", 0, b"full")];
    let disk = after(&events, Durable::AtOnce);
    let states: std::collections::BTreeSet<Vec<u8>> = by_chance()
        .map(|mut survival| disk.cut(&mut survival).file("f").expect("its name is safe").to_vec())
        .collect();
    assert_eq!(states.into_iter().collect::<Vec<_>>(), [&b""[..], b"\0\0\0\0", b"full"]);
}

#[test]
fn nothing_that_follows_a_lost_shortening_survives() {
    let safe = [created("f"), written("f", 0, b"old"), entered("f", 0), returned(0)];
    let changes = [resized("f", 0), written("f", 0, b"new")];
    let mut disk = after(&safe, Durable::AtOnce);
    changes.iter().for_each(|change| disk.apply(change));
    let states: std::collections::BTreeSet<Vec<u8>> = by_chance()
        .map(|mut survival| disk.cut(&mut survival).file("f").expect("its name is safe").to_vec())
        .collect();
    assert_eq!(states.into_iter().collect::<Vec<_>>(), [&b""[..], b"\0\0\0", b"new", b"old"]);
}

#[test]
fn a_created_name_is_safe_with_a_sync_of_its_file_or_its_directory() {
    let events = [Event::DirectoryMade { path: path("d") }, created("d/f"), created("d/g"), entered("", 0)];
    let lost = after(&events, Durable::AfterSync).cut(&mut nothing());
    assert_eq!(lost, Image::default());
    let parent = [returned(0), entered("d/f", 1), returned(1)];
    let mut disk = after(&events, Durable::AfterSync);
    parent.iter().for_each(|event| disk.apply(event));
    let image = disk.cut(&mut nothing());
    assert_eq!((image.file("d/f"), image.file("d/g")), (Some(&b""[..]), None));
    let directory = [entered("d", 2), returned(2)];
    directory.iter().for_each(|event| disk.apply(event));
    assert_eq!(disk.cut(&mut nothing()).file("d/g"), Some(&b""[..]));
}

#[test]
fn a_file_in_a_directory_that_is_lost_is_lost() {
    let events = [Event::DirectoryMade { path: path("d") }, created("d/f"), entered("d/f", 0), returned(0)];
    assert_eq!(after(&events, Durable::AfterSync).cut(&mut nothing()), Image::default());
}

#[test]
fn a_rename_and_a_removal_are_safe_with_a_sync_of_their_directory_only() {
    let safe = [created("new"), created("old"), written("new", 0, b"n"), entered("new", 0), returned(0)];
    let changes = [
        entered("", 1),
        returned(1),
        renamed("new", "name"),
        Event::Removed { path: path("old") },
        entered("name", 2),
        returned(2),
    ];
    let mut disk = after(&safe, Durable::AfterSync);
    changes.iter().for_each(|event| disk.apply(event));
    let image = disk.cut(&mut nothing());
    assert_eq!((image.file("new"), image.file("name")), (Some(&b"n"[..]), None));
    assert!(image.file("old").is_some());
    assert_eq!(disk.cut(&mut everything()).file("name"), Some(&b"n"[..]));
    let states = by_chance().map(|mut survival| disk.cut(&mut survival));
    let states: std::collections::BTreeSet<(bool, bool)> =
        states.map(|image| (image.file("name").is_some(), image.file("old").is_some())).collect();
    // The removal never without the rename before it.
    assert_eq!(states.into_iter().collect::<Vec<_>>(), [(false, true), (true, false), (true, true)]);
    let directory = [entered("", 3), returned(3)];
    directory.iter().for_each(|event| disk.apply(event));
    let image = disk.cut(&mut nothing());
    assert_eq!((image.file("new"), image.file("name"), image.file("old")), (None, Some(&b"n"[..]), None));
}

#[test]
fn a_rename_without_a_sync_of_the_content_can_leave_an_empty_file() {
    let events = [created("new"), written("new", 0, b"n"), renamed("new", "name")];
    assert_eq!(after(&events, Durable::AtOnce).cut(&mut nothing()).file("name"), Some(&b""[..]));
}
