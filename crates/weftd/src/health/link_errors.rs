//! Tells when a link begins to have errors, and when it has none any more.

use std::collections::BTreeMap;

use weft_health::{End, Finding, Kind, Page};

use crate::event::DaemonEvent;

/// Links that were told to have errors, by the key of their finding; no more than a page lists.
#[derive(Debug, Default)]
pub(super) struct LinkErrorsTold(BTreeMap<u64, (End, Option<End>)>);

impl LinkErrorsTold {
    /// What is news in a page. A link of which another finding tells by now, as of one that is gone, is not called well.
    pub(super) fn news(&mut self, page: &Page) -> Vec<DaemonEvent> {
        let with_errors = page.findings.iter().filter(|one| one.kind == Kind::Errors);
        let mut news = Vec::new();
        let mut now = BTreeMap::new();
        for finding in with_errors {
            let key = finding.key();
            if self.0.remove(&key).is_none() {
                news.push(event(&finding.a, finding.b.as_ref(), Some(&finding.what)));
            }
            now.insert(key, (finding.a.clone(), finding.b.clone()));
        }
        for (a, b) in std::mem::replace(&mut self.0, now).into_values() {
            if !page.findings.iter().any(|finding| is_at(finding, &a)) {
                news.push(event(&a, b.as_ref(), None));
            }
        }
        news
    }

    /// Nobody watches the fabric any more.
    pub(super) fn forget(&mut self) {
        self.0.clear();
    }
}

/// Whether a finding tells of something wrong now at a port.
fn is_at(finding: &Finding, end: &End) -> bool {
    let ends = [Some(&finding.a), finding.b.as_ref()];
    let mut ends = ends.into_iter().flatten();
    finding.kind != Kind::PastErrors && ends.any(|one| (one.node, one.port) == (end.node, end.port))
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
    use weft_fabric::{Guid, PortNum};
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
        assert_eq!(told(&errors.news(&page(&[Kind::Errors]))), [true]);
        errors.forget();
        assert!(told(&errors.news(&page(&[]))).is_empty());
    }
}
