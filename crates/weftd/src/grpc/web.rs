//! WebService.

use std::sync::Arc;

use axum::http::Extensions;
use tokio::sync::OwnedMutexGuard;
use tokio::time::Instant;
use tonic::{Request, Response, Status};
use weft_api::time::timestamp;
use weft_api::v1;
use weft_api::v1::web_service_server::WebService;
use weft_routing::EngineKind;
use weft_web::{Board, Change, Kind, Known, Layout};

use super::refusal::wrong_field;
use super::watch::{place_of, token};
use super::{Services, background, stopping};
use crate::access::{Caller, Role, caller_of, require};
use crate::event_hub::unix_time_ns;
use crate::page::{LinkError, Made, Whose, needs_none};

#[tonic::async_trait]
impl WebService for Services {
    async fn get_page(
        &self,
        request: Request<v1::GetPageRequest>,
    ) -> Result<Response<v1::GetPageResponse>, Status> {
        let caller = caller_of(request.extensions());
        let role = caller.and_then(|caller| self.access.role_of(caller));
        Ok(Response::new(v1::GetPageResponse {
            url: self.page.url.to_string(),
            instance: self.hub.config().instance.clone(),
            connected_to: self.connected_to.to_string(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            identity: caller.map(Caller::identity).unwrap_or_default(),
            role: role.map_or("", Role::name).to_owned(),
            engines: EngineKind::NAMED
                .iter()
                .map(|(name, _)| (*name).to_owned())
                .collect(),
        }))
    }

    async fn get_layout(
        &self,
        _: Request<v1::GetLayoutRequest>,
    ) -> Result<Response<v1::GetLayoutResponse>, Status> {
        let (number, layout) = self.board().await?.layout();
        Ok(Response::new(layout_message(
            token(self.hub.run, number),
            &layout,
        )))
    }

    async fn get_columns(
        &self,
        request: Request<v1::GetColumnsRequest>,
    ) -> Result<Response<v1::GetColumnsResponse>, Status> {
        let request = request.into_inner();
        let run = self.hub.run;
        // What another run of the daemon has said means nothing to this one.
        let own = |token: &str| match place_of(token) {
            Some((of, number)) if of == run => number,
            _ => 0,
        };
        let (layout, version) = (own(&request.layout), own(&request.version));
        let sequence = self.hub.journal().sequence();
        let board = self.board().await?;
        let shown = board.since(layout, version);
        drop(board);
        Ok(Response::new(v1::GetColumnsResponse {
            layout: token(run, shown.layout),
            version: token(run, shown.version),
            columns: shown.changes.into_iter().map(column).collect(),
            generation: shown.generation,
            time: Some(timestamp(unix_time_ns())),
            resume_token: token(run, sequence),
            image: shown.image,
        }))
    }

    async fn create_link(
        &self,
        request: Request<v1::CreateLinkRequest>,
    ) -> Result<Response<v1::CreateLinkResponse>, Status> {
        let role = match request.get_ref().role.as_str() {
            "" => Role::View,
            name => Role::named(name)
                .ok_or_else(|| wrong_field("role", "expected view, operate or administer"))?,
        };
        let what = format!("a link with the role {}", role.name());
        require(&self.access, request.extensions(), &what, role)?;
        let caller = known(request.extensions())?;
        let made = self.link(caller, role)?;
        let ends = std::time::SystemTime::now() + made.life;
        Ok(Response::new(v1::CreateLinkResponse {
            url: format!("{}#link={}", self.page.url, made.token),
            role: role.name().to_owned(),
            expire_time: Some(ends.into()),
            session: Some(weft_api::time::span(made.session)),
        }))
    }

    async fn end_sessions(
        &self,
        request: Request<v1::EndSessionsRequest>,
    ) -> Result<Response<v1::EndSessionsResponse>, Status> {
        let whose = match request.get_ref().everybody {
            true => {
                let what = "ending everybody's sessions";
                require(&self.access, request.extensions(), what, Role::Administer)?;
                Whose::Everybody
            }
            false => Whose::Of(known(request.extensions())?),
        };
        let (links, sessions) = self.page.links.end(whose, Instant::now());
        Ok(Response::new(v1::EndSessionsResponse {
            links: links as u32,
            sessions: sessions as u32,
        }))
    }

    async fn get_past(
        &self,
        request: Request<v1::GetPastRequest>,
    ) -> Result<Response<v1::GetPastResponse>, Status> {
        self.board_then(request.into_inner())
            .await
            .map(Response::new)
    }
}

impl Services {
    /// Makes a link of a caller.
    fn link(&self, caller: &Caller, role: Role) -> Result<Made, Status> {
        if self.page.url.is_empty() {
            return Err(Status::failed_precondition(
                "this daemon serves no page: start weftd with --web 127.0.0.1:9317",
            ));
        }
        if matches!(caller, Caller::Guest(_)) {
            return Err(Status::permission_denied(
                "a browser that a link let in makes no others: who asked for that link can",
            ));
        }
        // Where certificates are asked for, nobody comes in as somebody at a loopback address.
        let loopback = self.access.loopback();
        let loopback = loopback.filter(|_| !self.page.asks_for_certificates);
        if let Some(has) = loopback.filter(|has| *has >= role) {
            return Err(Status::failed_precondition(needs_none(has.name())));
        }
        let made = self.page.links.make(caller, role, Instant::now());
        made.map_err(|error| match error {
            LinkError::TooMany { .. } => Status::resource_exhausted(error.to_string()),
            LinkError::Expired => Status::unauthenticated(error.to_string()),
            error => Status::unavailable(error.to_string()),
        })
    }

    /// The board as of now. Of several readers one has it made, and the others wait for that; nobody waits for loads.
    async fn board(&self) -> Result<OwnedMutexGuard<Board>, Status> {
        let mut board = Arc::clone(&self.page.board).lock_owned().await;
        let known = Known {
            snapshot: self.hub.snapshot(),
            image: self.port_metrics.latest(),
            page: self.health.page(),
        };
        if !board.is_of(&known) {
            let making = background::begin(move || {
                board.take(known);
                board
            });
            board = making.await.map_err(|_| stopping())?;
        }
        if let Some(to_count) = board.to_count() {
            let whole = Arc::clone(&self.page.board);
            tokio::spawn(async move {
                // A panic has its message, and the next reading is counted again.
                let counted = background::begin(|| to_count.count()).await.ok();
                whole.lock().await.put(counted);
            });
        }
        Ok(board)
    }
}

/// Who calls.
fn known(extensions: &Extensions) -> Result<&Caller, Status> {
    caller_of(extensions).ok_or_else(|| Status::unauthenticated("nothing tells who calls"))
}

pub(super) fn layout_message(layout: String, of: &Layout) -> v1::GetLayoutResponse {
    v1::GetLayoutResponse {
        layout,
        guids: of.guids(),
        lids: of.lids(),
        tiers: of.tiers(),
        pods: of.pods(),
        ports: of.ports(),
        peers: of.peers(),
        names: of.names(),
    }
}

pub(super) fn column((kind, change): (Kind, Change)) -> v1::Column {
    let kind = match kind {
        Kind::State => v1::ColumnKind::State,
        Kind::Marks => v1::ColumnKind::Marks,
        Kind::Load => v1::ColumnKind::Load,
        Kind::Wait => v1::ColumnKind::Wait,
        Kind::Errors => v1::ColumnKind::Errors,
    };
    let kind = kind.into();
    match change {
        Change::Whole(values) => v1::Column {
            kind,
            values,
            ..v1::Column::default()
        },
        Change::Some { places, values } => v1::Column {
            kind,
            places,
            changed: values,
            ..v1::Column::default()
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_without_a_caller_ends_nobodys_sessions() {
        let refused = known(&Extensions::new()).expect_err("nobody calls");
        assert_eq!(refused.code(), tonic::Code::Unauthenticated);
    }
}
