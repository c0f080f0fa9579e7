import type { CallerContext } from "../../context.ts";
import { findIssue, isMissing, refuseBody } from "../../endpoint/body.ts";
import type { FormEndpoint, JsonEndpoint } from "../../endpoint.ts";
import { isObject } from "../../lib/json.ts";
import type { ConfigNode } from "../../routing/config.ts";
import { isOperation, modelOf } from "../facts/operation-facts.ts";
import { readBodyConfig } from "./body-config.ts";
import { readRequestConfig } from "./config-source.ts";
import { isFromRequest, listLeaves, storedNameOf } from "./config-target.ts";
import { withTargetModel } from "./named-config.ts";
import type { RequestConfig } from "./saved-config.ts";
import { namedInHeaders } from "./target.ts";

type Members = Record<string, unknown>;

/** The model that a target, or the request's header, names with its provider, as in `@slug/model`. */
function modelBeside(node: ConfigNode, context: CallerContext): string | undefined {
  const named = isFromRequest(node) ? namedInHeaders(context) : storedNameOf(node);
  return named?.model || undefined;
}

/** A request with the model named beside its provider, where it names none itself. */
export function withModelBeside<Request extends object>(
  request: Request,
  node: ConfigNode,
  context: CallerContext,
): Request {
  const model = modelBeside(node, context);
  return model === undefined ? request : { ...request, model };
}

/** What a target adds to an incomplete request. */
function additionsOf(node: ConfigNode, context: CallerContext): Members {
  const { defaultParams, overrideParams } = node.merged;
  const added = { ...defaultParams, ...overrideParams };
  return Object.hasOwn(added, "model") ? added : withModelBeside(added, node, context);
}

/** The request as each of its targets would complete it; its own fields are checked as they are. */
function listCompleted(value: Members, config: RequestConfig, context: CallerContext): Members[] {
  const own = withTargetModel(value, config);
  return listLeaves(config.node).map((leaf) => ({ ...additionsOf(leaf, context), ...own }));
}

/** Fields a target may add to a request. */
const givable = (issue: ReturnType<typeof findIssue>["issue"]): boolean =>
  issue?.path?.length === 1 && isMissing(issue);

function requireCompletable(
  { body: schema, operation }: JsonEndpoint | FormEndpoint,
  value: Members,
  given: RequestConfig,
  context: CallerContext,
): void {
  const isRouted = operation !== undefined && isOperation(operation);
  const config = (isRouted && readBodyConfig(given, { operation, value }, context)) || given;
  const issues = listCompleted(value, config, context).map((completed) => findIssue(schema, completed).issue);
  const [first] = issues;
  if (first !== undefined && issues.every((issue) => issue !== undefined)) refuseBody(first);
}

/**
 * Checks the body of an operation that its schema refuses. Missing fields may come from its config: then each target must
 * supply them.
 *
 * @param issue The first field that is wrong or missing.
 * @throws {InvalidRequestError} 400 naming it.
 */
export async function requireConfigured(
  endpoint: JsonEndpoint | FormEndpoint,
  { value, issue }: { value: unknown; issue: NonNullable<ReturnType<typeof findIssue>["issue"]> },
  context: CallerContext,
): Promise<void> {
  if (!isObject(value) || !givable(issue)) refuseBody(issue);
  requireCompletable(endpoint, value, await readRequestConfig(context, modelOf(value)), context);
}
