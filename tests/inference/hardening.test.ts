import assert from "node:assert/strict";
import type { IncomingMessage, ServerResponse } from "node:http";
import { join } from "node:path";
import { test } from "node:test";
import { mintApiKey } from "../../src/auth/api-key.ts";
import { openDatabase } from "../../src/db/client.ts";
import { createGateway } from "../../src/gateway.ts";
import { webMac } from "../../src/lib/hash.ts";
import { readEvents } from "../../src/lib/sse.ts";
import { createLogQueue } from "../../src/logs/queue.ts";
import { describeLoss, type LogRecord } from "../../src/logs/record.ts";
import { recordAnswers } from "../support/batches.ts";
import {
  adminKey,
  chat,
  createTemporaryFolder,
  createTestClock,
  createTestGateway,
  helloBody,
  insertTenant,
  masterKeys,
  requestHeaders,
  upstreamHeaders,
  waitForLog,
  waitForLogs,
  workspaceKey,
} from "../support/gateway.ts";
import { logRecord } from "../support/log-record.ts";
import { startServer, startSocketServer, type Upstream } from "../support/upstream.ts";

async function using(server: Promise<Upstream>, run: (upstream: Upstream) => Promise<void>) {
  const upstream = await server;
  try {
    await run(upstream);
  } finally {
    await upstream.close();
  }
}
const event = (v: unknown) => `data: ${JSON.stringify(v)}\n\n`;
const piece = (content: string) => event({ id: "x", choices: [{ index: 0, delta: { content }, finish_reason: null }] });
const finish = event({ id: "x", choices: [{ index: 0, delta: {}, finish_reason: "stop" }] });
const done = "data: [DONE]\n\n";
const streaming = (script: (r: ServerResponse, q: IncomingMessage) => void) =>
  startServer((q, r) => {
    q.resume();
    q.on("end", () => {
      r.writeHead(200, { "content-type": "text/event-stream" });
      script(r, q);
    });
  });
const streamBody = { ...helloBody, stream: true };

test("L3/L4: a log row whose metadata holds the beginning of a private key can be read, and so can others", async () => {
  const g = await createTestGateway({ inFile: true });
  try {
    const other = mintApiKey("gk").key;
    await insertTenant(await g.openFile(), other);
    await chat(g, helloBody, {
      "x-gateway-api-key": other,
      "x-gateway-metadata": '{"a":"-----BEGIN PRIVATE KEY-----x"}',
    });
    await chat(g, helloBody, { "x-gateway-trace-id": "mine" });
    await waitForLogs(g, "", 1);
    for (const key of [workspaceKey, adminKey, other]) {
      const r = await g.fetch("/v1/logs", { headers: { "x-gateway-api-key": key } });
      assert.equal(r.status, 200, `${key}: ${await r.text()}`);
    }
  } finally {
    await g.close();
  }
});

test("K2: a gateway key in x-api-key is not forwarded by a forward list", async () => {
  const g = await createTestGateway();
  let seen = "";
  await using(
    startServer((q, r) => {
      seen = JSON.stringify(q.headers);
      q.resume();
      r.setHeader("content-type", "application/json");
      r.end('{"choices":[]}');
    }),
    async (u) => {
      await (
        await chat(g, helloBody, {
          ...upstreamHeaders(u),
          authorization: null,
          "x-gateway-api-key": null,
          "x-api-key": workspaceKey,
          "x-gateway-forward-headers": "x-api-key",
        })
      ).text();
    },
  );
  await g.close();
  assert.equal(seen.includes(workspaceKey), false, seen);
});

for (const [name, headers, path] of [
  ["authorization beside x-gateway-api-key, chat", { authorization: `Bearer ${workspaceKey}` }, "/v1/chat/completions"],
  ["authorization beside x-gateway-api-key, passthrough", { authorization: `Bearer ${workspaceKey}` }, "/v1/files"],
  ["x-api-key beside x-gateway-api-key, passthrough", { "x-api-key": workspaceKey, authorization: null }, "/v1/files"],
  [
    "x-api-key beside authorization, passthrough",
    { "x-gateway-api-key": null, "x-api-key": workspaceKey, authorization: `Bearer ${workspaceKey}` },
    "/v1/files",
  ],
  [
    "a header named for forwarding",
    { authorization: null, "x-mine": workspaceKey, "x-gateway-forward-headers": "x-mine" },
    "/v1/chat/completions",
  ],
] as const) {
  test(`K2: the gateway key is never sent upstream: ${name}`, async () => {
    const g = await createTestGateway();
    let seen = "";
    await using(
      startServer((q, r) => {
        seen = JSON.stringify(q.headers);
        q.resume();
        r.setHeader("content-type", "application/json");
        r.end(path === "/v1/files" ? JSON.stringify(recordAnswers.file) : '{"choices":[]}');
      }),
      async (u) => {
        const r = await g.fetch(path, {
          method: "POST",
          headers: requestHeaders({ ...upstreamHeaders(u), ...headers }),
          body: JSON.stringify(helloBody),
        });
        await r.text();
      },
    );
    await g.close();
    assert.equal(seen.includes(workspaceKey), false, seen);
  });
}

for (const stream of [false, true]) {
  test(`K8: two values of sensitive-headers are 400 before anything is called (stream: ${stream})`, async () => {
    const g = await createTestGateway({ headerAliases: ["x-acme-"] });
    let calls = 0;
    try {
      await using(
        startServer((q, r) => {
          calls++;
          q.resume();
          r.setHeader("content-type", stream ? "text/event-stream" : "application/json");
          r.end(stream ? piece("a") + finish + done : '{"choices":[]}');
        }),
        async (u) => {
          const r = await chat(
            g,
            { ...helloBody, stream },
            {
              ...upstreamHeaders(u),
              "x-gateway-trace-id": "t",
              "x-gateway-sensitive-headers": "a",
              "x-acme-sensitive-headers": "b",
            },
          );
          const text = await Promise.race([r.text(), new Promise<string>((res) => setTimeout(res, 2000, "HANG"))]);
          assert.notEqual(text, "HANG");
          assert.deepEqual([r.status, calls], [400, 0], text);
        },
      );
    } finally {
      await g.close();
    }
  });
}

test("S7: [DONE] is a separate event when the upstream's last event has no blank line", async () => {
  const g = await createTestGateway();
  for (const cut of [1, 2])
    await using(
      streaming((r) => r.end(piece("a") + finish.slice(0, -cut))),
      async (u) => {
        const text = await (await chat(g, streamBody, upstreamHeaders(u))).text();
        const events = readEvents(text).map(({ data }) => data);
        assert.equal(events.at(-1), "[DONE]", text);
        assert.equal(events.length, 3);
      },
    );
  await g.close();
});
test("S7: the error event is a separate event when the upstream's last event is cut", async () => {
  const g = await createTestGateway();
  await using(
    streaming((r) => r.end(`${piece("a")}data: {"choices":[{"delta":{"cont`)),
    async (u) => {
      const text = await (await chat(g, streamBody, upstreamHeaders(u))).text();
      const last = readEvents(text).at(-1)?.data ?? "";
      assert.ok(JSON.parse(last).error, text);
    },
  );
  await g.close();
});
test("S7: a reset after [DONE] adds nothing, and the row is 200", async () => {
  const g = await createTestGateway();
  let reset = () => {};
  await using(
    streaming((r) => {
      reset = () => void r.socket?.resetAndDestroy();
      r.write(piece("a") + finish + done);
    }),
    async (u) => {
      const response = await chat(g, streamBody, { ...upstreamHeaders(u), "x-gateway-trace-id": "t" });
      reset();
      const text = await response.text();
      assert.ok(text.endsWith(done), text);
      assert.equal((await waitForLog(g, "t")).status, 200);
    },
  );
  await g.close();
});
test("S7: a stream ends at [DONE] although the upstream holds its connection open", async () => {
  const clock = createTestClock();
  const g = await createTestGateway({ clock, limits: { streamIdleTimeoutMs: 5_000 } });
  await using(
    streaming((r) => void r.write(piece("a") + finish + done)),
    async (u) => {
      const r = await chat(g, streamBody, { ...upstreamHeaders(u), "x-gateway-trace-id": "t" });
      const timer = setTimeout(() => clock.advance(5_001), 500);
      const text = await r.text();
      clearTimeout(timer);
      assert.ok(text.endsWith(done), text);
      assert.equal((await waitForLog(g, "t")).status, 200);
    },
  );
  await g.close();
});
test("S8: comments do not count as events", async () => {
  const clock = createTestClock();
  const g = await createTestGateway({ clock, limits: { streamIdleTimeoutMs: 5_000 } });
  let timer: ReturnType<typeof setInterval> | undefined;
  await using(
    streaming((r) => {
      r.write(piece("a"));
      timer = setInterval(() => {
        r.write(": ping\n\n");
        clock.advance(1_000);
      }, 100);
    }),
    async (u) => {
      const r = await chat(g, streamBody, upstreamHeaders(u));
      const text = await Promise.race([r.text(), new Promise<string>((res) => setTimeout(res, 8000, "STILL OPEN"))]);
      clearInterval(timer);
      assert.match(text, /upstream_idle/, text.slice(0, 300));
    },
  );
  await g.close();
});
test("L2: the logged address has no query", async () => {
  const g = await createTestGateway();
  await using(
    startServer((q, r) => {
      q.resume();
      r.end("{}");
    }),
    async (u) => {
      await (
        await g.fetch("/v1/files?api_key=hidden-in-the-query", {
          headers: requestHeaders({ ...upstreamHeaders(u), "x-gateway-trace-id": "t" }),
        })
      ).text();
      const row = await waitForLog(g, "t");
      assert.equal(JSON.stringify(row).includes("hidden-in-the-query"), false, String(row.upstream_url));
    },
  );
  await g.close();
});

function setUp(limits?: { rows: number; bytes: number }) {
  const batches: LogRecord[][] = [];
  const state = { failing: false, tries: 0 };
  const queue = createLogQueue({
    async store(e) {
      state.tries++;
      if (state.failing) throw new Error("away");
      batches.push([...e]);
    },
    describeLoss: (loss) => describeLoss(loss, `loss-${loss.organisationId}`),
    warn: () => {},
    ...(limits && { limits }),
  });
  return { queue, batches, state, stored: () => batches.flat() };
}
const until = async (c: () => boolean) => {
  for (let i = 0; i < 2000 && !c(); i++) await new Promise((r) => setTimeout(r, 5));
  assert.ok(c());
};
const shown = (rows: readonly LogRecord[]) =>
  rows
    .filter((r) => r.details.operation === "rows_lost")
    .reduce((s, r) => s + Number(/(\d+) log rows/.exec(r.details.error?.message ?? "")?.[1]), 0);
test("L1: rows lost while the store fails are reported when it is back", async () => {
  const { queue, state, stored } = setUp({ rows: 5, bytes: 1_000_000 });
  state.failing = true;
  for (let i = 0; i < 12; i++) queue.add(logRecord(`r${i}`));
  await until(() => state.tries >= 2);
  for (let i = 12; i < 20; i++) queue.add(logRecord(`r${i}`));
  await until(() => state.tries >= 3);
  state.failing = false;
  await until(() => shown(stored()) > 0);
  await queue.close();
  const preserved = stored().filter((r) => r.details.id.startsWith("r")).length;
  assert.equal(
    preserved + shown(stored()),
    20,
    `stored ${preserved}, reported as lost ${shown(stored())}, state says ${queue.state().lostRows}`,
  );
});
test("L1: close() reports losses", async () => {
  const { queue, stored } = setUp({ rows: 5, bytes: 1_000_000 });
  for (let i = 0; i < 12; i++) queue.add(logRecord(`r${i}`));
  await queue.close();
  assert.equal(shown(stored()), 7);
});
test("L1: a batch with a loss row has 1,024 rows at most", async () => {
  const { queue, batches, stored } = setUp({ rows: 2_000, bytes: 10_000_000 });
  for (let i = 0; i < 2_020; i++) queue.add(logRecord(`r${i}`));
  await until(() => stored().length >= 2_001);
  await queue.close();
  assert.ok(
    batches.every((b) => b.length <= 1_024),
    String(batches.map((b) => b.length)),
  );
});
test("B10: the response while the database cannot be opened has every fixed header", async () => {
  const g = createGateway({ database: "file:/nonexistent-folder/x/gateway.db", masterKeys, warn: () => {} });
  const r = await g.fetch(new Request("http://a/v1/models"));
  assert.equal(r.status, 503);
  const have = ["x-gateway-trace-id", "x-content-type-options", "cache-control"].filter((n) => r.headers.has(n));
  assert.deepEqual(have, ["x-gateway-trace-id", "x-content-type-options", "cache-control"]);
});
test("L1: close() stores rows whose digests are still being computed", async () => {
  const folder = createTemporaryFolder();
  const url = `file:${join(folder.path, "g.db")}`;
  const g = await createTestGateway({ database: url, createMac: webMac });
  for (let i = 0; i < 5; i++)
    await (await chat(g, helloBody, { "x-a": String(i), authorization: `Bearer ${i}` })).text();
  await g.close();
  const db = await openDatabase({ url });
  const n = Number((await db.read("SELECT sum(json_array_length(details)) AS n FROM log_batches")).rows[0]?.n);
  await db.close();
  folder.remove();
  assert.equal(n, 5);
});
for (const status of [205, 600, 999, 304])
  test(`an upstream that responds ${status} gets a response (chat and passthrough)`, async () => {
    const g = await createTestGateway();
    await using(
      startSocketServer((s) => {
        s.once("data", () => {
          s.write(`HTTP/1.1 ${status} X\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{}`, () => s.end());
        });
      }),
      async (u) => {
        const a = await Promise.race([
          chat(g, helloBody, upstreamHeaders(u)).then(async (r) => `${r.status} ${await r.text()}`),
          new Promise<string>((r) => setTimeout(r, 3000, "HANG")),
        ]);
        const b = await Promise.race([
          g
            .fetch("/v1/files", { headers: requestHeaders(upstreamHeaders(u)) })
            .then(async (r) => `${r.status} ${await r.text()}`),
          new Promise<string>((r) => setTimeout(r, 3000, "HANG")),
        ]);
        assert.match(a, /^502/, `chat: ${a}`);
        assert.match(b, status < 600 ? new RegExp(`^${status}|^502`) : /^502/, `passthrough: ${b}`);
      },
    );
    await Promise.race([g.close(), new Promise((r) => setTimeout(r, 2000))]);
  });
test("S8: a passthrough body that stalls is ended", async () => {
  const clock = createTestClock();
  const g = await createTestGateway({ clock, limits: { streamIdleTimeoutMs: 2_000, streamTotalTimeoutMs: 2_000 } });
  await using(
    startServer((q, r) => {
      q.resume();
      r.writeHead(200, { "content-type": "text/plain" });
      r.write("a");
    }),
    async (u) => {
      const r = await g.fetch("/v1/files", {
        headers: requestHeaders({ ...upstreamHeaders(u), "x-gateway-trace-id": "t" }),
      });
      setTimeout(() => clock.advance(10_000), 300);
      const out = await Promise.race([
        r.text().then(
          () => "ended",
          () => "ended",
        ),
        new Promise<string>((res) => setTimeout(res, 4000, "STILL OPEN")),
      ]);
      assert.equal(out, "ended");
    },
  );
  await Promise.race([g.close(), new Promise((r) => setTimeout(r, 2000))]);
});
test("X3: drain() ends a passthrough that still streams, and its row is written", async () => {
  const g = await createTestGateway();
  await using(
    startServer((q, r) => {
      q.resume();
      r.writeHead(200, { "content-type": "text/plain" });
      r.write("a");
    }),
    async (u) => {
      const r = await g.fetch("/v1/files", {
        headers: requestHeaders({ ...upstreamHeaders(u), "x-gateway-trace-id": "t" }),
      });
      const body = r.text().then(
        () => "ended",
        () => "ended",
      );
      await g.gateway.drain(50);
      const out = await Promise.race([body, new Promise<string>((res) => setTimeout(res, 3000, "STILL OPEN"))]);
      assert.equal(out, "ended");
    },
  );
  await Promise.race([g.close(), new Promise((r) => setTimeout(r, 2000))]);
});
test("B15: a refused redirect does not carry location", async () => {
  const g = await createTestGateway();
  await using(
    startServer((q, r) => {
      q.resume();
      r.writeHead(302, { location: "http://169.254.169.254/" });
      r.end();
    }),
    async (u) => {
      const r = await chat(g, helloBody, upstreamHeaders(u));
      await r.text();
      assert.deepEqual([r.status, r.headers.get("location")], [502, null]);
    },
  );
  await g.close();
});
test("B16: an error response is JSON whatever header the upstream sent", async () => {
  const g = await createTestGateway();
  await using(
    startServer((q, r) => {
      q.resume();
      r.writeHead(500, {
        "content-type": "text/html",
        "content-encoding": "identity",
        "content-length": "2",
        "cache-control": "public, max-age=600",
        "access-control-allow-origin": "*",
      });
      r.end("no");
    }),
    async (u) => {
      const r = await chat(g, helloBody, upstreamHeaders(u));
      await r.text();
      assert.equal(r.headers.get("content-type"), "application/json");
      assert.equal(r.headers.get("cache-control"), "no-store");
      assert.equal(r.headers.get("access-control-allow-origin"), null);
    },
  );
  await g.close();
});
test("S4: the content type of events is accepted in another case", async () => {
  const g = await createTestGateway();
  await using(
    startServer((q, r) => {
      q.resume();
      r.writeHead(200, { "content-type": "Text/Event-Stream" });
      r.end(piece("a") + finish + done);
    }),
    async (u) => {
      const r = await chat(g, streamBody, upstreamHeaders(u));
      assert.equal(r.status, 200, await r.text());
    },
  );
  await g.close();
});
