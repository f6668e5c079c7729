//! Tells when a link begins to have errors, and when it has none any more.

use std::collections::{BTreeMap, BTreeSet};

use weft_fabric::{Guid, PortNum};
use weft_health::{End, Finding, Kind, Page};

use crate::event::DaemonEvent;

/// A link, by the lower one of its ends.
type Link = (Guid, Option<PortNum>);

/// Links that were told to have errors, with their ends.
#[derive(Debug, Default)]
pub(super) struct LinkErrorsTold(BTreeMap<Link, (End, Option<End>)>);

impl LinkErrorsTold {
    /// What is news in a page. A link of which another finding tells by now, as of one that is gone, is called well when that is
    /// over; where a page does not list all findings, none is.
    pub(super) fn news(&mut self, page: &Page) -> Vec<DaemonEvent> {
        let with_errors = page.findings.iter().filter(|one| one.kind == Kind::Errors);
        let mut news = Vec::new();
        let mut now = BTreeSet::new();
        for Finding { a, b, what, .. } in with_errors {
            let link = b.iter().map(place).fold(place(a), Link::min);
            if self.0.insert(link, (a.clone(), b.clone())).is_none() {
                // The finding has the rest.
                let first = what.split("; ").next();
                news.push(event(a, b.as_ref(), first));
            }
            now.insert(link);
        }
        if page.left_out() > 0 {
            return news;
        }
        self.0.retain(|link, (a, b)| {
            let mut ends = b.iter().chain([&*a]);
            let is_told_of = |end| page.findings.iter().any(|finding| is_at(finding, end));
            let stays = now.contains(link) || ends.any(is_told_of);
            if !stays {
                news.push(event(a, b.as_ref(), None));
            }
            stays
        });
        news
    }

    /// Nobody watches the fabric any more.
    pub(super) fn forget(&mut self) {
        self.0.clear();
    }
}

fn place(end: &End) -> Link {
    (end.node, end.port)
}

/// Whether a finding tells of something wrong now at a port, or at all ports of its node.
fn is_at(finding: &Finding, end: &End) -> bool {
    let at_port = [Some(&finding.a), finding.b.as_ref()];
    let mut at_port = at_port.into_iter().flatten().map(place);
    let whole = matches!(
        finding.kind,
        Kind::MissingSwitch | Kind::MissingHost | Kind::Silent
    );
    match finding.kind {
        Kind::PastErrors | Kind::Drained => false,
        _ => at_port.any(|at| at == place(end) || (whole && at == (end.node, None))),
    }
}

fn event(a: &End, b: Option<&End>, errors: Option<&str>) -> DaemonEvent {
    DaemonEvent::LinkHealth {
        a: a.clone(),
        b: b.cloned(),
        errors: errors.map(str::to_owned),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use weft_health::Color;

    use super::*;

    fn end(node: u64) -> End {
        End {
            node: Guid(node),
            name: format!("switch {node}"),
            port: Some(PortNum(1)),
            serial: String::new(),
        }
    }

    fn page(kinds: &[Kind]) -> Page {
        let finding = |kind: &Kind| Finding {
            kind: *kind,
            color: Color::Yellow,
            what: "symbol errors".to_owned(),
            a: end(1),
            b: Some(end(2)),
            since: None,
            times: 1,
            hosts: 0,
            host_names: Vec::new(),
            advice: String::new(),
            next: String::new(),
        };
        Page {
            findings: kinds.iter().map(finding).collect(),
            ..Page::default()
        }
    }

    /// What is told of a link: errors, or that there are none any more.
    fn told(news: &[DaemonEvent]) -> Vec<bool> {
        let told = news.iter().map(|event| match event {
            DaemonEvent::LinkHealth { errors, .. } => errors.is_some(),
            other => panic!("{other:?}"),
        });
        told.collect()
    }

    #[test]
    fn errors_are_told_once_and_their_end_as_well() {
        let mut errors = LinkErrorsTold::default();
        assert!(told(&errors.news(&page(&[]))).is_empty());
        assert_eq!(told(&errors.news(&page(&[Kind::Errors]))), [true]);
        assert!(told(&errors.news(&page(&[Kind::Errors]))).is_empty());
        assert_eq!(told(&errors.news(&page(&[Kind::PastErrors]))), [false]);
        assert!(told(&errors.news(&page(&[]))).is_empty());
    }

    #[test]
    fn a_link_that_is_gone_is_not_well() {
        let mut errors = LinkErrorsTold::default();
        errors.news(&page(&[Kind::Errors]));
        assert!(told(&errors.news(&page(&[Kind::MissingLink]))).is_empty());
        assert!(told(&errors.news(&page(&[Kind::Errors]))).is_empty());
        assert_eq!(told(&errors.news(&page(&[Kind::Drained]))), [false]);
        assert_eq!(told(&errors.news(&page(&[Kind::Errors]))), [true]);
        errors.forget();
        assert!(told(&errors.news(&page(&[]))).is_empty());
    }

    #[test]
    fn a_link_is_one_link_from_both_ends_and_gone_with_its_switch() {
        let mut errors = LinkErrorsTold::default();
        errors.news(&page(&[Kind::Errors]));
        let mut turned = page(&[Kind::Errors]);
        let finding = &mut turned.findings[0];
        (finding.a, finding.b) = (end(2), Some(end(1)));
        assert!(told(&errors.news(&turned)).is_empty());
        let mut gone = page(&[Kind::MissingSwitch]);
        gone.findings[0].a.port = None;
        gone.findings[0].b = None;
        assert!(told(&errors.news(&gone)).is_empty());
        assert_eq!(told(&errors.news(&page(&[]))), [false]);
    }

    #[test]
    fn what_a_page_has_no_room_for_is_not_well() {
        let mut errors = LinkErrorsTold::default();
        errors.news(&page(&[Kind::Errors]));
        let mut full = page(&[]);
        full.counts.insert(Kind::Errors, 1);
        assert!(told(&errors.news(&full)).is_empty());
        assert_eq!(told(&errors.news(&page(&[]))), [false]);
    }
}
