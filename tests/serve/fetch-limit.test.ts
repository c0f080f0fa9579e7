import assert from "node:assert/strict";
import { test } from "node:test";
import { withinFetchLimit } from "../../src/serve/fetch-limit.ts";
import { startServer } from "../support/upstream.ts";

const ways: Record<string, (response: Response) => Promise<unknown>> = {
  arrayBuffer: (response) => response.arrayBuffer(),
  blob: (response) => response.blob(),
  bytes: (response) => response.bytes(),
  json: (response) => response.json(),
  text: (response) => response.text(),
  "the stream": (response) => Array.fromAsync(response.body ?? []),
  "a response made of the stream": (response) => new Response(response.body, response).text(),
  "the stream, cancelled": async (response) => response.body?.cancel(),
};

for (const way of ["arrayBuffer", "blob", "bytes", "json", "text", "the stream"]) {
  const read = ways[way];
  const lookAndRead = async (response: Response) => {
    assert.notEqual(response.body, null);
    return read?.(response);
  };
  ways[`${way}, after a look at the body`] = lookAndRead;
}

const fetchResponse = (url: string) => fetch(url);

for (const [way, read] of Object.entries(ways)) {
  test(`a response gives its place back when it was read: ${way}`, async () => {
    const upstream = await startServer((_, response) => response.end('"body"'));
    try {
      let beyond = 0;
      // a bound of 4 has room for 3 at once
      const send = withinFetchLimit(4, fetchResponse, (url) => {
        beyond++;
        return fetch(url);
      });
      const init = { method: "GET", headers: {}, raw: true };
      for (let sent = 0; sent < 10; sent++) await read(await send(upstream.url, init));
      assert.equal(beyond, 0);
      const open = [];
      for (let sent = 0; sent < 4; sent++) open.push(await send(upstream.url, init));
      assert.equal(beyond, 1);
      for (const response of open) await read(response);
      await send(upstream.url, init).then(read);
      assert.equal(beyond, 1);
    } finally {
      await upstream.close();
    }
  });
}

test("a response nobody reads gives its place back when its request is aborted", async () => {
  const upstream = await startServer((_, response) => response.end('"body"'));
  try {
    let beyond = 0;
    const send = withinFetchLimit(2, fetchResponse, (url) => {
      beyond++;
      return fetch(url);
    });
    const stop = new AbortController();
    await send(upstream.url, { method: "GET", headers: {}, raw: true, signal: stop.signal });
    stop.abort();
    await send(upstream.url, { method: "GET", headers: {}, raw: true });
    assert.equal(beyond, 0);
  } finally {
    await upstream.close();
  }
});

test("a response that was read at once has a locked body, which can be cancelled without an exception", async () => {
  const upstream = await startServer((_, response) => response.end('"body"'));
  try {
    const send = withinFetchLimit(4, fetchResponse, fetchResponse);
    for (const read of [ways.text, ways.arrayBuffer]) {
      const response = await send(upstream.url, { method: "GET", headers: {}, raw: true });
      await read?.(response);
      await response.body?.cancel().catch(() => {});
      assert.equal(response.bodyUsed, true);
    }
  } finally {
    await upstream.close();
  }
});
