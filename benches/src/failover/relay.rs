//! The channel between two daemons, so that it can be cut.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// Passes bytes on until it is cut; from then on silence, as when a switch of the management network is gone.
#[derive(Debug, Default, Clone)]
pub(super) struct Relay {
    cut: Arc<AtomicBool>,
}

impl Relay {
    /// Listens in front of an API; returns its own address.
    pub(super) fn start(to: SocketAddr) -> io::Result<(Self, SocketAddr)> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let relay = Self::default();
        let accepts = relay.clone();
        thread::spawn(move || {
            for near in listener.incoming().map_while(Result::ok) {
                // Without the other daemon the connection ends.
                let _ = accepts.join(near, to);
            }
        });
        Ok((relay, address))
    }

    /// Nothing passes any more, and no connection ends.
    pub(super) fn cut(&self) {
        self.cut.store(true, Ordering::Relaxed);
    }

    fn is_cut(&self) -> bool {
        self.cut.load(Ordering::Relaxed)
    }

    fn join(&self, near: TcpStream, to: SocketAddr) -> io::Result<()> {
        let far = TcpStream::connect(to)?;
        let back = (far.try_clone()?, near.try_clone()?);
        for (from, to) in [(near, far), back] {
            let relay = self.clone();
            thread::spawn(move || relay.pass(from, to));
        }
        Ok(())
    }

    fn pass(&self, mut from: TcpStream, mut to: TcpStream) {
        let mut bytes = [0; 65_536];
        while let Ok(len @ 1..) = from.read(&mut bytes) {
            if !self.is_cut() && to.write_all(&bytes[..len]).is_err() {
                break;
            }
        }
        if !self.is_cut() {
            // It may have ended by itself.
            let _ = to.shutdown(Shutdown::Both);
        }
    }
}
