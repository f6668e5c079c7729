//! Conditions and operations of a transaction.

use crate::pb;
use pb::compare::{CompareResult, CompareTarget, TargetUnion};
use pb::request_op::Request;

/// Holds where a key was created at this revision; 0: where it does not exist.
pub fn created_at(key: &str, revision: i64) -> pb::Compare {
    pb::Compare {
        result: CompareResult::Equal.into(),
        target: CompareTarget::Create.into(),
        key: key.into(),
        target_union: Some(TargetUnion::CreateRevision(revision)),
    }
}

/// Sets a key; with a lease other than 0 it ends with that.
pub fn put(key: &str, value: Vec<u8>, lease: i64) -> pb::RequestOp {
    let put = pb::PutRequest {
        key: key.into(),
        value,
        lease,
    };
    op(Request::RequestPut(put))
}

/// Reads a key.
pub fn get(key: &str) -> pb::RequestOp {
    let range = pb::RangeRequest {
        key: key.into(),
        ..pb::RangeRequest::default()
    };
    op(Request::RequestRange(range))
}

/// Deletes the keys from one up to, and without, another.
pub fn delete(from: &str, to: &str) -> pb::RequestOp {
    let delete = pb::DeleteRangeRequest {
        key: from.into(),
        range_end: to.into(),
    };
    op(Request::RequestDeleteRange(delete))
}

/// Executes `success` where the condition holds, `failure` where it does not.
pub fn txn(
    compare: pb::Compare,
    success: Vec<pb::RequestOp>,
    failure: Vec<pb::RequestOp>,
) -> pb::TxnRequest {
    pb::TxnRequest {
        compare: vec![compare],
        success,
        failure,
    }
}

fn op(request: Request) -> pb::RequestOp {
    pb::RequestOp {
        request: Some(request),
    }
}
