//! Hands connections and database sessions to a worker and wakes it.

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Mutex, PoisonError};

use rustix::event::{EventfdFlags, eventfd};

/// What a worker is handed.
pub enum Parcel {
    /// A client's connection.
    Connection(OwnedFd),
    /// An open session with the database.
    Session(File),
}

/// The inbox of one worker.
pub struct Inbox {
    parcels: Mutex<Vec<Parcel>>,
    bell: OwnedFd,
}

impl Inbox {
    /// An empty inbox.
    pub fn new() -> rustix::io::Result<Self> {
        let bell = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?;
        Ok(Self { parcels: Mutex::new(Vec::new()), bell })
    }

    /// Puts a parcel in and rings.
    pub fn put(&self, parcel: Parcel) {
        self.parcels.lock().unwrap_or_else(PoisonError::into_inner).push(parcel);
        // It fails only when the counter is full, and then the bell rings anyway.
        let _rung = rustix::io::write(&self.bell, &1_u64.to_ne_bytes());
    }

    /// Takes everything out and silences the bell.
    pub fn take(&self) -> Vec<Parcel> {
        let _silenced = rustix::io::read(&self.bell, &mut [0_u8; 8]);
        std::mem::take(&mut *self.parcels.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl AsFd for Inbox {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}
