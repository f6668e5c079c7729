//! An emulated fabric that programs can be run on.

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;

use tokio::runtime::Runtime;
use weft_emulator::host::{self, HostHandle};
use weft_emulator::io::Control;
use weft_emulator::server::Server;
use weft_emulator::{Emulator, Options};
use weft_fabric::Topology;
use weft_fabric::generate::FabricSpec;
use weft_testkit::view::{self, FabricView};
use weft_transport::Address;

/// Time limit for a tool, seconds, after which it is killed.
const PATIENCE_SECONDS: u32 = 120;

/// Output of a program, and whether it succeeded.
#[derive(Debug, Clone)]
pub struct Ran {
    /// Standard output, then standard error.
    pub text: String,
    /// Whether its exit status was 0.
    pub good: bool,
}

/// A running fabric; it stops when this is dropped.
#[derive(Debug)]
pub struct Fabric {
    handle: HostHandle,
    topology: Arc<Topology>,
    runtime: Runtime,
    address: Address,
    directory: tempfile::TempDir,
}

impl Fabric {
    /// Switches on a fabric as on the command line of `weft-emulator`.
    ///
    /// # Panics
    /// When it cannot be had.
    pub fn start(spec: &str) -> Self {
        let spec: FabricSpec = spec.parse().unwrap();
        Self::of(spec.generate().unwrap(), Options::default())
    }

    /// Switches on the nodes of `topology`.
    ///
    /// # Panics
    /// When there is no thread or socket to be had.
    pub fn of(topology: Topology, options: Options) -> Self {
        let topology = Arc::new(topology);
        let directory = tempfile::tempdir().unwrap();
        let address = Address::Unix(directory.path().join("fabric.sock"));
        let handle = host::spawn(Arc::clone(&topology), options).unwrap();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        let server = runtime.block_on(Server::listen(&address, false)).unwrap();
        runtime.spawn(server.run(handle.clone(), std::future::pending()));
        Self {
            handle,
            topology,
            runtime,
            address,
            directory,
        }
    }

    /// Its address for programs.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// The nodes and cables.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// The GUID of a host, by the first word of its description.
    ///
    /// # Panics
    /// When there is none.
    pub fn host(&self, name: &str) -> weft_fabric::Guid {
        let named = |node: &weft_fabric::Node| node.name().split(' ').next() == Some(name);
        let mut nodes = self.topology.nodes();
        nodes.find(|(_, node)| named(node)).unwrap().1.guid()
    }

    /// A directory of its own, which goes with it.
    pub fn directory(&self) -> PathBuf {
        self.directory.path().to_owned()
    }

    /// Changes it.
    ///
    /// # Panics
    /// When the change makes no sense.
    pub fn control(&self, control: Control) {
        let done = self.runtime.block_on(self.handle.control(control));
        done.unwrap();
    }

    /// Looks at it.
    ///
    /// # Panics
    /// When it has stopped.
    pub fn inspect<R: Send + 'static>(
        &self,
        look: impl FnOnce(&Emulator) -> R + Send + 'static,
    ) -> R {
        self.runtime.block_on(self.handle.inspect(look)).unwrap()
    }

    /// The state of its registers.
    pub fn view(&self) -> FabricView {
        self.inspect(|emulator| view::read(emulator.network()))
    }

    /// A program that will sit on a host: `node7`, or a GUID.
    pub fn command(&self, host: &str, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .env("LD_PRELOAD", library())
            .env("WEFT_EMULATOR", self.address.to_string())
            .env("WEFT_HOST", host)
            .env("OMP_NUM_THREADS", "1")
            .stdin(Stdio::null());
        command
    }

    /// Runs a program on a host to its end and returns its output; its command line is for a shell.
    ///
    /// # Panics
    /// When it cannot be run.
    pub fn run(&self, host: &str, line: &str) -> Ran {
        self.run_within(host, line, PATIENCE_SECONDS)
    }

    /// The same, killed after so many seconds.
    ///
    /// # Panics
    /// When it cannot be run.
    pub fn run_within(&self, host: &str, line: &str, seconds: u32) -> Ran {
        println!("{host}: {line}");
        let mut command = self.command(host, "timeout");
        command.args(["-k", "5", &seconds.to_string(), "sh", "-c"]);
        let Output {
            status,
            stdout,
            stderr,
        } = command.arg(line).output().unwrap();
        let text = [stdout, stderr].concat();
        Ran {
            text: String::from_utf8_lossy(&text).into_owned(),
            good: status.success(),
        }
    }
}

impl Drop for Fabric {
    fn drop(&mut self) {
        self.runtime.block_on(self.handle.stop());
    }
}

/// The preload library, which is built with this crate.
///
/// # Panics
/// When it is not where Cargo puts it.
pub fn library() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let mut places = own.ancestors().skip(1).take(2);
    let found = places.find_map(|place| {
        let path = place.join("libweft_umad.so");
        path.exists().then_some(path)
    });
    found.expect("libweft_umad.so is not beside the test")
}
