//! Checks a file as `weft config check` does, and with `--effective` prints the resulting configuration.
//!
//! ```text
//! cargo run -p weft-config --example check -- config/opafm.xml --effective
//! ```

use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().ok_or("usage: check FILE [--effective]")?;
    let effective = arguments.any(|argument| argument == "--effective");
    let bytes = std::fs::read(&file)?;
    let started = Instant::now();
    let checked = weft_config::check(&bytes, &file);
    let elapsed = started.elapsed();
    for finding in &checked.findings {
        eprintln!("{finding}");
    }
    eprintln!("{} findings in {elapsed:?}", checked.findings.len());
    let config = checked.config.ok_or("the file cannot be used")?;
    if effective {
        println!("{}", config.effective_xml());
    }
    Ok(())
}
