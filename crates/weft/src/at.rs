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

/// What begins the number of a sweep.
const SWEEP: &str = "sweep:";

impl At {
    /// The moment to ask for; none for now.
    pub(crate) fn moment(&self) -> Result<Option<v1::Moment>, CliError> {
        let Some(text) = &self.at else {
            return Ok(None);
        };
        let asked = asked(text, now_ms());
        let asked = asked.map_err(|why| CliError::Usage(format!("--at: {why}")))?;
        Ok(Some(v1::Moment {
            moment: Some(asked),
        }))
    }

    /// The fabric then, or now.
    pub(crate) async fn snapshot(
        &self,
        session: &Session,
        extras: &[v1::SnapshotExtra],
    ) -> Result<Snapshot, CliError> {
        let (snapshot, shown) = session.snapshot_at(extras, self.moment()?).await?;
        self.tell(shown.as_ref())?;
        Ok(snapshot)
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
            (Some(_), None) => Err(CliError::Refused(
                "this daemon is too old for --at: it only knows the fabric of now".to_owned(),
            )),
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

fn asked(text: &str, now_ms: i64) -> Result<Asked, String> {
    match text.trim().strip_prefix(SWEEP) {
        Some(number) => number
            .parse()
            .map(Asked::Sweep)
            .map_err(|_| format!("'{text}': expected the number of a sweep, such as {SWEEP}4711")),
        None => {
            let at = parse(text, now_ms)
                .map_err(|why| format!("{why}, or the end of a sweep such as {SWEEP}4711"))?;
            match at <= now_ms {
                true => Ok(Asked::Time(timestamp_ms(at))),
                false => Err(format!("'{text}' is yet to come")),
            }
        }
    }
}

/// A moment in words.
fn words(shown: &v1::MomentShown) -> String {
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
        for (text, told) in [
            ("sweep:", "expected the number of a sweep"),
            ("sweep:-1", "expected the number of a sweep"),
            ("2038-01-01", "is yet to come"),
            ("yesterday", "or the end of a sweep such as sweep:4711"),
        ] {
            let error = asked(text, now).err().unwrap_or_default();
            assert!(error.contains(told), "{text}: {error}");
        }
    }
}
