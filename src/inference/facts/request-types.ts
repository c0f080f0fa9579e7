import type { CallerContext } from "../../context.ts";
import type { RequestType, Visibility } from "../../guardrails/types.ts";
import { allVisible } from "../../guardrails/visible-hooks.ts";
import type { OperationName } from "../../providers/core/operations.ts";
import { isOperation, operationFacts } from "./operation-facts.ts";

/** Facts about a request type for guardrails. */
export interface RequestKind {
  readonly type: RequestType;
  /** Other types it matches in lists of types. */
  readonly alsoTypes: readonly RequestType[];
  /** Other types it matches in lists of denied types: those the request turns into at the provider. */
  readonly leadsTo?: readonly RequestType[];
  readonly visibility: Visibility;
  /** Why checks cannot change its requests; undefined where they can. */
  readonly fixedBecause?: string;
  /** Why the fields that its body may have are not known, phrased as what the body is or does. */
  readonly unreadBecause?: string;
}

const kindOfOperation = new Map<OperationName, RequestKind>();

/** The request type of a unified operation. */
export function kindOf(name: OperationName): RequestKind {
  const known = kindOfOperation.get(name);
  if (known) return known;
  const { requestType: type, visibility } = operationFacts[name];
  const fixed = type === "embed" ? "Cannot change requests for embeddings" : `Cannot change requests of type ${type}`;
  const kind = { type, alsoTypes: [], visibility, ...(visibility !== allVisible && { fixedBecause: fixed }) };
  kindOfOperation.set(name, kind);
  return kind;
}

/** Native and record routes whose request type has a name; all of them are also `proxy`. */
const named: Readonly<Record<string, RequestType>> = {
  getResponse: "getModelResponse",
  deleteResponse: "deleteModelResponse",
  listInputItems: "listResponseInputItems",
  uploadFile: "uploadFile",
  listFiles: "listFiles",
  retrieveFile: "retrieveFile",
  deleteFile: "deleteFile",
  retrieveFileContent: "retrieveFileContent",
  createBatch: "createBatch",
  listBatches: "listBatches",
  retrieveBatch: "retrieveBatch",
  cancelBatch: "cancelBatch",
  getBatchOutput: "getBatchOutput",
  createFinetune: "createFinetune",
  listFinetunes: "listFinetunes",
  retrieveFinetune: "retrieveFinetune",
  cancelFinetune: "cancelFinetune",
  listFinetuneEvents: "listFinetuneEvents",
  listFinetuneCheckpoints: "listFinetuneCheckpoints",
};

/** The request type of a route by its name in logs. Forwarded routes without a separate type are `proxy`. */
export function requestTypeOf(route: string): RequestType {
  return typeOfRoute(route) ?? "proxy";
}

/** The kind of a route by its name in logs. */
function typeOfRoute(route: string): RequestType | undefined {
  if (isOperation(route)) return kindOf(route).type;
  return Object.hasOwn(named, route) ? named[route] : undefined;
}

/** The rows of an upload. */
export const rowKind: RequestKind = {
  type: "uploadFile",
  alsoTypes: ["proxy"],
  visibility: { request: "text", answer: "unseen", part: "rows" },
};

/** What is checked of the files a request is about. */
type CheckedFiles = NonNullable<CallerContext["checkedFiles"]>;

/** What guardrails see of a request that is forwarded unchanged. */
function forwardedVisibility({ isRead, unreadBecause, checkedFiles }: ForwardedFacts): Visibility {
  if (checkedFiles === "rows") return { request: "facts", answer: "unseen", part: "form" };
  const inFields = checkedFiles === "named" ? "text" : "body";
  if (isRead) return { request: inFields, answer: "unseen" };
  return { request: "facts", answer: "unseen", ...(unreadBecause !== undefined && { hidden: inFields }) };
}

/** What is known of a request that is forwarded unchanged. */
interface ForwardedFacts {
  /** Whether the fields of its body are known. */
  readonly isRead: boolean;
  /** Why the fields that its body may have are not known. */
  readonly unreadBecause?: string | undefined;
  /** Name of the route it calls at the provider. Default: its own. */
  readonly leadsTo?: string | undefined;
  /** What is checked of its files besides. Default: nothing. */
  readonly checkedFiles?: CheckedFiles | undefined;
}

/**
 * The type of a request that is forwarded unchanged.
 *
 * @param operation Name of its route in logs.
 */
export function forwardedKind(operation: string, facts: ForwardedFacts): RequestKind {
  const { leadsTo = operation, unreadBecause } = facts;
  const type = Object.hasOwn(named, operation) ? named[operation] : undefined;
  const led = typeOfRoute(leadsTo);
  return {
    ...(led !== undefined && { leadsTo: [led] }),
    type: type ?? "proxy",
    alsoTypes: type === undefined ? [] : ["proxy"],
    visibility: forwardedVisibility(facts),
    ...(unreadBecause !== undefined && { unreadBecause }),
    fixedBecause: "Cannot change requests that are forwarded unchanged",
  };
}
