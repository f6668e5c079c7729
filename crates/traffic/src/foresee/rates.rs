//! Rates of pairs that share links: max-min fair in what each gets of what it wants.
//!
//! A pair stands for many flows; how many is not known. On a full link each pair gets the same part of what it wants.

use weft_dataplane::fluid::Shares;

use super::ways::Ways;
use super::{NoForecast, Stop};

/// Bytes a second that each pair gets of what it wants; 0 where packets do not arrive.
///
/// # Errors
/// [`NoForecast::Stopped`].
pub(super) fn rates(
    ways: &Ways,
    wanted: &[f64],
    capacities: &[f64],
    stop: Stop<'_>,
) -> Result<Vec<f64>, NoForecast> {
    let mut shares = Shares::new(capacities.len());
    for (pair, wanted) in wanted.iter().enumerate() {
        let (links, part) = ways.links(pair);
        shares.add(links.iter().map(|link| {
            let capacity = capacities[*link as usize].max(1.0);
            (*link, wanted * part / capacity)
        }));
    }
    let got = shares.rates_unless(stop).ok_or(NoForecast::Stopped)?;
    let got = got.into_iter().zip(wanted).enumerate();
    let rates = got.map(|(pair, (share, wanted))| match ways.links(pair).0 {
        [] => 0.0,
        _ => share * wanted,
    });
    Ok(rates.collect())
}
