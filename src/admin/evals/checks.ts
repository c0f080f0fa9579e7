import type { WorkspaceView } from "../../control/resources.ts";
import type { SavedGuardrails } from "../../guardrails/resolve.ts";
import { runHooks } from "../../guardrails/run.ts";
import type { TargetHooks } from "../../guardrails/state.ts";
import type { Hook, RequestType } from "../../guardrails/types.ts";
import { HeaderMap, hopHeader } from "../../lib/headers.ts";
import { isObject, parseJson, stringOf } from "../../lib/json.ts";
import { isSameJson } from "../../lib/same-json.ts";
import type { NamedCheck, Verdicts } from "../../schemas/eval-runs.ts";
import type { Example } from "../../schemas/example-sets.ts";
import type { HookResult } from "../../schemas/hooks.ts";
import { askEval, type EvalCaller } from "./ask.ts";
import { expectedText, inputText } from "./example-strings.ts";

/** From this probability on, a judge says yes. */
const passesFrom = 0.5;
/** Most characters of what a check says of its verdict. */
const maxReason = 500;

const requestTypes: Readonly<Record<Example["endpoint"], RequestType>> = {
  "/v1/chat/completions": "chatComplete",
  "/v1/completions": "complete",
  "/v1/messages": "messages",
  "/v1/responses": "createModelResponse",
};

/** An answer that is checked. */
interface CheckedAnswer {
  readonly example: Example;
  readonly request: object;
  readonly body: unknown;
  readonly text: string;
}

/** What one check says; null: it could not decide. */
interface Verdict {
  readonly verdict: boolean | null;
  readonly reason?: string;
  /** Nano-dollars. */
  readonly cost?: number;
}

/** What all checks of a run say of an answer, and what they cost. */
export interface Decided {
  readonly verdicts: Verdicts;
  readonly reasons: Readonly<Record<string, string>>;
  readonly cost: number;
}

type Guard = Extract<NamedCheck, { type: "guardrail" | "json_schema" }>;

/** The hooks of a check that guardrails make, as a config writes them. */
export function writtenHooks(check: Guard): Readonly<Record<string, readonly unknown[]>> {
  const hook = check.type === "guardrail" ? check.guardrail : { "default.jsonSchema": { schema: check.schema } };
  return { output_guardrails: [hook] };
}

/** The saved guardrails of a workspace, without those that run on every request. */
export const onlyNamed = ({ guardrails }: Pick<WorkspaceView, "guardrails">): SavedGuardrails => ({
  guardrails,
  defaultGuardrails: { input: [], output: [] },
});

/** The hooks that look at responses, those that run after them too. */
export const lateHooks = (hooks: TargetHooks | undefined): Hook[] => [
  ...(hooks?.after ?? []),
  ...(hooks?.later.after ?? []),
];

/** Whether an answer is what is expected. */
function isExpected({ expected }: Example, text: string): boolean {
  if (typeof expected === "string") return text.trim() === expected.trim();
  return isSameJson(parseJson(text), expected);
}

/** What the checks of a guardrail found. One that could not look says nothing, unless another objects. */
function toVerdict(results: readonly HookResult[]): Verdict {
  const checks = results.flatMap((result) => result.checks);
  const isPassed = results.every(({ verdict }) => verdict);
  const broken = checks.find(({ error }) => error !== null);
  const objecting = checks.find(({ verdict }) => !verdict);
  const reason = broken?.error?.message ?? stringOf(objecting?.data?.explanation);
  return { verdict: isPassed && broken ? null : isPassed, ...(reason !== undefined && { reason }) };
}

/** The checks of a run. */
export class AnswerChecks {
  readonly #checks: readonly NamedCheck[];
  readonly #caller: EvalCaller;
  readonly #hooks = new Map<string, readonly Hook[]>();

  /** @param view The workspace whose guardrails checks name. */
  constructor(checks: readonly NamedCheck[], view: WorkspaceView, caller: EvalCaller) {
    this.#checks = checks;
    this.#caller = caller;
    const saved = onlyNamed(view);
    for (const check of checks) {
      if (check.type !== "guardrail" && check.type !== "json_schema") continue;
      this.#hooks.set(check.name, lateHooks(caller.services.guardrails.of(writtenHooks(check), saved)));
    }
  }

  /** What the checks say of an answer. */
  async decide(answer: CheckedAnswer): Promise<Decided> {
    const verdicts: Verdicts = {};
    const reasons: Record<string, string> = {};
    let cost = 0;
    for (const check of this.#checks) {
      const said = await this.#one(check, answer);
      verdicts[check.name] = said.verdict;
      cost += said.cost ?? 0;
      if (said.reason !== undefined) reasons[check.name] = said.reason.slice(0, maxReason);
    }
    return { verdicts, reasons, cost };
  }

  /** What they say of an error: no check passes. */
  fail(): Decided {
    return { verdicts: Object.fromEntries(this.#checks.map(({ name }) => [name, false])), reasons: {}, cost: 0 };
  }

  async #one(check: NamedCheck, answer: CheckedAnswer): Promise<Verdict> {
    const { example, text } = answer;
    const needsExpected = check.type === "exact" || (check.type === "contains" && check.value === undefined);
    if (needsExpected && example.expected === undefined) return { verdict: null, reason: "nothing is expected" };
    if (check.type === "exact") return { verdict: isExpected(example, text) };
    if (check.type === "contains") return { verdict: text.includes(check.value ?? expectedText(example) ?? "") };
    return check.type === "judge" ? this.#judge(check, answer) : this.#guard(check, answer);
  }

  async #guard({ name }: NamedCheck, { example, request, body }: CheckedAnswer): Promise<Verdict> {
    const hooks = this.#hooks.get(name) ?? [];
    if (hooks.length === 0) return { verdict: null, reason: "the guardrail does not check responses any more" };
    const { services, principal } = this.#caller;
    let cost = 0;
    const { results } = await runHooks(
      hooks,
      {
        phase: "afterRequestHook",
        requestType: requestTypes[example.endpoint],
        tenant: JSON.stringify([principal.organisationId, principal.workspaceId]),
        provider: "",
        request: {
          body: { ...request },
          header: () => undefined,
          isStreaming: false,
          isTransformed: false,
          askModel: async (question) => {
            const { status, json, ...asked } = await askEval({ ...question, isUnguarded: true }, this.#caller);
            cost += asked.cost ?? 0;
            return { status, json };
          },
          ownHeaders: { [hopHeader]: services.hops.next(new HeaderMap(new Headers())) },
        },
        response: { body: isObject(body) ? body : {}, status: 200, isTransformed: false },
        metadata: {},
      },
      services.clock,
    );
    return { ...toVerdict(results), cost };
  }

  async #judge(
    { model, criteria }: Extract<NamedCheck, { type: "judge" }>,
    { example, text }: CheckedAnswer,
  ): Promise<Verdict> {
    const expected = expectedText(example);
    const body = {
      model,
      state: { request: inputText(example), answer: text, ...(expected !== undefined && { expected }) },
      questions: { verdict: { type: "noul", instructions: `Does the answer meet these criteria? ${criteria}` } },
    };
    const { json, error, ...asked } = await askEval({ path: "/v1/decisions", body }, this.#caller);
    const cost = asked.cost ?? 0;
    const answers = isObject(json) && isObject(json.answers) ? json.answers : {};
    const probability = isObject(answers.verdict) ? answers.verdict.noul : undefined;
    if (typeof probability !== "number") return { verdict: null, reason: error ?? "the judge did not decide", cost };
    return { verdict: probability >= passesFrom, reason: `probability ${probability.toFixed(2)}`, cost };
  }
}
