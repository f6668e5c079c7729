//! Nodes as Slurm's `topology/tree` gives them out, with one tier of switches above the leaves: on the leaf switch with the
//! fewest that has enough, else below one switch on as few leaf switches as its best fit finds (Slurm's documentation,
//! "Topology Guide"). A test compares it with Slurm itself.

use std::collections::BTreeMap;

use weft_fabric::export::slurm::SlurmTopology;

use super::perform::ExperimentError;

/// The nodes of a job of so many: numbers of those that are free, each with its name.
///
/// # Errors
/// [`ExperimentError::Hosts`] when no switch has enough of them.
pub(super) fn best_fit(
    topology: &SlurmTopology,
    free: &[(u32, String)],
    wanted: usize,
) -> Result<Vec<u32>, ExperimentError> {
    let number: BTreeMap<&str, u32> = free.iter().map(|(at, name)| (name.as_str(), *at)).collect();
    let free_at = |leaf: &str| -> Vec<u32> {
        let nodes = topology.leaves.get(leaf).into_iter().flatten();
        let mut free: Vec<u32> = nodes
            .filter_map(|node| number.get(node.as_str()).copied())
            .collect();
        free.sort_unstable();
        free
    };
    let count = |leaves: &[Vec<u32>]| leaves.iter().map(Vec::len).sum::<usize>();
    // In the order of their first nodes, as Slurm has them in that of a file.
    let mut own: Vec<Vec<Vec<u32>>> = (topology.leaves.keys())
        .map(|leaf| vec![free_at(leaf)])
        .collect();
    own.sort_unstable();
    let above = topology.above.values();
    let above = above.map(|leaves| leaves.iter().map(|leaf| free_at(leaf)).collect());
    let fewest = |switches: &mut dyn Iterator<Item = Vec<Vec<u32>>>| {
        let enough = switches.filter(|leaves| count(leaves) >= wanted);
        enough.min_by_key(|leaves| count(leaves))
    };
    let found = fewest(&mut own.into_iter()).or_else(|| fewest(&mut above.into_iter()));
    let Some(mut leaves) = found else {
        return Err(ExperimentError::Hosts {
            what: format!(
                "no switch of the topology of Slurm has {wanted} hosts that are free, allowed: as many as one has below it"
            ),
        });
    };
    leaves.sort_unstable();
    Ok(fill(leaves, wanted))
}

/// As many nodes as wanted, in order: of the leaf with the fewest that has enough, else all of the one with the most, and so
/// on.
fn fill(mut leaves: Vec<Vec<u32>>, wanted: usize) -> Vec<u32> {
    let mut given: Vec<u32> = Vec::new();
    while given.len() < wanted {
        let left = wanted - given.len();
        let places = 0..leaves.len();
        let enough = places.clone().filter(|at| leaves[*at].len() >= left);
        let fits = enough.min_by_key(|at| leaves[*at].len());
        let largest = || places.min_by_key(|at| std::cmp::Reverse(leaves[*at].len()));
        let Some(at) = fits.or_else(largest) else {
            break;
        };
        given.extend(leaves.remove(at).into_iter().take(left));
    }
    given.sort_unstable();
    given
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::fs;
    use std::process::Command;

    use weft_dataplane::packets::Random;
    use weft_fabric::export::slurm::read_conf;
    use weft_interop::Slurmctld;

    use super::*;

    const TOPOLOGY: &str = "SwitchName=a Nodes=node[1-5]\nSwitchName=b Nodes=node[6-8]\n\
        SwitchName=c Nodes=node[9-12]\nSwitchName=d Nodes=node[13-16]\nSwitchName=root Switches=a,b,c,d\n";

    fn best(free: &[u32], wanted: usize) -> Result<Vec<u32>, ExperimentError> {
        let topology = read_conf(TOPOLOGY).unwrap();
        let free: Vec<(u32, String)> = free.iter().map(|at| (*at, format!("node{at}"))).collect();
        best_fit(&topology, &free, wanted)
    }

    #[test]
    fn too_many_are_refused() {
        assert_eq!(best(&[1, 7, 9], 3).unwrap(), [1, 7, 9]);
        assert!(best(&[1, 7, 9], 4).is_err());
        let apart = read_conf("SwitchName=a Nodes=node1\nSwitchName=b Nodes=node2\n").unwrap();
        let free = [1, 2].map(|at| (at, format!("node{at}")));
        assert!(best_fit(&apart, &free, 2).is_err());
    }

    /// Slurm's choice for a job, where these nodes have been given out. Nodes of a cloud need no slurmd to be chosen.
    #[test]
    fn slurm_chooses_the_same_nodes() {
        let stage = tempfile::tempdir().unwrap();
        fs::write(stage.path().join("topology.conf"), TOPOLOGY).unwrap();
        let lines = "TopologyPlugin=topology/tree\nResumeProgram=/bin/true\nSuspendProgram=/bin/true\n\
                     SuspendTime=3600\nNodeName=node[1-16] CPUs=1 NodeAddr=127.0.0.1 State=CLOUD";
        let Some(slurm) = Slurmctld::with(stage.path(), lines) else {
            return;
        };
        let Some(sbatch) = weft_peers::program("sbatch") else {
            return;
        };
        let mut random = Random::new(5);
        for _ in 0..60 {
            let (free, taken): (Vec<u32>, Vec<u32>) = (1..=16).partition(|_| random.below(4) > 0);
            let wanted = 2 + random.below(8) as usize;
            let Ok(found) = best(&free, wanted) else {
                continue;
            };
            let name = |at: &u32| format!("node{at}");
            let taken: Vec<String> = taken.iter().map(name).collect();
            let mut command = Command::new(&sbatch);
            command.env("SLURM_CONF", slurm.conf());
            command.args(["--test-only", "--wrap", "true", "-N", &wanted.to_string()]);
            command.arg(format!("--exclude={}", taken.join(",")));
            let told = command.output().unwrap().stderr;
            let told = String::from_utf8(told).unwrap();
            let (_, nodes) = told
                .split_once("on nodes ")
                .unwrap_or_else(|| panic!("{told}"));
            let nodes = nodes.split_whitespace().next().unwrap();
            let nodes = weft_fabric::export::slurm::expand(nodes).unwrap();
            let found: Vec<String> = found.iter().map(name).collect();
            assert_eq!(nodes, found, "{wanted} without {taken:?}");
        }
    }
}
