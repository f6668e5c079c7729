//! Prints, for each folder named on the command line, the structs with more than twelve fields, the
//! number of methods of each type and in how many files they are, and the circles of files whose
//! methods call each other through `self`.

use std::env;
use std::path::Path;
use std::process::ExitCode;

use weft_structure::Structure;

fn main() -> ExitCode {
    let mut failed = false;
    for root in env::args().skip(1) {
        println!("{root}");
        match Structure::read(Path::new(&root)) {
            Ok(structure) => structure.print(),
            Err(error) => {
                eprintln!("{root}: {error}");
                failed = true;
            }
        }
    }
    ExitCode::from(u8::from(failed))
}
