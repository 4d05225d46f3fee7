//! A disk that loses power: what a directory holds after a cut at any point of a recording.
//!
//! Only what a sync has covered is sure to be there: one that was entered after the write had returned, and that returned
//! before the cut. Everything else survives by chance, as the page cache and the journal of a file system let it:
//!
//! - A page reaches the disk whole. So if a change of a page is lost, later changes of that page are lost as well.
//! - The length of a file is one number in its inode: if a change of it is lost, the later ones are too, and bytes beyond
//!   it do not exist. A page that did not make it reads as zeros.
//! - What follows a lost shortening is lost: the blocks it was written to hang on the same journal.

mod content;
mod names;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use content::{Content, Sequence};
pub use names::Durable;
use names::{Names, Node};

use super::recording::Event;

/// What a directory holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Image {
    /// The path of each file and what is in it, of each directory and nothing.
    nodes: BTreeMap<PathBuf, Option<Vec<u8>>>,
}

/// How much of what was not synced survives.
#[derive(Clone, Debug)]
pub struct Survival {
    /// The probability for each piece of it.
    pub chance: f64,
    /// Where the dice come from.
    pub dice: fastrand::Rng,
}

/// The disk below the processes of a recording.
#[derive(Clone, Debug)]
pub struct Disk<'a> {
    files: Vec<Content<'a>>,
    names: Names,
    syncs: HashMap<u64, Sync>,
}

/// A sync that has not returned, and what it covers.
#[derive(Clone, Debug)]
enum Sync {
    File { file: usize, content: Sequence, names: usize },
    Directory { path: PathBuf, names: usize },
}

impl<'a> Disk<'a> {
    /// A disk that holds this, all of it safe.
    pub fn new(image: &Image, durable: Durable) -> Self {
        let mut files = Vec::new();
        let mut nodes = BTreeMap::new();
        for (path, content) in &image.nodes {
            let node = match content {
                None => Node::Directory,
                Some(bytes) => {
                    files.push(Content::safe(bytes.clone()));
                    Node::File(files.len() - 1)
                }
            };
            nodes.insert(path.clone(), node);
        }
        Self { files, names: Names::new(nodes, durable), syncs: HashMap::new() }
    }

    /// Goes on to after this operation.
    pub fn apply(&mut self, event: &'a Event) {
        match event {
            Event::Created { path } => {
                self.files.push(Content::default());
                self.names.create(path, self.files.len() - 1);
            }
            Event::Written { path, offset, data } => self.file(path, |file| file.write(*offset, data)),
            Event::Resized { path, length } => self.file(path, |file| file.resize(*length)),
            Event::Reserved { path, length } => self.file(path, |file| file.reserve(*length)),
            Event::Renamed { from, to } => self.names.rename(from, to),
            Event::Removed { path } => self.names.remove(path),
            Event::DirectoryMade { path } => self.names.make_directory(path),
            Event::SyncEntered { path, sync } => self.enter(path, *sync),
            Event::SyncReturned { sync } => self.leave(*sync),
            Event::Sent { .. } => {}
            Event::Ended => self.syncs.clear(),
        }
    }

    /// What is there after a cut at this point.
    pub fn cut(&self, survival: &mut Survival) -> Image {
        let names = self.names.after_a_cut(survival);
        let mut content = |node| match node {
            Node::Directory => None,
            Node::File(file) => Some(self.files[file].after_a_cut(survival)),
        };
        Image { nodes: names.into_iter().map(|(path, node)| (path, content(node))).collect() }
    }

    fn enter(&mut self, path: &Path, sync: u64) {
        let names = self.names.changes();
        let entered = match self.names.node(path) {
            Some(Node::File(file)) => Sync::File { file, content: self.files[file].sequence(), names },
            // The watched directory itself has no entry.
            Some(Node::Directory) => Sync::Directory { path: path.to_owned(), names },
            // A file without a name any more: nothing of it can be found after a cut.
            None => return,
        };
        self.syncs.insert(sync, entered);
    }

    fn leave(&mut self, sync: u64) {
        match self.syncs.remove(&sync) {
            Some(Sync::File { file, content, names }) => {
                self.files[file].keep(content);
                self.names.keep_creation(file, names);
            }
            Some(Sync::Directory { path, names }) => self.names.keep_entries(&path, names),
            None => {}
        }
    }

    fn file(&mut self, path: &Path, change: impl FnOnce(&mut Content<'a>)) {
        match self.names.node(path) {
            Some(Node::File(file)) => change(&mut self.files[file]),
            node => panic!("{} is changed as a file and is {node:?}", path.display()),
        }
    }
}

impl Survival {
    /// Each piece survives with this probability.
    pub fn new(chance: f64, seed: u64) -> Self {
        Self { chance, dice: fastrand::Rng::with_seed(seed) }
    }

    fn decides(&mut self) -> bool {
        self.dice.f64() < self.chance
    }
}

impl Image {
    /// What is below this directory.
    pub fn of(directory: &Path) -> Self {
        fn walk(folder: &Path, root: &Path, nodes: &mut BTreeMap<PathBuf, Option<Vec<u8>>>) {
            for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
                let path = entry.path();
                let name = path.strip_prefix(root).expect("it is below").to_owned();
                if path.is_dir() {
                    nodes.insert(name, None);
                    walk(&path, root, nodes);
                } else {
                    nodes.insert(name, Some(std::fs::read(&path).expect("a file")));
                }
            }
        }
        let mut nodes = BTreeMap::new();
        walk(directory, directory, &mut nodes);
        Self { nodes }
    }

    /// Builds it in an empty directory.
    pub fn build(&self, directory: &Path) {
        // A directory sorts before what is in it.
        for (path, content) in &self.nodes {
            let path = directory.join(path);
            match content {
                None => std::fs::create_dir(&path).expect("its parent is there"),
                Some(bytes) => std::fs::write(&path, bytes).expect("its parent is there"),
            }
        }
    }

    /// The content of a file.
    pub fn file(&self, path: &str) -> Option<&[u8]> {
        self.nodes.get(Path::new(path))?.as_deref()
    }
}
