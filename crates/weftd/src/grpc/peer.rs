//! PeerService.

use tonic::{Request, Response, Status, Streaming};
use weft_api::v1;
use weft_api::v1::peer_service_server::PeerService;

use super::Services;
use crate::peer::{PeerStream, stream};

#[tonic::async_trait]
impl PeerService for Services {
    type WatchStateStream = PeerStream;

    async fn watch_state(
        &self,
        request: Request<Streaming<v1::WatchStateRequest>>,
    ) -> Result<Response<Self::WatchStateStream>, Status> {
        let address = request.remote_addr();
        let address = address.map_or_else(String::new, |address| address.to_string());
        let said = request.into_inner();
        let offer = &self.peering.offer;
        let stream = stream(offer, &self.hub, self.heartbeat, address, said)?;
        Ok(Response::new(stream))
    }
}
