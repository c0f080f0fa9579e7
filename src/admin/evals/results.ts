import type { EvalAnswerRow, EvalRunRow } from "../../db/tables/evals.ts";
import { readDenied } from "../../endpoint/log-access.ts";
import { toCents } from "../../pricing/cost.ts";
import type { EvalAnswer, EvalResult } from "../../schemas/eval-runs.ts";
import type { AdminCall } from "../core/endpoint.ts";
import { requireFound } from "../core/request.ts";
import { AnswerSeal } from "./answer-seal.ts";
import { withoutDeniedFigures } from "./denied-figures.ts";
import { readExamples } from "./example-files.ts";
import { expectedText, inputText } from "./example-strings.ts";
import { requireExamplesSeen } from "./log-examples.ts";

/** A variant that has not answered yet. */
const noAnswer = (variant: string): EvalAnswer => ({
  variant,
  status: null,
  text: null,
  error: null,
  cost: null,
  latency_ms: null,
  input_tokens: null,
  output_tokens: null,
  verdicts: {},
  reasons: {},
  rating: null,
  rated_by: null,
  log_id: null,
});

async function toAnswer(variant: string, row: EvalAnswerRow | undefined, seal: AnswerSeal): Promise<EvalAnswer> {
  if (!row) return noAnswer(variant);
  const { text, error, reasons } = await seal.open(row);
  return {
    variant,
    status: row.status,
    text: row.status < 300 ? text : null,
    error,
    cost: row.cost === null ? null : toCents(row.cost),
    latency_ms: row.latencyMs,
    input_tokens: row.inputTokens,
    output_tokens: row.outputTokens,
    verdicts: row.verdicts,
    reasons,
    rating: row.rating,
    rated_by: row.ratedBy,
    log_id: row.logId,
  };
}

/** Which results are wanted: of these examples. */
interface ResultRange {
  readonly offset: number;
  readonly limit: number;
}

/**
 * Examples of a run with their answers.
 *
 * @throws {PermissionError} AB03 for those who may not see the examples.
 */
export async function readResults(
  { context, stores }: AdminCall<unknown>,
  row: EvalRunRow,
  { offset, limit }: ResultRange,
): Promise<{ results: EvalResult[]; total: number }> {
  const { organisationId, workspaceId } = row;
  const tenant = { organisationId, workspaceId };
  const where = { setId: row.setId, version: row.version };
  const version = requireFound(await stores.exampleVersions.find(tenant, where), "version");
  await requireExamplesSeen(context, version);
  const examples = await readExamples(version, context.services);
  const seal = await AnswerSeal.of(row, context.services.control);
  const denied = await readDenied(context);
  const between = { column: "example" as const, from: offset, to: offset + limit };
  const answers = await stores.evalAnswers.all(tenant, { where: { runId: row.id }, between });
  const results: EvalResult[] = [];
  for (const [index, example] of examples.slice(offset, offset + limit).entries()) {
    const place = offset + index;
    const own = answers.filter((answer) => answer.example === place);
    results.push({
      example: place,
      input: inputText(example),
      expected: expectedText(example) ?? null,
      metadata: example.metadata ?? {},
      answers: await Promise.all(
        row.variants.map(async ({ name }, variant) => {
          const answered = own.find((answer) => answer.variant === variant);
          const answer = withoutDeniedFigures(await toAnswer(name, answered, seal), denied);
          return denied.has("response_status_code") ? { ...answer, status: null } : answer;
        }),
      ),
    });
  }
  return { results, total: examples.length };
}
