//! Deadlock freedom of answers. A connection is opened with the service level of the
//! path there, and both ends use it: the answers travel in the lane of the LID that received the
//! request, not in that of their destination LID.

use weft_fabric::{Lanes, Lid};

use super::classes::{Class, coarse, fine};
use super::dependency::Dependencies;
use super::follow::run;
use super::view::{End, View};
use super::{Judged, Tables};

/// Whether in each lane what goes to its LIDs and what their owners answer, to whichever LID, close
/// no cycle of dependencies.
pub(super) fn are_covered(judged: &Judged, tables: Tables<'_>) -> bool {
    let lanes = tables.linear.lanes();
    if lanes.count() < 2 {
        return true;
    }
    let mut data = coarse(&judged.view);
    data.retain(|class| class.is_data);
    let mut graphs = (0..).zip(&judged.graphs);
    graphs.all(|(lane, asked)| {
        let view = answering(&judged.view, lanes, lane);
        let closes = |classes: &[Class]| closes(&view, tables, classes, asked);
        !closes(&data) || !closes(&fine(&view, &data))
    })
}

/// The fabric in which only switches send that have an HFI with a LID in the lane.
fn answering(view: &View, lanes: &Lanes, lane: u8) -> View {
    let mut view = view.clone();
    view.sends.fill(false);
    let is_asked = |end: &&End| {
        let mut lids = end.lid..end.lid + end.lids;
        end.is_hfi() && lids.any(|lid| lanes.of(Lid(lid)) == lane)
    };
    for end in view.ends.iter().filter(is_asked) {
        view.sends[end.switch as usize] = true;
    }
    view
}

/// Whether traffic to these classes closes a cycle with the requests.
fn closes(view: &View, tables: Tables<'_>, classes: &[Class], asked: &Dependencies) -> bool {
    let (_, answers) = run(view, &[tables], classes);
    !answers.merge(asked).cyclic(view).is_empty()
}
