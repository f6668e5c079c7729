//! Every kind of wrong cable on 1,152 hosts, alone, two at once and all at once: found by a sweep against the file of
//! PreDefinedTopology, and by the check against a file, against a baseline and without either; nothing else is found.

mod site;
mod table;

use std::collections::BTreeMap;

use weft_fabric::export::write_topology;
use weft_fabric::import::import_topology;
use weft_fabric::intended::{
    Cable, Difference, Fault, Faults, Intended, Look, Rules, compare, judge,
};
use weft_fabric::tree::{Odd, Tree};
use weft_fabric::{PortRef, Topology};

use crate::common::{World, fabric, latency};
use crate::unintended::{compared, faults, file};
use site::{Cabling, Site, TREE};
use table::WRONG;

/// What a node of a wrong cable's site is called, by its name, with the number of the row before it.
struct Names(BTreeMap<String, (usize, &'static str)>);

impl Names {
    fn of(topology: &Topology, rows: &[usize]) -> Self {
        let named = rows.iter().flat_map(|row| {
            let names = Site::of(topology, *row).names(topology);
            names.into_iter().map(|(name, role)| (name, (*row, role)))
        });
        Self(named.collect())
    }

    /// The name at the site; the node's own where it is at none.
    fn get(&self, name: &str) -> String {
        let role = self.0.get(name);
        role.map_or_else(|| name.to_owned(), |(_, role)| (*role).to_owned())
    }

    /// Something reported, with the number of the row to whose site it belongs.
    fn row(&self, name: &str, text: String) -> (usize, String) {
        (self.0.get(name).map_or(usize::MAX, |(row, _)| *row), text)
    }

    fn link(&self, a: &str, b: &str) -> String {
        let mut ends = [self.get(a), self.get(b)];
        ends.sort();
        ends.join("-")
    }

    fn cable(&self, cable: &Cable) -> String {
        self.link(&cable.a.node.name, &cable.b.node.name)
    }
}

type Reports = Vec<(usize, String)>;

fn sorted(reports: impl Iterator<Item = (usize, String)>) -> Reports {
    let mut all: Reports = reports.collect();
    all.sort();
    all
}

fn finding(
    names: &Names,
    [trusted, found]: [&str; 2],
    faults: Faults,
    enforced: Faults,
) -> (usize, String) {
    // A loop carries no data in any case.
    let is_loop = trusted == found;
    assert_eq!(
        enforced.is_empty(),
        is_loop,
        "{trusted} to {found}: {enforced}"
    );
    assert!(is_loop || enforced == faults);
    let what = match faults.contains(Fault::UndefinedLink) {
        true => "no such link",
        false => {
            assert!(faults.contains(Fault::NodeGuid) && faults.contains(Fault::PortGuid));
            "other node"
        }
    };
    let ends = (names.get(trusted), names.get(found));
    names.row(trusted, format!("{what} {}-{}", ends.0, ends.1))
}

/// What a sweep finds, without a manager.
fn judged(names: &Names, intended: &Intended, topology: &Topology) -> Reports {
    let rules = Rules::all(Look::Enforce);
    let (own, _) = topology.hfis().next().unwrap();
    let judgement = judge(intended, topology, own, &rules);
    assert!(judgement.own.is_empty());
    let name = |end: PortRef| topology.node(end.node).unwrap().name();
    let findings = judgement.findings.iter();
    sorted(findings.map(|one| {
        let ends = [name(one.trusted), name(one.found)];
        finding(
            names,
            ends.each_ref().map(|end| &**end),
            one.faults,
            one.enforced,
        )
    }))
}

fn difference(names: &Names, one: &Difference) -> (usize, String) {
    match one {
        Difference::SwappedLinks { intended, .. } => {
            let mut links = intended.each_ref().map(|cable| names.cable(cable));
            links.sort();
            let text = format!("swapped {} {}", links[0], links[1]);
            names.row(&intended[0].a.node.name, text)
        }
        Difference::MovedLink { intended, found } => {
            let text = format!("moved {} to {}", names.cable(intended), names.cable(found));
            names.row(&intended.a.node.name, text)
        }
        Difference::MissingLink { intended: cable } => names.row(
            &cable.a.node.name,
            format!("missing {}", names.cable(cable)),
        ),
        Difference::UnexpectedLink { found: cable } => {
            let text = format!("unexpected {}", names.cable(cable));
            names.row(&cable.a.node.name, text)
        }
        Difference::MissingNode { node, .. } => names.row(
            &node.name,
            format!("missing node {}", names.get(&node.name)),
        ),
        Difference::ReplacedNode {
            intended, found, ..
        } => {
            let both = [intended, found].map(|node| names.get(&node.name));
            let text = format!("replaced {} by {}", both[0], both[1]);
            names.row(&intended.name, text)
        }
        other => (usize::MAX, other.to_string()),
    }
}

/// What `weft check topology` finds against a file or a baseline.
fn checked(names: &Names, intended: &Intended, topology: &Topology) -> Reports {
    let found = compare(intended, topology);
    sorted(found.iter().map(|one| difference(names, one)))
}

fn odd(names: &Names, odd: &Odd) -> (usize, String) {
    match odd {
        Odd::Hosts {
            switch,
            found,
            usual,
        } => {
            let text = format!("hosts {} {found} for {usual}", names.get(&switch.name));
            names.row(&switch.name, text)
        }
        Odd::Pair {
            lower,
            upper,
            found,
            usual,
        } => {
            let link = names.link(&lower.name, &upper.name);
            names.row(&lower.name, format!("pair {link} {found} for {usual}"))
        }
        Odd::Sideways { link } => {
            let text = format!("within a tier {}", names.cable(link));
            names.row(&link.a.node.name, text)
        }
        other => (usize::MAX, other.to_string()),
    }
}

/// What it finds without either.
fn looked_at(names: &Names, topology: &Topology) -> Reports {
    let tree = Tree::of(topology);
    sorted(tree.odd.iter().map(|one| odd(names, one)))
}

/// What is to be reported of some rows.
fn expected(rows: &[usize], column: fn(&table::Wrong) -> &'static [&'static str]) -> Reports {
    sorted(rows.iter().flat_map(|row| {
        let texts = column(&WRONG[*row]).iter();
        texts.map(|text| (*row, (*text).to_owned()))
    }))
}

/// The right fabric, what was saved of it, and some wrong cables in it.
struct Case<'a> {
    right: &'a Topology,
    rows: &'a [usize],
}

impl Case<'_> {
    fn fabric(&self) -> Topology {
        let mut cables = Cabling::of(self.right);
        for row in self.rows {
            (WRONG[*row].make)(&mut cables, Site::of(self.right, *row));
        }
        cables.build()
    }

    fn names(&self) -> Names {
        Names::of(self.right, self.rows)
    }

    /// Compares what is reported of a fabric with the table.
    fn assert(&self, fabric: &Topology, sweep: &Reports, saved: [&Intended; 2]) {
        let (names, rows) = (self.names(), self.rows);
        let what: Vec<&str> = rows.iter().map(|row| WRONG[*row].what).collect();
        assert_eq!(*sweep, expected(rows, |one| one.sweep), "sweep: {what:?}");
        for (intended, kind) in saved.into_iter().zip(["file", "baseline"]) {
            let found = checked(&names, intended, fabric);
            assert_eq!(found, expected(rows, |one| one.check), "{kind}: {what:?}");
        }
        let found = looked_at(&names, fabric);
        assert_eq!(found, expected(rows, |one| one.tree), "tree: {what:?}");
    }
}

/// A file as people write it: the names of nodes at cables' ends left out, no LIDs, no managers but their own.
fn written(topology: &Topology) -> String {
    let text = file(topology);
    let (nodes, links) = text.split_once("<LinkSummary>").unwrap();
    let lines = links.lines();
    let lines = lines.filter(|line| !line.contains("<NodeDesc>") && !line.contains("<NodeType>"));
    let lines: Vec<&str> = lines.collect();
    format!("{nodes}<LinkSummary>{}", lines.join("\n"))
}

#[test]
fn each_wrong_cable_is_found_alone_and_with_each_other() {
    let right = fabric(TREE);
    let saved = [written(&right), file(&right)];
    let [of_file, baseline] = saved.map(|text| import_topology(text.as_bytes()).unwrap());
    let rows = 0..WRONG.len();
    let alone = rows.clone().map(|row| vec![row]);
    let two = rows.clone().flat_map(|a| (0..a).map(move |b| vec![b, a]));
    let cases = [vec![], rows.collect()].into_iter().chain(alone).chain(two);
    for rows in cases {
        let case = Case {
            right: &right,
            rows: &rows,
        };
        let fabric = case.fabric();
        let sweep = judged(&case.names(), &of_file, &fabric);
        case.assert(&fabric, &sweep, [&of_file, &baseline]);
    }
}

/// A manager that has swept a fabric, with a file of PreDefinedTopology.
fn up_with(topology: Topology, text: &str) -> World {
    let settings = compared(text, Look::Enforce);
    let mut world = World::with(topology, settings, latency(), None);
    world.sweep();
    world
}

/// What a manager exports, read again.
fn exported(world: &World) -> Intended {
    let mut text = Vec::new();
    write_topology(&world.manager.snapshot(), &mut text).unwrap();
    import_topology(&text).unwrap()
}

/// The baseline is what a manager exports of the right fabric once it is up; the wrong one is what it finds.
#[test]
fn a_manager_finds_them_all_on_an_emulated_fabric() {
    let right = fabric(TREE);
    let text = written(&right);
    let up = up_with(fabric(TREE), &text);
    assert_eq!(faults(&up).len(), 0);
    let baseline = exported(&up);
    let of_file = import_topology(text.as_bytes()).unwrap();
    let none = Case {
        right: &right,
        rows: &[],
    };
    none.assert(
        &up.manager.snapshot().topology,
        &vec![],
        [&of_file, &baseline],
    );

    let rows: Vec<usize> = (0..WRONG.len()).collect();
    let case = Case {
        right: &right,
        rows: &rows,
    };
    let world = up_with(case.fabric(), &text);
    let names = case.names();
    let told = faults(&world).into_iter().map(|fault| {
        let trusted = &fault.trusted.as_ref().unwrap().name;
        finding(
            &names,
            [trusted, &fault.found.name],
            fault.faults,
            fault.enforced,
        )
    });
    let sweep = sorted(told);
    case.assert(
        &world.manager.snapshot().topology,
        &sweep,
        [&of_file, &baseline],
    );
}
