//! A thread that does tasks in turn while the run goes on.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};

use anyhow::{Context, Result};

/// What can be done aside.
type Task = Box<dyn FnOnce() -> Result<()> + Send>;

/// Does tasks in the order they come. After one that failed none is begun: what follows may rely on it.
pub struct Worker {
    tasks: Option<Sender<Task>>,
    state: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Tasks that are not done.
    pending: usize,
    failed: Option<Failure>,
}

enum Failure {
    Error(anyhow::Error),
    Panic(Box<dyn Any + Send>),
    /// One that [`Worker::wait`] has told of.
    Told,
}

impl Shared {
    /// No task runs while it is held, so that no panic leaves it half changed.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self, task: Task) {
        let failed = self.lock().failed.is_some();
        let outcome = if failed { Ok(Ok(())) } else { catch_unwind(AssertUnwindSafe(task)) };
        let mut state = self.lock();
        match outcome {
            Ok(Ok(())) => {}
            Ok(Err(error)) => state.failed = Some(Failure::Error(error)),
            Err(panic) => state.failed = Some(Failure::Panic(panic)),
        }
        state.pending -= 1;
        self.changed.notify_all();
    }
}

impl Worker {
    /// Starts the thread.
    pub fn new(name: &str) -> Result<Self> {
        let (tasks, todo) = channel::<Task>();
        let state = Arc::new(Shared::default());
        let shared = state.clone();
        let run = move || todo.into_iter().for_each(|task| shared.run(task));
        let thread = Builder::new().name(name.into()).spawn(run).context("cannot start a thread")?;
        Ok(Worker { tasks: Some(tasks), state, thread: Some(thread) })
    }

    /// Hands over a task.
    pub fn give(&self, task: impl FnOnce() -> Result<()> + Send + 'static) {
        self.state.lock().pending += 1;
        // The thread takes tasks until this end of the channel is dropped.
        if let Some(tasks) = &self.tasks {
            let _ = tasks.send(Box::new(task));
        }
    }

    /// Waits until all tasks are done; tells what went wrong, once.
    pub fn wait(&self) -> Result<()> {
        self.wait_for_all_but(0)
    }

    /// As [`Worker::wait`], until no more than `left` tasks are left.
    pub fn wait_for_all_but(&self, left: usize) -> Result<()> {
        let mut state = self.state.lock();
        while state.pending > left {
            state = self.state.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let Some(failure) = state.failed.as_mut() else { return Ok(()) };
        let failure = std::mem::replace(failure, Failure::Told);
        drop(state);
        match failure {
            Failure::Error(error) => Err(error),
            Failure::Panic(panic) => resume_unwind(panic),
            Failure::Told => Ok(()),
        }
    }
}

impl Drop for Worker {
    /// What was handed over is still done.
    fn drop(&mut self) {
        self.tasks = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::bail;

    #[test]
    fn tasks_are_done_in_turn_until_one_fails() {
        let worker = Worker::new("test").unwrap();
        let done = Arc::new(Mutex::new(Vec::new()));
        let note = |number: u32| {
            let done = done.clone();
            move || {
                done.lock().unwrap().push(number);
                if number == 7 { bail!("seven") } else { Ok(()) }
            }
        };
        (0..4).for_each(|number| worker.give(note(number)));
        worker.wait().unwrap();
        assert_eq!(*done.lock().unwrap(), [0, 1, 2, 3]);
        (6..9).for_each(|number| worker.give(note(number)));
        assert_eq!(worker.wait().unwrap_err().to_string(), "seven");
        worker.give(note(9));
        worker.wait().unwrap();
        assert_eq!(*done.lock().unwrap(), [0, 1, 2, 3, 6, 7]);
    }

    #[test]
    fn what_was_handed_over_is_done_before_the_end_and_a_panic_comes_through() {
        let done = Arc::new(Mutex::new(0));
        let worker = Worker::new("test").unwrap();
        let seen = done.clone();
        worker.give(move || {
            std::thread::sleep(std::time::Duration::from_millis(20));
            *seen.lock().unwrap() = 1;
            Ok(())
        });
        drop(worker);
        assert_eq!(*done.lock().unwrap(), 1);
        // One may be left undone while another is waited for.
        let worker = Worker::new("test").unwrap();
        let (go, wait) = channel();
        let first = done.clone();
        worker.give(move || {
            *first.lock().unwrap() = 2;
            Ok(())
        });
        worker.give(move || Ok(wait.recv()?));
        worker.wait_for_all_but(1).unwrap();
        assert_eq!(*done.lock().unwrap(), 2);
        go.send(()).unwrap();
        worker.wait().unwrap();
        let worker = Worker::new("test").unwrap();
        worker.give(|| panic!("on purpose"));
        assert!(catch_unwind(AssertUnwindSafe(|| worker.wait())).is_err());
    }
}
