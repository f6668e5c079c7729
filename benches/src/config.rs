//! Parsing and checking of opafm.xml.

use std::hint::black_box;
use std::path::PathBuf;

use clap::Args;

use crate::Failure;
use crate::routing::timed;
use crate::table::{Table, millis};

/// Options of `weft-bench config`.
#[derive(Debug, Clone, Args)]
pub struct Options {
    /// The files.
    #[arg(default_values = ["/etc/opa-fm/opafm.xml", "config/opafm.xml"])]
    files: Vec<PathBuf>,
    /// Number of runs; the fastest counts.
    #[arg(long, default_value_t = 20)]
    runs: u32,
}

/// Measures and prints the table.
///
/// # Errors
/// [`Failure`] when a file cannot be read.
pub fn run(options: &Options) -> Result<(), Failure> {
    let mut table = Table::new(["file", "KiB", "parse and check ms", "errors", "warnings"]);
    for file in &options.files {
        let name = file.display().to_string();
        let bytes = std::fs::read(file).map_err(Failure::io(name.clone()))?;
        let mut least = f64::INFINITY;
        for _ in 0..options.runs.max(1) {
            let (seconds, _) = timed(|| black_box(weft_config::check(&bytes, &name)));
            least = least.min(seconds);
        }
        let checked = weft_config::check(&bytes, &name);
        let errors = checked.errors().count();
        table.row([
            name.clone(),
            (bytes.len() / 1024).to_string(),
            millis(least),
            errors.to_string(),
            (checked.findings.len() - errors).to_string(),
        ]);
    }
    print!("{table}");
    Ok(())
}
