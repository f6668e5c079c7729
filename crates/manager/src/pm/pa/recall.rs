//! Queries that wait for an image on the disk.

use std::sync::Arc;

use weft_fabric::Tick;
use weft_wire::header::status;

use super::refuse;
use crate::gsi::Request;
use crate::pm::image::{Image, ImageName};
use crate::pm::{Pm, PmOutput};

/// Queries that wait at most; a further one is answered with status BUSY.
const WAITING_MAX: usize = 64;

/// A query that waits.
#[derive(Debug)]
pub(in crate::pm) struct Waiting {
    image: ImageName,
    request: Request,
}

impl Pm {
    /// Lets a query wait for an image, which is asked for unless it has been for another.
    pub(super) fn wait_for(&mut self, now: Tick, image: ImageName, request: Request) {
        if self.waiting.len() >= WAITING_MAX {
            let answer = refuse(&request, status::BUSY);
            return self.server.answer(now, &request, answer);
        }
        if self.waiting.iter().all(|other| other.image != image) {
            self.outputs.push_back(PmOutput::Recall(image));
        }
        self.waiting.push(Waiting { image, request });
    }

    /// Answers the queries that have waited for an image; none where it could not be read.
    pub(in crate::pm) fn recalled(
        &mut self,
        now: Tick,
        name: ImageName,
        image: Option<Arc<Image>>,
    ) {
        self.history.recalled(now, name, image);
        for query in self.who_waits_for(name) {
            self.reply(now, query.request);
        }
    }

    /// Tells the queries that have waited for an image to come again.
    pub(in crate::pm) fn recall_refused(&mut self, now: Tick, name: ImageName) {
        for query in self.who_waits_for(name) {
            let answer = refuse(&query.request, status::BUSY);
            self.server.answer(now, &query.request, answer);
        }
    }

    fn who_waits_for(&mut self, name: ImageName) -> Vec<Waiting> {
        let ready = self.waiting.extract_if(.., |query| query.image == name);
        ready.collect()
    }
}
