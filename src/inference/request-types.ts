import type { RequestType, Visibility } from "../guardrails/types.ts";
import { allVisible } from "../guardrails/visible-hooks.ts";
import type { OperationName } from "../providers/operations.ts";

/** Operations whose answers hooks look at and may replace, by the names checks know them under. */
export const requestTypes: { readonly [Name in OperationName]?: RequestType } = {
  chat: "chatComplete",
  complete: "complete",
  messages: "messages",
  responses: "createModelResponse",
  generateContent: "generateContent",
  embed: "embed",
  embedContent: "embed",
  batchEmbedContents: "embed",
};

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

/** Requests whose texts are read, and whose answers hold none. */
const unanswered: Visibility = { request: "text", answer: "empty" };
/** Requests whose texts are read, and whose answers pass unseen. */
const unseen: Visibility = { request: "text", answer: "unseen" };

const kinds: Readonly<Record<OperationName, readonly [type: RequestType, visibility: Visibility]>> = {
  chat: ["chatComplete", allVisible],
  complete: ["complete", allVisible],
  messages: ["messages", allVisible],
  responses: ["createModelResponse", allVisible],
  generateContent: ["generateContent", allVisible],
  embed: ["embed", unanswered],
  embedContent: ["embed", unanswered],
  batchEmbedContents: ["embed", unanswered],
  countTokens: ["messagesCountTokens", unanswered],
  countChat: ["messagesCountTokens", unanswered],
  countContents: ["countTokens", unanswered],
  rerank: ["rerank", unanswered],
  moderate: ["moderate", unanswered],
  decide: ["decisions", unanswered],
  models: ["listModels", unanswered],
  generateImage: ["imageGenerate", unanswered],
  editImage: ["imageEdit", unanswered],
  speak: ["createSpeech", unanswered],
  ocr: ["ocr", unseen],
  transcribe: ["createTranscription", unseen],
  translate: ["createTranslation", unseen],
  // a session says what it says once it is open
  realtime: ["realtime", { request: "model", answer: "unseen" }],
};

const kindOfOperation = new Map<OperationName, RequestKind>();

/** The kind of a unified operation. */
export function kindOf(name: OperationName): RequestKind {
  const known = kindOfOperation.get(name);
  if (known) return known;
  const [type, visibility] = kinds[name];
  const fixed = type === "embed" ? "Cannot change requests for embeddings" : `Cannot change requests of type ${type}`;
  const kind = { type, alsoTypes: [], visibility, ...(visibility !== allVisible && { fixedBecause: fixed }) };
  kindOfOperation.set(name, kind);
  return kind;
}

/** Whether a route asks a provider for an operation. */
export function isOperation(name: string): name is OperationName {
  return Object.hasOwn(kinds, name);
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
