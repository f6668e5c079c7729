//! PerfService.

use std::sync::Arc;
use std::time::Duration;

use tonic::{Request, Response, Status};
use weft_api::time::{duration, timestamp_s};
use weft_api::v1;
use weft_api::v1::perf_service_server::PerfService;
use weft_manager::pm::{Image, LinkView, Sending};

use super::Services;

/// Links of an answer where nothing is said, and at most.
const LINKS: (usize, usize) = (20, 1_000);

#[tonic::async_trait]
impl PerfService for Services {
    async fn list_busiest_links(
        &self,
        request: Request<v1::ListBusiestLinksRequest>,
    ) -> Result<Response<v1::ListBusiestLinksResponse>, Status> {
        let request = request.into_inner();
        let at = request.at.as_ref();
        let (image, then) = self.image_at(at).await?;
        let (usual, most) = LINKS;
        let limit = match request.limit as usize {
            0 => usual,
            limit => limit.min(most),
        };
        let order = request.order();
        // At many ports that takes milliseconds.
        let listed = tokio::task::spawn_blocking(move || busiest(&image, limit, order));
        let listed = listed
            .await
            .map_err(|error| Status::internal(error.to_string()))?;
        Ok(Response::new(v1::ListBusiestLinksResponse {
            attachment: self.attachment_at(at),
            time: then.as_ref().map_or(listed.time, |then| Some(then.time)),
            moment: then.map(|then| then.shown),
            ..listed
        }))
    }
}

impl Services {
    /// Refuses questions about counters that nobody reads; returns the interval at which they are read.
    pub(super) fn must_read_counters(&self) -> Result<Duration, Status> {
        let settings = self.query_settings.borrow();
        let interval = settings.pm.as_ref().map(|pm| pm.interval);
        interval.ok_or_else(is_off)
    }

    /// The last image, once it has one before it.
    pub(super) fn image(&self) -> Result<Arc<Image>, Status> {
        let interval = self.must_read_counters()?;
        let image = self.port_metrics.latest().filter(|image| image.span_ns > 0);
        image.ok_or_else(|| {
            let seconds = interval.as_secs();
            Status::failed_precondition(format!(
                "the performance manager has not read the ports' counters twice yet; it does so \
                 every {seconds} s (<SweepInterval> in section <Pm> of the configuration): ask \
                 again then"
            ))
        })
    }
}

/// The refusal of what needs the performance manager, where there is none.
pub(super) fn is_off() -> Status {
    Status::failed_precondition(
        "the performance manager is off, so nobody reads the ports' counters: set \
         <Start>1</Start> in section <Pm> of the configuration and reload it",
    )
}

fn busiest(image: &Image, limit: usize, order: v1::LinkOrder) -> v1::ListBusiestLinksResponse {
    let value = |sending: &Sending| match order {
        v1::LinkOrder::Unspecified | v1::LinkOrder::Utilization => sending.share,
        v1::LinkOrder::Data => sending.bytes_per_second,
        v1::LinkOrder::Wait => sending.wait,
        v1::LinkOrder::Congestion => f64::from(sending.congestion),
    };
    let most = |link: &LinkView<'_>| link.sending.iter().map(value).fold(0.0, f64::max);
    let mut links: Vec<(f64, LinkView<'_>)> =
        image.links().map(|link| (most(&link), link)).collect();
    let count = links.len() as u32;
    // Stable: equal ones stay in order.
    links.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    links.truncate(limit);
    v1::ListBusiestLinksResponse {
        image: image.number,
        time: Some(timestamp_s(image.unix_time)),
        span: Some(duration(image.span_ns)),
        links: count,
        busiest: links.into_iter().map(|(_, link)| link.into()).collect(),
        attachment: None,
        moment: None,
    }
}
