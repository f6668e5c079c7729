//! OperationService.

use std::time::Duration;

use tokio::time::Instant;
use tonic::{Request, Response, Status};
use weft_api::v1;
use weft_api::v1::operation_service_server::OperationService;
use weft_manager::PortNote;

use super::page::Page;
use super::ports::peer;
use super::refusal::{operation_refused, port_refused, wrong_field};
use super::{Services, stopping};
use crate::access::client_of;
use crate::operations::{ID_MAX, KEPT, Origin};

/// Time limits of WaitOperation.
const WAIT_USUAL: Duration = Duration::from_secs(30);
const WAIT_MAX: Duration = Duration::from_secs(600);

#[tonic::async_trait]
impl OperationService for Services {
    async fn list_operations(
        &self,
        request: Request<v1::ListOperationsRequest>,
    ) -> Result<Response<v1::ListOperationsResponse>, Status> {
        let request = request.into_inner();
        for (place, state) in request.states.iter().enumerate() {
            known::<v1::OperationState>(&format!("states[{place}]"), *state)?;
        }
        for (place, kind) in request.kinds.iter().enumerate() {
            known::<v1::OperationKind>(&format!("kinds[{place}]"), *kind)?;
        }
        let page = Page::new(request.page_size, &request.page_token, (20, KEPT))?;
        let wanted = |list: &[i32], value: i32| list.is_empty() || list.contains(&value);
        let all = self.control.operations().all().into_iter();
        let all = all.filter(|(_, one)| {
            wanted(&request.states, one.state) && wanted(&request.kinds, one.kind)
        });
        // Newest first: keys count down.
        let all = all.map(|(number, one)| ((u64::MAX - number, 0), one));
        let (operations, next_page_token) = page.cut(all);
        Ok(Response::new(v1::ListOperationsResponse {
            operations,
            next_page_token,
        }))
    }

    async fn get_operation(
        &self,
        request: Request<v1::GetOperationRequest>,
    ) -> Result<Response<v1::GetOperationResponse>, Status> {
        let id = request.into_inner().id;
        let operations = self.control.operations();
        let operation = operations.get(&id);
        let operation = operation.map_err(|error| operation_refused(&error))?;
        Ok(Response::new(v1::GetOperationResponse {
            operation: Some(operation),
            way_back: operations.way_back(&id),
            flows: operations.flows(&id),
        }))
    }

    async fn wait_operation(
        &self,
        request: Request<v1::WaitOperationRequest>,
    ) -> Result<Response<v1::WaitOperationResponse>, Status> {
        let _watcher = self.watchers.enter(client_of(&request))?;
        let request = request.into_inner();
        let by = Instant::now() + timeout(request.timeout)?;
        let settled = self.control.operations().settled(&request.id, by);
        let stopped = self.stopping.clone();
        let settled = tokio::select! {
            settled = settled => settled,
            () = stopped.wait() => return Err(stopping()),
        };
        let (operation, settled) = settled.map_err(|error| operation_refused(&error))?;
        Ok(Response::new(v1::WaitOperationResponse {
            operation: Some(operation),
            settled,
        }))
    }

    async fn cancel_operation(
        &self,
        request: Request<v1::CancelOperationRequest>,
    ) -> Result<Response<v1::CancelOperationResponse>, Status> {
        let note = PortNote {
            reason: request.get_ref().reason.clone(),
            author: request.get_ref().author.clone(),
            peer: peer(&request),
        };
        note.check().map_err(|error| port_refused(&error))?;
        let PortNote {
            reason,
            author,
            peer,
        } = note;
        let by = v1::OperationAsker {
            author,
            peer,
            reason,
        };
        let id = request.into_inner().id;
        let cancelled = self.control.operations().cancel(&id, by);
        let operation = Some(cancelled.map_err(|error| operation_refused(&error))?);
        Ok(Response::new(v1::CancelOperationResponse { operation }))
    }
}

fn known<T: TryFrom<i32>>(field: &str, value: i32) -> Result<(), Status> {
    match T::try_from(value) {
        Ok(_) if value != 0 => Ok(()),
        _ => Err(wrong_field(field, &format!("{value} is not a value of it"))),
    }
}

fn timeout(asked: Option<weft_api::time::Duration>) -> Result<Duration, Status> {
    let Some(asked) = asked else {
        return Ok(WAIT_USUAL);
    };
    let wrong = || {
        let what = format!("expected 0 to {} seconds", WAIT_MAX.as_secs());
        wrong_field("timeout", &what)
    };
    let asked = Duration::try_from(asked).map_err(|_| wrong())?;
    match asked <= WAIT_MAX {
        true => Ok(asked),
        false => Err(wrong()),
    }
}

/// Who asks for an operation.
pub(super) fn origin<T>(
    request: &Request<T>,
    label: impl Fn(&T) -> Option<&v1::OperationLabel>,
) -> Result<Origin, Status> {
    let label = label(request.get_ref()).cloned().unwrap_or_default();
    let note = PortNote {
        reason: label.reason,
        author: label.author,
        peer: peer(request),
    };
    note.check().map_err(|error| port_refused(&error))?;
    if !is_identity(&label.operation_id) {
        let what = format!(
            "expected up to {ID_MAX} lower-case letters, digits, '-', '_' and '.', not beginning with \"op-\""
        );
        return Err(wrong_field("label.operation_id", &what));
    }
    Ok(Origin {
        id: label.operation_id,
        author: note.author,
        peer: note.peer,
        reason: note.reason,
    })
}

fn is_identity(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    text.len() <= ID_MAX
        && !text.starts_with("op-")
        && text
            .bytes()
            .all(|byte| allowed(byte) || b"-_.".contains(&byte))
}
