import type * as v from "valibot";
import type { CallerContext } from "../../context.ts";
import type { Audited } from "../../control/audit-chain.ts";
import type { Undo } from "../../control/commit.ts";
import type { Statement } from "../../db/client.ts";
import type { ControlStores } from "../../db/stores/control.ts";
import type { Tenant } from "../../db/tenant-store.ts";
import type { AdminEndpoint } from "../../endpoint.ts";
import { jsonReply } from "../../lib/reply.ts";
import { commitAudited } from "./audit-values.ts";

/** One call of a route of the control plane. */
export interface AdminCall<Body> {
  /** What the credential may see: an organisation, or one of its workspaces. */
  tenant: Tenant;
  /** Validated by the endpoint's schema. */
  body: Body;
  /** Path parameters, decoded. */
  params: Readonly<Record<string, string>>;
  query: URLSearchParams;
  /** Unix milliseconds, the same for everything the call writes. */
  now: number;
  /** The acting user, or the key when no user is behind it. */
  actor: string;
  stores: ControlStores;
  context: CallerContext;
}

/** What a changing call wants to be written, and its response. */
export interface Outcome<Answer = unknown> {
  answer: Answer;
  statements: readonly Statement[];
  /** The record the audit row names; its kind is the endpoint's. */
  recordId?: string;
  /** What the audit row shows as the body of a call that needs none. */
  audited?: object;
  /** Called once the statements are written; the response waits for it. */
  applied?: () => void | Promise<void>;
  /** Takes back what the call changed besides the database. Called if its statements are not written. */
  undo?: Undo | undefined;
}

type EndpointDefinition = Omit<AdminEndpoint, "kind" | "handleAdmin" | "body" | "audit" | "response">;

/** A schema of responses. Such schemas must not transform: what a handler returns is what is sent. */
export type AnswerSchema = v.GenericSchema;

type Shown<Value> = Value extends readonly (infer Item)[]
  ? readonly Shown<Item>[]
  : Value extends object
    ? { readonly [Name in keyof Value]: Shown<Value[Name]> }
    : Value;

/** What a handler returns where the response has this schema. */
export type AnswerOf<Schema extends AnswerSchema> = Shown<v.InferOutput<Schema>>;

/** A call as handlers see it. */
export function toCall<Body>(body: Body, context: CallerContext): AdminCall<Body> {
  const { principal, params, url } = context;
  return {
    tenant: { organisationId: principal.organisationId, workspaceId: principal.workspaceId },
    body,
    params,
    query: url.searchParams,
    context,
    now: context.services.clock.now(),
    actor: principal.userId ?? principal.keyId,
    stores: context.services.control.stores,
  };
}

/** Declares an endpoint that reads. What its handler returns has the type of the response's schema, and is sent as JSON. */
export function defineRead<Answer extends AnswerSchema = AnswerSchema>(
  definition: EndpointDefinition & {
    response?: Answer;
    handle(call: AdminCall<undefined>): Promise<AnswerOf<Answer>>;
  },
): AdminEndpoint {
  const { handle, ...row } = definition;
  return {
    kind: "admin",
    errorForm: "admin",
    ...row,
    handleAdmin: async (_body, context) => jsonReply(await handle(toCall(undefined, context))),
  };
}

/**
 * Declares an endpoint that changes something. Its answer has the type of the response's schema. The handler reads and decides; what it returns is written together with
 * the audit row, in one transaction. It may run more than once: when another node wrote meanwhile, it decides again.
 */
export function defineWrite<
  Schema extends v.GenericSchema = v.GenericSchema<unknown, undefined>,
  Answer extends AnswerSchema = AnswerSchema,
>(
  definition: EndpointDefinition & {
    audit: Audited;
    body?: Schema;
    response?: Answer;
    handle(call: AdminCall<v.InferOutput<Schema>>): Promise<Outcome<AnswerOf<Answer>>>;
  },
): AdminEndpoint {
  const { handle, ...row } = definition;
  return {
    kind: "admin",
    errorForm: "admin",
    ...row,
    async handleAdmin(body, context) {
      // the endpoint's schema made the value
      const call = toCall(body as v.InferOutput<Schema>, context);
      const outcome = await commitAudited(definition.audit, context, () => handle(call));
      await outcome.applied?.();
      return jsonReply(outcome.answer);
    },
  };
}
