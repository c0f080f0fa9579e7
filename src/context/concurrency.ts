import type { Principal } from "../auth/principal.ts";
import { UnavailableError } from "../errors.ts";
import type { Pressure } from "./pressure.ts";

/** Most concurrent requests. A stream or a realtime session counts until it ends. */
export interface ConcurrencyLimits {
  /** Of the process. */
  total: number;
  /** Of a workspace, or of an organisation for keys without a workspace. At most half of the total. */
  perWorkspace: number;
  /** Of a key or a token's subject. */
  perKey: number;
}

/** As many requests run as may. */
export class ConcurrencyError extends UnavailableError {}

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

/** Share of the total that is reserved for workspaces with few running requests, and the share below which they are few. */
const reserveShare = 1 / 8;
const littleShare = 1 / 32;

/**
 * Counts running requests, so that no caller can use up all of the capacity. Two workspaces may each run half of the total.
 * The last eighth is reserved for workspaces with few running requests, and half of that for organisations that do not run
 * most of the requests.
 */
export class Concurrency {
  readonly #limits: ConcurrencyLimits;
  readonly #tenants = new Map<string, Tenant>();
  readonly #organisations = new Map<string, number>();
  readonly #reserve: number;
  readonly #pressure: Pressure;
  #running = 0;

  constructor(limits: ConcurrencyLimits, pressure: Pressure) {
    this.#limits = limits;
    this.#pressure = pressure;
    this.#reserve = Math.floor(limits.total * reserveShare);
  }

  /**
   * Counts a request until `leave`.
   *
   * @throws {ConcurrencyError} If a limit is reached.
   * @throws {UnavailableError} If the process has too much to do.
   */
  enter(request: Counted): void {
    const { perWorkspace, perKey } = this.#limits;
    const { principal } = request;
    this.#pressure.require(this.#running);
    const id = tenantOf(principal);
    const tenant = this.#tenants.get(id);
    const ofKey = tenant?.keys.get(principal.keyId) ?? 0;
    if (ofKey >= perKey) this.#refuse(`${perKey} requests of this key`);
    if (tenant && tenant.running >= perWorkspace) this.#refuse("too many requests of this workspace");
    if (!this.#hasRoom(tenant, principal)) this.#refuse("too many requests");
    this.#running++;
    const { organisationId } = principal;
    this.#organisations.set(organisationId, (this.#organisations.get(organisationId) ?? 0) + 1);
    if (tenant) {
      tenant.running++;
      tenant.keys.set(principal.keyId, ofKey + 1);
    } else {
      this.#tenants.set(id, { running: 1, keys: new Map([[principal.keyId, 1]]) });
    }
    request.isCounted = true;
  }

  /** Whether one more request of a workspace may run in the process. */
  #hasRoom(tenant: Tenant | undefined, { organisationId }: Counted["principal"]): boolean {
    const { total } = this.#limits;
    const left = total - this.#running;
    if (left <= 0) return false;
    if (left > this.#reserve) return true;
    const runsLittle = (tenant?.running ?? 0) < Math.max(1, Math.floor(total * littleShare));
    const isOfMany = (this.#organisations.get(organisationId) ?? 0) > total / 2;
    return runsLittle && (left > this.#reserve / 2 || !isOfMany);
  }

  /** Requests that run. */
  get running(): number {
    return this.#running;
  }

  #refuse(what: string): never {
    this.#pressure.note("requests");
    throw new ConcurrencyError(`Cannot serve this request now: ${what} are running; repeat it when some have ended`, {
      code: "too_many_concurrent_requests",
      retryAfterSeconds: 1,
    });
  }

  /** Ends what `enter` began; repeated calls have no effect. */
  leave(request: Counted): void {
    if (!request.isCounted) return;
    request.isCounted = false;
    this.#running--;
    const { principal } = request;
    const ofOrganisation = (this.#organisations.get(principal.organisationId) ?? 1) - 1;
    if (ofOrganisation === 0) this.#organisations.delete(principal.organisationId);
    else this.#organisations.set(principal.organisationId, ofOrganisation);
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
