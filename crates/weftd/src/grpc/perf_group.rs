//! PerfGroupService.

use std::sync::Arc;

use tokio::task;
use tonic::{Request, Response, Status};
use weft_api::v1;
use weft_api::v1::perf_group_service_server::PerfGroupService;
use weft_manager::pm::{Image, PmSettings};

use super::Services;
use super::counters::{focus, places};
use super::counters_then::image_message;
use super::facts::Facts;
use super::page::{Page, read_mask};
use super::perf::is_off;
use super::refusal::{not_there, wrong_field_with};

/// Ports of a page where nothing is said, and at most.
const PORTS: (usize, usize) = (100, 1_000);
/// Groups that one request may name: more than there can be.
const NAMES_MAX: usize = 16;

#[tonic::async_trait]
impl PerfGroupService for Services {
    async fn list_perf_groups(
        &self,
        request: Request<v1::ListPerfGroupsRequest>,
    ) -> Result<Response<v1::ListPerfGroupsResponse>, Status> {
        let v1::ListPerfGroupsRequest { names, at } = request.into_inner();
        if names.len() > NAMES_MAX {
            let what = format!("{} names, allowed are up to {NAMES_MAX}", names.len());
            return Err(wrong_field_with("names", &what, Facts::limit(NAMES_MAX)));
        }
        let (image, then) = self.image_at(at.as_ref()).await?;
        let settings = self.pm_settings()?;
        // At many ports that takes milliseconds.
        let told = image_message(&image, then.as_ref());
        let listed = task::spawn_blocking(move || groups(&image, &names, &settings)).await;
        let listed = listed.map_err(|error| Status::internal(error.to_string()))??;
        Ok(Response::new(v1::ListPerfGroupsResponse {
            image: Some(told),
            attachment: self.attachment_at(at.as_ref()),
            moment: then.map(|then| then.shown),
            ..listed
        }))
    }

    async fn list_group_ports(
        &self,
        request: Request<v1::ListGroupPortsRequest>,
    ) -> Result<Response<v1::ListGroupPortsResponse>, Status> {
        let request = request.into_inner();
        let page = Page::new(request.page_size, &request.page_token, PORTS)?;
        let (image, then) = self.image_at(request.at.as_ref()).await?;
        let told = image_message(&image, then.as_ref());
        let attachment = self.attachment_at(request.at.as_ref());
        let listed = task::spawn_blocking(move || ports(&image, &request, page)).await;
        let listed = listed.map_err(|error| Status::internal(error.to_string()))??;
        Ok(Response::new(v1::ListGroupPortsResponse {
            image: Some(told),
            attachment,
            moment: then.map(|then| then.shown),
            ..listed
        }))
    }

    async fn get_perf_config(
        &self,
        _: Request<v1::GetPerfConfigRequest>,
    ) -> Result<Response<v1::GetPerfConfigResponse>, Status> {
        self.must_be_master()?;
        Ok(Response::new((&self.pm_settings()?).into()))
    }
}

impl Services {
    fn pm_settings(&self) -> Result<PmSettings, Status> {
        self.query_settings.borrow().pm.clone().ok_or_else(is_off)
    }
}

fn groups(
    image: &Arc<Image>,
    names: &[String],
    settings: &PmSettings,
) -> Result<v1::ListPerfGroupsResponse, Status> {
    let wanted = match names.is_empty() {
        true => (0..image.roster.groups.len()).collect(),
        false => {
            let places = names.iter().map(|name| place(image, "names", name));
            places.collect::<Result<Vec<usize>, Status>>()?
        }
    };
    let groups = wanted.into_iter();
    let groups = groups.map(|group| v1::PerfGroup::of(image, group, &settings.thresholds));
    Ok(v1::ListPerfGroupsResponse {
        image: None,
        groups: groups.collect(),
        attachment: None,
        moment: None,
    })
}

fn ports(
    image: &Image,
    request: &v1::ListGroupPortsRequest,
    page: Page,
) -> Result<v1::ListGroupPortsResponse, Status> {
    let mask = read_mask("GroupPort", request.read_mask.as_ref())?;
    let group = place(image, "group", &request.group)?;
    let options = focus(&image.roster.snapshot, &request.point)?;
    let mut inside = vec![None; image.roster.ports.len()];
    for (place, internal) in image.group_ports(group) {
        inside[place] = Some(internal);
    }
    let chosen = places(&image.roster, &options).into_iter();
    let chosen = chosen.filter_map(|(key, place)| Some((key, (place, inside[place]?))));
    let (page, next_page_token) = page.cut(chosen);
    let ports = page.into_iter();
    let ports = ports.filter_map(|(place, internal)| v1::GroupPort::of(image, place, internal));
    Ok(v1::ListGroupPortsResponse {
        image: None,
        ports: ports.map(|port| mask.of(port)).collect(),
        next_page_token,
        attachment: None,
        moment: None,
    })
}

/// The place of a group in the roster.
fn place(image: &Image, field: &str, name: &str) -> Result<usize, Status> {
    let groups = &image.roster.groups;
    let found = groups.iter().position(|group| group == name);
    found.ok_or_else(|| {
        let all = groups.join(", ");
        let what = format!("{field}: there is no group {name:?}; there are: {all}");
        let facts = Facts::none().field(field).with("name", name);
        not_there(&what, facts.with("allowed", &all))
    })
}
