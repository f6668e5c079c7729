//! `weft config`.

use std::path::Path;
use std::process::ExitCode;

use serde::Serialize;
use weft_api::v1;
use weft_config::{Checked, Finding, Severity, check};

use crate::args::{Args, Color, Config};
use crate::connect::connect;
use crate::error::CliError;
use crate::output;
use crate::style::{ERROR, PLACE, Styles, WARNING};

pub(crate) async fn run(args: &Args, command: &Config) -> Result<ExitCode, CliError> {
    match command {
        Config::Check { file, json } => check_file(file, *json, args.color),
        Config::Show {
            file: Some(file), ..
        } => show_file(file, args.color),
        Config::Show { file: None, .. } => {
            let client = connect(&args.daemon).await?;
            let request = v1::GetEffectiveConfigRequest {};
            let response = client.config().get_effective_config(request).await?;
            output::text(response.into_inner().text)?;
            Ok(ExitCode::SUCCESS)
        }
        Config::Reload { dry_run } => reload(args, *dry_run).await,
    }
}

/// What `check --json` prints.
#[derive(Serialize)]
struct Verdict<'a> {
    usable: bool,
    errors: usize,
    warnings: usize,
    findings: &'a [Finding],
}

fn check_file(file: &Path, json: bool, color: Color) -> Result<ExitCode, CliError> {
    let checked = checked(file)?;
    let count = |severity| {
        checked
            .findings
            .iter()
            .filter(|one| one.severity == severity)
            .count()
    };
    let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
    if json {
        let usable = checked.config.is_some();
        output::json(&Verdict {
            usable,
            errors,
            warnings,
            findings: &checked.findings,
        })?;
    } else {
        let styles = Styles::stdout(color);
        let lines = checked.findings.iter().map(|finding| line(finding, styles));
        let verdict = match (errors, warnings) {
            (0, 0) => format!("{}: nothing wrong\n", file.display()),
            (0, _) => format!("{}: usable, {warnings} warnings\n", file.display()),
            _ => format!(
                "{}: refused, {errors} errors, {warnings} warnings\n",
                file.display()
            ),
        };
        output::text(lines.collect::<String>() + &verdict)?;
    }
    Ok(ExitCode::from(u8::from(errors > 0)))
}

fn checked(file: &Path) -> Result<Checked, CliError> {
    let text = output::read(file)?;
    Ok(check(text, &file.to_string_lossy()))
}

/// `FILE:LINE: error: PATH: MESSAGE (allowed: …)`.
fn line(finding: &Finding, styles: Styles) -> String {
    let (severity, style) = match finding.severity {
        Severity::Error => ("error:", ERROR),
        Severity::Warning => ("warning:", WARNING),
    };
    let place = styles.paint(PLACE, &format!("{}:{}:", finding.file, finding.line));
    let severity = styles.paint(style, severity);
    let path = match finding.path.as_str() {
        "" => String::new(),
        path => format!("{path}: "),
    };
    let allowed = match finding.allowed.as_str() {
        "" => String::new(),
        allowed => format!(" (allowed: {allowed})"),
    };
    format!("{place} {severity} {path}{}{allowed}\n", finding.message)
}

fn show_file(file: &Path, color: Color) -> Result<ExitCode, CliError> {
    let checked = checked(file)?;
    if let Some(config) = checked.config {
        output::text(config.effective_xml())?;
        return Ok(ExitCode::SUCCESS);
    }
    let styles = Styles::stderr(color);
    let errors: Vec<String> = checked
        .errors()
        .map(|finding| line(finding, styles))
        .collect();
    eprint!("{}", errors.concat());
    Err(CliError::Refused(format!(
        "{} has {} errors",
        file.display(),
        errors.len()
    )))
}

async fn reload(args: &Args, dry_run: bool) -> Result<ExitCode, CliError> {
    let client = connect(&args.daemon).await?;
    let file = client
        .config()
        .get_effective_config(v1::GetEffectiveConfigRequest {})
        .await?;
    let file = file.into_inner().file;
    let request = v1::ReloadConfigRequest {
        validate_only: dry_run,
    };
    let answer = client.config().reload_config(request).await?.into_inner();
    let lines = answer
        .findings
        .iter()
        .map(|finding| finding_line(&file, finding));
    let errors = answer
        .findings
        .iter()
        .any(|one| one.severity() == v1::Severity::Error);
    let verdict = match (answer.applied, errors) {
        (true, _) => "in force\n",
        (false, false) => "would be in force\n",
        (false, true) => "refused, the old configuration stays in force\n",
    };
    output::text(lines.collect::<String>() + &format!("{file}: {verdict}"))?;
    Ok(ExitCode::from(u8::from(errors)))
}

/// A finding of the daemon as a line.
pub(crate) fn finding_line(file: &str, finding: &v1::Finding) -> String {
    let severity = match finding.severity() {
        v1::Severity::Error => "error",
        _ => "warning",
    };
    let allowed = match finding.allowed.as_str() {
        "" => String::new(),
        allowed => format!(" (allowed: {allowed})"),
    };
    let (line, path, message) = (finding.line, &finding.path, &finding.message);
    format!("{file}:{line}: {severity}: {path}: {message}{allowed}\n")
}
