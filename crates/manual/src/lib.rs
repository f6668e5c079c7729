//! Manual pages and completions of a program, from the definition of its options.
//!
//! Every program of Weft calls [`write_if_asked`] first: packages are made by `PROGRAM --write-manual DIR`.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write, stderr};
use std::path::Path;
use std::process::ExitCode;

use clap::Command;
use clap_complete::Shell;
use clap_mangen::Man;

/// The option, which has to be the first of two arguments. No help shows it.
const OPTION: &str = "--write-manual";

/// Section of the manual.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Section {
    /// Commands for everybody.
    Commands,
    /// Daemons.
    Daemons,
}

impl Section {
    fn number(self) -> &'static str {
        match self {
            Self::Commands => "1",
            Self::Daemons => "8",
        }
    }
}

/// Writes the program's manual pages and completions if its arguments are `--write-manual DIR`: a page for the program
/// and each of its commands in `DIR/man`, and `DIR/bash`, `DIR/zsh` and `DIR/fish` with the file that each shell looks
/// for. Returns the program's exit code then, and `None` for all other arguments.
pub fn write_if_asked(command: Command, section: Section) -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    let (option, directory) = (arguments.next()?, arguments.next()?);
    if option != *OPTION || arguments.next().is_some() {
        return None;
    }
    let name = command.get_name().to_owned();
    match write(command, section, Path::new(&directory)) {
        Ok(()) => Some(ExitCode::SUCCESS),
        Err(error) => {
            // If standard error cannot be written, the exit code remains.
            let directory = Path::new(&directory).display();
            let _ = writeln!(
                stderr(),
                "{name}: cannot write the manual to {directory}: {error}"
            );
            Some(ExitCode::FAILURE)
        }
    }
}

fn write(mut command: Command, section: Section, directory: &Path) -> io::Result<()> {
    let name = command.get_name().to_owned();
    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
        let folder = directory.join(shell.to_string());
        fs::create_dir_all(&folder)?;
        let path = folder.join(file_name(shell, &name));
        clap_complete::generate(shell, &mut command, &name, &mut File::create(path)?);
    }
    let pages = directory.join("man");
    fs::create_dir_all(&pages)?;
    command.build();
    write_pages(&command, section, &pages, true)
}

/// Name of the file in which a shell looks for a program's completions.
fn file_name(shell: Shell, program: &str) -> OsString {
    let name = match shell {
        Shell::Zsh => format!("_{program}"),
        Shell::Fish => format!("{program}.fish"),
        _ => program.to_owned(),
    };
    name.into()
}

/// Programs with pages of their own: a command's page of the same name would hide one of them.
const PROGRAMS: [&str; 5] = ["weft", "weftd", "weft-emulator", "weft-run", "weft-lab"];

/// The name of a command's page.
fn page_name(name: &str, is_program: bool) -> String {
    match !is_program && PROGRAMS.contains(&name) {
        true => format!("{name}-command"),
        false => name.to_owned(),
    }
}

/// Writes the page of a command and those of the commands below it, which are named PROGRAM-COMMAND.
fn write_pages(
    command: &Command,
    section: Section,
    directory: &Path,
    is_program: bool,
) -> io::Result<()> {
    let number = section.number();
    let name = command
        .get_display_name()
        .unwrap_or_else(|| command.get_name());
    let page = page_name(name, is_program);
    let mut file = File::create(directory.join(format!("{page}.{number}")))?;
    Man::new(command.clone())
        .title(page)
        .section(number)
        .render(&mut file)?;
    let below = command.get_subcommands();
    for one in below.filter(|one| !one.is_hide_set() && one.get_name() != "help") {
        write_pages(one, section, directory, false)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use clap::Arg;

    use super::*;

    #[test]
    fn a_command_hides_no_program() {
        let command = Command::new("weft").subcommand(Command::new("emulator").about("Traffic"));
        let directory = tempfile::tempdir().unwrap();
        write(command, Section::Commands, directory.path()).unwrap();
        let pages = directory.path().join("man");
        assert!(pages.join("weft-emulator-command.1").exists());
        assert!(!pages.join("weft-emulator.1").exists());
        let program = tempfile::tempdir().unwrap();
        write(
            Command::new("weft-emulator"),
            Section::Commands,
            program.path(),
        )
        .unwrap();
        assert!(program.path().join("man/weft-emulator.1").exists());
    }

    #[test]
    fn every_command_has_a_page_and_every_shell_a_file() {
        let bounce = Command::new("bounce")
            .about("Takes a link down once")
            .arg(Arg::new("point").value_name("POINT"));
        let command =
            Command::new("prog").subcommand(Command::new("port").about("Ports").subcommand(bounce));
        let directory = tempfile::tempdir().unwrap();
        write(command, Section::Commands, directory.path()).unwrap();
        let read = |path: &str| fs::read_to_string(directory.path().join(path)).unwrap();
        let pages = fs::read_dir(directory.path().join("man")).unwrap();
        let mut names: Vec<_> = pages
            .map(|page| page.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort_unstable();
        assert_eq!(names, ["prog-port-bounce.1", "prog-port.1", "prog.1"]);
        let page = read("man/prog-port-bounce.1");
        assert!(page.contains("Takes a link down once"), "{page}");
        assert!(page.contains("POINT"), "{page}");
        for path in ["bash/prog", "zsh/_prog", "fish/prog.fish"] {
            assert!(read(path).contains("bounce"), "{path}");
        }
    }
}
