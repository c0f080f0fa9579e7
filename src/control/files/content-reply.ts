import type { GatewayFileRow } from "../../db/tables/files.ts";
import type { Reply } from "../../lib/reply.ts";
import type { FileStorage } from "./storage.ts";

/** Content of a file, read while it is sent. */
export async function contentReply(row: GatewayFileRow, files: FileStorage): Promise<Reply> {
  const pieces = files.read(row);
  // reads the first chunk before the status is sent, so that a file that cannot be opened is an error, not a broken
  // stream
  const first = await pieces.next();
  let pending = first.done ? undefined : first.value;
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const piece = pending ?? (await pieces.next()).value;
        pending = undefined;
        if (piece) controller.enqueue(piece);
        else controller.close();
      },
      async cancel() {
        await pieces.return();
      },
    },
    { highWaterMark: 0 },
  );
  const headers = { "content-type": "application/octet-stream", "content-length": String(row.bytes) };
  return { status: 200, headers, body: row.bytes === 0 ? null : body };
}
