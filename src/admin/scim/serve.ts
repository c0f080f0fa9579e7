import type * as v from "valibot";
import type { CallerContext } from "../../context.ts";
import type { Audited } from "../../control/audit-chain.ts";
import type { ScimEndpoint } from "../../endpoint.ts";
import { scimContentType } from "../../errors.ts";
import { isObject } from "../../lib/json.ts";
import type { Reply } from "../../lib/reply.ts";
import { commitAudited } from "../core/audit-values.ts";
import { type AdminCall, type AnswerOf, type Outcome, toCall } from "../core/endpoint.ts";
import { auditRefusals, checkBody, readAdminBody, requirePlainPath } from "../core/serve.ts";

/** Names of attributes and message fields; their case is ignored (RFC 7643, section 2.1). */
const names = new Map(
  [
    "schemas",
    "userName",
    "externalId",
    "name",
    "givenName",
    "familyName",
    "emails",
    "value",
    "type",
    "primary",
    "active",
    "displayName",
    "members",
    "Operations",
    "op",
    "path",
  ].map((name) => [name.toLowerCase(), name]),
);

/** The same value with known names in their own spelling. */
function toOwnSpelling(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toOwnSpelling);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [names.get(name.toLowerCase()) ?? name, toOwnSpelling(member)]),
  );
}

async function readBody({ body }: ScimEndpoint, context: CallerContext): Promise<unknown> {
  return body && checkBody(body, toOwnSpelling(await readAdminBody(context)));
}

/** Serves one endpoint of the SCIM protocol; refusals are audited like changes. */
export function serveScim(endpoint: ScimEndpoint, context: CallerContext): Promise<Reply> {
  return auditRefusals(endpoint, context, async () => {
    requirePlainPath(context);
    return endpoint.handleScim(await readBody(endpoint, context), context);
  });
}

/** A representation of a resource or a list of them. */
interface Representation {
  schemas: readonly string[];
  meta?: { location: string };
}

function toReply(answer: Representation | undefined, status: number): Reply {
  if (answer === undefined) return { status, headers: {}, body: null };
  const { meta } = answer;
  return {
    status,
    headers: { "content-type": scimContentType, ...(status === 201 && meta && { location: meta.location }) },
    body: JSON.stringify(answer),
  };
}

type ScimDefinition = Omit<
  ScimEndpoint,
  "kind" | "access" | "tag" | "handleScim" | "body" | "audit" | "success" | "response"
>;

const common = { kind: "scim", access: "scim", errorForm: "scim", errorsBelow: "/scim/v2", tag: "SCIM" } as const;

/** Declares an endpoint that reads. What its handler returns has the type of the response's schema. */
export function defineScimRead<Answer extends v.GenericSchema>(
  definition: ScimDefinition & {
    response: Answer;
    handle(call: AdminCall<undefined>): Promise<AnswerOf<Answer> & Representation>;
  },
): ScimEndpoint {
  const { handle, ...row } = definition;
  return {
    ...row,
    ...common,
    success: 200,
    handleScim: async (_body, context) => toReply(await handle(toCall(undefined, context)), 200),
  };
}

/**
 * Declares an endpoint that changes something; see `defineWrite` for the rules of its handler. Without a schema of the
 * response it has no body.
 */
export function defineScimWrite<
  Schema extends v.GenericSchema = v.GenericSchema<unknown, undefined>,
  Answer extends v.GenericSchema = v.GenericSchema<unknown, undefined>,
>(
  definition: ScimDefinition & {
    success: ScimEndpoint["success"];
    audit: Audited;
    body?: Schema;
    response?: Answer;
    handle(call: AdminCall<v.InferOutput<Schema>>): Promise<Outcome<AnswerOf<Answer> & (Representation | undefined)>>;
  },
): ScimEndpoint {
  const { handle, ...row } = definition;
  const { audit, success: status } = row;
  return {
    ...row,
    ...common,
    async handleScim(body, context) {
      // the endpoint's schema made the value
      const call = toCall(body as v.InferOutput<Schema>, context);
      const work = async () => ({ ...(await handle(call)), status });
      return toReply((await commitAudited(audit, context, work)).answer, status);
    },
  };
}
