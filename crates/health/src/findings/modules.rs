//! Modules of cables that measure what they should not.

use std::collections::{BTreeMap, BTreeSet};

use super::{Finder, point};
use crate::memory::LinkEnd;
use crate::modules::{ModuleFault, advice, module_faults};
use crate::page::{Finding, Kind};

impl Finder<'_> {
    /// Links with a module that measures something beyond a threshold, of which nothing has been told yet; of two such
    /// modules the one with the worse fault comes first.
    pub(super) fn modules(&mut self) {
        let cables = self.moment.cables;
        // Nearly all modules are as they should be.
        let faulty: BTreeMap<LinkEnd, Vec<ModuleFault>> = cables
            .modules()
            .map(|(end, module)| (end, module_faults(module, cables.get(end.0, end.1))))
            .filter(|(_, faults)| !faults.is_empty())
            .collect();
        let mut told = BTreeSet::new();
        for (end, here) in &faulty {
            let end = *end;
            let Some(far) = self.peer(end).filter(|_| !told.contains(&end)) else {
                continue;
            };
            if self.is_explained(end) || self.is_explained(far) {
                continue;
            }
            let is_alarm = |faults: &[ModuleFault]| faults.first().is_some_and(|one| one.is_alarm);
            let there = faulty
                .get(&far)
                .filter(|there| is_alarm(there) && !is_alarm(here));
            let (a, b, faults) = match there {
                Some(there) => (far, end, there),
                None => (end, far, here),
            };
            let Some(worst) = faults.first() else {
                continue;
            };
            let advice = advice(worst.cause).to_owned();
            let what = format!("the module at this end: {}", words(faults));
            let mut finding = self.at_link(Kind::Module, what, a, b);
            finding.advice = advice;
            finding.next = format!("weft port show {}", point(a));
            self.found.push(finding);
            told.extend([a, b]);
        }
        self.explain(told);
    }

    /// Tells with a finding about errors of a link what its modules say: errors follow from too little light.
    pub(super) fn tell_modules(&self, finding: &mut Finding, end: LinkEnd) {
        let far = self.peer(end);
        let ends = [
            ("the module at this end", Some(end)),
            ("that at the other end", far),
        ];
        for (name, end) in ends {
            let faults = end.map_or_else(Vec::new, |end| self.faults(end));
            if let Some(worst) = faults.first() {
                finding.what += &format!("; {name}: {}", words(&faults));
                finding.advice = advice(worst.cause).to_owned();
            }
        }
    }

    fn faults(&self, (guid, port): LinkEnd) -> Vec<ModuleFault> {
        let cables = self.moment.cables;
        let module = cables.module(guid, port);
        module.map_or_else(Vec::new, |module| {
            module_faults(module, cables.get(guid, port))
        })
    }
}

fn words(faults: &[ModuleFault]) -> String {
    let words: Vec<&str> = faults.iter().map(|fault| fault.what.as_str()).collect();
    words.join("; ")
}
