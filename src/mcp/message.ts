import { RpcError } from "../errors.ts";
import { isObject, stringOf } from "../lib/json.ts";
import { codes, eraOf, isRemoved, meta, modernVersions } from "./protocol.ts";
import type { Era } from "./registry/mcp-state.ts";

/** Id of a JSON-RPC request. */
export type RpcId = string | number;

/** A JSON-RPC message of a client, as sent. */
export interface Message {
  readonly kind: "request" | "notification" | "response";
  /** Undefined for notifications. */
  readonly id: RpcId | undefined;
  /** Empty for responses. */
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
  /** The whole message. */
  readonly value: Readonly<Record<string, unknown>>;
}

/** Longest id and longest method, in characters. */
const maxId = 1_024;
const maxMethod = 256;

function refuse(message: string): never {
  throw new RpcError(400, message, { rpcCode: codes.invalidRequest, code: "invalid_request" });
}

/** Whether a value can be the id of a request. */
export function isRpcId(value: unknown): value is RpcId {
  return (typeof value === "string" && value.length <= maxId) || (typeof value === "number" && Number.isFinite(value));
}

/** The id of a body that is no valid message, for the error. */
export function idIn(value: unknown): RpcId | undefined {
  return isObject(value) && isRpcId(value.id) ? value.id : undefined;
}

/**
 * Reads a JSON-RPC message (https://www.jsonrpc.org/specification).
 *
 * @throws {RpcError} 400, code -32600, if it is not one message.
 */
export function readMessage(value: unknown): Message {
  if (Array.isArray(value)) refuse("Cannot read the message: send one message, not an array");
  if (!isObject(value)) refuse("Cannot read the message: it must be a JSON object");
  if (value.jsonrpc !== "2.0") refuse('Cannot read the message: jsonrpc must be "2.0"');
  const { id, method, params = {} } = value;
  if (id !== undefined && !isRpcId(id)) refuse("Cannot read the message: id must be a short string or a number");
  if (method === undefined) {
    const isAnswer = id !== undefined && Object.hasOwn(value, "result") !== Object.hasOwn(value, "error");
    if (!isAnswer) refuse("Cannot read the message: it has neither a method nor one of result and error");
    return { kind: "response", id, method: "", params: {}, value };
  }
  if (typeof method !== "string" || method === "" || method.length > maxMethod) {
    refuse("Cannot read the message: method must be a short string");
  }
  if (!isObject(params)) {
    const problem = "Cannot read the message: params must be an object";
    throw new RpcError(400, problem, { rpcCode: codes.invalidParams, code: "invalid_params" });
  }
  return { kind: id === undefined ? "notification" : "request", id, method, params, value };
}

/** The `_meta` of parameters or of a result; empty where it is not an object. */
export function metaOf(value: unknown): Readonly<Record<string, unknown>> {
  return isObject(value) && isObject(value._meta) ? value._meta : {};
}

/** The era of a message, and its revision. */
export interface Revision {
  readonly era: Era;
  /** The revision of the request; undefined for legacy clients that name none, as 2025-03-26 does. */
  readonly version: string | undefined;
}

/** The error for a revision that the gateway does not have. */
function unsupportedVersion(requested: string): RpcError {
  return new RpcError(400, `Cannot serve protocol version "${requested.slice(0, 64)}"`, {
    rpcCode: codes.unsupportedVersion,
    code: "unsupported_protocol_version",
    data: { supported: [...modernVersions], requested: requested.slice(0, 64) },
  });
}

function refuseMetadata(problem: string): never {
  throw new RpcError(400, `Cannot serve the request: ${problem}`, {
    rpcCode: codes.invalidParams,
    code: "invalid_metadata",
  });
}

function requireSameVersion(version: string, header: string | undefined): void {
  if (header === version) return;
  throw new RpcError(400, "Cannot serve the request: the header MCP-Protocol-Version differs from the body", {
    rpcCode: codes.headerMismatch,
    code: "header_mismatch",
  });
}

/** The revision of a message whose body does not name one. */
function revisionOfHeader({ kind, method }: Message, header: string | undefined): Revision {
  if (header === undefined || method === "initialize") return { era: "legacy", version: header };
  const era = eraOf(header);
  if (era === "legacy") return { era, version: header };
  if (era === "modern" && kind === "request") {
    refuseMetadata(`params._meta must hold ${meta.protocolVersion} and ${meta.clientCapabilities}`);
  }
  if (era === "modern" && kind === "notification") return { era, version: header };
  throw new RpcError(400, `Cannot serve protocol version "${header.slice(0, 64)}" of MCP-Protocol-Version`, {
    rpcCode: codes.invalidRequest,
    code: "unsupported_protocol_version",
  });
}

/**
 * The era and the revision of a message.
 *
 * @param header Value of `MCP-Protocol-Version`.
 * @throws {RpcError} 400 for unknown revisions and for modern requests without valid metadata; 404 for removed methods.
 */
export function readRevision(message: Message, header: string | undefined): Revision {
  const { kind, method, params } = message;
  const own = metaOf(params);
  const named = own[meta.protocolVersion];
  if (named === undefined || kind === "response") return revisionOfHeader(message, header);
  const version = stringOf(named);
  if (version === undefined) refuseMetadata(`${meta.protocolVersion} must be a string`);
  if (!modernVersions.includes(version)) {
    // a client that names two versions is wrong, whichever of them exists
    if (kind === "request") requireSameVersion(version, header);
    throw unsupportedVersion(version);
  }
  if (kind === "request" && !isObject(own[meta.clientCapabilities])) {
    refuseMetadata(`${meta.clientCapabilities} must be an object`);
  }
  if (isRemoved(method)) {
    throw new RpcError(404, `Cannot find the method ${method}: protocol version ${version} does not have it`, {
      rpcCode: codes.methodNotFound,
      code: "method_not_found",
    });
  }
  return { era: "modern", version };
}
