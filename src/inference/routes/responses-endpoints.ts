import type { KeyAccess } from "../../auth/access.ts";
import { defineJsonEndpoint, defineKeyEndpoint, type Endpoint } from "../../endpoint.ts";
import {
  CompactResponse,
  DeletedResponse,
  InputItemList,
  InputTokensResponse,
  ResponsesRequest,
  ResponsesResponse,
} from "../../schemas/responses.ts";
import { runPassthrough } from "../passthrough/passthrough.ts";
import { cancelResponse, deleteResponse, getResponse, listInputItems, runResponses } from "./responses.ts";

const access: KeyAccess = { keys: "workspace", scopes: ["completions.write"] };
const shared = { access, tag: "Responses" };

/** Endpoints of the Responses API. */
export const responsesEndpoints: readonly Endpoint[] = [
  defineJsonEndpoint({
    ...shared,
    method: "POST",
    path: "/v1/responses",
    operation: "responses",
    summary: "Answer a conversation, in the shape of the Responses API",
    body: ResponsesRequest,
    response: ResponsesResponse,
    handle: runResponses,
  }),
  defineKeyEndpoint({
    ...shared,
    method: "POST",
    path: "/v1/responses/input_tokens",
    operation: "countInputTokens",
    summary: "Count the tokens of an input, at the provider",
    response: InputTokensResponse,
    handle: runPassthrough,
  }),
  defineKeyEndpoint({
    ...shared,
    method: "POST",
    path: "/v1/responses/compact",
    operation: "compactResponse",
    summary: "Compact a conversation, at the provider",
    response: CompactResponse,
    handle: runPassthrough,
  }),
  defineKeyEndpoint({
    ...shared,
    method: "GET",
    path: "/v1/responses/:id",
    operation: "getResponse",
    summary: "Read a stored response",
    query: [
      { name: "stream", description: "true: as its stream of events" },
      { name: "starting_after", description: "Number of the event after which the stream starts" },
    ],
    response: ResponsesResponse,
    handle: getResponse,
  }),
  defineKeyEndpoint({
    ...shared,
    method: "DELETE",
    path: "/v1/responses/:id",
    operation: "deleteResponse",
    summary: "Delete a stored response",
    response: DeletedResponse,
    handle: deleteResponse,
  }),
  defineKeyEndpoint({
    ...shared,
    method: "GET",
    path: "/v1/responses/:id/input_items",
    operation: "listInputItems",
    summary: "List the input items of a stored response, newest first",
    query: [
      { name: "limit", description: "1 to 100, default 20" },
      { name: "order", description: "desc (default) or asc" },
      { name: "after", description: "Id of the item after which the list starts" },
      { name: "before", description: "Id of the item before which the list ends" },
    ],
    response: InputItemList,
    handle: listInputItems,
  }),
  defineKeyEndpoint({
    ...shared,
    method: "POST",
    path: "/v1/responses/:id/cancel",
    operation: "cancelResponse",
    summary: "Cancel a response that runs in the background",
    response: ResponsesResponse,
    handle: cancelResponse,
  }),
];
