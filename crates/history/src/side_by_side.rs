//! Work on several threads.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Threads for one question: others ask as well.
const THREADS_MAX: usize = 8;

/// Does the work of each item, several at a time; the results are in the order of the items.
pub(crate) fn side_by_side<I: Sync, T: Send>(
    items: &[I],
    work: &(dyn Fn(&I) -> T + Sync),
) -> Vec<T> {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let threads = threads.min(THREADS_MAX).min(items.len());
    let next = AtomicUsize::new(0);
    let worker = || {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(at) else {
                return done;
            };
            done.push((at, work(item)));
        }
    };
    let mut done = thread::scope(|scope| {
        // Without another thread this one does it all.
        let spawn = |_| thread::Builder::new().spawn_scoped(scope, worker).ok();
        let others: Vec<_> = (1..threads).filter_map(spawn).collect();
        let mut done = worker();
        for other in others {
            match other.join() {
                Ok(more) => done.extend(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        done
    });
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_order_and_none_is_missing() {
        for count in [0, 1, 2, 1000] {
            let items: Vec<usize> = (0..count).collect();
            let squares = side_by_side(&items, &|item| item * item);
            let expected: Vec<usize> = items.iter().map(|item| item * item).collect();
            assert_eq!(squares, expected);
        }
    }
}
