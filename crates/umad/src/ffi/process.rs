//! Library state of a process: its session, its open ports and devices.

use std::collections::BTreeMap;
use std::ffi::c_int;
use std::os::fd::RawFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, Once, PoisonError};

use super::fork;
use super::guard::say;
use crate::core::{PortId, WatchId};
use crate::session::{Identity, Session, Signal};
use crate::settings::Settings;

/// The tables of the process. Their lock is held for look-ups only, never while something is waited
/// for, and no other lock is taken under it.
#[derive(Default)]
pub(super) struct Process {
    /// Kept for the life of the process: that has no end which a library could see.
    session: Option<Arc<Session>>,
    /// A thread is connecting.
    opening: bool,
    /// Number of finished attempts to connect.
    attempts: u64,
    ports: BTreeMap<PortId, OpenPort>,
    /// By the address of the context.
    pub(super) devices: BTreeMap<usize, OpenDevice>,
    /// Address of the one device, made on first use; 0 before.
    pub(super) device: usize,
}

/// A port that the program has opened.
#[derive(Clone)]
pub(super) struct OpenPort {
    /// None in a child of the process that has opened it.
    pub(super) session: Option<Arc<Session>>,
    /// Identity of the file behind its descriptor.
    pub(super) identity: Identity,
}

/// A device that the program has opened.
#[derive(Clone)]
pub(super) struct OpenDevice {
    /// None in a child of the process that has opened it.
    pub(super) session: Option<Arc<Session>>,
    pub(super) watch: WatchId,
    pub(super) signal: Arc<Signal>,
    /// The descriptor that the program got.
    pub(super) fd: RawFd,
}

static PROCESS: Mutex<Process> = Mutex::new(Process {
    session: None,
    opening: false,
    attempts: 0,
    ports: BTreeMap::new(),
    devices: BTreeMap::new(),
    device: 0,
});
/// An attempt to connect has ended.
static OPENED: Condvar = Condvar::new();

/// The tables.
pub(super) fn lock() -> MutexGuard<'static, Process> {
    PROCESS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The session, opened if there is none. While one thread connects, others that need a session wait
/// for it and share its failure; those that have one do not wait.
pub(super) fn session() -> Option<Arc<Session>> {
    static FORKS: Once = Once::new();
    FORKS.call_once(fork::watch);
    let mut process = lock();
    let before = process.attempts;
    while process.live().is_none() && process.opening {
        let woken = OPENED.wait(process);
        process = woken.unwrap_or_else(PoisonError::into_inner);
    }
    if process.live().is_some() || process.attempts != before {
        return process.live();
    }
    process.opening = true;
    drop(process);
    let mut attempt = Attempt(None);
    match open() {
        Ok(session) => attempt.0 = Some(session),
        Err(why) => say(&why),
    }
    attempt.0.clone()
}

/// An attempt to connect, with what came of it; it ends when it is dropped.
struct Attempt(Option<Arc<Session>>);

impl Drop for Attempt {
    fn drop(&mut self) {
        let mut process = lock();
        process.opening = false;
        process.attempts += 1;
        if let Some(session) = &self.0 {
            process.session = Some(Arc::clone(session));
        }
        drop(process);
        OPENED.notify_all();
    }
}

fn open() -> Result<Arc<Session>, String> {
    let variable = |name: &str| std::env::var(name).ok();
    let settings = Settings::read(variable).map_err(|error| error.to_string())?;
    Session::open(&settings).map_err(|error| error.to_string())
}

/// Records an opened port. A port that had its number before was closed by the program itself,
/// and so were others whose descriptors now belong to another file: these are closed too.
pub(super) fn add_port(id: PortId, port: OpenPort) {
    let mut process = lock();
    let before = process.ports.insert(id, port).map(|port| (id, port));
    let stale = |id: &PortId, port: &mut OpenPort| Identity::of(*id) != Some(port.identity);
    let stale: Vec<(PortId, OpenPort)> = process.ports.extract_if(.., stale).collect();
    drop(process);
    for (id, port) in stale.into_iter().chain(before) {
        if let Some(session) = port.session {
            session.close_port(id);
        }
    }
}

/// Forgets a port.
pub(super) fn take_port(id: PortId) -> Option<OpenPort> {
    lock().ports.remove(&id)
}

/// The session of an open port.
///
/// # Errors
/// `EBADF` when there is no such port, the program has closed its descriptor, or a parent of this
/// process has opened it.
pub(super) fn at_port(id: PortId) -> Result<Arc<Session>, c_int> {
    let port = lock().ports.get(&id).cloned().ok_or(libc::EBADF)?;
    if Identity::of(id) != Some(port.identity) {
        let session = take_port(id).and_then(|port| port.session);
        session.map(|session| session.close_port(id));
        return Err(libc::EBADF);
    }
    port.session.ok_or(libc::EBADF)
}

impl Process {
    fn live(&self) -> Option<Arc<Session>> {
        let session = self.session.as_ref()?;
        (!session.is_gone()).then(|| Arc::clone(session))
    }

    /// Resets the state in a child of a fork: the thread that reads the parent's socket exists only in the
    /// parent, and locks of the parent's session may be held for ever. The parent's ports can only be
    /// closed. Returns the descriptors that the child has to close.
    pub(super) fn begin_anew(&mut self) -> Vec<RawFd> {
        let ports = self.ports.values_mut().map(|port| port.session.take());
        let devices = self.devices.values_mut().map(|open| open.session.take());
        let sessions = [self.session.take()]
            .into_iter()
            .chain(ports)
            .chain(devices);
        let mut sockets: Vec<RawFd> = Vec::new();
        for session in sessions.flatten() {
            sockets.extend(session.sockets());
            // Its destructor would take locks.
            std::mem::forget(session);
        }
        self.opening = false;
        sockets.sort_unstable();
        sockets.dedup();
        sockets
    }
}
