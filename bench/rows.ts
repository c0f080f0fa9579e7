import { createClient } from "@libsql/client";
import { openContents } from "../src/db/stores/log-content.ts";
import { readContents } from "../src/db/stores/logs.ts";
import { zstdCodec } from "../src/serve/text-codec.ts";
import { answerMarks, requestMarks } from "./scenarios.ts";

/** Rows a stopped gateway left in its database. */
export interface StoredRows {
  /** Rows of requests, whatever their outcome. */
  requests: number;
  /** Those that were answered with 200. */
  succeeded: number;
  /** Succeeded ones that hold a text of the request and one of the answer. */
  withBodies: number;
  /** Length of all stored bodies. */
  characters: number;
}

/** What the benchmark has sent to one gateway. */
export interface SentRequests {
  /** Answers that were received whole. */
  completed: number;
  /** Requests `wrk` may have sent without waiting for their answers: the connections of every run. */
  abandoned: number;
}

/** Counts the rows of requests; rows that only report losses have no key and are left out. */
export async function countRows(databaseFile: string): Promise<StoredRows> {
  const client = createClient({ url: `file:${databaseFile}` });
  const counted: StoredRows = { requests: 0, succeeded: 0, withBodies: 0, characters: 0 };
  const holdsOne = (body: string | null | undefined, marks: readonly string[]) =>
    marks.some((mark) => body?.includes(mark));
  try {
    for (let seq = 0; ; ) {
      const sql =
        "select seq, details, content from log_batches left join log_bodies using (seq) where seq > ? order by seq limit 50";
      const { rows } = await client.execute({ sql, args: [seq] });
      if (rows.length === 0) return counted;
      for (const row of rows) {
        seq = Number(row.seq);
        const contentAt = openContents(readContents(row.content, zstdCodec));
        const batch: { api_key_id: string; status: number }[] = JSON.parse(String(row.details));
        for (const [index, { api_key_id, status }] of batch.entries()) {
          if (api_key_id === "") continue;
          const content = contentAt(index);
          const [sent, answered] = [content?.request.body, content?.response.body];
          counted.requests++;
          counted.characters += (sent?.length ?? 0) + (answered?.length ?? 0);
          if (status !== 200) continue;
          counted.succeeded++;
          if (holdsOne(sent, requestMarks) && holdsOne(answered, answerMarks)) counted.withBodies++;
        }
      }
    }
  } finally {
    client.close();
  }
}

/** Whether every completed request has a row, and no more rows exist than requests can have been sent. */
export function rowsAreComplete(rows: StoredRows, sent: SentRequests): boolean {
  return rows.succeeded >= sent.completed && rows.requests <= sent.completed + sent.abandoned;
}
