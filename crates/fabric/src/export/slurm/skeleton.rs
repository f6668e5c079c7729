//! Roots: one above everything of a fabric that nothing else joins.

use std::collections::{BTreeMap, BTreeSet};

use super::SlurmTopology;
use super::full::{Above, neighbours};
use super::hostlist::natural;
use super::place::View;

/// The name of a root; the second one is `fabric2`.
const ROOT: &str = "fabric";

/// Whether a name is that of a root.
pub(super) fn is_root(name: &str) -> bool {
    let number = name.strip_prefix(ROOT);
    number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Adds a root for each fabric in which no switch is above all leaves. One that the old file has keeps its name and its
/// leaves, also when the fabric is in parts for a while.
pub(super) fn with_roots(
    view: &View<'_>,
    leaves: &BTreeMap<String, BTreeSet<String>>,
    mut above: Above,
    old: Option<&SlurmTopology>,
) -> Above {
    let mut used: BTreeSet<String> = BTreeSet::new();
    let old_roots = old_roots(old);
    let groups = Groups::of(view, leaves, &above, &old_roots);
    for (root, names) in by_root(groups.all(), leaves, &old_roots) {
        let below: BTreeSet<&String> = above.values().flatten().collect();
        let tops = names.iter().filter(|name| !below.contains(name));
        let tops: BTreeSet<String> = tops.cloned().collect();
        let of_group = names.iter().filter(|name| leaves.contains_key(*name));
        let count = of_group.count();
        let joins_all = |top: &String| leaves_below(top, &above, leaves).len() == count;
        if !tops.iter().any(joins_all) {
            let name = root.unwrap_or_else(|| free(&used, old));
            used.insert(name.clone());
            above.insert(name, tops);
        }
    }
    above
}

/// A root's name that is neither used nor in the old file.
fn free(used: &BTreeSet<String>, old: Option<&SlurmTopology>) -> String {
    let is_free =
        |name: &String| !used.contains(name) && old.is_none_or(|old| !old.above.contains_key(name));
    let numbered = (2_u64..).map(|number| format!("{ROOT}{number}"));
    let mut names = std::iter::once(ROOT.to_owned()).chain(numbered);
    names.find(is_free).unwrap_or_default()
}

/// Groups with the same old root as one, in order of their first leaves, those with an old root first.
fn by_root(
    groups: Vec<BTreeSet<String>>,
    leaves: &BTreeMap<String, BTreeSet<String>>,
    old_roots: &BTreeMap<String, String>,
) -> Vec<(Option<String>, BTreeSet<String>)> {
    let mut rooted: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut others = Vec::new();
    for group in groups {
        let mut votes: BTreeMap<&String, usize> = BTreeMap::new();
        let roots = group.iter().filter_map(|name| old_roots.get(name));
        roots.for_each(|root| *votes.entry(root).or_default() += 1);
        let most = votes.iter().rev().max_by_key(|(_, votes)| **votes);
        match most {
            Some((root, _)) => rooted.entry((*root).clone()).or_default().extend(group),
            None => others.push(group),
        }
    }
    let first = |group: &BTreeSet<String>| {
        let own = group.iter().filter(|name| leaves.contains_key(*name));
        let first = own.min_by_key(|name| natural(name));
        first.cloned().unwrap_or_default()
    };
    others.sort_by_cached_key(|group| {
        let first = first(group);
        let (prefix, number, digits) = natural(&first);
        (prefix.to_owned(), number, digits)
    });
    let rooted = rooted.into_iter().map(|(root, group)| (Some(root), group));
    rooted
        .chain(others.into_iter().map(|group| (None, group)))
        .collect()
}

/// The root above each name of the old file.
fn old_roots(old: Option<&SlurmTopology>) -> BTreeMap<String, String> {
    let mut roots = BTreeMap::new();
    let Some(old) = old else {
        return roots;
    };
    for root in old.above.keys().filter(|name| is_root(name)) {
        let mut open: Vec<&String> = vec![root];
        while let Some(name) = open.pop() {
            for child in old.above.get(name).into_iter().flatten() {
                if !roots.contains_key(child) {
                    roots.insert(child.clone(), root.clone());
                    open.push(child);
                }
            }
        }
    }
    roots
}

/// The leaves at or below a switch.
fn leaves_below<'a>(
    top: &'a String,
    above: &'a Above,
    leaves: &BTreeMap<String, BTreeSet<String>>,
) -> BTreeSet<&'a String> {
    let mut met = BTreeSet::from([top]);
    let mut open = vec![top];
    while let Some(name) = open.pop() {
        let children = above.get(name).into_iter().flatten();
        open.extend(children.filter(|child| met.insert(*child)));
    }
    met.retain(|name| leaves.contains_key(*name));
    met
}

/// Names of the file that belong together, because switches are linked or because one stands above the other.
struct Groups {
    /// The name that stands for the group of each name; another one of the group, up to one that stands for itself.
    leads: BTreeMap<String, String>,
}

impl Groups {
    fn of(
        view: &View<'_>,
        leaves: &BTreeMap<String, BTreeSet<String>>,
        above: &Above,
        old_roots: &BTreeMap<String, String>,
    ) -> Self {
        let names = leaves.keys().chain(above.keys());
        let mut groups = Self {
            leads: names.map(|name| (name.clone(), name.clone())).collect(),
        };
        for (parent, children) in above {
            children.iter().for_each(|child| groups.join(parent, child));
        }
        groups.join_linked(view);
        groups.join_strays(view, old_roots);
        groups
    }

    fn lead(&self, name: &str) -> String {
        let mut name = name;
        while let Some(next) = self.leads.get(name).filter(|next| *next != name) {
            name = next;
        }
        name.to_owned()
    }

    fn join(&mut self, a: &str, b: &str) {
        let (a, b) = (self.lead(a), self.lead(b));
        if a != b {
            self.leads.insert(b, a);
        }
    }

    /// Joins what links of the fabric join, over switches that are not in the file too.
    fn join_linked(&mut self, view: &View<'_>) {
        let mut met = BTreeSet::new();
        for start in view.names.keys() {
            let (mut open, mut first) = (vec![*start], None::<String>);
            while let Some(id) = open.pop() {
                if !met.insert(id) {
                    continue;
                }
                open.extend(neighbours(view.topology, id));
                for name in [view.names[&id].clone(), view.leaf(id)] {
                    if self.leads.contains_key(&name) {
                        let first = first.get_or_insert_with(|| name.clone()).clone();
                        self.join(&first, &name);
                    }
                }
            }
        }
    }

    /// Joins what the fabric does not show now, and no root of the old file is above, with the largest group.
    fn join_strays(&mut self, view: &View<'_>, old_roots: &BTreeMap<String, String>) {
        let names = view.names.iter();
        let shown = names.flat_map(|(id, name)| [name.clone(), view.leaf(*id)]);
        let shown: BTreeSet<String> = shown.collect();
        let groups = self.all();
        let has_place = |name: &String| shown.contains(name) || old_roots.contains_key(name);
        let is_stray = |group: &&BTreeSet<String>| !group.iter().any(has_place);
        let others = groups.iter().filter(|group| !is_stray(group));
        let Some(largest) = others.max_by_key(|group| group.len()) else {
            return;
        };
        let lead = largest.iter().next().cloned().unwrap_or_default();
        for stray in groups.iter().filter(is_stray) {
            stray.iter().for_each(|name| self.join(&lead, name));
        }
    }

    fn all(&self) -> Vec<BTreeSet<String>> {
        let mut groups: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for name in self.leads.keys() {
            groups
                .entry(self.lead(name))
                .or_default()
                .insert(name.clone());
        }
        groups.into_values().collect()
    }
}
