//! A program that ends with the test.

use std::ops::{Deref, DerefMut};
use std::process::{Child, Command};

/// A child process, killed when dropped.
#[derive(Debug)]
pub struct Running(Child);

impl Running {
    /// Starts a program.
    ///
    /// # Panics
    /// When it cannot be started.
    pub fn start(command: &mut Command) -> Self {
        Self(command.spawn().unwrap())
    }

    /// Ends it without a clean exit, as by `kill -9`.
    ///
    /// # Panics
    /// When it cannot be killed.
    pub fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }

    /// Ends it if it has not ended already.
    pub fn end(&mut self) {
        let _killed = self.0.kill();
        let _status = self.0.wait();
    }
}

impl Deref for Running {
    type Target = Child;

    fn deref(&self) -> &Child {
        &self.0
    }
}

impl DerefMut for Running {
    fn deref_mut(&mut self) -> &mut Child {
        &mut self.0
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
    }
}
