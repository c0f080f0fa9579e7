import type { CallerContext } from "../../context.ts";
import type { StoredResponseContent } from "../../control/stored-responses.ts";
import type { ResponseOwner } from "../../db/stores/stored-responses.ts";
import { isOwnResponseId, toResponseId } from "../../dialects/responses/ids.ts";
import { replayEvents, toInputItems } from "../../dialects/responses/stored.ts";
import type { StoreResponse } from "../../dialects/types.ts";
import type { JsonBody } from "../../endpoint.ts";
import { InvalidRequestError, NotFoundError } from "../../errors.ts";
import { objectsIn } from "../../lib/json.ts";
import { jsonReply, type Reply } from "../../lib/reply.ts";
import { encodeEvent } from "../../lib/sse.ts";
import type { ResponsesRequest, ResponsesResponse } from "../../schemas/responses.ts";
import { runPassthrough } from "../passthrough/passthrough.ts";
import { runInference } from "../pipeline/run.ts";
import { mayUseTools, planTools, runTools, withoutOwnCalls } from "../tools/responses-rounds.ts";

type Item = Readonly<Record<string, unknown>>;

/** Whose responses a caller may see: those of its workspace. */
function ownerOf({ principal }: CallerContext): ResponseOwner {
  return { organisationId: principal.organisationId, workspaceId: principal.workspaceId ?? "" };
}

function unknownResponse(id: string, param: string): NotFoundError {
  return new NotFoundError(`Cannot find response ${id}: it was not stored, or is no longer`, {
    param,
    code: "response_not_found",
  });
}

/**
 * Items of a response and those before it, input and output, oldest first.
 *
 * @throws {NotFoundError} 404 naming the response that was not found.
 */
async function loadHistory(id: string, context: CallerContext): Promise<Item[]> {
  const { links, missing } = await context.services.responses.chain(ownerOf(context), id);
  if (missing !== undefined) throw unknownResponse(missing, "previous_response_id");
  return links.flatMap(({ input, response }) => [...input, ...outputOf(response)]);
}

function outputOf({ output }: StoredResponseContent["response"]): Item[] {
  return objectsIn(output);
}

/** Stores the response of a request, unless `store` is false. */
function createResponseRecorder(request: ResponsesRequest, context: CallerContext): StoreResponse {
  const id = toResponseId(context.id);
  return (answer) => {
    // a config may have changed the field: the response has the value that was used
    if (Reflect.get(answer, "store") === false) return;
    context.services.responses.add({
      id,
      ...ownerOf(context),
      createdAt: context.services.clock.now(),
      previousId: request.previous_response_id ?? null,
      input: toInputItems(request.input, id),
      response: { ...answer },
      bytes: context.log.requestBody?.length ?? 0,
    });
  };
}

/** Serves `POST /responses`: the items of the gateway's previous response come before the input. */
export async function runResponses(body: JsonBody<ResponsesRequest>, context: CallerContext): Promise<Reply> {
  body.text = "";
  const { value } = body;
  const previous = value.previous_response_id;
  const store = createResponseRecorder(value, context);
  const isOwn = typeof previous === "string" && isOwnResponseId(previous);
  const history = isOwn ? await loadHistory(previous, context) : undefined;
  const kits = mayUseTools(value) ? await planTools(value, context) : [];
  if (kits.length > 0) {
    const items = toInputItems(value.input, toResponseId(context.id));
    const { previous_response_id: _, ...first } = value;
    return runTools(isOwn ? first : value, [...(history ?? []), ...items], { context, store, kits });
  }
  if (!history) {
    const input = withoutOwnCalls(value.input);
    const given = input === value.input ? body : { ...body, value: { ...value, input } };
    return runInference("responses", given, context, store);
  }
  const input = withoutOwnCalls([...history, ...toInputItems(value.input, toResponseId(context.id))]);
  return runInference("responses", { ...body, value: { ...value, input } }, context, store);
}

/** The response a path names. @throws {NotFoundError} */
async function requireStored(id: string, context: CallerContext): Promise<ResponsesResponse> {
  const found = await context.services.responses.find(ownerOf(context), id);
  if (!found) throw unknownResponse(id, "response_id");
  return found.response as ResponsesResponse; // a stored record is a response
}

type Handler = (id: string, context: CallerContext) => Promise<Reply>;

/** A handler for responses stored by the gateway; requests for a provider's are forwarded to it. */
function ofOwn(handle: Handler) {
  return (context: CallerContext): Promise<Reply> => {
    const { id = "" } = context.params;
    return isOwnResponseId(id) ? handle(id, context) : runPassthrough(context);
  };
}

/** Events after the last one the caller has seen. */
function toReplay(response: ResponsesResponse, after: string | null): Reply {
  const seen = after === null ? -1 : Number(after);
  if (!Number.isInteger(seen)) refuseQuery("starting_after", "it must be the number of an event");
  const events = replayEvents(response).filter(({ sequence_number: number }) => Number(number) > seen);
  return {
    status: 200,
    headers: { "content-type": "text/event-stream; charset=utf-8" },
    body: events.map((event) => encodeEvent(event, String(event.type))).join(""),
  };
}

/** `GET /responses/{id}`. */
export const getResponse = ofOwn(async (id, context) => {
  const response = await requireStored(id, context);
  const { searchParams: query } = context.url;
  return query.get("stream") === "true" ? toReplay(response, query.get("starting_after")) : jsonReply(response);
});

/** `DELETE /responses/{id}`. */
export const deleteResponse = ofOwn(async (id, context) => {
  if (!(await context.services.responses.remove(ownerOf(context), id))) throw unknownResponse(id, "response_id");
  return jsonReply({ id, object: "response", deleted: true });
});

/** `POST /responses/{id}/cancel`. */
export const cancelResponse = ofOwn(async (id, context) => {
  await requireStored(id, context);
  throw new InvalidRequestError(`Cannot cancel response ${id}: it is not running in the background`, {
    param: "response_id",
    code: "not_in_background",
  });
});

function refuseQuery(param: string, what: string): never {
  throw new InvalidRequestError(`Cannot use ${param}: ${what}`, { param, code: "invalid_query" });
}

const defaultItems = 20;
const maxItems = 100;

function readLimit(text: string | null): number {
  const limit = text === null ? defaultItems : Number(text);
  if (!Number.isInteger(limit) || limit < 1 || limit > maxItems)
    refuseQuery("limit", `it must be from 1 to ${maxItems}`);
  return limit;
}

/** Items between two others, in the order of the list. */
function cut(items: readonly Item[], query: URLSearchParams): readonly Item[] {
  const place = (name: string): number | undefined => {
    const id = query.get(name);
    if (id === null) return undefined;
    const index = items.findIndex((item) => item.id === id);
    return index < 0 ? refuseQuery(name, "there is no such item") : index;
  };
  const after = place("after");
  return items.slice(after === undefined ? 0 : after + 1, place("before"));
}

/** `GET /responses/{id}/input_items`: newest first. */
export const listInputItems = ofOwn(async (id, context) => {
  const { links, missing } = await context.services.responses.chain(ownerOf(context), id);
  const own = links.at(-1);
  if (missing !== undefined || !own) throw unknownResponse(missing ?? id, "response_id");
  const before = links.slice(0, -1).flatMap(({ input, response }) => [...input, ...outputOf(response)]);
  const { searchParams: query } = context.url;
  const order = query.get("order") ?? "desc";
  if (order !== "asc" && order !== "desc") refuseQuery("order", "it must be asc or desc");
  const items: Item[] = [...before, ...own.input];
  const limit = readLimit(query.get("limit"));
  const found = cut(order === "asc" ? items : items.reverse(), query);
  const data = found.slice(0, limit);
  const [first, last] = [data[0]?.id ?? null, data.at(-1)?.id ?? null];
  return jsonReply({ object: "list", data, first_id: first, last_id: last, has_more: found.length > limit });
});
