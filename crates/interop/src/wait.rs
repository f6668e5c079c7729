//! Waiting for programs, and addresses for them.

use std::net::{SocketAddr, TcpListener};
use std::time::{Duration, Instant};

/// How long a test waits for anything.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Address of the loopback interface that nothing listens at.
///
/// # Panics
/// When there is none.
pub fn free_address() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap()
}

/// Waits until `look` returns a value.
///
/// # Panics
/// When it returns none within [`PATIENCE`].
pub fn wait_for<T>(mut look: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(start.elapsed() < PATIENCE, "waited in vain");
        std::thread::sleep(Duration::from_millis(20));
    }
}
