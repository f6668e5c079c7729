//! PeerService.

use std::time::Duration;

use tokio::time::timeout;
use tonic::{Request, Response, Status, Streaming};
use weft_api::v1;
use weft_api::v1::peer_service_server::PeerService;

use super::Services;
use crate::peer::{PeerStream, stream};

/// Time until the first message of a follower.
const FIRST_WITHIN: Duration = Duration::from_secs(5);

#[tonic::async_trait]
impl PeerService for Services {
    type WatchStateStream = PeerStream;

    async fn watch_state(
        &self,
        request: Request<Streaming<v1::WatchStateRequest>>,
    ) -> Result<Response<Self::WatchStateStream>, Status> {
        let address = request.remote_addr();
        let address = address.map_or_else(String::new, |address| address.to_string());
        let mut said = request.into_inner();
        // The first message has nothing to say, but one that is none is refused before the stream begins.
        let first = timeout(FIRST_WITHIN, said.message()).await;
        first
            .map_err(|_| Status::deadline_exceeded("the call does not begin with a message"))??;
        let offer = &self.peering.offer;
        let stopping = self.stopping.clone();
        let stream = stream(offer, &self.hub, self.heartbeat, address, said, stopping)?;
        Ok(Response::new(stream))
    }
}
