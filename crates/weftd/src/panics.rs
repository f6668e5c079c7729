//! Panics of whatever thread. Where the daemon goes on after one, as when the answer to a call panics, the log and a saved
//! recording tell it; where it ends, its last words do.

use std::panic::PanicHookInfo;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use tracing::error;

use crate::black_box::{BlackBox, Kind};
use crate::supervisor::words;

/// Panics that wait to be told.
const WAITING_MAX: usize = 8;
/// Least time between two saved recordings.
const BETWEEN: Duration = Duration::from_secs(3600);

/// Notes every panic from now on, besides what the runtime prints: thread, place and words in one line.
pub(crate) fn watch() -> mpsc::Receiver<String> {
    let (to, panics) = mpsc::channel(WAITING_MAX);
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        print(panic);
        // Nothing else is safe in a thread that may hold any lock.
        let _ = to.try_send(line(panic));
    }));
    panics
}

fn line(panic: &PanicHookInfo<'_>) -> String {
    let thread = std::thread::current();
    let thread = thread.name().unwrap_or("a thread");
    let place = panic.location().map(|at| format!(" at {at}"));
    let words = words(panic.payload());
    format!("{thread} panicked{}: {words}", place.unwrap_or_default())
}

/// Tells panics in the log, and saves what is recorded so far, until the daemon ends, for one of them or otherwise.
pub(crate) async fn tell(mut panics: mpsc::Receiver<String>, black_box: BlackBox) {
    let mut saved: Option<Instant> = None;
    while let Some(panic) = panics.recv().await {
        error!(event = "panicked", "{panic}");
        if saved.is_none_or(|at| at.elapsed() >= BETWEEN) {
            saved = Some(Instant::now());
            // What comes of it is in the log as well.
            let _ = black_box.save(Kind::Panic, panic).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_told_with_its_thread_and_place() {
        let mut panics = watch();
        let thread = std::thread::Builder::new().name("shaky".to_owned());
        let ended = thread
            .spawn(|| panic!("out of {}", "luck"))
            .map(|thread| thread.join());
        assert!(ended.is_ok_and(|ended| ended.is_err()));
        // Other tests may panic on purpose meanwhile.
        let said =
            std::iter::from_fn(|| panics.try_recv().ok()).find(|line| line.starts_with("shaky"));
        let said = said.unwrap_or_default();
        let place = format!("shaky panicked at {}:", file!());
        assert!(
            said.starts_with(&place) && said.ends_with(": out of luck"),
            "{said}"
        );
        drop(std::panic::take_hook());
    }
}
