//! A run as a Slurm job array and a job that puts its parts together.

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

use super::Arguments;
use super::files::replace;

/// Writes both jobs into the directory of parts, and submits them if that is asked for. Returns what to print.
///
/// # Errors
/// More parts than cases; a file that cannot be written; sbatch, and what it says.
pub(super) fn array(
    arguments: &Arguments,
    directory: &Path,
    parts: u32,
    cases: usize,
) -> Result<String, String> {
    if parts as usize > cases {
        return Err(format!(
            "--slurm {parts}: there are {cases} cases, at most so many parts"
        ));
    }
    fs::create_dir_all(directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    let [array, merge] = ["array.sh", "merge.sh"].map(|name| directory.join(name));
    replace(
        &array,
        script(arguments, &part(directory, parts, arguments)?)?.as_bytes(),
    )?;
    replace(
        &merge,
        script(arguments, &together(directory, arguments)?)?.as_bytes(),
    )?;
    match arguments.submit {
        true => submit(&array, &merge),
        false => Ok(how_to(&array, &merge)),
    }
}

/// What differs between the two jobs: options of sbatch, and a command.
struct Job {
    options: Vec<String>,
    command: String,
}

fn part(directory: &Path, parts: u32, arguments: &Arguments) -> Result<Job, String> {
    let cores = u32::from(arguments.jobs) * u32::from(arguments.threads);
    let log = quoted(&word(&directory.join("part-"))?);
    let part = format!("--only=\"$SLURM_ARRAY_TASK_ID/{parts}\"");
    let run = run(arguments, &part, Vec::new())?;
    Ok(Job {
        options: vec![
            format!("--array=1-{parts}"),
            format!("--cpus-per-task={cores}"),
        ],
        command: format!("{run} >{log}\"$SLURM_ARRAY_TASK_ID.log\" 2>&1"),
    })
}

fn together(directory: &Path, arguments: &Arguments) -> Result<Job, String> {
    let [output, log] = ["results.txt", "results.log"].map(|name| word(&directory.join(name)));
    let (output, log) = (quoted(&output?), quoted(&log?));
    let run = run(arguments, "", results(arguments)?)?;
    Ok(Job {
        options: Vec::new(),
        command: format!("{run} >{output} 2>{log}"),
    })
}

fn script(arguments: &Arguments, job: &Job) -> Result<String, String> {
    let here = env::current_dir().map_err(|error| format!("the current directory: {error}"))?;
    let mut text = "#!/bin/sh\n".to_owned();
    let own = ["--job-name=weft-lab", "--output=/dev/null"].map(str::to_owned);
    for option in own.iter().chain(&job.options).chain(&arguments.sbatch) {
        if option.contains(['\n', '\r']) {
            return Err(format!("--sbatch {option:?}: an option is one line"));
        }
        text.push_str(&format!("#SBATCH {option}\n"));
    }
    let here = quoted(&word(&here)?);
    text.push_str(&format!("cd {here} &&\n{}\n", job.command));
    Ok(text)
}

/// Options for the results.
fn results(arguments: &Arguments) -> Result<Vec<String>, String> {
    let Arguments {
        csv,
        json,
        parquet,
        svg,
        markdown,
        ..
    } = arguments;
    let mut words: Vec<String> = csv.then(|| "--csv".to_owned()).into_iter().collect();
    for (name, path) in [
        ("json", json),
        ("parquet", parquet),
        ("svg", svg),
        ("markdown", markdown),
    ] {
        if let Some(path) = path {
            words.push(option(name, path)?);
        }
    }
    Ok(words)
}

fn option(name: &str, path: &Path) -> Result<String, String> {
    Ok(format!("--{name}={}", word(path)?))
}

/// The command of a job: `part` is for a shell as it is.
fn run(arguments: &Arguments, part: &str, results: Vec<String>) -> Result<String, String> {
    let Arguments {
        files,
        seed,
        jobs,
        threads,
        set,
        tornado,
        parts,
        ..
    } = arguments;
    let program = env::current_exe().map_err(|error| format!("this program: {error}"))?;
    let mut head = vec![word(&program)?, "run".to_owned()];
    head.push(format!("--seed={seed}"));
    head.push(format!("--jobs={jobs}"));
    head.push(format!("--threads={threads}"));
    head.extend(set.iter().map(|setting| format!("--set={setting}")));
    head.extend(tornado.iter().map(|metric| format!("--tornado={metric}")));
    head.extend(results);
    if let Some(directory) = parts {
        head.push(option("parts", directory)?);
    }
    let files = files.iter().map(|file| word(file));
    let files = files.collect::<Result<Vec<_>, _>>()?;
    let words = |all: &[String]| {
        all.iter()
            .map(|word| quoted(word))
            .collect::<Vec<_>>()
            .join(" ")
    };
    let (head, files) = (words(&head), words(&files));
    let part = match part.is_empty() {
        true => String::new(),
        false => format!(" {part}"),
    };
    Ok(format!("{head}{part} -- {files}"))
}

/// A path as a word of a script.
fn word(path: &Path) -> Result<String, String> {
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| format!("{} is no text in UTF-8", path.display()))
}

/// A word for a shell, whatever is in it.
fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./=".contains(letter);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

fn how_to(array: &Path, merge: &Path) -> String {
    let [array, merge] = [array, merge].map(|file| quoted(&file.to_string_lossy()));
    format!(
        "id=$(sbatch --parsable {array})\n\
         sbatch --dependency=afterok:$id --kill-on-invalid-dep=yes {merge}\n"
    )
}

fn submit(array: &Path, merge: &Path) -> Result<String, String> {
    let first = sbatch(&[], array)?;
    let after = format!("--dependency=afterok:{first}");
    let second = sbatch(&[&after, "--kill-on-invalid-dep=yes"], merge)?;
    Ok(format!("{first} parts\n{second} results\n"))
}

/// Submits a job; its number.
fn sbatch(options: &[&str], file: &Path) -> Result<String, String> {
    let mut command = Command::new("sbatch");
    command.arg("--parsable").args(options).arg(file);
    let output = command
        .output()
        .map_err(|error| format!("sbatch: {error}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("sbatch {}: {}", file.display(), said.trim()));
    }
    // Behind the number the name of a cluster may stand.
    let said = String::from_utf8_lossy(&output.stdout);
    let number = said.trim().split(';').next().unwrap_or_default();
    match number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
        true => Err(format!(
            "sbatch {}: no number of a job in {said:?}",
            file.display()
        )),
        false => Ok(number.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_a_shell() {
        for (word, wanted) in [
            ("--seed=0", "--seed=0"),
            ("", "''"),
            ("a b", "'a b'"),
            ("it's $HOME", r"'it'\''s $HOME'"),
        ] {
            assert_eq!(quoted(word), wanted);
        }
    }
}
