import { readRole } from "../../endpoint/role.ts";
import type { AdminCall } from "../core/endpoint.ts";
import { forbid, refuseField, requireFound } from "../core/request.ts";

// Records that are one person's, or that everybody in the workspace sees.

/** Whose a saved record is: `audience` names the person who alone sees it, or is empty. */
interface Owned {
  readonly audience: string;
  readonly createdBy: string;
}

/** The audience of a record that its author shares, or does not. */
export const audienceOf = (shared: boolean, createdBy: string): string => (shared ? "" : createdBy);

/** Records that a caller sees. */
export const seenBy = ({ actor }: AdminCall<unknown>): { audience: readonly string[] } => ({ audience: ["", actor] });

/** @throws {NotFoundError} For unknown records and those of others alike. */
export function requireSeen<Row extends Owned>(call: AdminCall<unknown>, row: Row | undefined, kind: string): Row {
  return requireFound(row && seenBy(call).audience.includes(row.audience) ? row : undefined, kind);
}

/** @throws {PermissionError} AB03 for members who did not make the record: others may rely on it. */
export async function requireChangeable({ actor, context }: AdminCall<unknown>, row: Owned): Promise<void> {
  if (row.createdBy === actor) return;
  const person = await readRole(context);
  if (person?.role === "member") forbid("Only who saved this, managers and admins may change it");
}

/**
 * Refuses one more record than a workspace shares, or than a person has.
 *
 * @throws {InvalidRequestError} AB01
 */
export function requireRoom(count: number, most: number, kind: string): void {
  if (count >= most) refuseField("name", `there are ${most} ${kind} already`);
}
