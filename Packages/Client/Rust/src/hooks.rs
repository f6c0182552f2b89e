use crate::print_warning;
use std::collections::VecDeque;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

type Hook = Box<dyn FnOnce() + Send>;

/// Calls the program's functions one after the other on a thread of its own, without the connection's lock.
#[derive(Clone, Default)]
pub(crate) struct Hooks {
    shared: Arc<(Mutex<Queue>, Condvar)>,
}

#[derive(Default)]
struct Queue {
    hooks: VecDeque<Hook>,
    thread: Option<std::thread::ThreadId>,
}

impl Hooks {
    pub fn add(&self, hook: Hook) {
        let mut queue = self.shared.0.lock().unwrap_or_else(PoisonError::into_inner);
        queue.hooks.push_back(hook);
        if queue.thread.is_none() {
            let hooks = self.clone();
            let started = std::thread::Builder::new().name("headgate hooks".into()).spawn(move || hooks.run());
            queue.thread = started.ok().map(|handle| handle.thread().id());
        }
    }

    /// Waits until all hooks have run, but no longer than the duration, because the caller may itself be a hook.
    pub fn wait(&self, longest: Duration) {
        let end = Instant::now() + longest;
        let mut queue = self.shared.0.lock().unwrap_or_else(PoisonError::into_inner);
        while queue.thread.is_some() && queue.thread != Some(std::thread::current().id()) && Instant::now() < end {
            let left = end.saturating_duration_since(Instant::now());
            queue = self.shared.1.wait_timeout(queue, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn run(&self) {
        while let Some(hook) = self.next() {
            if catch_unwind(AssertUnwindSafe(hook)).is_err() {
                print_warning("a hook failed");
            }
        }
    }

    fn next(&self) -> Option<Hook> {
        let mut queue = self.shared.0.lock().unwrap_or_else(PoisonError::into_inner);
        let hook = queue.hooks.pop_front();
        if hook.is_none() {
            queue.thread = None;
            self.shared.1.notify_all();
        }
        hook
    }
}
