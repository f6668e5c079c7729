//! From a moment to the page.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use weft_fabric::enums::SmState;

use crate::figures::figures;
use crate::findings::findings;
use crate::gone::Gone;
use crate::moment::Moment;
use crate::page::{Color, Finding, LISTED_MAX, Page};

/// Makes the page.
pub fn check(moment: &Moment<'_>) -> Page {
    let runs = moment.role == SmState::MASTER && moment.last_sweep.is_some();
    let (mut findings, gone) = match runs {
        true => (findings(moment), Gone::of(moment)),
        false => (Vec::new(), Gone::default()),
    };
    let figures = figures(moment, &findings);
    let mut counts = BTreeMap::new();
    for finding in &findings {
        *counts.entry(finding.kind).or_default() += 1;
    }
    let worst = findings.iter().map(|finding| finding.color).max();
    let worst = figures.iter().map(|figure| figure.color).max().max(worst);
    findings.sort_by_cached_key(cost);
    findings.truncate(LISTED_MAX);
    Page {
        unix_time: moment.now,
        generation: moment.snapshot.generation,
        color: worst.unwrap_or_default(),
        figures,
        findings,
        counts,
        gone,
    }
}

/// Order of findings: the most costly one first, equal ones by their place.
fn cost(finding: &Finding) -> impl Ord + use<> {
    (
        Reverse(finding.color),
        is_note(finding),
        finding.kind,
        Reverse(finding.hosts),
        finding.a.clone(),
        finding.b.clone(),
    )
}

/// What is only told goes last.
fn is_note(finding: &Finding) -> bool {
    finding.color == Color::Green
}
