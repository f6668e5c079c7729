//! Pictures of the fabric and of routes.

use std::path::Path;
use std::process::ExitCode;

use weft_api::v1;

use crate::args::{At, Export, RouteShow};
use crate::connect::{Effort, Session};
use crate::download::download;
use crate::error::CliError;

/// Writes the picture that `weft fabric export` asks for.
pub(crate) async fn export(session: &Session, args: &Export) -> Result<ExitCode, CliError> {
    let format = match args.dot {
        true => v1::PictureFormat::Dot,
        false => v1::PictureFormat::Svg,
    };
    let ends = args.route.as_deref();
    let route = ends.and_then(|ends| match ends {
        [from, to] => Some(route(from, to)),
        _ => None,
    });
    let request = v1::DrawFabricRequest {
        format: format.into(),
        hosts: args.hosts,
        route,
        load: args.load,
        at: args.at.moment()?,
    };
    draw(session, request, &args.at, args.output.as_deref()).await
}

/// Writes the picture of a route.
pub(crate) async fn show_route(session: &Session, args: &RouteShow) -> Result<ExitCode, CliError> {
    let request = v1::DrawFabricRequest {
        format: v1::PictureFormat::Svg.into(),
        route: Some(route(&args.from, &args.to)),
        at: args.at.moment()?,
        ..v1::DrawFabricRequest::default()
    };
    draw(session, request, &args.at, args.output.as_deref()).await
}

fn route(from: &str, to: &str) -> v1::PictureRoute {
    v1::PictureRoute {
        from: point(from),
        to: point(to),
    }
}

/// A point, or a node's name as a point: no point is without a colon, but `sm`.
pub(crate) fn point(text: &str) -> String {
    match text.contains(':') || text == "sm" {
        true => text.to_owned(),
        false => format!("node:{text}"),
    }
}

async fn draw(
    session: &Session,
    request: v1::DrawFabricRequest,
    at: &At,
    file: Option<&Path>,
) -> Result<ExitCode, CliError> {
    let mut service = session.services(Effort::Work).pictures();
    let picture = service.draw_fabric(request);
    let mut tell = at.tell_first();
    let bytes = |part: v1::DrawFabricResponse| tell(part.moment).map(|()| part.data);
    download(session, picture, bytes, file).await?;
    Ok(ExitCode::SUCCESS)
}
