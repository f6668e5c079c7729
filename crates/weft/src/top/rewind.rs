//! Which moment is shown after steps back or forth from reading to reading.

use weft_api::time::{seconds, timestamp_ms, unix_ms};
use weft_api::v1;

use super::state::State;

/// From one reading to the next where that is not known, milliseconds.
const USUAL_MS: i64 = 10_000;

/// The moment so many readings later, or earlier: halfway to the next one, so that the reading is the last before it. No
/// moment where that is now; nothing where there is nothing to step from, or nothing later.
pub(super) fn moment(state: &State, readings: i64, now_ms: i64) -> Option<Option<v1::Moment>> {
    let data = state.data.as_ref()?;
    let shown = unix_ms(data.loads.time);
    let span = match (seconds(data.loads.span) * 1000.0) as i64 {
        0 => USUAL_MS,
        span => span,
    };
    let asked = match state.at.as_ref().map(|at| &at.moment) {
        None if readings > 0 => return None,
        Some(Some(v1::moment::Moment::Time(time))) => unix_ms(Some(*time)),
        _ => shown,
    };
    // Over a gap, and where nothing is known, steps go on from what was asked for.
    let is_near = asked.saturating_sub(shown) < span;
    let from = match state.trouble.is_none() && (is_near || readings < 0) {
        true => shown,
        false => asked,
    };
    let steps = readings.saturating_mul(span);
    let at = from.saturating_add(steps).saturating_add(span / 2).max(0);
    Some((at < now_ms).then(|| v1::Moment {
        moment: Some(v1::moment::Moment::Time(timestamp_ms(at))),
    }))
}

#[cfg(test)]
mod tests {
    use weft_api::time::duration_ms;

    use super::*;
    use crate::args::{ScreenName, SortBy};
    use crate::top::data::Data;

    fn shows(time_ms: i64, span_ms: i64, at_ms: Option<i64>) -> State {
        let at = at_ms.map(|at| v1::Moment {
            moment: Some(v1::moment::Moment::Time(timestamp_ms(at))),
        });
        let loads = v1::ListBusiestLinksResponse {
            time: Some(timestamp_ms(time_ms)),
            span: Some(duration_ms(span_ms)),
            ..v1::ListBusiestLinksResponse::default()
        };
        let data = Data {
            loads,
            ..Data::default()
        };
        let mut state = State::new(ScreenName::Links, SortBy::Utilization);
        (state.at, state.data) = (at, Some(data));
        state
    }

    fn to(state: &State, readings: i64) -> Option<Option<i64>> {
        let moment = moment(state, readings, 1_000_000);
        moment.map(|at| {
            at.map(|at| match at.moment {
                Some(v1::moment::Moment::Time(time)) => unix_ms(Some(time)),
                _ => -1,
            })
        })
    }

    #[test]
    fn steps_lead_from_reading_to_reading() {
        let live = shows(990_000, 10_000, None);
        assert_eq!(to(&live, -1), Some(Some(985_000)));
        assert_eq!(to(&live, -10), Some(Some(895_000)));
        assert_eq!(to(&live, 1), None, "nothing is later than now");
        let past = shows(980_000, 10_000, Some(985_000));
        assert_eq!(to(&past, -1), Some(Some(975_000)));
        assert_eq!(to(&past, 1), Some(Some(995_000)));
        assert_eq!(to(&past, 10), Some(None), "that is now");
        assert_eq!(to(&shows(5_000, 0, Some(5_000)), -9), Some(Some(0)));
    }

    #[test]
    fn steps_cross_a_gap_and_go_on_where_nothing_is_known() {
        let gap = shows(500_000, 10_000, Some(515_000));
        assert_eq!(to(&gap, 1), Some(Some(530_000)));
        assert_eq!(to(&gap, -1), Some(Some(495_000)));
        let mut unknown = shows(500_000, 10_000, Some(400_000));
        unknown.trouble = Some("nothing is known".to_owned());
        assert_eq!(to(&unknown, -1), Some(Some(395_000)));
        let empty = State::new(ScreenName::Links, SortBy::Utilization);
        assert_eq!(to(&empty, -1), None);
    }
}
