//! The parts of the daemon, each a task or a thread: one that ends, or panics, before it is time to
//! stop ends the daemon, so that systemd starts it again.

use std::any::Any;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::task::{JoinError, JoinSet};
use tracing::{debug, error};

use crate::error::DaemonError;
use crate::heartbeat::Heart;
use crate::stopping::Stopping;

/// When a part ends, others that wait for it end as well: the first failure among those that end
/// within this time is the reason, not the first end.
const TOGETHER: Duration = Duration::from_millis(100);
/// Panics that wait for whoever wants to know; more than parts that panic together.
const PANICS_MAX: usize = 8;

/// Name and result of a part that has ended.
type Outcome = (&'static str, Result<(), DaemonError>);

/// All parts that run.
#[derive(Debug, Default)]
pub(crate) struct Supervisor {
    parts: JoinSet<Outcome>,
    /// Parts that have ended but are not reported yet.
    ended: Vec<Outcome>,
    /// Who wants to know of panics.
    panics: Option<mpsc::Sender<String>>,
}

impl Supervisor {
    /// Panics of parts from now on, in words: each comes before the daemon ends for it.
    pub(crate) fn panics(&mut self) -> mpsc::Receiver<String> {
        let (sender, panics) = mpsc::channel(PANICS_MAX);
        self.panics = Some(sender);
        panics
    }

    /// Runs a part as a task.
    pub(crate) fn task<F>(&mut self, name: &'static str, work: F)
    where
        F: Future<Output = Result<(), DaemonError>> + Send + 'static,
    {
        let running = tokio::spawn(work);
        self.parts.spawn(async move {
            let ended = running.await;
            (
                name,
                ended.unwrap_or_else(|error| Err(panicked(name, error))),
            )
        });
    }

    /// Runs a part as a task that has nothing to do at the end.
    pub(crate) fn until_stop<F>(&mut self, name: &'static str, stopping: &Stopping, work: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let stopping = stopping.clone();
        self.task(name, async move {
            tokio::select! {
                () = work => {}
                () = stopping.wait() => {}
            }
            Ok(())
        });
    }

    /// Runs a part on a thread of its own that beats `heart` as long as it is not kept from it.
    ///
    /// # Errors
    /// [`DaemonError::Part`] when there is no thread for it.
    pub(crate) fn thread<W, F>(&mut self, heart: Heart, work: W) -> Result<(), DaemonError>
    where
        W: FnOnce() -> F + Send + 'static,
        F: Future<Output = Result<(), DaemonError>>,
    {
        let name = heart.name();
        let ended = runs(name, move || async move {
            tokio::select! {
                biased;
                result = work() => result,
                never = heart.keep_beating() => never,
            }
        })?;
        self.parts.spawn(async move { (name, ended.await) });
        Ok(())
    }

    /// Runs a part with long computations on its own thread: it gives no signs of life, and the daemon
    /// does not wait for its end.
    ///
    /// # Errors
    /// [`DaemonError::Part`] if no thread can be created.
    pub(crate) fn worker<W, F>(
        &mut self,
        name: &'static str,
        stopping: &Stopping,
        work: W,
    ) -> Result<(), DaemonError>
    where
        W: FnOnce() -> F + Send + 'static,
        F: Future<Output = Result<(), DaemonError>>,
    {
        let ended = runs(name, work)?;
        let stopping = stopping.clone();
        self.parts.spawn(async move {
            tokio::select! {
                ended = ended => (name, ended),
                () = stopping.wait() => (name, Ok(())),
            }
        });
        Ok(())
    }

    /// Waits until a part ends without a request; returns the reason for the daemon to end. May be
    /// dropped and called again.
    pub(crate) async fn first_end(&mut self) -> DaemonError {
        if self.ended.is_empty() {
            let first = self.next().await;
            self.ended.extend(first);
        }
        let together = async {
            while let Some(end) = self.next().await {
                self.ended.push(end);
            }
        };
        // Those that go on are no matter.
        let _ = tokio::time::timeout(TOGETHER, together).await;
        let ended = std::mem::take(&mut self.ended);
        let first = ended.first().map_or("weftd", |(name, _)| *name);
        let mut reason = None;
        for (name, result) in ended {
            match result {
                Err(error) if reason.is_none() => reason = Some(error),
                Err(error) => error!(event = "part_ended", part = name, "{error}"),
                Ok(()) => debug!(event = "part_ended", part = name, "{name} has ended"),
            }
        }
        reason.unwrap_or_else(|| DaemonError::part(first, "without a request to stop".to_owned()))
    }

    /// Waits for the end of all parts after the request to stop.
    ///
    /// # Errors
    /// The first failure.
    pub(crate) async fn finish(mut self) -> Result<(), DaemonError> {
        let mut result = Ok(());
        while let Some((name, ended)) = self.next().await {
            if let (Err(error), Err(_)) = (&ended, &result) {
                error!(event = "part_ended", part = name, "{error}");
            }
            result = result.and(ended);
        }
        result
    }

    async fn next(&mut self) -> Option<Outcome> {
        let ended = self.parts.join_next().await?;
        // The tasks that wait for parts neither panic nor are cancelled.
        let ended =
            ended.unwrap_or_else(|error| ("supervisor", Err(panicked("supervisor", error))));
        if let (Some(panics), (name, Err(DaemonError::Panicked { words, .. }))) =
            (&self.panics, &ended)
        {
            // What does not wait any more does not want to know.
            let _ = panics.try_send(format!("{name} panicked: {words}"));
        }
        Some(ended)
    }
}

/// Starts a thread that runs a task; returns its end.
fn runs<W, F>(
    name: &'static str,
    work: W,
) -> Result<impl Future<Output = Result<(), DaemonError>> + Send + 'static, DaemonError>
where
    W: FnOnce() -> F + Send + 'static,
    F: Future<Output = Result<(), DaemonError>>,
{
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(|error| DaemonError::part(name, error.to_string()))?;
    spawn(name, move || runtime.block_on(work()))
}

/// Starts a thread; returns its end, for a part that waits for it.
///
/// # Errors
/// [`DaemonError::Part`] if there is no thread for it.
pub(crate) fn spawn(
    name: &'static str,
    work: impl FnOnce() -> Result<(), DaemonError> + Send + 'static,
) -> Result<impl Future<Output = Result<(), DaemonError>> + Send + 'static, DaemonError> {
    let (done, ended) = oneshot::channel();
    let body = move || {
        // Nothing of the work is looked at again but its words.
        let result = catch_unwind(AssertUnwindSafe(work));
        let result = result.unwrap_or_else(|payload| {
            let words = words(&*payload).to_owned();
            Err(DaemonError::Panicked { name, words })
        });
        // The supervisor outlives its parts but when the daemon is ending.
        let _ = done.send(result);
    };
    let spawned = std::thread::Builder::new()
        .name(name.to_owned())
        .spawn(body);
    spawned.map_err(|error| DaemonError::part(name, error.to_string()))?;
    Ok(async move {
        let gone = |_| Err(DaemonError::part(name, "its thread has ended".to_owned()));
        ended.await.unwrap_or_else(gone)
    })
}

fn panicked(name: &'static str, error: JoinError) -> DaemonError {
    match error.try_into_panic() {
        Ok(payload) => DaemonError::Panicked {
            name,
            words: words(&*payload).to_owned(),
        },
        Err(error) => DaemonError::part(name, error.to_string()),
    }
}

/// Text of a panic.
pub(crate) fn words(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("without a word")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::future::pending;

    use super::*;

    fn heart(name: &'static str) -> Heart {
        Heart::new(name)
    }

    #[tokio::test]
    async fn a_panic_of_any_part_is_the_reason() {
        let mut parts = Supervisor::default();
        parts.task("steady", pending());
        parts.task("shaky", async { panic!("out of {}", "luck") });
        let said = parts.first_end().await.to_string();
        assert_eq!(said, "shaky has ended: it panicked: out of luck");

        let mut parts = Supervisor::default();
        parts.task("steady", pending());
        parts
            .thread(heart("queries"), || async { panic!("no answer") })
            .unwrap();
        let said = parts.first_end().await.to_string();
        assert_eq!(said, "queries has ended: it panicked: no answer");
    }

    #[tokio::test]
    async fn the_failure_counts_and_not_what_follows_from_it() {
        let (held, follows) = oneshot::channel::<()>();
        let mut parts = Supervisor::default();
        parts.task("follower", async {
            let _ = follows.await;
            Ok(())
        });
        parts
            .thread(heart("manager"), move || async move {
                drop(held);
                tokio::time::sleep(TOGETHER / 4).await;
                Err(DaemonError::part(
                    "manager",
                    "the emulated fabric has ended".to_owned(),
                ))
            })
            .unwrap();
        let said = parts.first_end().await.to_string();
        assert_eq!(said, "manager has ended: the emulated fabric has ended");
    }

    #[tokio::test]
    async fn an_end_that_nobody_asked_for_is_one_too() {
        let mut parts = Supervisor::default();
        parts.task("steady", pending());
        parts.task("metrics", async { Ok(()) });
        let said = parts.first_end().await.to_string();
        assert!(
            said.starts_with("metrics has ended: without a request"),
            "{said}"
        );
    }

    #[tokio::test]
    async fn a_worker_that_panics_ends_the_daemon_and_one_that_computes_is_not_waited_for() {
        let (stop, stopping) = Stopping::new();
        let mut parts = Supervisor::default();
        let panics = || async { panic!("no plan") };
        parts.worker("planner", &stopping, panics).unwrap();
        let said = parts.first_end().await.to_string();
        assert_eq!(said, "planner has ended: it panicked: no plan");

        let (_release, held) = std::sync::mpsc::channel::<()>();
        let computes = move || async move {
            let _ = held.recv();
            Ok(())
        };
        parts.worker("planner", &stopping, computes).unwrap();
        stop.send_replace(true);
        parts.finish().await.unwrap();
    }

    #[tokio::test]
    async fn the_end_is_waited_for() {
        let mut parts = Supervisor::default();
        let (stop, stopping) = oneshot::channel::<()>();
        parts.task("good", async { Ok(()) });
        parts.task("bad", async {
            let _ = stopping.await;
            Err(DaemonError::part("bad", "the disk is full".to_owned()))
        });
        stop.send(()).unwrap();
        let said = parts.finish().await.unwrap_err().to_string();
        assert_eq!(said, "bad has ended: the disk is full");
    }
}
