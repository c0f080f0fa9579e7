import type { Principal } from "../auth/principal.ts";
import { UnavailableError } from "../errors.ts";

/** Most concurrent requests. A stream or a realtime session counts until it ends. */
export interface ConcurrencyLimits {
  /** Of the process. */
  total: number;
  /** Of a workspace, or of an organisation for keys without a workspace. At most half of the total. */
  perWorkspace: number;
  /** Of a key or a token's subject. */
  perKey: number;
}

/** Defaults for the operator's limits. */
const defaultTotal = 4_000;
const defaultPerKey = 1_000;

/**
 * The effective limits.
 *
 * @throws {TypeError} If a workspace may use more than half of the total and so block all others.
 */
export function readConcurrencyLimits(limits: Partial<ConcurrencyLimits> = {}): ConcurrencyLimits {
  const { total = defaultTotal, perKey = defaultPerKey } = limits;
  const half = Math.max(1, Math.floor(total / 2));
  const { perWorkspace = half } = limits;
  if (perWorkspace <= half) return { total, perWorkspace, perKey };
  throw new TypeError(
    `Cannot use MAX_CONCURRENT_PER_WORKSPACE: it must be at most ${half}, which is half of MAX_CONCURRENT_REQUESTS`,
  );
}

/** Running requests of a workspace. */
interface Tenant {
  running: number;
  keys: Map<string, number>;
}

/** The caller of a request, and whether it is counted. */
interface Counted {
  readonly principal: Pick<Principal, "keyId" | "organisationId" | "workspaceId">;
  /** Set while the request counts. */
  isCounted: boolean;
}

function tenantOf({ organisationId, workspaceId }: Counted["principal"]): string {
  return workspaceId ?? organisationId;
}

/** Counts running requests, so that no caller can use up all of the capacity. */
export class Concurrency {
  readonly #limits: ConcurrencyLimits;
  readonly #tenants = new Map<string, Tenant>();
  #running = 0;

  constructor(limits: ConcurrencyLimits) {
    this.#limits = limits;
  }

  /**
   * Counts a request until `leave`.
   *
   * @throws {UnavailableError} If a limit is reached.
   */
  enter(request: Counted): void {
    const { total, perWorkspace, perKey } = this.#limits;
    const { principal } = request;
    const id = tenantOf(principal);
    const tenant = this.#tenants.get(id);
    const ofKey = tenant?.keys.get(principal.keyId) ?? 0;
    if (ofKey >= perKey) refuse(`${perKey} requests of this key`);
    if (tenant && tenant.running >= perWorkspace) refuse("too many requests of this workspace");
    if (this.#running >= total) refuse("too many requests");
    this.#running++;
    if (tenant) {
      tenant.running++;
      tenant.keys.set(principal.keyId, ofKey + 1);
    } else {
      this.#tenants.set(id, { running: 1, keys: new Map([[principal.keyId, 1]]) });
    }
    request.isCounted = true;
  }

  /** Ends what `enter` began; repeated calls have no effect. */
  leave(request: Counted): void {
    if (!request.isCounted) return;
    request.isCounted = false;
    this.#running--;
    const { principal } = request;
    const id = tenantOf(principal);
    const tenant = this.#tenants.get(id);
    if (!tenant) return;
    if (--tenant.running === 0) {
      this.#tenants.delete(id);
      return;
    }
    const ofKey = (tenant.keys.get(principal.keyId) ?? 1) - 1;
    if (ofKey === 0) tenant.keys.delete(principal.keyId);
    else tenant.keys.set(principal.keyId, ofKey);
  }
}

function refuse(what: string): never {
  throw new UnavailableError(`Cannot serve this request now: ${what} are running; repeat it when some have ended`, {
    code: "too_many_concurrent_requests",
    retryAfterSeconds: 1,
  });
}
