//! Spans of requests to the API.

use std::future::Future;
use std::pin::Pin;
use std::task::{self, Poll};

use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use opentelemetry_proto::tonic::trace::v1::{Span, Status};
use tonic::codegen::http::{HeaderMap, Request, Response};
use tower::{Layer, Service};

use super::{Context, Tracer, number, text};
use crate::event_hub::unix_time_ns;

/// Makes a span of each request, from its arrival to the begin of its answer.
#[derive(Debug, Clone)]
pub(crate) struct RequestSpans(pub(crate) Tracer);

/// A service whose requests have spans.
#[derive(Debug, Clone)]
pub(crate) struct Traced<S> {
    tracer: Tracer,
    inner: S,
}

impl<S> Layer<S> for RequestSpans {
    type Service = Traced<S>;

    fn layer(&self, inner: S) -> Traced<S> {
        Traced {
            tracer: self.0.clone(),
            inner,
        }
    }
}

impl<S, A, B> Service<Request<A>> for Traced<S>
where
    S: Service<Request<A>, Response = Response<B>>,
    S::Future: Send + 'static,
    S::Error: Send + 'static,
    B: Send + 'static,
{
    type Response = Response<B>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Response<B>, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut task::Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, mut request: Request<A>) -> Self::Future {
        if !self.tracer.is_on() {
            return Box::pin(self.inner.call(request));
        }
        let parent = parent(request.headers());
        let own = parent.map_or_else(Context::root, |parent| parent.child());
        let path = request.uri().path().trim_start_matches('/').to_owned();
        request.extensions_mut().insert(own);
        let (start, tracer) = (unix_time_ns(), self.tracer.clone());
        let answer = self.inner.call(request);
        Box::pin(async move {
            let answer = answer.await;
            let code = answer.as_ref().ok().map(|answer| code(answer.headers()));
            tracer.take(span(own, parent, &path, start, code));
            answer
        })
    }
}

/// The code of an answer that has no content; 0 of one that has.
fn code(headers: &HeaderMap) -> u64 {
    let code = headers.get("grpc-status");
    let code = code.and_then(|code| code.to_str().ok()?.parse().ok());
    code.unwrap_or(0)
}

fn span(own: Context, parent: Option<Context>, path: &str, start: u64, code: Option<u64>) -> Span {
    let (service, method) = path.split_once('/').unwrap_or((path, ""));
    let mut attributes = vec![
        text("rpc.system", "grpc"),
        text("rpc.service", service),
        text("rpc.method", method),
    ];
    attributes.extend(code.map(|code| number("rpc.grpc.status_code", code)));
    let status = match code {
        Some(0) => StatusCode::Unset,
        _ => StatusCode::Error,
    };
    Span {
        trace_id: own.trace.to_vec(),
        span_id: own.span.to_vec(),
        parent_span_id: parent.map_or_else(Vec::new, |parent| parent.span.to_vec()),
        name: path.to_owned(),
        kind: SpanKind::Server.into(),
        start_time_unix_nano: start,
        end_time_unix_nano: unix_time_ns().max(start),
        attributes,
        status: Some(Status {
            code: status.into(),
            ..Status::default()
        }),
        ..Span::default()
    }
}

/// The span of the client, from the header `traceparent` (W3C Trace Context); none where it is missing or makes no sense.
fn parent(headers: &HeaderMap) -> Option<Context> {
    let text = headers.get("traceparent")?.to_str().ok()?;
    let mut parts = text.split('-');
    let (version, trace, span, flags) =
        (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    if version.len() != 2 || version == "ff" || flags.len() != 2 {
        return None;
    }
    let context = Context {
        trace: hexadecimal(trace)?,
        span: hexadecimal(span)?,
    };
    let is_set = context.trace != [0; 16] && context.span != [0; 8];
    is_set.then_some(context)
}

fn hexadecimal<const N: usize>(text: &str) -> Option<[u8; N]> {
    let is_lower = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    if text.len() != 2 * N || !text.bytes().all(is_lower) {
        return None;
    }
    let mut bytes = [0; N];
    for (place, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * place..2 * place + 2)?, 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Option<Context> {
        let mut headers = HeaderMap::new();
        headers.insert("traceparent", text.parse().ok()?);
        parent(&headers)
    }

    #[test]
    fn only_a_well_formed_parent_is_taken() {
        let good = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let context = of(good);
        assert_eq!(context.map(|context| context.span[7]), Some(0x31));
        assert_eq!(context.map(|context| context.trace[0]), Some(0x0a));
        for bad in [
            "",
            "00",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "00-0AF7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c8031-b7ad6b7169203331-01",
            "00-+af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        ] {
            assert_eq!(of(bad), None, "{bad}");
        }
    }
}
