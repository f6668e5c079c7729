//! What recording the states of a fabric takes, and reading one of them.

use std::sync::Arc;

use weft_api::snapshot::{of_pieces, pieces};
use weft_emulator::Options as EmulatorOptions;
use weft_fabric::{Administration, Snapshot};
use weft_history::{
    HistoryError, Reader, Recorder, StateAnswer, StateHead, StatePieces, StateQuestion, StateRecord,
};
use weft_manager::io::Command;
use weft_manager::sa::{self, SaSettings};
use weft_manager::sm::Settings;
use weft_routing::EngineKind;
use weft_testkit::{NoTap, World};

use crate::Failure;
use crate::bringup::{link_between_switches, sweep};
use crate::fabrics::{TreeOptions, new_tree};
use crate::memory::peak_mib;
use crate::routing::timed;
use crate::table::{Table, millis};

/// Time of the first state, milliseconds since 1970.
const START: i64 = 1_795_651_200_000;
/// Bytes that all files may have.
const BUDGET: u64 = 64 << 30;
/// Changes after which a state is read again.
const CHANGES: i64 = 100;

/// Measures and prints the table: a whole state and one after a lost link, each with what subnet administration knows,
/// compressed and written; then both are read, also after many changes, and made a snapshot again.
///
/// # Errors
/// [`Failure`] when a fabric cannot be made, does not come up, or its states cannot be kept.
pub fn run(options: &TreeOptions) -> Result<(), Failure> {
    let mut table = Table::new([
        "hosts",
        "administration ms",
        "whole: compare and compress ms",
        "write ms",
        "MiB",
        "lost link: compare ms",
        "KiB",
        "nothing changed ms",
        "read whole ms",
        "read after changes ms",
        "snapshot ms",
        "peak MiB",
    ]);
    for (hosts, radix) in options.trees() {
        let [before, after] = snapshots(hosts, radix)?;
        let (administered_s, before) = timed(|| administered(before));
        let after = administered(after);
        let dir = tempfile::tempdir().map_err(Failure::io("a directory"))?;
        let mut recorder = Recorder::open(dir.path(), BUDGET)?;
        let (whole_s, record) = timed(|| record(None, &before, START));
        let record = record?;
        let (write_s, written) = timed(|| recorder.state(record));
        written?;
        let whole = recorder.usage().states;
        let (change_s, change) = timed(|| self::record(Some(&before), &after, START + 1));
        recorder.state(change?)?;
        let changed = recorder.usage().states - whole;
        let same = Snapshot {
            generation: after.generation + 1,
            ..after.clone()
        };
        let (same_s, _) = timed(|| self::record(Some(&after), &same, START));
        let (first_s, first) = timed(|| read(dir.path(), START));
        for number in 2..CHANGES {
            let (from, to) = match number % 2 {
                0 => (&after, &before),
                _ => (&before, &after),
            };
            if recorder.needs_whole_state(START + number) {
                break;
            }
            recorder.state(self::record(Some(from), to, START + number)?)?;
        }
        let (last_s, _) = timed(|| read(dir.path(), START + CHANGES));
        let (snapshot_s, made) = timed(|| of_pieces(&first));
        made?;
        table.row([
            hosts.to_string(),
            millis(administered_s),
            millis(whole_s),
            millis(write_s),
            format!("{:.1}", whole as f64 / f64::from(1 << 20)),
            millis(change_s),
            format!("{:.1}", changed as f64 / 1024.0),
            millis(same_s),
            millis(first_s),
            millis(last_s),
            millis(snapshot_s),
            peak_mib("self").to_string(),
        ]);
    }
    print!("{table}");
    Ok(())
}

/// A fabric that has come up, and after a link between switches is lost.
fn snapshots(hosts: u64, radix: u8) -> Result<[Arc<Snapshot>; 2], Failure> {
    let topology = Arc::new(new_tree(hosts, radix)?);
    let mut settings = Settings::default();
    settings.routing.engine = EngineKind::FatTree;
    let mut world =
        World::new(topology, EmulatorOptions::default(), settings, NoTap)?.without_reader();
    sweep(&mut world)?;
    let before = world.snapshot();
    if let Some(cut) = link_between_switches(&before.topology) {
        world.control(cut)?;
    }
    world.command(Command::Sweep);
    sweep(&mut world)?;
    Ok([before, world.snapshot()])
}

/// The snapshot with what subnet administration knows.
fn administered(snapshot: Arc<Snapshot>) -> Snapshot {
    let settings = SaSettings::default();
    let administration = Administration {
        virtual_fabrics: sa::virtual_fabrics(&settings),
        device_groups: Some(sa::device_groups(&settings, Arc::clone(&snapshot))),
        quarantined: Some(sa::quarantined_nodes(&snapshot)),
        ..Administration::default()
    };
    Snapshot {
        administration: Arc::new(administration),
        ..snapshot.as_ref().clone()
    }
}

fn record(
    before: Option<&Snapshot>,
    now: &Snapshot,
    time_ms: i64,
) -> Result<StateRecord, HistoryError> {
    let head = StateHead {
        time_ms,
        sweep: 1,
        generation: now.generation,
    };
    let mut record = match before {
        Some(_) => StateRecord::changed(head),
        None => StateRecord::whole(head),
    };
    pieces(before, now, &mut |piece| {
        record.piece(piece.key, piece.before, piece.now)
    })?;
    Ok(record)
}

fn read(dir: &std::path::Path, time_ms: i64) -> StatePieces {
    let answer = Reader::new(dir).state(StateQuestion::At(time_ms), &mut |word| println!("{word}"));
    match answer {
        Ok(StateAnswer::Known(state)) => state.pieces,
        _ => StatePieces::new(),
    }
}
