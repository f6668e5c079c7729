//! The log settings of opafm.xml.
//!
//! Those of the `Sm` section count, which takes them from `Shared`, as for the vendor's managers.

use std::path::PathBuf;
use std::time::Duration;

use weft_config::{Instance, Limit, Logging, SyslogFacility};

/// Where the log of events of the fabric comes from.
const EVENTS: &str = "weftd::event_log";

/// What a configuration says about the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LogSettings {
    /// Levels, by `LogLevel`, `LogMode` and the masks.
    pub(crate) filter: String,
    /// `LogFile`.
    pub(crate) file: Option<PathBuf>,
    /// Whether nothing goes elsewhere where there is a file.
    pub(crate) file_only: bool,
    /// `SyslogFacility` as the journal has it.
    pub(crate) facility: u8,
    pub(crate) limits: LogLimits,
}

/// Limits of lines; none where there is no limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LogLimits {
    /// `NodeAppearanceMsgThreshold`: lines about nodes that come or go in a sweep.
    pub(crate) nodes: Option<u32>,
    /// `PortBounceLogLimit`: lines about links that come or go in a sweep.
    pub(crate) links: Option<u32>,
    /// `TrapLogSuppressTriggerInterval`: a trap that follows another one of its source within this time has no line.
    pub(crate) trap_interval: Duration,
    /// `SweepErrorInfoLogThresholds`: lines with a cause of errors in one reading of the counters.
    pub(crate) causes: CauseLimits,
}

/// Lines with a cause in one reading, by category.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CauseLimits {
    pub(crate) integrity: Option<u32>,
    pub(crate) security: Option<u32>,
    pub(crate) routing: Option<u32>,
}

impl Default for LogSettings {
    fn default() -> Self {
        Self {
            filter: "info".to_owned(),
            ..Self::of(&Instance::default())
        }
    }
}

impl LogSettings {
    /// The settings of an instance.
    pub(crate) fn of(instance: &Instance) -> Self {
        let (sm, pm) = (&instance.sm, &instance.pm);
        let logging = &sm.logging;
        let limit = |value: u32| (value > 0).then_some(value);
        let causes = &pm.sweep_error_info_log_thresholds;
        Self {
            filter: filter(logging),
            file: logging
                .log_file
                .clone()
                .filter(|file| !file.is_empty())
                .map(Into::into),
            file_only: logging.log_mode & 2 != 0,
            facility: number(logging.syslog_facility),
            limits: LogLimits {
                nodes: limit(sm.node_appearance_msg_threshold),
                links: limit(sm.port_bounce_log_limit),
                trap_interval: sm.trap_log_suppress_trigger_interval,
                causes: CauseLimits {
                    integrity: most(causes.integrity),
                    security: most(causes.security),
                    routing: most(causes.routing),
                },
            },
        }
    }
}

fn most(limit: Limit) -> Option<u32> {
    match limit {
        Limit::At(most) => Some(most),
        Limit::Unlimited => None,
    }
}

/// Parts of the daemon that have a log mask: the vendor's name, and where their lines come from.
const PARTS: [(&str, &[&str]); 3] = [
    ("SM", &[EVENTS, "weftd::engine", "weftd::control"]),
    ("SA", &["weftd::registrations", "weftd::query_thread"]),
    ("PM", &["weftd::pm_log"]),
];

/// The levels of all parts.
fn filter(logging: &Logging) -> String {
    let filter = of_level(logging.log_level, logging.log_mode & 1 != 0);
    let masks = [
        logging.sm_log_mask,
        logging.sa_log_mask,
        logging.pm_log_mask,
    ];
    let masks = PARTS.iter().zip(masks);
    masks.fold(filter, |filter, ((name, _), mask)| {
        let masked = mask.and_then(|mask| with_mask(&filter, name, mask));
        masked.unwrap_or(filter)
    })
}

/// A filter with another log mask of a part, named as the vendor does; none where no part has this name.
pub(crate) fn with_mask(filter: &str, part: &str, mask: u32) -> Option<String> {
    let (_, targets) = PARTS.iter().find(|(name, _)| *name == part)?;
    let is_other = |directive: &&str| {
        let target = directive.split('=').next().unwrap_or_default();
        !targets.contains(&target)
    };
    let others = filter.split(',').filter(is_other).map(str::to_owned);
    let level = of_mask(mask);
    let masked = targets.iter().map(|target| format!("{target}={level}"));
    Some(others.chain(masked).collect::<Vec<_>>().join(","))
}

/// A filter with another bit 0 of `LogMode`: whether level 2 shows what level 1 does.
pub(crate) fn with_mode(filter: &str, quiet: bool) -> String {
    let (loud, less) = (of_level(2, false), of_level(2, true));
    let (from, to) = match quiet {
        true => (loud, less),
        false => (less, loud),
    };
    match filter.strip_prefix(&*from) {
        Some(rest) if rest.is_empty() || rest.starts_with(',') => to + rest,
        _ => filter.to_owned(),
    }
}

/// The level for a `LogLevel`, 0 to 7; the daemon's own parts say more from 4 on, the libraries in it do not. In quiet
/// mode, levels 1 and 2 show events of the fabric, and nothing else below warnings.
fn of_level(level: u32, quiet: bool) -> String {
    match level {
        0 => "error".to_owned(),
        1 => format!("warn,{EVENTS}=info"),
        2 if quiet => format!("warn,{EVENTS}=info"),
        2 | 3 => "info".to_owned(),
        4..=6 => "info,weftd=debug".to_owned(),
        _ => "info,weftd=trace".to_owned(),
    }
}

/// The level for a `LogLevel` of the vendor's client, none where there is no such level.
pub(crate) fn of_vendor_level(level: u32) -> Option<String> {
    (level <= 7).then(|| of_level(level, false))
}

/// The level of the least severe bit that is set in a log mask.
fn of_mask(mask: u32) -> &'static str {
    match mask {
        0x1_0000.. => "trace",
        0x400.. => "debug",
        mask if mask & 0x398 != 0 => "info",
        mask if mask & 0x44 != 0 => "warn",
        _ => "error",
    }
}

/// The number of a facility, as syslog has it.
fn number(facility: SyslogFacility) -> u8 {
    match facility {
        SyslogFacility::Kern => 0,
        SyslogFacility::User => 1,
        SyslogFacility::Mail => 2,
        SyslogFacility::Daemon => 3,
        SyslogFacility::Auth => 4,
        SyslogFacility::Syslog => 5,
        SyslogFacility::Lpr => 6,
        SyslogFacility::News => 7,
        SyslogFacility::Uucp => 8,
        SyslogFacility::Cron => 9,
        SyslogFacility::AuthPriv => 10,
        SyslogFacility::Ftp => 11,
        SyslogFacility::Local0 => 16,
        SyslogFacility::Local1 => 17,
        SyslogFacility::Local2 => 18,
        SyslogFacility::Local3 => 19,
        SyslogFacility::Local4 => 20,
        SyslogFacility::Local5 => 21,
        SyslogFacility::Local6 => 22,
        SyslogFacility::Local7 => 23,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_masks_and_modes() {
        let logging = |log_level, log_mode, pm_log_mask| Logging {
            log_level,
            log_mode,
            pm_log_mask,
            ..Logging::default()
        };
        for (logging, expected) in [
            (logging(0, 0, None), "error"),
            (logging(1, 0, None), "warn,weftd::event_log=info"),
            (logging(2, 0, None), "info"),
            (logging(2, 1, None), "warn,weftd::event_log=info"),
            (logging(3, 1, None), "info"),
            (logging(5, 0, None), "info,weftd=debug"),
            (logging(7, 0, None), "info,weftd=trace"),
            (logging(2, 0, Some(0x7)), "info,weftd::pm_log=warn"),
            (logging(2, 0, Some(0x1ff)), "info,weftd::pm_log=info"),
            (logging(2, 0, Some(0x7ff)), "info,weftd::pm_log=debug"),
            (logging(2, 0, Some(0)), "info,weftd::pm_log=error"),
            (logging(2, 0, Some(u32::MAX)), "info,weftd::pm_log=trace"),
        ] {
            assert_eq!(filter(&logging), expected);
        }
    }

    #[test]
    fn masks_and_modes_change_a_filter() {
        let masked = with_mask("info", "PM", 0x7ff);
        assert_eq!(masked.as_deref(), Some("info,weftd::pm_log=debug"));
        let again = with_mask("info,weftd::pm_log=debug", "PM", 0x7);
        assert_eq!(again.as_deref(), Some("info,weftd::pm_log=warn"));
        assert_eq!(with_mask("info", "Unkwn", 1), None);
        let quiet = "warn,weftd::event_log=info";
        assert_eq!(with_mode("info", true), quiet);
        assert_eq!(with_mode(quiet, false), "info");
        assert_eq!(
            with_mode("info,weftd=debug", true),
            format!("{quiet},weftd=debug")
        );
        assert_eq!(with_mode("trace", true), "trace");
    }
}
