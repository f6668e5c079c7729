//! Debian's slurmctld as an ordinary process, with all its files in a directory of the test.

use std::collections::BTreeMap;
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use weft_interop::Running;

use crate::harness::{text, wait_for};
use crate::process::output;

/// A controller without nodes that run, killed when dropped.
pub(super) struct Slurmctld {
    _process: Running,
    scontrol: PathBuf,
    pub(super) conf: PathBuf,
    log: PathBuf,
}

impl Slurmctld {
    /// Starts it in a directory with these nodes. `None` where it is not installed.
    pub(super) fn start(directory: &Path, nodes: &str) -> Option<Self> {
        let (slurmctld, scontrol) = (
            weft_peers::program("slurmctld")?,
            weft_peers::program("scontrol")?,
        );
        let [conf, log] = ["slurm.conf", "slurmctld.log"].map(|name| directory.join(name));
        fs::create_dir(directory.join("slurm-state")).unwrap();
        fs::write(&conf, configuration(directory, nodes)).unwrap();
        let mut command = Command::new(slurmctld);
        command.arg("-D").arg("-f").arg(&conf);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let slurm = Self {
            _process: Running::start(&mut command),
            scontrol,
            conf,
            log,
        };
        wait_for(|| (!slurm.show().is_empty()).then_some(()));
        Some(slurm)
    }

    fn show(&self) -> String {
        let mut command = Command::new(&self.scontrol);
        command
            .env("SLURM_CONF", &self.conf)
            .args(["show", "topology"]);
        text(&output(&mut command).stdout)
    }

    /// What it has of each switch.
    pub(super) fn topology(&self) -> BTreeMap<String, String> {
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
    pub(super) fn reconfigured(&self) -> usize {
        let log = fs::read_to_string(&self.log).unwrap();
        log.matches("Processing Reconfiguration Request").count()
    }
}

fn configuration(directory: &Path, nodes: &str) -> String {
    let user = text(&Command::new("id").arg("-un").output().unwrap().stdout);
    let at = |name: &str| directory.join(name).display().to_string();
    format!(
        "ClusterName=weft\nSlurmctldHost=localhost(127.0.0.1)\nSlurmUser={}\n\
         SlurmctldPort={}\nSlurmdPort={}\nAuthType=auth/none\nCredType=cred/none\n\
         StateSaveLocation={}\nSlurmdSpoolDir={}\nSlurmctldPidFile={}\nSlurmctldLogFile={}\n\
         SwitchType=switch/none\nMpiDefault=none\nProctrackType=proctrack/linuxproc\n\
         SelectType=select/cons_tres\nSelectTypeParameters=CR_CPU\nTopologyPlugin=topology/tree\n\
         NodeName={nodes} CPUs=1 NodeAddr=127.0.0.1 State=UNKNOWN\nPartitionName=all Nodes=ALL Default=YES\n",
        user.trim(),
        free_port(),
        free_port(),
        at("slurm-state"),
        at("slurm-state"),
        at("slurmctld.pid"),
        at("slurmctld.log"),
    )
}

/// A port that nobody listens at.
fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}
