//! `weft-lab`: campaigns, recordings and experiments; see [`weft_lab::main_with`].

use std::process::ExitCode;

fn main() -> ExitCode {
    weft_lab::main_with(&weft_lab::experiment::Registry::default())
}
