import type { Services } from "../../context.ts";
import type { EvalRunRow } from "../../db/tables/evals.ts";
import { InvalidRequestError, NotFoundError } from "../../errors.ts";
import { isObject, stringOf } from "../../lib/json.ts";
import type { RunState, StoredVariant } from "../../schemas/eval-runs.ts";
import type { Example } from "../../schemas/example-sets.ts";
import { AnswerSeal } from "./answer-seal.ts";
import { answerTextOf } from "./answer-text.ts";
import { askEval, type EvalCaller, type EvalRequest } from "./ask.ts";
import { AnswerChecks, type Decided } from "./checks.ts";
import { readExamples } from "./example-files.ts";

/** Most characters that are stored of an answer. */
const maxText = 256 * 1024;

/** How a run ended; `paused`: others go on with it. */
export type RunOutcome = { readonly status: RunState; readonly failure: string | null } | "paused";

/** Who works on a run. */
interface RunParts {
  readonly services: Services;
  readonly owner: string;
  readonly signal: AbortSignal;
  isStopping(): boolean;
}

/** One answer of a run. */
interface Cell {
  readonly example: number;
  readonly variant: number;
}

/** The request of a variant for an example. */
function requestOf({ model, config, prompt }: StoredVariant, { endpoint, body, variables }: Example): EvalRequest {
  const own = model !== undefined && { model };
  if (prompt !== undefined) {
    return { path: `/v1/prompts/${encodeURIComponent(prompt)}/completions`, body: { variables, ...own }, config };
  }
  // answers are read whole
  const { stream: _, stream_options: __, ...members } = body ?? {};
  return { path: endpoint, body: { ...members, ...own }, config };
}

/** Everything that the answers of a run are made with. */
interface RunTools {
  readonly row: EvalRunRow;
  readonly parts: RunParts;
  readonly caller: EvalCaller;
  readonly examples: readonly Example[];
  readonly checks: AnswerChecks;
  readonly seal: AnswerSeal;
  readonly cells: readonly Cell[];
}

/** Answers that a run still needs. */
class OpenRun {
  readonly #tools: RunTools;
  #next = 0;
  #running = 0;
  /** Answers of this run so far, and what they cost in nano-dollars. */
  #done: number;
  #spent: number;
  #failure: string | undefined;

  constructor(tools: RunTools) {
    this.#tools = tools;
    this.#done = tools.row.done;
    this.#spent = tools.row.cost;
  }

  /** Makes answers until all are there, the budget is used up, or the process stops. */
  async answerAll(): Promise<RunOutcome> {
    const { row, cells, parts } = this.#tools;
    // what an answer costs is not known before the first
    if (this.#done === 0) await this.#work(() => this.#done === 0);
    while (this.#mayBegin()) {
      const workers = Array.from({ length: row.concurrency }, () => this.#work(() => true));
      const results = await Promise.allSettled(workers);
      const failed = results.find((result) => result.status === "rejected");
      if (failed) throw failed.reason;
    }
    if (this.#failure !== undefined) return { status: "failed", failure: this.#failure };
    if (parts.isStopping() || parts.signal.aborted) return "paused";
    return { status: this.#next < cells.length ? "stopped" : "completed", failure: null };
  }

  /** Takes one answer after the other. */
  async #work(isWanted: () => boolean): Promise<void> {
    while (isWanted() && this.#mayBegin()) {
      const cell = this.#tools.cells[this.#next++];
      if (!cell) return;
      this.#running++;
      try {
        await this.#answer(cell);
      } catch (error) {
        this.#failure ??= "an answer cannot be stored";
        throw error;
      } finally {
        this.#running--;
      }
    }
  }

  /** Whether another answer may begin: those that run will cost about as much as the others. */
  #mayBegin(): boolean {
    const { row, cells, parts } = this.#tools;
    if (this.#failure !== undefined || parts.isStopping() || parts.signal.aborted) return false;
    const mean = this.#done === 0 ? 0 : this.#spent / this.#done;
    return this.#next < cells.length && this.#spent + this.#running * mean < row.budget;
  }

  async #answer({ example: place, variant: index }: Cell): Promise<void> {
    const { row, parts, caller, examples, checks, seal } = this.#tools;
    const example = examples[place];
    const variant = row.variants[index];
    if (!example || !variant) return;
    const request = requestOf(variant, example);
    const metadata = { eval_variant: variant.name, eval_example: String(place) };
    const { json, error = null, cost, ...asked } = await askEval({ ...request, metadata }, caller);
    const text = answerTextOf(json);
    const isAnswer = asked.status < 300;
    const decided: Decided = isAnswer
      ? await checks.decide({ example, request: request.body, body: json, text })
      : checks.fail();
    // the next process makes it again
    if (parts.signal.aborted) return;
    const key = { runId: row.id, example: place, variant: index };
    const { organisationId, workspaceId } = row;
    const sealed = await seal.seal(key, { text: text.slice(0, maxText), error, reasons: decided.reasons });
    const spent = (cost ?? 0) + decided.cost;
    await parts.services.evalRuns.store.add(row, parts.owner, {
      answer: {
        ...key,
        organisationId,
        workspaceId,
        logId: asked.logId,
        status: asked.status,
        latencyMs: asked.latencyMs,
        inputTokens: asked.inputTokens,
        outputTokens: asked.outputTokens,
        cost,
        verdicts: decided.verdicts,
        sealed,
        rating: null,
        ratedBy: null,
        createdAt: parts.services.clock.now(),
      },
      cost: spent,
    });
    this.#done++;
    this.#spent += spent;
    if (isAnswer && cost === null) {
      const model = isObject(json) ? stringOf(json.model) : undefined;
      this.#failure ??= `The model ${model ?? variant.name} has no price, so that the budget cannot hold`;
    }
  }
}

/**
 * A run with all that its answers need.
 *
 * @throws {GatewayError} If its key, its examples or its workspace are gone.
 */
export async function openRun(row: EvalRunRow, parts: RunParts): Promise<OpenRun> {
  const { services, signal } = parts;
  const { organisationId, workspaceId } = row;
  const tenant = { organisationId, workspaceId };
  const { stores, directory } = services.control;
  const principal = await services.authenticator.ofKey(row.apiKeyId);
  if (principal?.workspaceId !== workspaceId) {
    throw new InvalidRequestError("The API key that started the run can no longer be used", {
      code: "invalid_api_key",
    });
  }
  const version = await stores.exampleVersions.find(tenant, { setId: row.setId, version: row.version });
  const view = await directory.workspace(tenant);
  if (!version || !view) throw new NotFoundError("The examples of the run were deleted", { code: "AB08" });
  const examples = await readExamples(version, services);
  const answered = new Set(
    (await services.evalRuns.store.figures(row)).map(({ example, variant }) => `${example} ${variant}`),
  );
  const cells = examples
    .flatMap((_, example) => row.variants.map((__, variant) => ({ example, variant })))
    .filter(({ example, variant }) => !answered.has(`${example} ${variant}`));
  const caller = { services, principal, runId: row.id, signal };
  const checks = new AnswerChecks(row.checks, view, caller);
  const seal = await AnswerSeal.of(row, services.control);
  return new OpenRun({ row, parts, caller, examples, checks, seal, cells });
}
