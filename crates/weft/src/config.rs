//! `weft config`.

mod explain;
mod topology;

use std::io::{Write, stderr};
use std::path::Path;
use std::process::ExitCode;

use serde::Serialize;
use weft_api::v1;
use weft_config::link_rules::check_link_rules;
use weft_config::{Checked, Finding, Severity, check};
use weft_fabric::text::{count, for_terminal};

use crate::args::{Args, Color, Config};
use crate::connect::{Effort, Session, connect};
use crate::error::CliError;
use crate::output;
use crate::style::{ERROR, PLACE, Styles, WARNING};
use crate::unreported;
use crate::vf::plan_text;

pub(crate) async fn run(args: &Args, command: &Config) -> Result<ExitCode, CliError> {
    match command {
        Config::Check {
            file,
            link_rules,
            json,
        } => {
            let (usable, findings) = match link_rules {
                true => {
                    let checked = check_link_rules(output::read(file)?, &file.to_string_lossy());
                    (checked.rules.is_some(), checked.findings)
                }
                false => {
                    let checked = checked(file)?;
                    (checked.config.is_some(), checked.findings)
                }
            };
            tell_checked(file, usable, &findings, *json, args.color)
        }
        Config::Show {
            file: Some(file), ..
        } => show_file(file, args.color),
        Config::Show { file: None, .. } => {
            let session = connect(&args.daemon).await?;
            output::text(in_force(&session).await?.text)?;
            Ok(ExitCode::SUCCESS)
        }
        Config::Explain {
            element,
            file,
            json,
        } => {
            let instance = args.daemon.instance.unwrap_or(0).into();
            explain::run(element, file.as_deref(), instance, *json, args.color)
        }
        Config::Reload { dry_run } => reload(args, *dry_run).await,
    }
}

/// The configuration that the daemon runs with.
async fn in_force(session: &Session) -> Result<v1::GetEffectiveConfigResponse, CliError> {
    let mut service = session.services(Effort::Look).config();
    let config = service.get_effective_config(v1::GetEffectiveConfigRequest {});
    session.answer(Effort::Look, config).await
}

/// Output of `check --json`.
#[derive(Serialize)]
struct Verdict<'a> {
    usable: bool,
    errors: usize,
    warnings: usize,
    findings: &'a [Finding],
}

fn tell_checked(
    file: &Path,
    usable: bool,
    findings: &[Finding],
    json: bool,
    color: Color,
) -> Result<ExitCode, CliError> {
    let of = |severity| {
        let of = findings.iter().filter(|one| one.severity == severity);
        of.count()
    };
    let (errors, warnings) = (of(Severity::Error), of(Severity::Warning));
    if json {
        output::json(&Verdict {
            usable,
            errors,
            warnings,
            findings,
        })?;
    } else {
        let styles = Styles::stdout(color);
        let lines = findings.iter().map(|finding| line(finding, styles));
        let verdict = match (errors, warnings) {
            (0, 0) => format!("{}: nothing wrong\n", file.display()),
            (0, _) => format!(
                "{}: usable, {}\n",
                file.display(),
                count(warnings, "warning")
            ),
            _ => format!(
                "{}: refused, {}, {}\n",
                file.display(),
                count(errors, "error"),
                count(warnings, "warning")
            ),
        };
        output::folded(&(lines.collect::<String>() + &for_terminal(&verdict)))?;
    }
    Ok(ExitCode::from(u8::from(errors > 0)))
}

fn checked(file: &Path) -> Result<Checked, CliError> {
    let text = output::read(file)?;
    let mut checked = check(&text, &file.to_string_lossy());
    topology::check(&mut checked, file, &text);
    Ok(checked)
}

/// `FILE:LINE: error: PATH: MESSAGE (allowed: …)`, escaped.
fn line(finding: &Finding, styles: Styles) -> String {
    let (severity, style) = match finding.severity {
        Severity::Error => ("error:", ERROR),
        Severity::Warning => ("warning:", WARNING),
    };
    let place = format!("{}:{}:", finding.file, finding.line);
    let place = styles.paint(PLACE, &for_terminal(&place));
    let severity = styles.paint(style, severity);
    let path = match finding.path.as_str() {
        "" => String::new(),
        path => format!("{path}: "),
    };
    let allowed = match finding.allowed.as_str() {
        "" => String::new(),
        allowed => format!(" (allowed: {allowed})"),
    };
    let text = format!("{path}{}{allowed}", finding.message);
    format!("{place} {severity} {}\n", for_terminal(&text))
}

fn show_file(file: &Path, color: Color) -> Result<ExitCode, CliError> {
    let checked = checked(file)?;
    if let Some(config) = checked.config {
        output::text(config.effective_xml())?;
        return Ok(ExitCode::SUCCESS);
    }
    Err(refused(&checked, file, color))
}

/// Prints the errors of a file that has some; returns that it has.
fn refused(checked: &Checked, file: &Path, color: Color) -> CliError {
    let styles = Styles::stderr(color);
    let errors: Vec<String> = checked
        .errors()
        .map(|finding| line(finding, styles))
        .collect();
    let _ = stderr().write_all(errors.concat().as_bytes());
    let errors = count(errors.len(), "error");
    CliError::Refused(format!("{} has {errors}", file.display()))
}

async fn reload(args: &Args, dry_run: bool) -> Result<ExitCode, CliError> {
    let session = connect(&args.daemon).await?;
    let file = in_force(&session).await?.file;
    let request = v1::ReloadConfigRequest {
        validate_only: dry_run,
    };
    let mut service = session.services(Effort::Work).config();
    let answer = service.reload_config(request);
    let answer = session.answer(Effort::Work, answer).await?;
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
    let fabrics = answer.virtual_fabrics.as_ref().map(plan_text);
    let verdict = format!("{}{file}: {verdict}", fabrics.unwrap_or_default());
    let printed = output::text(lines.collect::<String>() + &verdict);
    match answer.applied {
        true => unreported::or_keep(printed, &verdict)?,
        false => printed?,
    }
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
