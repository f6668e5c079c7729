//! Work for readers that takes a core for milliseconds and more: a few do it at a time, apart from sweeps, and all others wait.

use std::sync::Arc;

use tokio::sync::Semaphore;
use tonic::Status;

use super::background;

/// Readers whose answers are made at the same time.
const AT_ONCE: usize = 4;

/// Bounds them.
#[derive(Debug, Clone)]
pub(crate) struct Workers(Arc<Semaphore>);

impl Default for Workers {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(AT_ONCE)))
    }
}

impl Workers {
    /// Has something done on a thread of its own, in its turn. It counts until it has ended, also where nobody waits for
    /// it any more.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Status> {
        let turn = Arc::clone(&self.0).acquire_owned().await;
        let turn = turn.map_err(|error| Status::internal(error.to_string()))?;
        let begun = background::begin(move || {
            let _turn = turn;
            work()
        });
        begun.await
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;

    use super::*;

    #[tokio::test]
    async fn so_many_work_at_a_time_also_for_those_who_have_gone() {
        let workers = Workers::default();
        let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (go, wait) = mpsc::channel::<()>();
        let wait = Arc::new(std::sync::Mutex::new(wait));
        let mut asked = Vec::new();
        for _ in 0..3 * AT_ONCE {
            let (workers, now, most) = (workers.clone(), Arc::clone(&now), Arc::clone(&most));
            let wait = Arc::clone(&wait);
            asked.push(tokio::spawn(async move {
                let work = move || {
                    most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    wait.lock().unwrap().recv().unwrap();
                    now.fetch_sub(1, Ordering::SeqCst);
                };
                workers.run(work).await.unwrap();
            }));
        }
        while now.load(Ordering::SeqCst) < AT_ONCE {
            tokio::task::yield_now().await;
        }
        // Who gives up makes no room before the work has ended.
        asked.swap_remove(0).abort();
        assert_eq!(workers.0.available_permits(), 0);
        for _ in 0..3 * AT_ONCE {
            go.send(()).unwrap();
        }
        for one in asked {
            one.await.unwrap();
        }
        assert_eq!(most.load(Ordering::SeqCst), AT_ONCE);
    }
}
