//! The library in processes that fork, wait for signals, use several threads, close descriptors
//! themselves, and lose their fabric.
#![allow(clippy::unwrap_used)]

mod fabric;

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use fabric::Fabric;

/// Time limit for a program.
const PATIENCE: Duration = Duration::from_secs(60);

/// The preload library, which is built with this test.
fn library() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let path = own.with_file_name("libweft_umad.so");
    assert!(path.exists(), "{} is not there", path.display());
    path
}

/// program.c, linked to the library.
fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/process/program.c");
        let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("umad_program");
        let library = library();
        let compiled = Command::new("cc")
            .args(["-w", "-pthread", "-o"])
            .args([&program, &source, &library])
            .arg(format!(
                "-Wl,-rpath,{}",
                library.parent().unwrap().display()
            ))
            .status();
        assert!(compiled.unwrap().success(), "program.c does not compile");
        program
    })
}

fn start(fabric: &Fabric, what: &str) -> Child {
    Command::new(program())
        .arg(what)
        .env("WEFT_EMULATOR", fabric.address().to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn line(child: &mut Child) -> String {
    let mut line = String::new();
    let stdout = child.stdout.as_mut().unwrap();
    BufReader::new(stdout).read_line(&mut line).unwrap();
    line.trim_end().to_owned()
}

/// Waits for the end of a program, which has to be a good one.
fn assert_ends_well(mut child: Child) {
    let until = Instant::now() + PATIENCE;
    while child.try_wait().unwrap().is_none() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(10));
    }
    // It may have ended.
    let _killed = child.kill();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {said}", output.status);
}

#[test]
fn children_use_the_library_whatever_the_parent_s_threads_were_doing() {
    let fabric = Fabric::start();
    assert_ends_well(start(&fabric, "fork"));
}

#[test]
fn a_child_does_not_keep_its_parent_alive_for_the_fabric() {
    let fabric = Fabric::start();
    let mut parent = start(&fabric, "orphan");
    let orphan = line(&mut parent);
    assert_ends_well(parent);
    assert!(Path::new("/proc").join(&orphan).exists(), "no child");
    assert_ends_well(start(&fabric, "serve"));
    let killed = Command::new("kill").arg(&orphan).status();
    assert!(killed.unwrap().success(), "the child was to live on");
}

#[test]
fn signals_are_for_the_program_s_own_threads() {
    let fabric = Fabric::start();
    assert_ends_well(start(&fabric, "signals"));
}

#[test]
fn the_end_of_the_fabric_wakes_everybody() {
    let fabric = Fabric::start();
    let mut waiting = start(&fabric, "end");
    assert_eq!(line(&mut waiting), "ready");
    // For threads to be waiting.
    std::thread::sleep(Duration::from_millis(200));
    let ended = Instant::now();
    fabric.end();
    assert_ends_well(waiting);
    assert!(ended.elapsed() < Duration::from_secs(5));
}

#[test]
fn nobody_waits_for_a_thread_that_connects() {
    let fabric = Fabric::start();
    let mut program = start(&fabric, "mute");
    assert_eq!(line(&mut program), "ready");
    let (path, directory) = fabric.end();
    let _ = std::fs::remove_file(&path);
    let mute = UnixListener::bind(&path).unwrap();
    writeln!(program.stdin.as_mut().unwrap()).unwrap();
    assert_ends_well(program);
    drop((mute, directory));
}

#[test]
fn a_descriptor_that_has_become_another_file_s_is_left_alone() {
    let fabric = Fabric::start();
    assert_ends_well(start(&fabric, "descriptors"));
}
