//! Long work for readers, on threads of its own that leave the processors to sweeps.

use std::thread;

use rustix::process::{getpriority_process, setpriority_process};
use rustix::thread::gettid;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tonic::Status;

/// Nice value of these threads: beside one of the usual value they get a tenth of a processor.
const NICE: i32 = 10;

/// Begins work, of which the caller bounds how much is under way at a time; waits for it where what is returned is awaited.
pub(super) fn begin<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> impl Future<Output = Result<T, Status>> {
    let (done, answer) = oneshot::channel();
    let runtime = Handle::current();
    let thread = thread::Builder::new().name("reader".to_owned());
    let begun = thread.spawn(move || {
        let _entered = runtime.enter();
        yield_processors();
        // Nobody may wait for it any more.
        let _unread = done.send(work()).err();
    });
    async move {
        begun.map_err(|error| Status::unavailable(format!("no thread: {error}")))?;
        let ended = answer.await;
        ended.map_err(|_| Status::internal("the work for this answer has panicked"))
    }
}

/// Gives this thread less priority, as setpriority(2) does it on Linux, and never more. Where that is refused, work is done all
/// the same.
fn yield_processors() {
    let thread = Some(gettid());
    let nice = getpriority_process(thread).unwrap_or(0).max(NICE);
    let _refused = setpriority_process(thread, nice).err();
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn work_is_done_with_less_priority_than_the_caller_has() {
        let own = getpriority_process(Some(gettid())).unwrap();
        let its = begin(|| getpriority_process(Some(gettid())).unwrap());
        assert_eq!(its.await.unwrap(), NICE.max(own));
        assert_eq!(getpriority_process(Some(gettid())).unwrap(), own);
    }

    #[tokio::test]
    async fn work_may_begin_tasks() {
        let begun = begin(|| tokio::spawn(async { 7 }));
        assert_eq!(begun.await.unwrap().await.unwrap(), 7);
    }

    #[tokio::test]
    async fn work_that_panics_is_an_error_for_who_waits() {
        let status = begin::<()>(|| panic!("on purpose")).await;
        assert_eq!(status.unwrap_err().code(), tonic::Code::Internal);
    }
}
