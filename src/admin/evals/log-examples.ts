import type { CallerContext } from "../../context.ts";
import type { LogScope } from "../../db/stores/log-scope.ts";
import type { StoredLog } from "../../db/stores/logs.ts";
import type { ExampleVersionRow } from "../../db/tables/evals.ts";
import { detailScopes, requireLogAccess, requireSeenFields } from "../../endpoint/log-access.ts";
import { readLogSight, requireScopes } from "../../endpoint/role.ts";
import { InvalidRequestError, UnavailableError } from "../../errors.ts";
import { isObject } from "../../lib/json.ts";
import { giveWay } from "../../lib/pace.ts";
import { meetsTerms } from "../../logs/index/row-test.ts";
import { showBody } from "../../logs/shown-body.ts";
import type { Example, LogSource } from "../../schemas/example-sets.ts";
import { readRowFilter } from "../core/log-filter.ts";
import { forbid, refuseField } from "../core/request.ts";
import { countedSources } from "../core/row-filters.ts";
import { answerTextOf } from "./answer-text.ts";

/** Rows that a filter takes unless the call says how many. */
const defaultLimit = 100;

/** Routes of examples, by the operations of log rows. */
const endpoints: Readonly<Record<string, Example["endpoint"]>> = {
  chat: "/v1/chat/completions",
  complete: "/v1/completions",
  messages: "/v1/messages",
  responses: "/v1/responses",
};

/** Members of a body that say how its response is sent, not what is asked. */
const transportMembers = new Set(["stream", "stream_options"]);

const promptPath = /^\/v1\/prompts\/[^/]+\/completions$/;

type LogAccess = Awaited<ReturnType<typeof requireLogAccess>>;

/**
 * What a caller may see of the contents of the log.
 *
 * @throws {PermissionError} AB03 for those who may see none, and where the organisation shows none.
 */
async function requireContents(context: CallerContext): Promise<LogAccess> {
  await requireScopes(context, detailScopes);
  const access = await requireLogAccess(context);
  if (!access.content) forbid("This role may not see the contents of logs", "logs");
  if (access.denied.has("request") || access.denied.has("response")) {
    forbid("Your organisation does not show the contents of logs", "logs");
  }
  return access;
}

function refuseAway(): never {
  throw new UnavailableError("Cannot read the log: the store that has its contents does not respond", {
    code: "log_store_unavailable",
    retryAfterSeconds: 30,
  });
}

/** Why a row cannot be an example. */
type Obstacle = { readonly problem: string };

/** What was sent, as an example has it: the variables of a prompt, or a body. */
function sentPart({ details }: StoredLog, body: unknown): Pick<Example, "endpoint" | "body" | "variables"> | Obstacle {
  if (!isObject(body)) return { problem: "has no JSON body" };
  if (promptPath.test(details.path)) {
    return { endpoint: "/v1/chat/completions", variables: isObject(body.variables) ? body.variables : {} };
  }
  const endpoint = Object.hasOwn(endpoints, details.operation) ? endpoints[details.operation] : undefined;
  if (endpoint === undefined) return { problem: `is a request of ${details.operation}, which examples cannot be` };
  const members = Object.entries(body).filter(([name]) => !transportMembers.has(name));
  return { endpoint, body: Object.fromEntries(members) };
}

/** An example of a row, with its contents as the log shows them. */
async function toExample(
  stored: StoredLog,
  { wantsResponse, hidesMetadata }: { wantsResponse: boolean; hidesMetadata: boolean },
  { redactor }: CallerContext["services"],
): Promise<Example | Obstacle> {
  if (stored.isAway) return refuseAway();
  const { details, content } = stored;
  if (!content || content.request.body === null) return { problem: "has no stored contents" };
  if (content.request.truncated) return { problem: "has a body that is stored in part" };
  const sent = sentPart(stored, await showBody(content.request.body, redactor));
  if ("problem" in sent) return sent;
  const { body: answer, truncated } = content.response;
  const isWhole = answer !== null && !truncated && details.status < 300;
  if (wantsResponse && !isWhole) return { problem: "has no whole response of a success" };
  const expected = wantsResponse && answer !== null ? answerTextOf(await showBody(answer, redactor)) : "";
  return {
    ...sent,
    ...(expected !== "" && { expected }),
    ...(!hidesMetadata && Object.keys(details.metadata).length > 0 && { metadata: details.metadata }),
    log_id: details.id,
  };
}

/** The rows that a source names by their ids, each of which the caller must see. */
async function* namedRows(
  ids: readonly string[],
  { scope, userId, context }: { scope: LogScope; userId: string | null; context: CallerContext },
): AsyncGenerator<StoredLog, void> {
  for (const [index, id] of ids.entries()) {
    const stored = await context.services.logStore.find(scope, id);
    if (!stored || (userId !== null && stored.details.user_id !== userId)) {
      return refuseField(`logs.ids.${index}`, "is no row of the log");
    }
    yield stored;
  }
}

/** The newest rows that a filter chooses, newest first. */
async function* chosenRows(
  { filter = {}, limit = defaultLimit }: LogSource,
  { scope, access, context }: { scope: LogScope; access: LogAccess; context: CallerContext },
): AsyncGenerator<StoredLog, void> {
  const { logReader, logStore } = context.services;
  const choice = readFilter(filter);
  const fields = choice.conditions.map(({ field }) => field);
  requireSeenFields(fields, access.denied);
  const conditions = [...choice.conditions, ...access.own];
  for (const { id } of await logReader.find({ ...choice, conditions, scope, limit })) {
    const stored = await logStore.find(scope, id);
    // what the index cannot say exactly, and rows that were removed meanwhile
    if (stored && meetsTerms(stored.details, choice.terms)) yield stored;
  }
}

/** @throws {InvalidRequestError} AB01, naming a wrong filter by its place in the body. */
function readFilter(filter: Readonly<Record<string, string>>) {
  try {
    return readRowFilter(new URLSearchParams({ source: countedSources, ...filter }));
  } catch (error) {
    if (!(error instanceof InvalidRequestError) || error.param === null) throw error;
    const param = `logs.filter.${error.param}`;
    throw new InvalidRequestError(error.message.replace(error.param, param), { cause: error, code: "AB01", param });
  }
}

/** Examples made of rows of the log, and how many rows of a filter cannot be any. */
export async function readLogExamples(
  source: LogSource,
  scope: LogScope,
  context: CallerContext,
): Promise<{ examples: Example[]; skipped: number }> {
  const access = await requireContents(context);
  const { ids, expected = "response" } = source;
  const shown = { wantsResponse: expected === "response", hidesMetadata: access.denied.has("metadata") };
  const rows = ids
    ? namedRows(ids, { scope, userId: access.userId, context })
    : chosenRows(source, { scope, access, context });
  const examples: Example[] = [];
  let skipped = 0;
  let last = "";
  for await (const stored of rows) {
    const made = await toExample(stored, shown, context.services);
    await giveWay();
    if (!("problem" in made)) examples.push(made);
    else if (ids) refuseField(`logs.ids.${examples.length}`, made.problem);
    else {
      last = made.problem;
      skipped++;
    }
  }
  if (examples.length > 0) return { examples, skipped };
  return refuseField("logs.filter", skipped === 0 ? "finds no row" : `finds no row that can be one: the last ${last}`);
}

/**
 * Refuses those who may not see the examples of a version: examples show contents as the log does.
 *
 * @throws {PermissionError} AB03
 */
export async function requireExamplesSeen(
  context: CallerContext,
  { fromLogs, createdBy }: Pick<ExampleVersionRow, "fromLogs" | "createdBy">,
): Promise<void> {
  if (fromLogs) {
    const { userId } = await requireContents(context);
    if (userId !== null && createdBy !== userId) forbid("This role may not see requests of others");
  } else if (!(await readLogSight(context)).content) forbid("This role may not see the contents of requests");
}
