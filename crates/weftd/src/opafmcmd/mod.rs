//! Serves the vendor's command-line client, `opafmcmd`, at the sockets where it looks for a manager.
//!
//! | module | contents |
//! |---|---|
//! | `frame` | frames on them |
//! | `message` | messages in frames |
//! | `commands` | what messages ask for |
//! | `text`, `adaptive`, `loop_test` | answers with data |
//!
//! A client is this user or root. At most [`CLIENTS_MAX`] are served at a time, each for as long as it sends its
//! next frame within [`SILENCE_MAX`]; one that sends anything else than the protocol is disconnected.

mod adaptive;
mod commands;
mod frame;
mod loop_test;
mod message;
mod text;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::net::UnixStream;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tracing::{debug, info, warn};

pub(crate) use commands::Commands;
use commands::Manager;
use frame::{Frame, Kind};
use message::Message;

use crate::unix_socket::{Open, Socket, open};

/// Clients that are served at a time; more wait.
const CLIENTS_MAX: usize = 16;
/// Time within which a client sends its next frame, and takes an answer.
const SILENCE_MAX: Duration = Duration::from_secs(60);
/// Pause after a connection that could not be accepted.
const PAUSE: Duration = Duration::from_millis(100);

/// Serves at the sockets of a directory, for ever; where they cannot be made, this is logged and `opafmcmd` does
/// not reach this daemon.
pub(crate) async fn serve(dir: PathBuf, commands: Commands) {
    let instance = commands.instance;
    let names = [format!("sm_{instance}"), format!("pm_{instance}")];
    let sockets = names
        .each_ref()
        .map(|name| open(&dir.join(name), Open::ToOwner));
    let sockets = match sockets {
        [Ok(subnet), Ok(performance)] => [subnet, performance],
        [Err(error), _] | [_, Err(error)] => {
            warn!(
                event = "opafmcmd_unserved",
                "opafmcmd does not reach this daemon: {error}; --opafmcmd DIR names another directory, \
                 --opafmcmd off switches this off"
            );
            return std::future::pending().await;
        }
    };
    info!(
        event = "opafmcmd_served",
        "opafmcmd -i {instance} is served in {}",
        dir.display()
    );
    let [subnet, performance] = &sockets;
    let clients = Arc::new(Semaphore::new(CLIENTS_MAX));
    tokio::join!(
        accept(subnet, Manager::Subnet, &commands, &clients),
        accept(performance, Manager::Performance, &commands, &clients)
    );
}

async fn accept(socket: &Socket, manager: Manager, commands: &Commands, clients: &Arc<Semaphore>) {
    loop {
        let Ok(permit) = Arc::clone(clients).acquire_owned().await else {
            return; // never closed
        };
        let stream = match socket.listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                debug!(event = "opafmcmd_not_accepted", %error, "a client was not accepted");
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        let commands = commands.clone();
        tokio::spawn(async move {
            let _permit = permit;
            if let Err(why) = client(stream, manager, &commands).await {
                debug!(
                    event = "opafmcmd_disconnected",
                    "a client of opafmcmd's socket is disconnected: {why}"
                );
            }
        });
    }
}

/// Serves a client until it goes; why it is disconnected.
async fn client(
    mut stream: UnixStream,
    manager: Manager,
    commands: &Commands,
) -> Result<(), String> {
    let user = admit(&stream).map_err(|error| error.to_string())?;
    let mut open = false;
    loop {
        let frame = timeout(SILENCE_MAX, Frame::read(&mut stream)).await;
        let frame = frame.map_err(|_| "it sends nothing".to_owned())?;
        let Some(mut frame) = frame.map_err(|error| error.to_string())? else {
            return Ok(());
        };
        open |= frame.opens();
        if !open {
            return Err("it does not open the connection as opafmcmd does".to_owned());
        }
        if frame.kind == Kind::Data {
            let message = Message::of(&mut frame.payload);
            let mut message = message.ok_or("its message is too short")?;
            commands.carry_out(manager, user, &mut message).await;
        }
        let sent = timeout(SILENCE_MAX, stream.write_all(&frame.answer())).await;
        let sent = sent.map_err(|_| "it does not take its answer".to_owned())?;
        sent.map_err(|error| error.to_string())?;
    }
}

/// Admits clients of this user and of root; returns the user.
fn admit(stream: &UnixStream) -> io::Result<u32> {
    let user = stream.peer_cred()?.uid();
    match user == 0 || user == own_user()? {
        true => Ok(user),
        false => Err(io::Error::other(format!("user {user} has no access"))),
    }
}

/// The user that this process runs as.
fn own_user() -> io::Result<u32> {
    use std::os::unix::fs::MetadataExt;
    Ok(std::fs::metadata(Path::new("/proc/self"))?.uid())
}
