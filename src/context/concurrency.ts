import type { Principal } from "../auth/principal.ts";
import { UnavailableError } from "../errors.ts";

/** Most requests that run at once. A stream or a realtime session runs until it is over. */
export interface ConcurrencyLimits {
  /** In the process. */
  total: number;
  /** Of a workspace; of an organisation for keys without a workspace. At most half of the total. */
  perWorkspace: number;
  /** Of a key or a token's subject. */
  perKey: number;
}

/** Bounds where the operator sets none. */
const defaultTotal = 4_000;
const defaultPerKey = 1_000;

/**
 * The bounds in force.
 *
 * @throws {TypeError} If a workspace may take more than half of the total: then one could keep all others out.
 */
export function readConcurrencyLimits(limits: Partial<ConcurrencyLimits> = {}): ConcurrencyLimits {
  const { total = defaultTotal, perKey = defaultPerKey } = limits;
  const half = Math.max(1, Math.floor(total / 2));
  const { perWorkspace = half } = limits;
  if (perWorkspace <= half) return { total, perWorkspace, perKey };
  throw new TypeError(
    `Cannot use MAX_CONCURRENT_PER_WORKSPACE: write at most ${half}, which is half of MAX_CONCURRENT_REQUESTS`,
  );
}

/** What runs for a workspace. */
interface Tenant {
  running: number;
  keys: Map<string, number>;
}

/** Who a request runs for, and whether it is counted. */
interface Counted {
  readonly principal: Pick<Principal, "keyId" | "organisationId" | "workspaceId">;
  /** Set while the request counts. */
  isCounted: boolean;
}

function tenantOf({ organisationId, workspaceId }: Counted["principal"]): string {
  return workspaceId ?? organisationId;
}

/** Counts the requests that run, so that none of those who send them takes all there is. */
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
   * @throws {UnavailableError} If as many run as may.
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

  /** Ends what `enter` began; further calls do nothing. */
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
