import type { LimitIncrement, LogDetails } from "../schemas/logs.ts";
import type { LogRecord, Loss } from "./record.ts";

interface Sum extends Loss {
  count: number;
  readonly increments: Map<string, LimitIncrement>;
}

type Tenant = Pick<LogDetails, "organisation_id" | "workspace_id">;

function addTo(increments: Sum["increments"], counted: readonly LimitIncrement[]): void {
  for (const increment of counted) {
    const { used, ...counter } = increment;
    const name = JSON.stringify(counter);
    increments.set(name, { ...increment, used: used + (increments.get(name)?.used ?? 0) });
  }
}

/** What is lost and not reported yet. */
export class Losses {
  readonly #sums = new Map<string, Sum>();

  get isEmpty(): boolean {
    return this.#sums.size === 0;
  }

  /** Counts a row that is not stored. */
  addRow({ details, counted = [] }: LogRecord): void {
    const sum = this.#sumOf("rows_lost", details);
    sum.count++;
    addTo(sum.increments, counted);
  }

  /** Counts a request that was refused. */
  addRefused(tenant: Tenant): void {
    this.#sumOf("requests_shed", tenant).count++;
  }

  /** Takes back what was taken and cannot be reported as it is. */
  putBack(losses: readonly Loss[]): void {
    for (const { operation, organisationId, workspaceId, count, counted } of losses) {
      const sum = this.#sumOf(operation, { organisation_id: organisationId, workspace_id: workspaceId });
      sum.count += count;
      addTo(sum.increments, counted);
    }
  }

  /** Takes the oldest, at most `limit`. */
  take(limit: number): Loss[] {
    const taken = [...this.#sums].slice(0, limit);
    for (const [name] of taken) this.#sums.delete(name);
    return taken.map(([, { increments, ...loss }]) => ({ ...loss, counted: [...increments.values()] }));
  }

  #sumOf(operation: Loss["operation"], { organisation_id, workspace_id }: Tenant): Sum {
    const name = JSON.stringify([operation, organisation_id, workspace_id]);
    const known = this.#sums.get(name);
    if (known) return known;
    const tenant = { organisationId: organisation_id, workspaceId: workspace_id };
    const made: Sum = { operation, ...tenant, count: 0, counted: [], increments: new Map() };
    this.#sums.set(name, made);
    return made;
  }
}
