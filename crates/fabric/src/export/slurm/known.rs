//! The nodes that Slurm knows.

use std::collections::{BTreeMap, BTreeSet};

use super::TextError;
use super::hostlist::expand;

/// Slurm's nodes, and the hosts they are on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KnownNodes {
    /// Nodes of each host name.
    of_host: BTreeMap<String, BTreeSet<String>>,
    nodes: BTreeSet<String>,
}

impl KnownNodes {
    /// Reads the output of `scontrol show nodes` (with `-o` or without), lines `NodeName=…` of slurm.conf, or names and
    /// lists such as `node[1-32]` between spaces, commas and ends of lines. `#` begins a comment.
    ///
    /// # Errors
    /// The line that is nothing of that.
    pub fn read(text: &str) -> Result<Self, TextError> {
        let mut known = Self::default();
        let is_record = text
            .split_whitespace()
            .any(|word| value(word, "NodeName").is_some());
        // Names of the record that is read, until its host names are known.
        let mut open: Vec<String> = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default();
            let wrong = |what| TextError::new(index + 1, what);
            for word in line.split_whitespace() {
                if !is_record {
                    let names = expand(word.trim_end_matches(',')).map_err(wrong)?;
                    names
                        .into_iter()
                        .for_each(|name| known.add(name.clone(), name));
                } else if let Some(names) = value(word, "NodeName") {
                    open = match names.eq_ignore_ascii_case("DEFAULT") {
                        true => Vec::new(),
                        false => expand(names).map_err(wrong)?,
                    };
                    let names = open.iter().cloned();
                    names.for_each(|name| known.add(name.clone(), name));
                } else if let Some(hosts) = value(word, "NodeHostName") {
                    let hosts = expand(hosts).map_err(wrong)?;
                    known.on_hosts(&open, hosts);
                }
            }
        }
        Ok(known)
    }

    fn add(&mut self, host: String, node: String) {
        self.nodes.insert(node.clone());
        self.of_host.entry(host).or_default().insert(node);
    }

    /// Nodes on hosts of other names. Their own names then count for nothing.
    fn on_hosts(&mut self, nodes: &[String], hosts: Vec<String>) {
        if nodes.len() != hosts.len() {
            return;
        }
        for (node, host) in nodes.iter().zip(hosts) {
            if *node != host {
                if let Some(of_own) = self.of_host.get_mut(node) {
                    of_own.remove(node);
                }
                self.add(host, node.clone());
            }
        }
    }

    /// The nodes on a host; a name with a domain is tried without it too.
    pub fn on_host(&self, host: &str) -> impl Iterator<Item = &str> {
        let full = self.of_host.get(host);
        let short = || self.of_host.get(host.split('.').next()?);
        full.or_else(short)
            .into_iter()
            .flatten()
            .map(String::as_str)
    }

    /// Whether Slurm has a node of this name.
    pub fn contains(&self, node: &str) -> bool {
        self.nodes.contains(node)
    }

    /// All nodes.
    pub fn nodes(&self) -> impl ExactSizeIterator<Item = &str> {
        self.nodes.iter().map(String::as_str)
    }
}

/// The value of `KEY=value`; Slurm's keys have no case.
pub(super) fn value<'a>(word: &'a str, key: &str) -> Option<&'a str> {
    let (found, value) = word.split_once('=')?;
    found.eq_ignore_ascii_case(key).then_some(value)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn on(known: &KnownNodes, host: &str) -> Vec<String> {
        known.on_host(host).map(str::to_owned).collect()
    }

    #[test]
    fn all_forms_of_a_list_are_read() {
        let shown = "NodeName=n1 Arch=x86_64 CoresPerSocket=1\n   NodeAddr=n1 NodeHostName=alpha Version=22.05\n\n\
                     NodeName=n2 NodeAddr=n2 NodeHostName=n2\n";
        let known = KnownNodes::read(shown).unwrap();
        assert_eq!(known.nodes().collect::<Vec<_>>(), ["n1", "n2"]);
        assert_eq!(on(&known, "alpha"), ["n1"]);
        assert_eq!(on(&known, "n2.example.org"), ["n2"]);
        assert!(on(&known, "n1").is_empty());
        let configured = "NodeName=DEFAULT CPUs=4\nnodename=c[1-2] NodeHostName=h[1-2] # all\n";
        let known = KnownNodes::read(configured).unwrap();
        assert_eq!(on(&known, "h2"), ["c2"]);
        let listed = "n[1-3], n7\n# n8\nlogin,";
        let known = KnownNodes::read(listed).unwrap();
        let all = ["login", "n1", "n2", "n3", "n7"];
        assert_eq!(known.nodes().collect::<Vec<_>>(), all);
    }

    #[test]
    fn what_is_no_list_is_refused_with_its_line() {
        let error = KnownNodes::read("n1\n\nn[2-1]\n").unwrap_err();
        assert_eq!(error.line, 3);
        assert!(error.what.contains("backwards"), "{error}");
        assert_eq!(KnownNodes::read("").unwrap(), KnownNodes::default());
    }
}
