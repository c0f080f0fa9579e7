import { toJsonSchema } from "@valibot/to-json-schema";
import { GivenTimeout, timeoutSchema } from "../../guardrails/call.ts";
import type { AnyCheck } from "../../guardrails/types.ts";
import { type CheckKind, CheckKindList } from "../../schemas/guardrails.ts";
import { type AdminCall, type AnswerOf, defineRead } from "../core/endpoint.ts";
import { toList } from "../core/request.ts";

/** Parameters of every check, besides its own. */
const commonParameters = {
  failOnError: { type: "boolean", description: "The verdict if the check cannot decide" },
  scope: { enum: ["all", "user", "last"], default: "all", description: "Which messages of a request it sees" },
  soft_deny_200: { type: "boolean", default: false, description: "A denial returns 200" },
};

/** Schemas by check: they are made once. */
const schemas = new WeakMap<AnyCheck, Record<string, unknown>>();

function schemaOf(check: AnyCheck): Record<string, unknown> {
  const known = schemas.get(check);
  if (known) return known;
  const { $schema: _, ...own } = toJsonSchema(check.parameters, {
    typeMode: "input",
    errorMode: "ignore",
    overrideSchema: ({ valibotSchema }) => (valibotSchema === GivenTimeout ? timeoutSchema : undefined),
  });
  const schema = { ...own, type: "object", properties: { ...own.properties, ...commonParameters } };
  schemas.set(check, schema);
  return schema;
}

/** Whether some parameters let it work on a part of a stream. */
function worksOnWindow({ window }: AnyCheck): boolean {
  return window !== undefined;
}

const phases = { beforeRequestHook: "input", afterRequestHook: "output" } as const;

function toShown(check: AnyCheck): AnswerOf<typeof CheckKind> {
  const { id, aliases = [], partner, phases: when } = check;
  const [source = id] = id.split(".");
  return {
    id,
    aliases,
    source,
    partner: partner ?? null,
    phases: when.map((phase) => phases[phase]),
    changes: check.changes !== undefined,
    works_on_window: worksOnWindow(check),
    parameters: schemaOf(check),
    object: "guardrail_check",
  };
}

/** Every check, for consoles that build forms. */
async function listChecks({ context: { services } }: AdminCall<undefined>): Promise<AnswerOf<typeof CheckKindList>> {
  const checks = services.guardrails.checks.map(toShown);
  return toList(checks, checks.length);
}

export const checkCatalogEndpoint = defineRead({
  tag: "Guardrails",
  method: "GET",
  path: "/v1/guardrails/checks",
  summary: "List the checks that guardrails can have, with the schemas of their parameters",
  access: { keys: "any", scopes: ["guardrails.list", "organisation_guardrails.list"] },
  response: CheckKindList,
  handle: listChecks,
});
