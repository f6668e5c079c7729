//! Runs in parts: by hand, as a job array of a real Slurm, under srun and under mpirun. What comes out is what comes
//! out of one run, byte for byte.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex};

use weft_interop::slurmctld::node_lines;
use weft_interop::{Running, Slurmctld, wait_for};

const SCENARIO: &str = "experiment T: parts\nfabric one-switch:4\nlinks on\nplot rate over bytes log Rates\n\
    case small\ntraffic osu_latency bytes=1 iterations=2\n\
    case sizes\ntraffic osu_bw window=2 skip=0 iterations=1\nsweep bytes 8 1K 64K\n\
    case runs\nruns 3\ntraffic uniform load=0.5 span=10us\n\
    case again\nbaseline small\ntraffic osu_latency bytes=1 iterations=2\npublished latency 0.93 5%\n";
/// Its cases, of which two do the same.
const CASES: usize = 5;
/// What is written of parts that are put together.
const OUTPUTS: [&str; 6] = [
    "--json",
    "parts.jsonl",
    "--svg",
    "parts",
    "--parquet",
    "parts",
];

fn weft_lab(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weft-lab"));
    command.current_dir(directory).args(["run", "t.scenario"]);
    command.args(arguments).output().unwrap()
}

fn done(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn refused(output: &Output, what: &str) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains(what), "{what:?}: {said}");
}

/// A directory with the scenario, and what it prints and writes in one piece.
struct Stage {
    directory: tempfile::TempDir,
    printed: String,
}

impl Stage {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("t.scenario"), SCENARIO).unwrap();
        let whole = weft_lab(
            directory.path(),
            &[
                "--json",
                "whole.jsonl",
                "--svg",
                "whole",
                "--parquet",
                "whole",
            ],
        );
        Self {
            printed: done(&whole),
            directory,
        }
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path().join(name)).unwrap()
    }

    /// That what parts have makes what one run has made.
    fn check(&self) {
        let arguments = [&["--parts", "parts"], &OUTPUTS[..]].concat();
        let together = weft_lab(self.path(), &arguments);
        assert_eq!(done(&together), self.printed);
        self.check_files();
    }

    fn check_files(&self) {
        assert_eq!(self.read("parts.jsonl"), self.read("whole.jsonl"));
        assert_eq!(self.read("parts/t-1.svg"), self.read("whole/t-1.svg"));
        let table = |directory: &str| {
            let file = self.path().join(directory).join("measurement.parquet");
            fs::read(file).unwrap()
        };
        assert!(table("parts") == table("whole"));
    }

    /// Cases that were performed for the files of parts.
    fn performed(&self) -> Vec<usize> {
        let files = fs::read_dir(self.path().join("parts")).unwrap();
        let files = files.map(|file| file.unwrap().path());
        let mut states: Vec<_> = files
            .filter(|file| file.extension().is_some_and(|ending| ending == "state"))
            .collect();
        states.sort();
        let cases = |file| fs::read_to_string(file).unwrap().matches("case\t").count();
        states.iter().map(cases).collect()
    }
}

#[test]
fn parts_together_are_one_run() {
    let stage = Stage::new();
    let run = |arguments: &[&str]| weft_lab(stage.path(), arguments);
    refused(&run(&["--parts", "parts"]), "parts: No such file");
    let first = done(&run(&["--parts", "parts", "--only", "1/3"]));
    assert_eq!(first, format!("parts/1-of-3.state: 2 of {CASES} cases\n"));
    refused(
        &run(&["--parts", "parts"]),
        "no outcome of case \"sizes, bytes 8\" and 2 others of 5",
    );
    // A comment and another name are no reason to perform a case again, in another number of parts.
    let other = SCENARIO.replace("case small", "# The same.\ncase little");
    fs::write(
        stage.path().join("t.scenario"),
        other.replace("baseline small", ""),
    )
    .unwrap();
    done(&run(&["--parts", "parts", "--only", "1/1"]));
    assert_eq!(stage.performed(), [3, 2]);
    fs::write(stage.path().join("t.scenario"), SCENARIO).unwrap();
    stage.check();
    // What is missing is performed on request.
    fs::remove_file(stage.path().join("parts/1-of-3.state")).unwrap();
    refused(&run(&["--parts", "parts"]), "--resume");
    assert_eq!(done(&run(&["--parts", "parts", "--resume"])), stage.printed);
    refused(&run(&["--only", "1/3"]), "--parts");
    refused(&run(&["--parts", "parts", "--only", "4/3"]), "PART/PARTS");
    refused(
        &run(&["--parts", "parts", "--only", "1/3", "--csv"]),
        "--csv",
    );
    refused(&run(&["--resume"]), "--resume is for");
}

/// A Slurm with two nodes.
struct Slurm {
    _nodes: Vec<Running>,
    controller: Slurmctld,
    _directory: tempfile::TempDir,
}

impl Slurm {
    fn start() -> Option<Self> {
        for program in ["sbatch", "srun", "scontrol"] {
            weft_peers::program(program)?;
        }
        let directory = tempfile::tempdir().unwrap();
        let lines = node_lines(directory.path(), &["one", "two"], 2);
        let controller = Slurmctld::with(directory.path(), &lines)?;
        Some(Self {
            _nodes: controller.start_nodes(&["one", "two"])?,
            controller,
            _directory: directory,
        })
    }

    fn command(&self, program: &str, directory: &Path) -> Command {
        let mut command = Command::new(program);
        command.env("SLURM_CONF", self.controller.conf());
        command.current_dir(directory);
        command
    }
}

#[test]
fn a_job_array_of_slurm_makes_what_one_run_makes() {
    let Some(slurm) = Slurm::start() else { return };
    let stage = Stage::new();
    let array = |more: &[&str]| {
        let mut command = slurm.command(env!("CARGO_BIN_EXE_weft-lab"), stage.path());
        command.args(["run", "t.scenario", "--parts", "parts", "--slurm"]);
        command.args(more).output().unwrap()
    };
    refused(&array(&["6"]), "there are 5 cases");
    let told = done(&array(&["3", "--sbatch=--time=5", "--json", "parts.jsonl"]));
    assert_eq!(
        told,
        "id=$(sbatch --parsable parts/array.sh)\n\
         sbatch --dependency=afterok:$id --kill-on-invalid-dep=yes parts/merge.sh\n"
    );
    for script in ["parts/array.sh", "parts/merge.sh"] {
        assert!(
            stage.read(script).contains("#SBATCH --time=5\n"),
            "{script}"
        );
    }
    assert!(!stage.path().join("parts/results.txt").exists());
    let told = done(&array(&[&["3", "--submit"], &OUTPUTS[..]].concat()));
    let jobs: Vec<&str> = told.split_whitespace().collect();
    let [_, "parts", merge, "results"] = jobs[..] else {
        panic!("{told}");
    };
    wait_for(|| {
        let mut command = slurm.command("scontrol", stage.path());
        let told = command.args(["show", "job", merge]).output().unwrap();
        let told = String::from_utf8(told.stdout).unwrap();
        let failed = ["FAILED", "CANCELLED", "TIMEOUT"]
            .iter()
            .any(|state| told.contains(state));
        assert!(!failed, "{told}");
        told.contains("JobState=COMPLETED").then_some(())
    });
    assert_eq!(stage.read("parts/results.txt"), stage.printed);
    assert_eq!(stage.read("parts/results.log"), "");
    assert_eq!(stage.performed(), [2, 2, 1]);
    stage.check_files();
    let log = stage.read("parts/part-3.log");
    assert_eq!(log, format!("parts/3-of-3.state: 1 of {CASES} cases\n"));
}

#[test]
fn srun_gives_each_rank_its_part() {
    let Some(slurm) = Slurm::start() else { return };
    let stage = Stage::new();
    let mut command = slurm.command("srun", stage.path());
    command.args(["-n", "4", env!("CARGO_BIN_EXE_weft-lab")]);
    ranks(&stage, &mut command);
    assert_eq!(stage.performed(), [2, 1, 1, 1]);
}

#[test]
fn mpirun_gives_each_rank_its_part() {
    let Some(mpirun) = weft_peers::program("mpirun") else {
        return;
    };
    let stage = Stage::new();
    let mut command = Command::new(mpirun);
    command.args(["-n", "2", "--oversubscribe"]);
    // Open MPI refuses to start anything for root without both.
    for name in ["OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] {
        command.env(name, "1");
    }
    command.arg(env!("CARGO_BIN_EXE_weft-lab"));
    ranks(&stage, command.current_dir(stage.path()));
    assert_eq!(stage.performed(), [3, 2]);
}

/// Lets the program be started as several ranks, and looks at what they have made.
fn ranks(stage: &Stage, command: &mut Command) {
    let arguments = ["run", "t.scenario", "--parts", "parts", "--only", "rank"];
    done(&command.args(arguments).output().unwrap());
    stage.check();
}

/// Who waits has what one run has made, as soon as the parts have.
#[test]
fn who_waits_puts_together_what_parts_make() {
    let stage = Stage::new();
    let mut command = Command::new(env!("CARGO_BIN_EXE_weft-lab"));
    command
        .current_dir(stage.path())
        .args(["run", "t.scenario", "--parts", "parts", "--wait"]);
    command
        .args(OUTPUTS)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let waiting = command.spawn().unwrap();
    for part in ["1/2", "2/2"] {
        done(&weft_lab(
            stage.path(),
            &["--parts", "parts", "--only", part],
        ));
    }
    let output = waiting.wait_with_output().unwrap();
    assert_eq!(done(&output), stage.printed);
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    stage.check_files();
    refused(&weft_lab(stage.path(), &["--wait"]), "--parts");
}

/// What a program writes on a terminal.
struct Terminal {
    child: Child,
    said: Arc<Mutex<Vec<u8>>>,
}

impl Terminal {
    fn run(directory: &Path, arguments: &str) -> Self {
        let program = env!("CARGO_BIN_EXE_weft-lab");
        let line = format!("stty cols 140 rows 24; exec {program} run t.scenario {arguments}");
        let mut command = Command::new("script");
        command.current_dir(directory).env("TERM", "xterm");
        command
            .args(["-qefc", &line, "/dev/null"])
            .stdin(Stdio::null());
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut output = child.stdout.take().unwrap();
        let said = Arc::new(Mutex::new(Vec::new()));
        let copy = said.clone();
        std::thread::spawn(move || {
            let mut piece = [0; 4_096];
            while let Ok(count @ 1..) = output.read(&mut piece) {
                copy.lock().unwrap().extend_from_slice(&piece[..count]);
            }
        });
        Self { child, said }
    }

    fn wait_for(&self, what: &str) {
        wait_for(|| {
            let said = self.said.lock().unwrap();
            String::from_utf8_lossy(&said).contains(what).then_some(())
        });
    }
}

/// The bar of who waits, and of each part, has the cases of all parts.
#[test]
fn one_bar_has_the_cases_of_all_parts() {
    if weft_peers::program("script").is_none() {
        return;
    }
    let stage = Stage::new();
    let mut waiting = Terminal::run(stage.path(), "--parts parts --wait");
    waiting.wait_for("0 of 5 cases of all parts");
    done(&weft_lab(
        stage.path(),
        &["--parts", "parts", "--only", "1/3"],
    ));
    waiting.wait_for("2 of 5 cases of all parts");
    let mut part = Terminal::run(stage.path(), "--parts parts --only 2/3");
    part.wait_for("of 5 cases of all parts");
    assert!(part.child.wait().unwrap().success());
    waiting.wait_for("4 of 5 cases of all parts");
    done(&weft_lab(
        stage.path(),
        &["--parts", "parts", "--only", "3/3"],
    ));
    assert!(waiting.child.wait().unwrap().success());
    waiting.wait_for("T: parts");
}
