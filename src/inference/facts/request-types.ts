import type { RequestType, Visibility } from "../../guardrails/types.ts";
import { allVisible } from "../../guardrails/visible-hooks.ts";
import type { OperationName } from "../../providers/core/operations.ts";
import { isOperation, operationFacts } from "./operation-facts.ts";

/** What guardrails know of a kind of request. */
export interface RequestKind {
  readonly type: RequestType;
  /** Further kinds it counts as in lists of kinds. */
  readonly alsoTypes: readonly RequestType[];
  /** Further kinds it counts as in lists of what is refused: those it comes to at the provider. */
  readonly leadsTo?: readonly RequestType[];
  readonly visibility: Visibility;
  /** Why checks can change nothing; undefined where they can. */
  readonly fixedBecause?: string;
}

const kindOfOperation = new Map<OperationName, RequestKind>();

/** The kind of a unified operation. */
export function kindOf(name: OperationName): RequestKind {
  const known = kindOfOperation.get(name);
  if (known) return known;
  const { requestType: type, visibility } = operationFacts[name];
  const fixed = type === "embed" ? "Cannot change requests for embeddings" : `Cannot change requests of type ${type}`;
  const kind = { type, alsoTypes: [], visibility, ...(visibility !== allVisible && { fixedBecause: fixed }) };
  kindOfOperation.set(name, kind);
  return kind;
}

/** Routes that are passed on, or are about records, whose kind has a name of its own; all of them are `proxy` too. */
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

/** The kind of a route by its name in logs. */
function typeOfRoute(route: string): RequestType | undefined {
  if (isOperation(route)) return kindOf(route).type;
  return Object.hasOwn(named, route) ? named[route] : undefined;
}

/**
 * The kind of a request that goes on as it came.
 *
 * @param operation Name of its route in logs.
 * @param isRead Whether the members of its body are known.
 * @param leadsTo Name of the route it leads to at the provider. Default: its own.
 */
export function passedKind(
  operation: string,
  { isRead, leadsTo = operation }: { isRead: boolean; leadsTo?: string | undefined },
): RequestKind {
  const type = Object.hasOwn(named, operation) ? named[operation] : undefined;
  const led = typeOfRoute(leadsTo);
  return {
    ...(led !== undefined && { leadsTo: [led] }),
    type: type ?? "proxy",
    alsoTypes: type === undefined ? [] : ["proxy"],
    visibility: { request: isRead ? "body" : "facts", answer: "unseen" },
    fixedBecause: "Cannot change requests that are passed on",
  };
}
