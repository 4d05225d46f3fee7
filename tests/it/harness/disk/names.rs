//! The names in a directory: which are sure to be there after a cut, and which file is behind each.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::Survival;

/// What is behind a name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Node {
    /// The number of a file.
    File(usize),
    /// A directory.
    Directory,
}

/// When a name that is made, changed or removed is safe.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Durable {
    /// With a sync of its directory or, for the name that a file was created under, of that file: all that POSIX promises,
    /// and so the one to test with. What was not synced survives by chance and in its order, as a journal brings it to the
    /// disk (ext4, XFS, btrfs): a removal never without the rename before it. sled relies on that order when it replaces
    /// its snapshot; a disk that keeps none leaves it without any, and its store is then refused as emptied.
    AfterSync,
    /// At once and in order, as with a journal that is written with each change. Nothing is lost here, but other states
    /// are met: a file that has its name and not its content.
    AtOnce,
}

/// All names.
#[derive(Clone, Debug)]
pub struct Names {
    durable: Durable,
    /// As they were at the beginning.
    safe: BTreeMap<PathBuf, Node>,
    /// What has happened since, in order.
    changes: Vec<Change>,
    /// As the processes see them.
    seen: BTreeMap<PathBuf, Node>,
}

#[derive(Clone, Debug)]
struct Change {
    deed: Deed,
    safe: bool,
}

#[derive(Clone, Debug)]
enum Deed {
    Make { path: PathBuf, node: Node },
    Rename { from: PathBuf, to: PathBuf, node: Node },
    Remove { path: PathBuf, node: Node },
}

impl Names {
    /// Names that are safe.
    pub fn new(nodes: BTreeMap<PathBuf, Node>, durable: Durable) -> Self {
        Self { durable, seen: nodes.clone(), safe: nodes, changes: Vec::new() }
    }

    /// What is behind a name now; the directory that all are in has the empty one.
    pub fn node(&self, path: &Path) -> Option<Node> {
        if path.as_os_str().is_empty() { Some(Node::Directory) } else { self.seen.get(path).copied() }
    }

    /// A file gets its first name.
    pub fn create(&mut self, path: &Path, file: usize) {
        self.change(Deed::Make { path: path.to_owned(), node: Node::File(file) });
    }

    /// A directory is made.
    pub fn make_directory(&mut self, path: &Path) {
        self.change(Deed::Make { path: path.to_owned(), node: Node::Directory });
    }

    /// A file gets another name.
    pub fn rename(&mut self, from: &Path, to: &Path) {
        let node = self.node(from).expect("what is renamed is there");
        assert_ne!(node, Node::Directory, "{} is a directory, whose content would move", from.display());
        self.change(Deed::Rename { from: from.to_owned(), to: to.to_owned(), node });
    }

    /// A name goes.
    pub fn remove(&mut self, path: &Path) {
        let node = self.node(path).expect("what is removed is there");
        self.change(Deed::Remove { path: path.to_owned(), node });
    }

    /// How many changes there have been.
    pub fn changes(&self) -> usize {
        self.changes.len()
    }

    /// The creation of this file is safe, if it is among the first so many changes.
    pub fn keep_creation(&mut self, file: usize, changes: usize) {
        for change in &mut self.changes[..changes] {
            if matches!(change.deed, Deed::Make { node, .. } if node == Node::File(file)) {
                change.safe = true;
            }
        }
    }

    /// The first so many changes are safe, as far as they are in this directory.
    pub fn keep_entries(&mut self, directory: &Path, changes: usize) {
        for change in &mut self.changes[..changes] {
            let (Deed::Make { path, .. } | Deed::Rename { to: path, .. } | Deed::Remove { path, .. }) =
                &change.deed;
            change.safe |= path.parent() == Some(directory);
        }
    }

    /// The names that are there after a cut.
    pub fn after_a_cut(&self, survival: &mut Survival) -> BTreeMap<PathBuf, Node> {
        let mut nodes = self.safe.clone();
        let mut lost = false;
        for change in &self.changes {
            lost = lost || !(change.safe || survival.decides());
            if change.safe || !lost {
                change.deed.apply(&mut nodes);
            }
        }
        // Directories sort before what is in them, so one pass finds all that hangs in the air.
        let mut reachable = BTreeMap::new();
        for (path, node) in nodes {
            let parent = path.parent().expect("a name has one");
            if parent.as_os_str().is_empty() || reachable.contains_key(parent) {
                reachable.insert(path, node);
            }
        }
        reachable
    }

    fn change(&mut self, deed: Deed) {
        deed.apply(&mut self.seen);
        self.changes.push(Change { deed, safe: self.durable == Durable::AtOnce });
    }
}

impl Deed {
    /// Does it, if what it needs is there: a rename that comes after a lost creation has nothing to rename.
    fn apply(&self, nodes: &mut BTreeMap<PathBuf, Node>) {
        match self {
            Self::Make { path, node } => {
                nodes.insert(path.clone(), *node);
            }
            Self::Rename { from, to, node } if nodes.get(from) == Some(node) => {
                nodes.remove(from);
                nodes.insert(to.clone(), *node);
            }
            Self::Remove { path, node } if nodes.get(path) == Some(node) => {
                nodes.remove(path);
            }
            Self::Rename { .. } | Self::Remove { .. } => {}
        }
    }
}
