import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { scopesOfKind } from "../../src/auth/scopes.ts";
import type { AlertBody } from "../../src/control/alerts/messages.ts";
import { call, done } from "./control.ts";
import {
  chat,
  createTestClock,
  createTestGateway,
  type HeaderChanges,
  type TestClock,
  type TestGateway,
} from "./gateway.ts";
import { type ReceivedRequest, type RecordingUpstream, startRecordingUpstream, type Upstream } from "./upstream.ts";

/** Tokens that each call of the upstream uses. */
export const tokensOfCall = 1_500;

/** A provider that answers every chat with the same usage. */
function startProvider(): Promise<Upstream> {
  const usage = { prompt_tokens: 1_000, completion_tokens: 500, total_tokens: tokensOfCall };
  const choices = [{ index: 0, message: { role: "assistant", content: "Hi" }, finish_reason: "stop" }];
  const answer = JSON.stringify({ id: "c", object: "chat.completion", created: 1, model: "gpt-4o", choices, usage });
  return startRecordingUpstream((_, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(answer);
  });
}

/** A webhook that records what it gets. */
export interface AlertReceiver extends RecordingUpstream {
  /** The alerts it got, in order. */
  alerts(): AlertBody[];
}

/** Starts a webhook. By default it accepts everything. */
export async function startReceiver(
  answer: (request: ReceivedRequest, response: ServerResponse) => void = (_, response) => response.end(),
): Promise<AlertReceiver> {
  const upstream = await startRecordingUpstream(answer);
  return Object.assign(upstream, { alerts: () => upstream.requests.map(({ text }): AlertBody => JSON.parse(text)) });
}

/** A gateway whose alerts a test watches. */
export interface AlertingGateway {
  gateway: TestGateway;
  clock: TestClock;
  provider: Upstream;
  /** Log lines about alerts. */
  lines: string[];
  workspaceId: string;
}

type Options = Parameters<typeof createTestGateway>[0];

/** Starts gateways for one test, and closes all of them. */
export async function withAlerts(
  use: (start: (options?: Options) => Promise<AlertingGateway>) => Promise<void>,
): Promise<void> {
  const provider = await startProvider();
  const opened: TestGateway[] = [];
  const clock = createTestClock();
  const start = async (options: Options = {}): Promise<AlertingGateway> => {
    const lines: string[] = [];
    const log = (line: string) => void lines.push(line);
    const { alerts, ...rest } = options;
    const quick = { lookEveryMs: 20, timeoutMs: 5_000, ...alerts };
    const gateway = await createTestGateway({ clock, log, alerts: quick, ...rest });
    opened.push(gateway);
    const { id: workspaceId } = await done(call<{ id: string }>(gateway, "GET /admin/workspaces/default"));
    return { gateway, clock, provider, lines, workspaceId };
  };
  try {
    await use(start);
  } finally {
    // a test may have closed some
    for (const gateway of opened) await gateway.close().catch(() => {});
    await provider.close();
  }
}

/** A key with a budget. */
export interface BudgetKey {
  id: string;
  key: string;
}

/**
 * Creates a key with a budget in tokens.
 *
 * @param owner Whose workspace it is for. Default: the default workspace of the first organisation.
 */
export async function createBudgetKey(
  parts: Pick<AlertingGateway, "gateway" | "workspaceId">,
  budget: object,
  more: object = {},
  owner: { workspaceId: string; adminKey?: string } = parts,
): Promise<BudgetKey> {
  const scopes = scopesOfKind("workspace-service");
  const usage_limits = { type: "tokens", ...budget };
  const body = { name: "App", workspace_id: owner.workspaceId, scopes, usage_limits, ...more };
  const caller = owner.adminKey === undefined ? {} : { key: owner.adminKey };
  const route = "POST /api-keys/workspace/service";
  return done(call<{ id: string; key: string }>(parts.gateway, route, { body, ...caller }));
}

/** Stores an integration that leads to the provider of the test; of the organisation unless it names a workspace. */
export async function createIntegration({ gateway, provider }: AlertingGateway, more: object = {}): Promise<void> {
  const body = {
    name: "Ours",
    slug: "ours",
    ai_provider_id: "openai",
    key: "sk-obviously-fake",
    ...more,
    configurations: { custom_host: `${provider.url}/v1` },
  };
  await done(call(gateway, "POST /integrations", { body }));
}

/** Sends a chat to the provider; the status of the response. */
export async function ask(
  { gateway, provider }: Pick<AlertingGateway, "gateway" | "provider">,
  key: string,
  headers: HeaderChanges = {},
): Promise<number> {
  const response = await chat(
    gateway,
    { model: "gpt-4o", messages: [{ role: "user", content: "Hello" }] },
    {
      "x-gateway-api-key": key,
      "x-gateway-provider": "openai",
      "x-gateway-custom-host": `${provider.url}/v1`,
      authorization: "Bearer sk-obviously-fake",
      ...headers,
    },
  );
  await response.text();
  return response.status;
}

/** Asks until the budget is used up. */
export async function useUp(parts: Pick<AlertingGateway, "gateway" | "provider">, key: string): Promise<void> {
  for (let calls = 0; calls < 100; calls++) {
    const status = await ask(parts, key);
    if (status === 412) return;
    assert.equal(status, 200);
  }
  assert.fail("the budget is never used up");
}

/** An audit row of an alert. */
interface AuditedAlert {
  action: string;
  resource_type: string;
  resource_id: string;
  workspace_id: string | null;
  user_id: string;
  user_type: string;
  request_body: string;
}

/** Audit rows of alerts, oldest first. */
export async function listAuditedAlerts(gateway: TestGateway, key?: string): Promise<AuditedAlert[]> {
  const found: AuditedAlert[] = [];
  for (const action of ["alert_threshold", "alert_exhausted"]) {
    for (let page = 0; ; page++) {
      const query = `start_time=2020-01-01&end_time=2100-01-01&user_type=system&action=${action}&page_size=100&current_page=${page}`;
      const options = key === undefined ? {} : { key };
      const { records } = await done(call<{ records: AuditedAlert[] }>(gateway, `GET /audit-logs?${query}`, options));
      found.push(...records);
      if (records.length < 100) break;
    }
  }
  return found;
}

/** The flags of a budget, and its status. */
export interface ShownBudget {
  id: string;
  status: string;
  current_usage: number;
  is_threshold_alerts_sent: boolean;
  is_exhausted_alerts_sent: boolean;
}

/** The flags of a budget in short: the letters of the alerts that were sent. */
export function flagsOf(budget: ShownBudget | null | undefined): string {
  return `${budget?.is_threshold_alerts_sent ? "T" : "-"}${budget?.is_exhausted_alerts_sent ? "E" : "-"}`;
}

/** The budget of a key as the API shows it. */
export async function showKeyBudget(gateway: TestGateway, id: string): Promise<ShownBudget> {
  const { usage_limits } = await done(call<{ usage_limits: ShownBudget }>(gateway, `GET /api-keys/${id}`));
  return usage_limits;
}
