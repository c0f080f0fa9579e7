import { requireAccess } from "../auth/access.ts";
import { clientAddressOf, type RequestContext } from "../context.ts";
import { definePublicEndpoint, type Endpoint } from "../endpoint.ts";
import { AuthenticationError, PermissionError } from "../errors.ts";
import { expositionType } from "../observability/exposition.ts";

/** Path of the metrics: without metrics there is no such endpoint. */
export const metricsPath = "/metrics";

/** Whether two secrets are equal; the time it takes depends on neither. */
async function areEqual(one: string, other: string, { services }: RequestContext): Promise<boolean> {
  const [first, second] = await Promise.all([services.keyMac(one), services.keyMac(other)]);
  return first === second;
}

/**
 * Lets the operator's token read the metrics, and admin keys of the first organisation: they are about all tenants.
 *
 * @throws {AuthenticationError | PermissionError}
 */
async function requireReader(context: RequestContext): Promise<void> {
  const { services } = context;
  const { token, isOpen, organisationId } = services.metrics;
  if (isOpen) return;
  const [, bearer] = /^bearer +(\S+)$/i.exec(context.headers.get("authorization") ?? "") ?? [];
  if (token !== undefined && bearer !== undefined && (await areEqual(token, bearer, context))) return;
  const key = context.header("api-key") ?? bearer;
  if (key === undefined) {
    throw new AuthenticationError("Cannot read metrics: send an admin key or the token of METRICS_TOKEN", {
      code: "missing_api_key",
    });
  }
  const address = () => clientAddressOf(context, services);
  const principal = await services.authenticator.authenticate(key, address, () => null);
  requireAccess(principal, { keys: "admin", scopes: ["analytics.view"] });
  if (principal.organisationId === organisationId) return;
  throw new PermissionError("Forbidden! Metrics are about all organisations: only keys of the first one read them", {
    code: "AB03",
  });
}

/** Endpoints of metrics. */
export const metricsEndpoints: readonly Endpoint[] = [
  definePublicEndpoint({
    method: "GET",
    path: metricsPath,
    tag: "System",
    summary: "Read metrics in Prometheus' text format, with an admin key or the operator's token",
    access: "public",
    async handle(context) {
      await requireReader(context);
      const body = await context.services.metrics.toText();
      return { status: 200, headers: { "content-type": expositionType }, body };
    },
  }),
];
