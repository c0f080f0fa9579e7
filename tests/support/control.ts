import { createOrganisationRows } from "../../src/auth/first-start.ts";
import type { Database } from "../../src/db/client.ts";
import { createInstallationStore } from "../../src/db/stores/installation.ts";
import { nodeMac } from "../../src/serve/environment.ts";
import { adminKey, readPepper, type TestGateway } from "./gateway.ts";

/** Response of an admin route. */
export interface Answer<Shape = Record<string, unknown>> {
  status: number;
  body: Shape;
}

/** Who calls, and with what. */
export interface CallOptions {
  /** Default: the admin key. */
  key?: string;
  body?: unknown;
  headers?: Record<string, string>;
}

/** Calls a route of the control plane; the body is of the shape the test expects. */
export async function call<Shape = Record<string, unknown>>(
  { gateway }: Pick<TestGateway, "gateway">,
  route: string,
  { key = adminKey, body, headers = {} }: CallOptions = {},
): Promise<Answer<Shape>> {
  const [method = "GET", path = "/"] = route.split(" ");
  const response = await gateway.fetch(
    new Request(`http://gateway.test/v1${path}`, {
      method,
      headers: { "x-gateway-api-key": key, "content-type": "application/json", ...headers },
      ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
    }),
    { remoteAddress: "192.0.2.1" },
  );
  const text = await response.text();
  return { status: response.status, body: text === "" ? {} : JSON.parse(text) };
}

/** The body of a call that must succeed. */
export async function done<Shape = Record<string, unknown>>(answer: Promise<Answer<Shape>>): Promise<Shape> {
  const { status, body } = await answer;
  if (status === 200) return body;
  throw new Error(`Answered ${status}: ${JSON.stringify(body)}`);
}

/** A refusal as text: status and code of the control plane. */
export async function refusal(answer: Promise<Answer>): Promise<string> {
  const { status, body } = await answer;
  const { data } = body;
  return `${status} ${typeof data === "object" && data !== null && "errorCode" in data ? data.errorCode : ""}`;
}

/** Another organisation with a default workspace, an admin key and a workspace key. */
export async function createOrganisation(
  database: Database,
  name: string,
): Promise<{ organisationId: string; workspaceId: string; adminKey: string; workspaceKey: string }> {
  const keys = { adminKey: `${name}-admin-key-0000000000`, workspaceKey: `${name}-workspace-key-000000` };
  const digest = nodeMac(await readPepper(database));
  const rows = await createOrganisationRows({ name, slug: name, ...keys, digest, keyPrefix: "gk", now: 0 });
  await createInstallationStore(database).writeOrganisation(rows);
  return { organisationId: rows.organisation.id, workspaceId: rows.workspace.id, ...keys };
}

/** Fields that responses add to an unused budget; its id is taken from the response. */
export function untouchedUsage(shown: unknown): Record<string, unknown> {
  const id = typeof shown === "object" && shown !== null && "id" in shown ? shown.id : undefined;
  const alerts = { is_threshold_alerts_sent: false, is_exhausted_alerts_sent: false };
  return { id, status: "active", current_usage: 0, ...alerts };
}
