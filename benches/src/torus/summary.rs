//! The table: means over fabrics.

use std::collections::BTreeMap;
use std::fmt;

use super::Router;
use super::drive::Driven;
use crate::table::Table;

/// Links gone, whether all routers route the fabric, and the traffic; in this order in the table.
type Place = (usize, bool, &'static str, usize);

/// All measurements.
#[derive(Debug, Default)]
pub(super) struct Summary {
    rows: BTreeMap<Place, Vec<Driven>>,
    /// Fabrics that a router did not route, by number of links gone and place of the router.
    refused: BTreeMap<(usize, usize), usize>,
}

fn place(router: Router) -> usize {
    let mut all = Router::ALL.iter();
    all.position(|one| *one == router).unwrap_or_default()
}

impl Summary {
    /// Adds a measurement of traffic on the tables of a router.
    pub(super) fn add(
        &mut self,
        (traffic, router, gone, by_all): (&'static str, Router, usize, bool),
        driven: &Driven,
    ) {
        let row = (gone, !by_all, traffic, place(router));
        self.rows.entry(row).or_default().push(*driven);
    }

    /// A router does not route a fabric.
    pub(super) fn refused(&mut self, router: Router, gone: usize) {
        *self.refused.entry((gone, place(router))).or_default() += 1;
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = Table::new([
            "links gone",
            "fabrics",
            "traffic",
            "tables of",
            "virtual lanes",
            "received at full load",
            "host with least",
            "saturated above",
            "lost",
            "deadlocks",
        ]);
        for (&(gone, not_by_all, traffic, router), driven) in &self.rows {
            let mean = |figure: fn(&Driven) -> f64| {
                let sum: f64 = driven.iter().map(figure).sum();
                format!("{:.1} %", 100.0 * sum / driven.len() as f64)
            };
            let lanes = driven.iter().map(|one| one.lanes).max().unwrap_or(0);
            let fabrics = match not_by_all {
                true => format!("{}, some routers refuse", driven.len()),
                false => driven.len().to_string(),
            };
            table.row([
                gone.to_string(),
                fabrics,
                traffic.to_owned(),
                Router::ALL[router].name().to_owned(),
                lanes.to_string(),
                mean(|one| one.accepted),
                mean(|one| one.least),
                mean(|one| one.saturation),
                driven.iter().map(|one| one.lost).sum::<u64>().to_string(),
                driven.iter().filter(|one| one.deadlock).count().to_string(),
            ]);
        }
        write!(f, "{table}")?;
        for ((gone, router), count) in &self.refused {
            let name = Router::ALL[*router].name();
            writeln!(
                f,
                "\n{name} does not route {count} of the fabrics with {gone} links gone."
            )?;
        }
        Ok(())
    }
}
