import { type Client, createClient } from "@libsql/client";
import { answerMarks, requestMarks } from "./scenarios.ts";

/** Rows a stopped gateway left in its database. */
export interface StoredRows {
  /** Rows of requests, whatever their outcome. */
  requests: number;
  /** Those that were answered with 200. */
  succeeded: number;
  /** Succeeded ones that hold a text of the request and one of the answer. */
  withBodies: number;
  /** Length of all stored headers and bodies. */
  characters: number;
}

/** What the benchmark has sent to one gateway. */
export interface SentRequests {
  /** Answers that were received whole. */
  completed: number;
  /** Requests `wrk` may have sent without waiting for their answers: the connections of every run. */
  abandoned: number;
}

/** The texts a row holds besides its metadata, joined. The columns are read from the table: changing them is no matter. */
async function contentExpression(client: Client): Promise<string> {
  const { rows } = await client.execute("select name from pragma_table_info('log_bodies') where name <> 'seq'");
  return rows.map(({ name }) => `coalesce(log_bodies."${name}", '')`).join(" || ");
}

/** Counts the rows of requests; rows that only tell of losses have no key and are left out. */
export async function countRows(databaseFile: string): Promise<StoredRows> {
  const client = createClient({ url: `file:${databaseFile}` });
  const holdsOne = (marks: readonly string[]) => `(${marks.map(() => "instr(content, ?) > 0").join(" or ")})`;
  try {
    const sql = `
      with stored as (
        select logs.status, ${await contentExpression(client)} as content
        from logs left join log_bodies on log_bodies.seq = logs.seq
        where coalesce(logs.api_key_id, '') <> '')
      select count(*) as requests,
        coalesce(sum(status = 200), 0) as succeeded,
        coalesce(sum(status = 200 and ${holdsOne(requestMarks)} and ${holdsOne(answerMarks)}), 0) as with_bodies,
        coalesce(sum(length(content)), 0) as characters
      from stored`;
    const row = (await client.execute({ sql, args: [...requestMarks, ...answerMarks] })).rows[0];
    return {
      requests: Number(row?.requests),
      succeeded: Number(row?.succeeded),
      withBodies: Number(row?.with_bodies),
      characters: Number(row?.characters),
    };
  } finally {
    client.close();
  }
}

/** Whether every completed request has a row, and no more rows exist than requests can have been sent. */
export function rowsAreComplete(rows: StoredRows, sent: SentRequests): boolean {
  return rows.succeeded >= sent.completed && rows.requests <= sent.completed + sent.abandoned;
}
