//! File descriptors that are readable when there is something to look at.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

/// A descriptor that can be made readable: an eventfd.
#[derive(Debug)]
pub struct Signal(OwnedFd);

impl Signal {
    /// One that counts up to "readable" and down to nothing.
    ///
    /// # Errors
    /// The system's.
    pub fn new() -> io::Result<Self> {
        Self::with_flags(libc::EFD_NONBLOCK | libc::EFD_CLOEXEC)
    }

    /// One from which each read takes one of what was added; it blocks until told otherwise.
    ///
    /// # Errors
    /// The system's.
    pub fn counting() -> io::Result<Self> {
        Self::with_flags(libc::EFD_SEMAPHORE | libc::EFD_CLOEXEC)
    }

    fn with_flags(flags: i32) -> io::Result<Self> {
        // SAFETY: eventfd takes two numbers.
        let fd = unsafe { libc::eventfd(0, flags) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor has just been made and has no other owner.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// Another descriptor of the same signal, to be given away: whatever its holder does to it,
    /// this one stays.
    ///
    /// # Errors
    /// The system's.
    pub fn share(&self) -> io::Result<OwnedFd> {
        self.0.try_clone()
    }

    /// Makes it readable.
    pub fn raise(&self) {
        self.add(1);
    }

    /// Adds to its count.
    pub fn add(&self, count: u64) {
        let bytes = count.to_ne_bytes();
        // SAFETY: the descriptor is open, and eight bytes are there to be read. A count that is
        // full stays readable, so that the result says nothing of interest.
        let _written = unsafe { libc::write(self.raw(), bytes.as_ptr().cast(), bytes.len()) };
    }

    /// Makes it unreadable.
    pub fn lower(&self) {
        let _count = self.take();
    }

    /// Reads: all of the count, or one of it; blocks where the descriptor does.
    ///
    /// # Errors
    /// The system's, such as that there is nothing.
    pub fn take(&self) -> io::Result<u64> {
        let mut bytes = [0u8; 8];
        // SAFETY: the descriptor is open, and eight bytes may be written.
        let read = unsafe { libc::read(self.raw(), bytes.as_mut_ptr().cast(), bytes.len()) };
        match read {
            8 => Ok(u64::from_ne_bytes(bytes)),
            _ => Err(io::Error::last_os_error()),
        }
    }

    fn raw(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

impl AsFd for Signal {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Waits until a descriptor is readable, and says whether it is; without a time, for ever.
///
/// # Errors
/// The system's, such as that a signal to the process came meanwhile.
pub fn wait_readable(fd: BorrowedFd<'_>, patience: Option<Duration>) -> io::Result<bool> {
    let mut fds = [readable(fd)];
    poll(&mut fds, patience)?;
    Ok(fds[0].revents != 0)
}

/// Like [`wait_readable`] for two descriptors; a signal to the process ends the wait like time.
pub(super) fn wait_either(
    first: BorrowedFd<'_>,
    second: BorrowedFd<'_>,
    patience: Option<Duration>,
) -> (bool, bool) {
    let mut fds = [readable(first), readable(second)];
    match poll(&mut fds, patience) {
        Ok(()) => (fds[0].revents != 0, fds[1].revents != 0),
        Err(_) => (false, false),
    }
}

fn readable(fd: BorrowedFd<'_>) -> libc::pollfd {
    libc::pollfd {
        fd: fd.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    }
}

fn poll(fds: &mut [libc::pollfd], patience: Option<Duration>) -> io::Result<()> {
    // Rounded up: a wait that ends early would be begun again for nothing.
    let milliseconds = |left: Duration| left.as_nanos().div_ceil(1_000_000);
    let timeout = patience.map_or(-1, |left| {
        i32::try_from(milliseconds(left)).unwrap_or(i32::MAX)
    });
    // SAFETY: the array is there for the time of the call, and its length is given.
    let count = unsafe { libc::poll(fds.as_mut_ptr(), fds.len() as libc::nfds_t, timeout) };
    match count {
        0.. => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
