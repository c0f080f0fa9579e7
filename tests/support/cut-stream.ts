import assert from "node:assert/strict";
import { chatChunk, dataEvents } from "./cost-rows.ts";
import { startServer } from "./upstream.ts";

/** The row of a request, as far as it is about an estimate. */
interface EstimatedRow {
  estimated?: boolean;
  usage: { input_tokens: number; output_tokens: number };
}

/** The row of the stream, within 15 seconds. */
async function findRow(url: string, key: string): Promise<EstimatedRow> {
  const until = performance.now() + 15_000;
  for (;;) {
    const logs = await fetch(`${url}/v1/logs?trace_id=cut`, { headers: { "x-gateway-api-key": key } });
    const [row] = (await logs.json()).data;
    if (row) return row;
    if (performance.now() > until) throw new Error("Waited 15 seconds for the row of the stream");
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/**
 * Requires that a gateway process counts the tokens of a stream that breaks off in the vocabulary of the model: two and
 * seven around them of the request, three of the response. By their bytes they would be ten and four.
 */
export async function requireCountedCut(gateway: { url: string }, key: string): Promise<void> {
  const upstream = await startServer((request, response) => {
    request.resume();
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end(dataEvents(chatChunk("Half a "), chatChunk("sentence")));
  });
  try {
    const answer = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "x-gateway-api-key": key,
        "x-gateway-provider": "openai",
        "x-gateway-custom-host": `${upstream.url}/v1`,
        "x-gateway-trace-id": "cut",
        authorization: "Bearer upstream-credential",
      },
      body: JSON.stringify({ model: "gpt-4o", stream: true, messages: [{ role: "user", content: "Hello there" }] }),
    });
    await answer.text();
    const row = await findRow(gateway.url, key);
    assert.deepEqual([row.estimated, row.usage.input_tokens, row.usage.output_tokens], [true, 9, 3]);
  } finally {
    await upstream.close();
  }
}
