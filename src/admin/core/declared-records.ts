import type { CallerContext } from "../../context.ts";
import type { AdminEndpoint } from "../../endpoint.ts";
import { ConflictError } from "../../errors.ts";

/** What a file decides about records: tests, resets and rotations are no part of it. */
const decided: ReadonlySet<string> = new Set(["create", "update", "delete", "publish"]);

/** Parts of records that no file has. */
const isOperation = (path: string): boolean => /\/(?:reset|sync|approve|connections|tokens|user-access)$/.test(path);

/**
 * Refuses to change what a file declares: the next start would take the change back.
 *
 * @throws {ConflictError} `declared_in_file`, naming the file.
 */
export function refuseDeclared({ audit, path }: AdminEndpoint, context: CallerContext): void {
  const { declaredIn } = context.services.control;
  // the process itself applies the file
  if (!declaredIn || !audit || context.connection.actingFor) return;
  if (!declaredIn.resources.has(audit.resource) || !decided.has(audit.action) || isOperation(path)) return;
  throw new ConflictError(
    `Cannot change this here: the configuration comes from the file ${declaredIn.file} (GATEWAY_FILE). Change the file, and start the gateway again`,
    { code: "declared_in_file" },
  );
}
