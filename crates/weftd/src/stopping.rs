//! The word to stop, for every task.

use tokio::sync::watch;

/// Signals the time to stop.
#[derive(Debug, Clone)]
pub(crate) struct Stopping(watch::Receiver<bool>);

impl Stopping {
    /// The word and its listeners.
    pub(crate) fn new() -> (watch::Sender<bool>, Self) {
        let (sender, receiver) = watch::channel(false);
        (sender, Self(receiver))
    }

    /// Ends when it is time to stop.
    pub(crate) async fn wait(mut self) {
        // An error means that the sender has gone, which is also a reason to stop.
        let _ = self.0.wait_for(|stop| *stop).await;
    }

    /// The channel itself.
    pub(crate) fn receiver(&self) -> watch::Receiver<bool> {
        self.0.clone()
    }
}
