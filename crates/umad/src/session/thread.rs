//! Threads that a program does not know of.
#![allow(unsafe_code)]

use std::io;
use std::mem::MaybeUninit;
use std::thread;

/// Starts a thread that blocks all signals of the process: they are for the program's own threads,
/// which may have blocked them to wait for them.
pub(super) fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let before = set_mask(&all());
    let spawned = thread::Builder::new().name(name.to_owned()).spawn(work);
    set_mask(&before);
    spawned.map(drop)
}

fn all() -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: sigfillset makes a whole set of it.
    unsafe {
        libc::sigfillset(set.as_mut_ptr());
        set.assume_init()
    }
}

/// Sets the signals that the calling thread blocks; returns the previous set. A new thread inherits
/// the set of its creator.
fn set_mask(set: &libc::sigset_t) -> libc::sigset_t {
    let mut before = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: one set is there to be read, the other to be written; with valid arguments the call
    // does not fail, and all bits zero is the empty set.
    unsafe {
        libc::pthread_sigmask(libc::SIG_SETMASK, set, before.as_mut_ptr());
        before.assume_init()
    }
}
