//! Weft's own daemon, with the configuration that the vendor's manager would get.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::fabric::{Fabric, library};
use crate::routes;
use crate::vendor_sm::SmSettings;

/// How often the fabric is looked at.
const PAUSE: Duration = Duration::from_millis(50);

/// A running daemon; it is killed when this is dropped.
#[derive(Debug)]
pub struct Weftd {
    child: Child,
    log: PathBuf,
}

impl Weftd {
    /// Starts it on the first host.
    ///
    /// # Panics
    /// When it cannot be built or started.
    pub fn start(fabric: &Fabric, settings: &SmSettings) -> Self {
        let directory = fabric.directory();
        let log = directory.join("weftd.log");
        let config = settings.write(fabric, "weftd", &log);
        let mut command = Command::new(program());
        command.arg("--config").arg(&config);
        command
            .arg("--connect")
            .arg(fabric.address().to_string())
            .args(["--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:0"])
            .args(["--log", "json", "--state-dir"])
            .arg(directory.join("state"));
        println!("weftd with {settings:?}");
        let child = command
            .stdin(Stdio::null())
            .stdout(File::create(&log).unwrap())
            .stderr(File::options().append(true).open(&log).unwrap())
            .spawn()
            .unwrap();
        Self { child, log }
    }

    /// What it has logged.
    pub fn log(&self) -> String {
        let bytes = std::fs::read(&self.log).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Waits until all ports of a fabric that have a link are active.
    ///
    /// # Panics
    /// When that takes longer than `patience`.
    pub fn brought_up(&self, fabric: &Fabric, patience: Duration) {
        let until = Instant::now() + patience;
        while !routes::all_active(&fabric.view()) {
            assert!(Instant::now() < until, "not active: {}", self.log());
            std::thread::sleep(PAUSE);
        }
    }
}

impl Drop for Weftd {
    fn drop(&mut self) {
        // It may have ended already.
        let _killed = self.child.kill();
        let _status = self.child.wait();
    }
}

/// The daemon's program, built if need be: it is another package's.
fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let library = library();
        let mut directory = library.parent().unwrap();
        if directory.ends_with("deps") {
            directory = directory.parent().unwrap();
        }
        let mut build = Command::new(env!("CARGO"));
        build.args(["build", "--quiet", "-p", "weftd", "--target-dir"]);
        build
            .arg(directory.parent().unwrap())
            .args(directory.ends_with("release").then_some("--release"));
        build
            .arg("--manifest-path")
            .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"));
        // What Cargo tells this test about its own package would make dependencies look changed.
        let own = std::env::vars_os().map(|(name, _)| name);
        for name in own.filter(|name| name.to_string_lossy().starts_with("CARGO_PKG_")) {
            build.env_remove(name);
        }
        build.env_remove("CARGO_MANIFEST_DIR");
        assert!(build.status().unwrap().success(), "weftd cannot be built");
        directory.join("weftd")
    })
}
