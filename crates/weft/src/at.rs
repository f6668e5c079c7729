//! The fabric of a moment of the past (`--at`).

use weft_api::time::{timestamp_ms, unix_ms};
use weft_api::v1;
use weft_api::v1::moment::Moment as Asked;
use weft_fabric::Snapshot;

use crate::args::At;
use crate::connect::Session;
use crate::error::CliError;
use crate::moment::{local, now_ms, parse, zone};
use crate::output;
use crate::time::utc_json;

/// What begins the number of a sweep, and of a generation.
const SWEEP: &str = "sweep:";
const GENERATION: &str = "generation:";

impl At {
    /// The moment to ask for; none for now.
    pub(crate) fn moment(&self) -> Result<Option<v1::Moment>, CliError> {
        let text = self.at.as_ref();
        text.map(|text| moment(text, "--at")).transpose()
    }

    /// The fabric then, or now.
    pub(crate) async fn snapshot(
        &self,
        session: &Session,
        extras: &[v1::SnapshotExtra],
    ) -> Result<Snapshot, CliError> {
        Ok(self.snapshot_then(session, extras).await?.0)
    }

    /// The same, with the moment that it is of, milliseconds since 1970; none for now.
    pub(crate) async fn snapshot_then(
        &self,
        session: &Session,
        extras: &[v1::SnapshotExtra],
    ) -> Result<(Snapshot, Option<i64>), CliError> {
        let (snapshot, shown) = session.snapshot_at(extras, self.moment()?).await?;
        self.tell(shown.as_ref())?;
        Ok((snapshot, shown.map(|shown| unix_ms(shown.time))))
    }

    /// Says which moment is shown when the first part of a file has come.
    pub(crate) fn tell_first<'a>(
        &'a self,
    ) -> impl FnMut(Option<v1::MomentShown>) -> Result<(), CliError> + 'a {
        let mut first = true;
        move |shown| match std::mem::take(&mut first) {
            true => self.tell(shown.as_ref()),
            false => Ok(()),
        }
    }

    /// Says which moment is shown.
    ///
    /// # Errors
    /// That the daemon is an older one, which shows the fabric of now.
    pub(crate) fn tell(&self, shown: Option<&v1::MomentShown>) -> Result<(), CliError> {
        match (&self.at, shown) {
            (None, _) => Ok(()),
            (Some(_), None) => Err(too_old()),
            (Some(_), Some(shown)) => {
                output::complain("weft: ", &words(shown));
                for warning in &shown.warnings {
                    output::complain("weft: ", warning);
                }
                Ok(())
            }
        }
    }
}

/// What is said of a daemon that does not know of moments.
pub(crate) fn too_old() -> CliError {
    CliError::Refused("this daemon is too old for --at: it only knows the fabric of now".to_owned())
}

/// The moment that an option of this name asks for.
pub(crate) fn moment(text: &str, option: &str) -> Result<v1::Moment, CliError> {
    let asked = asked(text, now_ms());
    let asked = asked.map_err(|why| CliError::Usage(format!("{option}: {why}")))?;
    Ok(v1::Moment {
        moment: Some(asked),
    })
}

fn asked(text: &str, now_ms: i64) -> Result<Asked, String> {
    let trimmed = text.trim();
    let number = |number: &str, of: &str, example: &str| {
        number
            .parse()
            .map_err(|_| format!("'{text}': expected the number of a {of}, such as {example}4711"))
    };
    if let Some(rest) = trimmed.strip_prefix(SWEEP) {
        return number(rest, "sweep", SWEEP).map(Asked::Sweep);
    }
    if let Some(rest) = trimmed.strip_prefix(GENERATION) {
        return number(rest, "generation", GENERATION).map(Asked::Generation);
    }
    let at = parse(text, now_ms)
        .map_err(|why| format!("{why}, or the end of a sweep such as {SWEEP}4711"))?;
    match at <= now_ms {
        true => Ok(Asked::Time(timestamp_ms(at))),
        false => Err(format!("'{text}' is yet to come")),
    }
}

/// A moment as JSON.
pub(crate) fn as_json(shown: &v1::MomentShown) -> serde_json::Value {
    serde_json::json!({
        "at": utc_json(shown.time),
        "since": utc_json(shown.since),
        "sweep": shown.sweep,
        "generation": shown.generation,
    })
}

/// A moment in words.
pub(crate) fn words(shown: &v1::MomentShown) -> String {
    let (time, since) = (unix_ms(shown.time), unix_ms(shown.since));
    format!(
        "the fabric of {} ({}), so since {}: generation {}, sweep {}",
        local(time),
        zone(time),
        local(since),
        shown.generation,
        shown.sweep
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_read_and_what_is_none_is_told() {
        let now = 1_795_620_600_000;
        let time = |ms| Ok(Asked::Time(timestamp_ms(ms)));
        assert_eq!(asked("-2h", now), time(now - 7_200_000));
        assert_eq!(asked("now", now), time(now));
        assert_eq!(asked("sweep:4711", now), Ok(Asked::Sweep(4711)));
        assert_eq!(asked("generation:7", now), Ok(Asked::Generation(7)));
        for (text, told) in [
            ("sweep:", "expected the number of a sweep"),
            ("sweep:-1", "expected the number of a sweep"),
            ("generation:x", "expected the number of a generation"),
            ("2038-01-01", "is yet to come"),
            ("yesterday", "or the end of a sweep such as sweep:4711"),
        ] {
            let error = asked(text, now).err().unwrap_or_default();
            assert!(error.contains(told), "{text}: {error}");
        }
    }
}
