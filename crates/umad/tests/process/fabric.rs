//! A fabric that programs can reach, and that can go away.

use std::path::PathBuf;

use tempfile::TempDir;
use tokio::runtime::Runtime;
use weft_emulator::host::{HostHandle, spawn};
use weft_emulator::server::Server;
use weft_fabric::FabricSpec;
use weft_transport::Address;

pub(crate) struct Fabric {
    host: HostHandle,
    runtime: Runtime,
    path: PathBuf,
    directory: TempDir,
}

impl Fabric {
    pub(crate) fn start() -> Self {
        let spec: FabricSpec = "one-switch:3".parse().unwrap();
        let host = spawn(spec.generate().unwrap(), Default::default()).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("fabric.sock");
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let address = Address::Unix(path.clone());
        let server = runtime.block_on(Server::listen(&address, false)).unwrap();
        runtime.spawn(server.run(host.clone(), std::future::pending()));
        Self {
            host,
            runtime,
            path,
            directory,
        }
    }

    pub(crate) fn address(&self) -> Address {
        Address::Unix(self.path.clone())
    }

    /// Ends it with all its connections; the path of its socket is left.
    pub(crate) fn end(self) -> (PathBuf, TempDir) {
        self.runtime.block_on(self.host.stop());
        self.runtime.shutdown_background();
        (self.path, self.directory)
    }
}
