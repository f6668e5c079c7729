//! Debian's slurmctld, and slurmd for its nodes, as ordinary processes, with all their files in a directory of the test.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::Running;
use crate::wait::{free_address, wait_for};

/// A controller, killed when dropped.
#[derive(Debug)]
pub struct Slurmctld {
    _process: Running,
    scontrol: PathBuf,
    conf: PathBuf,
    log: PathBuf,
}

impl Slurmctld {
    /// Starts it in a directory with these nodes, in the topology of its topology.conf. `None` where it is not installed.
    pub fn start(directory: &Path, nodes: &str) -> Option<Self> {
        let nodes = format!(
            "TopologyPlugin=topology/tree\nSlurmdPort={}\nNodeName={nodes} CPUs=1 NodeAddr=127.0.0.1 State=UNKNOWN",
            free_address().port()
        );
        let slurm = Self::with(directory, &nodes)?;
        wait_for(|| (!slurm.show().is_empty()).then_some(()));
        Some(slurm)
    }

    /// Starts it in a directory with these lines in its slurm.conf, and waits until it answers: a slurmd that is there before
    /// it waits for minutes.
    pub fn with(directory: &Path, lines: &str) -> Option<Self> {
        let (slurmctld, scontrol) = (
            weft_peers::program("slurmctld")?,
            weft_peers::program("scontrol")?,
        );
        let [conf, log] = ["slurm.conf", "slurmctld.log"].map(|name| directory.join(name));
        fs::create_dir(directory.join("slurm-state")).unwrap();
        fs::write(&conf, configuration(directory, lines)).unwrap();
        let mut command = Command::new(slurmctld);
        command.arg("-D").arg("-f").arg(&conf);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let slurm = Self {
            _process: Running::start(&mut command),
            scontrol,
            conf,
            log,
        };
        wait_for(|| slurm.told(&["ping"]).contains(" is UP").then_some(()));
        Some(slurm)
    }

    /// The file that `SLURM_CONF` is to name.
    pub fn conf(&self) -> &Path {
        &self.conf
    }

    /// Starts the daemon of each of these nodes, which [`node_lines`] has declared. `None` where it is not installed.
    pub fn start_nodes(&self, names: &[&str]) -> Option<Vec<Running>> {
        let slurmd = weft_peers::program("slurmd")?;
        let start = |name: &&str| {
            let mut command = Command::new(&slurmd);
            command.args(["-D", "-N", name, "-f"]).arg(&self.conf);
            Running::start(command.stdout(Stdio::null()).stderr(Stdio::null()))
        };
        Some(names.iter().map(start).collect())
    }

    /// What it answers to `scontrol`.
    fn told(&self, args: &[&str]) -> String {
        let mut command = Command::new(&self.scontrol);
        command.env("SLURM_CONF", &self.conf).args(args);
        String::from_utf8_lossy(&command.output().unwrap().stdout).into_owned()
    }

    fn show(&self) -> String {
        self.told(&["show", "topology"])
    }

    /// What it has of each switch.
    pub fn topology(&self) -> BTreeMap<String, String> {
        let shown = self.show();
        let lines = shown
            .lines()
            .filter_map(|line| line.strip_prefix("SwitchName="));
        let parts = lines.filter_map(|line| line.split_once(' '));
        parts
            .map(|(name, rest)| (name.to_owned(), rest.trim().to_owned()))
            .collect()
    }

    /// How often it has read its files again.
    pub fn reconfigured(&self) -> usize {
        let log = fs::read_to_string(&self.log).unwrap();
        log.matches("Processing Reconfiguration Request").count()
    }
}

/// Lines of slurm.conf for nodes that run jobs, each with so many processors and a port of its own.
pub fn node_lines(directory: &Path, names: &[&str], processors: u32) -> String {
    let node = |name: &&str| {
        let port = free_address().port();
        format!("NodeName={name} CPUs={processors} NodeAddr=127.0.0.1 Port={port} State=UNKNOWN\n")
    };
    let nodes: String = names.iter().map(node).collect();
    let directory = directory.display();
    format!("TaskPlugin=task/none\nSlurmdPidFile={directory}/%n.pid\n{nodes}")
}

/// The user that the tests run as.
pub fn user() -> String {
    let user = Command::new("id").arg("-un").output().unwrap().stdout;
    String::from_utf8(user).unwrap().trim().to_owned()
}

fn configuration(directory: &Path, lines: &str) -> String {
    let at = |name: &str| directory.join(name).display().to_string();
    format!(
        "ClusterName=weft\nSlurmctldHost=localhost(127.0.0.1)\nSlurmUser={user}\nSlurmdUser={user}\n\
         SlurmctldPort={}\nAuthType=auth/none\nCredType=cred/none\n\
         StateSaveLocation={state}\nSlurmdSpoolDir={state}/%n\nSlurmctldPidFile={}\nSlurmctldLogFile={}\n\
         SwitchType=switch/none\nMpiDefault=none\nProctrackType=proctrack/linuxproc\n\
         SelectType=select/cons_tres\nSelectTypeParameters=CR_CPU\n\
         {lines}\nPartitionName=all Nodes=ALL Default=YES\n",
        free_address().port(),
        at("slurmctld.pid"),
        at("slurmctld.log"),
        user = user(),
        state = at("slurm-state"),
    )
}
