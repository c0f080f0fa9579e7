import type { Services } from "../context.ts";
import type { Tenant } from "../db/tenant-store.ts";
import type { AdminEndpoint } from "../endpoint.ts";
import { parseJson } from "../lib/json.ts";
import type { TargetMeasure } from "../routing/balance/target-measure.ts";
import { type TargetHealth, TargetHealthList } from "../schemas/target-health.ts";
import { type AdminCall, type AnswerOf, defineRead } from "./core/endpoint.ts";
import { workspaceQuery } from "./core/record.ts";
import { readTenant, toIso } from "./core/request.ts";

/** A target, as the keys of what is remembered of it say. */
interface KeyedTarget {
  readonly organisationId: string;
  readonly workspaceId: string | null;
  readonly config: string | null;
  readonly target: string;
}

const textOr = (value: unknown): string | null => (typeof value === "string" ? value : null);

/** The target that a key of a circuit breaker names. Nothing of its credential is shown. */
function readBreakerKey(key: string): KeyedTarget | undefined {
  const parts = parseJson(key);
  if (!Array.isArray(parts)) return undefined;
  const [organisationId, workspaceId, kind, name, other, path]: unknown[] = parts;
  if (typeof organisationId !== "string") return undefined;
  const tenant = { organisationId, workspaceId: textOr(workspaceId) };
  if (kind === "saved") return { ...tenant, config: textOr(name), target: textOr(path) ?? "config" };
  return { ...tenant, config: null, target: textOr(other) ?? textOr(name) ?? "config" };
}

/** The target that a key of measures names: a scope, and a path in a saved config or keys of the calls of an inline one. */
function readMeasureKey(key: string): KeyedTarget | undefined {
  const end = key.indexOf("] ") + 1;
  const scope = parseJson(key.slice(0, end));
  if (!Array.isArray(scope)) return undefined;
  const [organisationId, workspaceId, name]: unknown[] = scope;
  if (typeof organisationId !== "string") return undefined;
  const tenant = { organisationId, workspaceId: textOr(workspaceId) };
  const rest = key.slice(end + 1);
  if (!rest.startsWith("[")) return { ...tenant, config: textOr(name), target: rest };
  const calls = parseJson(rest);
  const [first]: unknown[] = Array.isArray(calls) && Array.isArray(calls[0]) ? calls[0] : [];
  return typeof first === "string" ? readBreakerKey(first) : undefined;
}

const rounded = (value: number | undefined): number | null =>
  value === undefined ? null : Math.round(value * 100) / 100;

/** A monotonic time of this process as ISO 8601. */
type ToTime = (monotonic: number) => string | null;

function showMeasure(measure: TargetMeasure, now: number, toTime: ToTime): TargetHealth["measured"] {
  const { firstMs, tokenMs, wholeMs, failures } = measure;
  const ejectedUntil = measure.ejectedUntil(now);
  return {
    running: measure.pendingAt(now),
    failure_rate: rounded(failures.value),
    first_token_ms: rounded(firstMs.value),
    token_ms: rounded(tokenMs.value),
    response_ms: rounded(wholeMs.value),
    ejected_until: ejectedUntil > now ? toTime(ejectedUntil) : null,
  };
}

/** Targets of a tenant, each once, with what is remembered of it. */
class Targets {
  readonly #tenant: Tenant;
  readonly #all = new Map<string, TargetHealth>();

  constructor(tenant: Tenant) {
    this.#tenant = tenant;
  }

  add(target: KeyedTarget | undefined, facts: Partial<TargetHealth>): void {
    const { organisationId, workspaceId } = this.#tenant;
    if (target?.organisationId !== organisationId) return;
    if (workspaceId !== null && target.workspaceId !== workspaceId) return;
    const { config, target: path } = target;
    const name = JSON.stringify([target.workspaceId, config, path]);
    const place = { object: "target_health" as const, workspace_id: target.workspaceId, config, target: path };
    const known = this.#all.get(name) ?? { ...place, circuit: null, check: null, measured: null };
    this.#all.set(name, { ...known, ...facts });
  }

  list(): TargetHealth[] {
    return [...this.#all.entries()].toSorted(([one], [other]) => (one < other ? -1 : 1)).map(([, shown]) => shown);
  }
}

/** What this process remembers of the targets of a tenant. */
export function listTargets(tenant: Tenant, { routing, clock }: Pick<Services, "routing" | "clock">): TargetHealth[] {
  const now = clock.monotonic();
  const toTime: ToTime = (time) => toIso(Math.round(clock.now() + time - now));
  const targets = new Targets(tenant);
  for (const { key, failures, successes, openedAt } of routing.breakers.list()) {
    const opened = openedAt === undefined ? null : toTime(openedAt);
    const circuit = { is_open: openedAt !== undefined, opened_at: opened, failures, successes };
    targets.add(readBreakerKey(key), { circuit });
  }
  for (const measure of routing.measures.usedSince(Number.NEGATIVE_INFINITY)) {
    targets.add(readMeasureKey(measure.key), { measured: showMeasure(measure, now, toTime) });
  }
  for (const { key, isHealthy, problem } of routing.health.list()) {
    const check = { is_healthy: isHealthy, problem: problem === "" ? null : problem };
    targets.add(readMeasureKey(key), { check });
  }
  return targets.list();
}

async function readTargets(call: AdminCall<undefined>): Promise<AnswerOf<typeof TargetHealthList>> {
  return { object: "list", data: listTargets(await readTenant(call), call.context.services) };
}

/** The endpoint that shows the health of targets. */
export const targetHealthEndpoints: readonly AdminEndpoint[] = [
  defineRead({
    tag: "Analytics",
    method: "GET",
    path: "/v1/health/targets",
    summary: "Show circuits, health checks and measures of targets",
    access: { keys: "any", scopes: ["analytics.view"] },
    query: [workspaceQuery],
    response: TargetHealthList,
    handle: readTargets,
  }),
];
