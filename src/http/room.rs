//! Room for the bodies of all requests together, in bytes: a limit on each alone is none on ten thousand.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The room.
#[derive(Clone, Debug)]
pub struct Room {
    free: Arc<Semaphore>,
    bytes_max: usize,
}

/// What one body takes of it. Dropping it gives that back.
#[derive(Debug)]
pub struct Share {
    room: Room,
    taken: Option<OwnedSemaphorePermit>,
}

/// There is no more room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoRoom {
    /// The limit.
    pub bytes_max: usize,
}

impl Room {
    /// Room for so many bytes.
    pub fn new(bytes_max: usize) -> Self {
        Self { free: Arc::new(Semaphore::new(bytes_max)), bytes_max }
    }

    /// A share of nothing yet.
    pub fn share(&self) -> Share {
        Share { room: self.clone(), taken: None }
    }
}

impl Share {
    /// Takes more, for bytes that have come.
    ///
    /// # Errors
    /// When there is no room for them.
    pub fn grow(&mut self, bytes: usize) -> Result<(), NoRoom> {
        let no_room = NoRoom { bytes_max: self.room.bytes_max };
        let bytes = u32::try_from(bytes).map_err(|_| no_room)?;
        let more = Arc::clone(&self.room.free).try_acquire_many_owned(bytes).map_err(|_| no_room)?;
        match &mut self.taken {
            Some(taken) => taken.merge(more),
            none => *none = Some(more),
        }
        Ok(())
    }

    /// Gives all of it back.
    pub fn empty(&mut self) {
        self.taken = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_share_the_room_and_give_it_back() {
        let room = Room::new(10);
        let (mut first, mut second) = (room.share(), room.share());
        assert_eq!((first.grow(4), second.grow(3), first.grow(3)), (Ok(()), Ok(()), Ok(())));
        assert_eq!(second.grow(1), Err(NoRoom { bytes_max: 10 }));
        first.empty();
        assert_eq!(second.grow(7), Ok(()));
        drop(second);
        assert_eq!(room.share().grow(10), Ok(()));
    }
}
