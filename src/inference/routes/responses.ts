import type { CallerContext } from "../../context.ts";
import type { KeptContent } from "../../control/stored-responses.ts";
import { isUnreachable } from "../../db/client.ts";
import type { ResponseOwner } from "../../db/stores/stored-responses.ts";
import { isOwnResponseId, toResponseId } from "../../dialects/responses/ids.ts";
import { replayEvents, toInputItems } from "../../dialects/responses/stored.ts";
import type { JsonBody } from "../../endpoint.ts";
import { InvalidRequestError, NotFoundError, UnavailableError } from "../../errors.ts";
import { objectsIn } from "../../lib/json.ts";
import { jsonReply, type Reply } from "../../lib/reply.ts";
import { encodeEvent } from "../../lib/sse.ts";
import type { ResponsesRequest, ResponsesResponse } from "../../schemas/responses.ts";
import { runPassthrough } from "../passthrough/passthrough.ts";
import { runInference } from "../pipeline/run.ts";

type Item = Readonly<Record<string, unknown>>;

/** Whose responses a caller may see: those of its workspace. */
function ownerOf({ principal }: CallerContext): ResponseOwner {
  return { organisationId: principal.organisationId, workspaceId: principal.workspaceId ?? "" };
}

/** What a look-up gives, or that it cannot be made now. */
async function lookUp<Value>(work: Promise<Value>): Promise<Value> {
  try {
    return await work;
  } catch (cause) {
    if (!isUnreachable(cause)) throw cause;
    throw new UnavailableError("Cannot read stored responses: the database cannot be reached", {
      cause,
      code: "not_ready",
      retryAfterSeconds: 1,
    });
  }
}

function unknownResponse(id: string, param: string): NotFoundError {
  return new NotFoundError(`Cannot find response ${id}: it was not stored, or is no longer`, {
    param,
    code: "response_not_found",
  });
}

/**
 * Items a response and those before it were made of: what was sent and what was answered, oldest first.
 *
 * @throws {NotFoundError} 404 naming the response that is not there.
 */
async function loadHistory(id: string, context: CallerContext): Promise<Item[]> {
  const { links, missing } = await lookUp(context.services.responses.chain(ownerOf(context), id));
  if (missing !== undefined) throw unknownResponse(missing, "previous_response_id");
  return links.flatMap(({ input, response }) => [...input, ...outputOf(response)]);
}

function outputOf({ output }: KeptContent["response"]): Item[] {
  return objectsIn(output);
}

/** What keeps the answer of a request, unless it asks for the opposite. */
function createKeeper(request: ResponsesRequest, context: CallerContext) {
  const id = toResponseId(context.id);
  return (answer: object): void => {
    // a config may have changed the member: the answer tells what holds
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

/** Answers `POST /responses`: what a request of ours goes on from comes before its input. */
export async function runResponses(body: JsonBody<ResponsesRequest>, context: CallerContext): Promise<Reply> {
  body.text = "";
  const { value } = body;
  const previous = value.previous_response_id;
  context.keepAnswer = createKeeper(value, context);
  if (typeof previous !== "string" || !isOwnResponseId(previous)) {
    return runInference("responses", body, context);
  }
  const history = await loadHistory(previous, context);
  const input = [...history, ...toInputItems(value.input, toResponseId(context.id))];
  return runInference("responses", { ...body, value: { ...value, input } }, context);
}

/** The response a path names. @throws {NotFoundError} */
async function requireKept(id: string, context: CallerContext): Promise<ResponsesResponse> {
  const kept = await lookUp(context.services.responses.find(ownerOf(context), id));
  if (!kept) throw unknownResponse(id, "response_id");
  return kept.response as ResponsesResponse; // what was kept is an answer
}

type Handler = (id: string, context: CallerContext) => Promise<Reply>;

/** A handler for responses of the gateway's own; those of providers are passed on to theirs. */
function ofOwn(handle: Handler) {
  return (context: CallerContext): Promise<Reply> => {
    const { id = "" } = context.params;
    return isOwnResponseId(id) ? handle(id, context) : runPassthrough(context);
  };
}

/** Events behind the one a caller has seen last. */
function toReplay(response: ResponsesResponse, after: string | null): Reply {
  const seen = after === null ? -1 : Number(after);
  if (!Number.isInteger(seen)) refuseQuery("starting_after", "write the number of an event");
  const events = replayEvents(response).filter(({ sequence_number: number }) => Number(number) > seen);
  return {
    status: 200,
    headers: { "content-type": "text/event-stream; charset=utf-8" },
    body: events.map((event) => encodeEvent(event, String(event.type))).join(""),
  };
}

/** `GET /responses/{id}`. */
export const getResponse = ofOwn(async (id, context) => {
  const response = await requireKept(id, context);
  const { searchParams: query } = context.url;
  return query.get("stream") === "true" ? toReplay(response, query.get("starting_after")) : jsonReply(response);
});

/** `DELETE /responses/{id}`. */
export const deleteResponse = ofOwn(async (id, context) => {
  if (!(await lookUp(context.services.responses.remove(ownerOf(context), id))))
    throw unknownResponse(id, "response_id");
  return jsonReply({ id, object: "response", deleted: true });
});

/** `POST /responses/{id}/cancel`. */
export const cancelResponse = ofOwn(async (id, context) => {
  await requireKept(id, context);
  throw new InvalidRequestError(`Cannot cancel response ${id}: it does not run in the background`, {
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
  if (!Number.isInteger(limit) || limit < 1 || limit > maxItems) refuseQuery("limit", `write 1 to ${maxItems}`);
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
  const { links, missing } = await lookUp(context.services.responses.chain(ownerOf(context), id));
  const own = links.at(-1);
  if (missing !== undefined || !own) throw unknownResponse(missing ?? id, "response_id");
  const before = links.slice(0, -1).flatMap(({ input, response }) => [...input, ...outputOf(response)]);
  const { searchParams: query } = context.url;
  const order = query.get("order") ?? "desc";
  if (order !== "asc" && order !== "desc") refuseQuery("order", "write asc or desc");
  const items: Item[] = [...before, ...own.input];
  const limit = readLimit(query.get("limit"));
  const found = cut(order === "asc" ? items : items.reverse(), query);
  const data = found.slice(0, limit);
  const [first, last] = [data[0]?.id ?? null, data.at(-1)?.id ?? null];
  return jsonReply({ object: "list", data, first_id: first, last_id: last, has_more: found.length > limit });
});
