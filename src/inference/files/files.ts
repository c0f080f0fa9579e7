import type { CallerContext } from "../../context.ts";
import { contentReply } from "../../control/files/content-reply.ts";
import type { GatewayFileRow } from "../../db/tables/files.ts";
import { InvalidRequestError, NotFoundError } from "../../errors.ts";
import { jsonReply, type Reply } from "../../lib/reply.ts";
import type { FileObject } from "../../schemas/files.ts";
import { readLimit, tenantOf, toPage, toSeconds } from "./gateway-store.ts";
import { receiveFile } from "./upload.ts";

function toFileObject(row: GatewayFileRow): FileObject {
  return {
    id: row.id,
    object: "file",
    bytes: row.bytes,
    created_at: toSeconds(row.createdAt) ?? 0,
    filename: row.filename,
    purpose: row.purpose,
    status: row.status,
    ...(row.expiresAt !== null && { expires_at: toSeconds(row.expiresAt) }),
  };
}

/**
 * The file with this id.
 *
 * @throws {NotFoundError} 404 for unknown ones and those of other workspaces alike.
 */
export async function requireFile(id: string, context: CallerContext, param = "file_id"): Promise<GatewayFileRow> {
  const row = await context.services.files.find(tenantOf(context), id);
  if (row) return row;
  throw new NotFoundError("Cannot find this file: name the provider in x-gateway-provider to find its files", {
    code: "file_not_found",
    param,
  });
}

/** `POST /files` */
export async function uploadFile(context: CallerContext): Promise<Reply> {
  return jsonReply(toFileObject(await receiveFile(context)));
}

/** `GET /files` */
export async function listFiles(context: CallerContext): Promise<Reply> {
  const { searchParams } = context.url;
  const tenant = tenantOf(context);
  const limit = readLimit(context, { most: 10_000, usual: 100 });
  const order = searchParams.get("order") ?? "desc";
  if (order !== "asc" && order !== "desc") {
    throw new InvalidRequestError("Cannot use order: it must be asc or desc", {
      param: "order",
      code: "invalid_query",
    });
  }
  const cursor = searchParams.get("after");
  const after = cursor === null ? undefined : await requireFile(cursor, context, "after");
  const purpose = searchParams.get("purpose") ?? undefined;
  const page = { limit: limit + 1, order, after, purpose, now: context.services.clock.now() } as const;
  return jsonReply(toPage(await context.services.files.page(tenant, page), limit, toFileObject));
}

/** `GET /files/{id}` */
export async function retrieveFile(context: CallerContext): Promise<Reply> {
  return jsonReply(toFileObject(await requireFile(context.params.id ?? "", context)));
}

/** `DELETE /files/{id}` */
export async function deleteFile(context: CallerContext): Promise<Reply> {
  const row = await requireFile(context.params.id ?? "", context);
  await context.services.files.remove(row);
  return jsonReply({ id: row.id, object: "file", deleted: true });
}

/** `GET /files/{id}/content` */
export async function retrieveFileContent(context: CallerContext): Promise<Reply> {
  return contentReply(await requireFile(context.params.id ?? "", context), context.services.files);
}
