//! The tokens file on disk: read within a limit, looked at for changes, given a further line.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use super::error::TokensError;
use super::token::{TOKENS_FILE_BYTES_MAX, Tokens};

/// What tells a changed file cheaply: which file it is, how long, and when anything of it was changed, its mode and owner
/// as well, so that one that could not be read is read again once it can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    inode: u64,
    bytes: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

/// Looks at a file without reading it; nothing when it is not there.
pub fn stamp(path: &Path) -> Option<Stamp> {
    let metadata = std::fs::metadata(path).ok()?;
    Some(Stamp {
        inode: metadata.ino(),
        bytes: metadata.len(),
        modified: (metadata.mtime(), metadata.mtime_nsec()),
        changed: (metadata.ctime(), metadata.ctime_nsec()),
    })
}

/// Reads a file.
pub(super) fn read(path: &Path) -> Result<Tokens, TokensError> {
    let unreadable = |cause| TokensError::Unreadable { path: shown(path), cause };
    let file = File::open(path).map_err(unreadable)?;
    warn_of_others(path, &file).map_err(unreadable)?;
    parse(path, &content(path, file)?)
}

/// Adds a line to a file, and makes the file for its owner alone when there is none. Gives the number of the line.
///
/// # Errors
/// When the file is wrong already: a line below a wrong one would be of no use. When it cannot be written.
pub fn append(path: &Path, line: &str) -> Result<usize, TokensError> {
    let unwritable = |cause| TokensError::Unwritable { path: shown(path), cause };
    let file = OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path);
    let mut file = file.map_err(unwritable)?;
    let mut text = content(path, file.try_clone().map_err(unwritable)?)?;
    let kept = text.len();
    if text.last().is_some_and(|last| *last != b'\n') {
        text.push(b'\n');
    }
    let number = 1 + text.iter().filter(|byte| **byte == b'\n').count();
    text.extend_from_slice(line.as_bytes());
    text.push(b'\n');
    // The whole is judged as it will be read: what one line too many breaks is found before it is written.
    if text.len() > TOKENS_FILE_BYTES_MAX {
        return Err(TokensError::TooLarge { path: shown(path) });
    }
    parse(path, &text)?;
    // In one piece, so that a running connector never reads half a line.
    file.write_all(&text[kept..]).and_then(|()| file.sync_all()).map_err(unwritable)?;
    Ok(number)
}

fn content(path: &Path, file: File) -> Result<Vec<u8>, TokensError> {
    let content = within(file, TOKENS_FILE_BYTES_MAX)
        .map_err(|cause| TokensError::Unreadable { path: shown(path), cause })?;
    content.ok_or_else(|| TokensError::TooLarge { path: shown(path) })
}

/// Reads a file of at most so many bytes; nothing when it is larger.
pub(super) fn bounded(path: &Path, bytes_max: usize) -> io::Result<Option<Vec<u8>>> {
    within(File::open(path)?, bytes_max)
}

fn within(file: File, bytes_max: usize) -> io::Result<Option<Vec<u8>>> {
    let limit = u64::try_from(bytes_max).expect("a limit of ours is a number of 64 bits");
    let mut content = Vec::new();
    file.take(limit + 1).read_to_end(&mut content)?;
    Ok((content.len() <= bytes_max).then_some(content))
}

fn parse(path: &Path, content: &[u8]) -> Result<Tokens, TokensError> {
    Tokens::parse(content).map_err(|(line, mistake)| TokensError::Line { path: shown(path), line, mistake })
}

/// Who can read a file with tokens learns who calls, or the token itself; who can write it can call.
pub(super) fn warn_of_others(path: &Path, file: &File) -> io::Result<()> {
    let mode = file.metadata()?.permissions().mode() & 0o777;
    if mode & 0o077 != 0 {
        let file = shown(path);
        tracing::warn!(%file, mode = format!("{mode:03o}"), "others may read or write a file with tokens; make it 600");
    }
    Ok(())
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::Minted;
    use crate::domain::Principal;

    fn minted(name: &str) -> (Minted, String) {
        let token = Minted::fresh().unwrap();
        let line = token.line(&Principal::named(name));
        (token, line)
    }

    #[test]
    fn a_line_is_added_to_a_file_that_only_its_owner_may_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("tokens");
        let ((one, first), (two, second)) = (minted("a"), minted("b"));
        assert_eq!(append(&path, &first).unwrap(), 1);
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        // As an editor may leave it.
        std::fs::write(&path, format!("# who\n{first}")).unwrap();
        assert_eq!(append(&path, &second).unwrap(), 3);
        let tokens = read(&path).unwrap();
        let owner =
            |token: &Minted| tokens.grant(token.expose()).map(|grant| grant.subject.principal.clone());
        assert_eq!((owner(&one), owner(&two)), (Some(Principal::named("a")), Some(Principal::named("b"))));
        let before = std::fs::read(&path).unwrap();
        let error = append(&path, &second).unwrap_err().to_string();
        assert!(error.contains("tokens:4: the hash of line 3"), "{error}");
        assert_eq!(std::fs::read(&path).unwrap(), before, "what is refused is not written");
    }

    #[test]
    fn what_is_wrong_names_the_file_and_the_line() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("tokens");
        let error = || read(&path).unwrap_err().to_string();
        assert!(error().contains("tokens` cannot be read, No such file"), "{}", error());
        std::fs::write(&path, "# x\nalice kmcp_hunter2\n").unwrap();
        assert!(error().contains("tokens:2: the second word is not a hash; write `sha256:`"), "{}", error());
        std::fs::write(&path, vec![b'\n'; TOKENS_FILE_BYTES_MAX + 1]).unwrap();
        assert!(error().contains("is larger than 1048576 bytes"), "{}", error());
    }

    #[test]
    fn a_file_whose_mode_alone_has_changed_is_another() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        std::fs::write(&path, "same").unwrap();
        let before = stamp(&path).unwrap();
        assert_eq!(stamp(&path), Some(before));
        let changed = || {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
            stamp(&path) != Some(before)
        };
        // The clock of a file system may be coarser than two steps of a test.
        assert!((0..10_000).any(|_| changed()));
    }
}
