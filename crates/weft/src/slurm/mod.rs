//! `weft slurm`.

pub(crate) mod command;
mod file;
mod shown;

use std::path::Path;
use std::process::ExitCode;

use weft_fabric::export::slurm::{
    Change, KnownNodes, Placed, Plugin, Refusal, Request, Shape, SlurmTopology, place, read_conf,
    read_yaml, write_conf, write_yaml,
};

use crate::args::{Daemon, SlurmCommand, SlurmFormat, SlurmPlugin, SlurmTopologyArgs};
use crate::error::CliError;
use crate::output;
use crate::report::snapshot;

use command::Call;
use shown::Done;

pub(crate) async fn run(daemon: &Daemon, command: &SlurmCommand) -> Result<ExitCode, CliError> {
    match command {
        SlurmCommand::Topology(args) => topology(daemon, args).await,
    }
}

async fn topology(daemon: &Daemon, args: &SlurmTopologyArgs) -> Result<ExitCode, CliError> {
    let format = format(args);
    let known = known(daemon, args.nodes.as_deref()).await?;
    let before = match &args.output {
        Some(file) => file::read(file)?,
        None => None,
    };
    let old = old(args, format, before.as_deref())?;
    let fabric = snapshot(daemon, args.snapshot.as_deref()).await?;
    let request = Request {
        known: &known,
        plugin: match args.plugin {
            SlurmPlugin::Tree => Plugin::Tree,
            SlurmPlugin::Block => Plugin::Block,
        },
        shape: match args.skeleton {
            true => Shape::Skeleton,
            false => Shape::Full,
        },
        block_sizes: &args.block_sizes,
        old: old.as_ref(),
        prune: args.prune,
    };
    let placed = place(&fabric.topology, &request);
    let text = match format {
        SlurmFormat::Conf => write_conf(&placed.topology),
        SlurmFormat::Yaml => write_yaml(&placed.topology),
    };
    let none = SlurmTopology::default();
    let change = Change::between(old.as_ref().unwrap_or(&none), &placed.topology);
    admit(args, &change, old.as_ref().unwrap_or(&none), &placed)?;
    let Some(file) = &args.output else {
        print(&text, &placed)?;
        return Ok(ExitCode::SUCCESS);
    };
    let is_changed = before.is_none() || old.is_none() || !change.is_none();
    let mut done = Done {
        file,
        changed: is_changed,
        written: is_changed && !args.dry_run,
        reconfigured: false,
        change,
        placed,
    };
    if done.written {
        file::write(file, &text)?;
        if args.reconfigure {
            reconfigure(daemon, file, before.as_deref()).await?;
            done.reconfigured = true;
        }
    }
    match args.json {
        true => output::json(&done.as_json())?,
        false => output::text(done.as_text())?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints the file on standard output, and remarks on standard error.
fn print(text: &str, placed: &Placed) -> Result<(), CliError> {
    output::text(text)?;
    placed
        .notes
        .iter()
        .for_each(|note| output::complain("weft: ", note));
    Ok(())
}

fn scontrol<'a>(arguments: &'a [&'a str]) -> Call<'a> {
    Call {
        program: "scontrol",
        arguments,
        variable: None,
        without: "where there is no Slurm, --nodes FILE has the nodes and --reconfigure cannot be used",
    }
}

fn format(args: &SlurmTopologyArgs) -> SlurmFormat {
    let extension = args.output.as_deref().and_then(Path::extension);
    let is_yaml = extension.is_some_and(|extension| extension == "yaml" || extension == "yml");
    args.format.unwrap_or(match is_yaml {
        true => SlurmFormat::Yaml,
        false => SlurmFormat::Conf,
    })
}

/// The nodes of a file, or those that scontrol shows.
async fn known(daemon: &Daemon, file: Option<&Path>) -> Result<KnownNodes, CliError> {
    let (text, name) = match file {
        Some(file) => (output::read(file)?, file),
        None => (
            command::run(daemon, &scontrol(&["show", "nodes", "-o"])).await?,
            Path::new("scontrol show nodes"),
        ),
    };
    let wrong = |why: String| CliError::Content {
        file: name.to_owned(),
        why,
    };
    let text = String::from_utf8(text).map_err(|error| wrong(error.to_string()))?;
    KnownNodes::read(&text).map_err(|error| wrong(error.to_string()))
}

/// What the file that is there says; nothing of one that is not understood, with `--force`.
fn old(
    args: &SlurmTopologyArgs,
    format: SlurmFormat,
    text: Option<&str>,
) -> Result<Option<SlurmTopology>, CliError> {
    let (Some(text), Some(file)) = (text, &args.output) else {
        return Ok(None);
    };
    let read = match format {
        SlurmFormat::Conf => read_conf(text),
        SlurmFormat::Yaml => read_yaml(text),
    };
    match read {
        Ok(old) => Ok(Some(old)),
        Err(_) if args.force => Ok(None),
        Err(error) => Err(CliError::Content {
            file: file.clone(),
            why: format!("{error}; --force writes over the file"),
        }),
    }
}

fn admit(
    args: &SlurmTopologyArgs,
    change: &Change,
    old: &SlurmTopology,
    placed: &Placed,
) -> Result<(), CliError> {
    match change.admit(old, &placed.topology) {
        Err(Refusal::Lost { .. }) if args.force => Ok(()),
        Err(refusal) => {
            let notes = placed.notes.iter().map(|note| format!("; {note}"));
            Err(CliError::Refused(format!(
                "{refusal}{}",
                notes.collect::<String>()
            )))
        }
        Ok(()) => Ok(()),
    }
}

/// Lets Slurm read the file; puts the old one back if it does not, so that the next run tries again.
async fn reconfigure(daemon: &Daemon, file: &Path, before: Option<&str>) -> Result<(), CliError> {
    let Err(error) = command::run(daemon, &scontrol(&["reconfigure"])).await else {
        return Ok(());
    };
    match before {
        Some(text) => file::write(file, text)?,
        None => std::fs::remove_file(file).map_err(|error| CliError::file(file, error))?,
    }
    Err(CliError::Refused(format!(
        "{error}; {} is as it was before",
        file.display()
    )))
}
