//! File descriptors that are readable when there is something to look at.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

/// Bytes that are read at once to empty a descriptor.
const EMPTY_SIZE: usize = 64;

/// A pair of connected sockets: one end is readable while bytes wait there, and for ever once the
/// signal has ended. What waits is bounded by the socket's buffer.
#[derive(Debug)]
pub struct Signal {
    read: OwnedFd,
    write: OwnedFd,
    identity: Identity,
}

/// Device and inode of an open file, by which a descriptor is recognised whatever its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity(u64, u64);

impl Identity {
    /// Identity of the file behind a descriptor; `None` if it is not open.
    pub fn of(fd: RawFd) -> Option<Self> {
        // SAFETY: all bits zero is a value of this plain structure.
        let mut stat: libc::stat = unsafe { std::mem::zeroed() };
        // SAFETY: fstat takes any number, and the structure is there to be written.
        let found = unsafe { libc::fstat(fd, &raw mut stat) };
        (found == 0).then_some(Self(stat.st_dev, stat.st_ino))
    }
}

impl Signal {
    /// One whose readable end does not block.
    ///
    /// # Errors
    /// The system's.
    pub fn new() -> io::Result<Self> {
        Self::with_flags(libc::SOCK_NONBLOCK)
    }

    /// A counting signal: each [`Self::take`] takes one unit; it blocks unless set otherwise.
    ///
    /// # Errors
    /// The system's.
    pub fn counting() -> io::Result<Self> {
        Self::with_flags(0)
    }

    fn with_flags(flags: i32) -> io::Result<Self> {
        let mut ends: [RawFd; 2] = [-1; 2];
        let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC | flags;
        // SAFETY: there is room for two descriptors.
        if unsafe { libc::socketpair(libc::AF_UNIX, kind, 0, ends.as_mut_ptr()) } != 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: both have just been made and have no other owner.
        let [read, write] = ends.map(|fd| unsafe { OwnedFd::from_raw_fd(fd) });
        let identity = Identity::of(read.as_raw_fd());
        let identity = identity.ok_or_else(io::Error::last_os_error)?;
        Ok(Self {
            read,
            write,
            identity,
        })
    }

    /// Another descriptor of the readable end, to be given away: whatever its holder does to it,
    /// this one stays.
    ///
    /// # Errors
    /// The system's.
    pub fn share(&self) -> io::Result<OwnedFd> {
        self.read.try_clone()
    }

    /// Distinguishes a shared descriptor from a later one with the same number.
    pub fn identity(&self) -> Identity {
        self.identity
    }

    /// Makes it readable.
    pub fn raise(&self) {
        self.add(1);
    }

    /// Adds to its count.
    pub fn add(&self, count: usize) {
        let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
        let bytes = vec![0_u8; count];
        // SAFETY: the descriptor is open, and the bytes are there to be read. A buffer that is full
        // stays readable, so that the result says nothing of interest.
        let _sent =
            unsafe { libc::send(self.write.as_raw_fd(), bytes.as_ptr().cast(), count, flags) };
    }

    /// Makes it readable for ever, for everybody.
    pub fn end(&self) {
        // SAFETY: the descriptor is open. It may have ended already.
        let _ended = unsafe { libc::shutdown(self.write.as_raw_fd(), libc::SHUT_WR) };
    }

    /// Makes it unreadable, unless it has ended.
    pub fn lower(&self) {
        while self.read(EMPTY_SIZE, libc::MSG_DONTWAIT).ok() == Some(EMPTY_SIZE) {}
    }

    /// Takes one of the count, or finds that it has ended; blocks where the descriptor does.
    ///
    /// # Errors
    /// The system's, such as that there is nothing.
    pub fn take(&self) -> io::Result<()> {
        self.read(1, 0).map(drop)
    }

    fn read(&self, most: usize, flags: i32) -> io::Result<usize> {
        let mut bytes = [0u8; EMPTY_SIZE];
        let most = most.min(EMPTY_SIZE);
        // SAFETY: the descriptor is open, and there is room for as many bytes.
        let read = unsafe {
            libc::recv(
                self.read.as_raw_fd(),
                bytes.as_mut_ptr().cast(),
                most,
                flags,
            )
        };
        usize::try_from(read).map_err(|_| io::Error::last_os_error())
    }
}

impl AsFd for Signal {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.read.as_fd()
    }
}

/// Waits until a descriptor is readable, and returns whether it is; without a time, for ever.
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn is_readable(signal: &Signal) -> bool {
        wait_readable(signal.as_fd(), Some(Duration::ZERO)).unwrap()
    }

    #[test]
    fn a_signal_is_readable_from_raise_to_lower_and_for_ever_once_ended() {
        let signal = Signal::new().unwrap();
        assert!(!is_readable(&signal));
        // More than the buffer of a socket takes.
        (0..100_000).for_each(|_| signal.raise());
        assert!(is_readable(&signal));
        signal.lower();
        assert!(!is_readable(&signal));
        signal.end();
        signal.lower();
        assert!(is_readable(&signal));
    }

    #[test]
    fn a_descriptor_is_recognised_by_what_it_stands_for() {
        let (signal, other) = (Signal::new().unwrap(), Signal::new().unwrap());
        let shared = signal.share().unwrap();
        assert_eq!(Identity::of(shared.as_raw_fd()), Some(signal.identity()));
        assert_ne!(other.identity(), signal.identity());
        let number = shared.as_raw_fd();
        drop(shared);
        assert_ne!(Identity::of(number), Some(signal.identity()));
    }
}
