//! Long work for readers, on threads of its own that leave the processors to sweeps.

use std::thread;

use rustix::process::setpriority_process;
use rustix::thread::gettid;
use tokio::sync::oneshot;
use tonic::Status;

/// Nice value of these threads: beside one of the usual value they get a tenth of a processor.
const NICE: i32 = 10;

/// Begins work, of which the caller bounds how much is under way at a time; waits for it where what is returned is awaited.
pub(super) fn begin<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> impl Future<Output = Result<T, Status>> {
    let (done, answer) = oneshot::channel();
    let thread = thread::Builder::new().name("reader".to_owned());
    let begun = thread.spawn(move || {
        // Of one thread, as setpriority(2) does it on Linux. Where it is refused, the work is done all the same.
        let _refused = setpriority_process(Some(gettid()), NICE).err();
        // Nobody may wait for it any more.
        let _unread = done.send(work()).err();
    });
    async move {
        begun.map_err(|error| Status::unavailable(format!("no thread: {error}")))?;
        let ended = answer.await;
        ended.map_err(|_| Status::internal("the work for this answer has panicked"))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use rustix::process::getpriority_process;

    use super::*;

    #[tokio::test]
    async fn work_is_done_with_less_priority_than_the_caller_has() {
        let own = getpriority_process(Some(gettid())).unwrap();
        let its = begin(|| getpriority_process(Some(gettid())).unwrap());
        assert_eq!(its.await.unwrap(), NICE.max(own));
        assert_eq!(getpriority_process(Some(gettid())).unwrap(), own);
    }

    #[tokio::test]
    async fn work_that_panics_is_an_error_for_who_waits() {
        let status = begin::<()>(|| panic!("on purpose")).await;
        assert_eq!(status.unwrap_err().code(), tonic::Code::Internal);
    }
}
