import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { call, done } from "../support/control.ts";
import { eventually } from "../support/eventually.ts";
import {
  adminKey,
  chat,
  createTemporaryFolder,
  createTestGateway,
  listLogs,
  type TestGateway,
  waitForLog,
  workspaceKey,
} from "../support/gateway.ts";
import { followLog, type TailReading } from "../support/log-tail.ts";
import { withGateway } from "../support/process.ts";
import { type RecordingUpstream, startRecordingUpstream } from "../support/upstream.ts";

/** A secret that no pattern knows. */
const plain = (name: string) => `planted-${name}-7f3a9c51`;
const letters = "Ab3dEf6hIj9kLm2nOp5qRs8tUv1wXy4zAb3dEf6hIj9kLm2nOp5q";
const base64 = (text: string) => btoa(text).replaceAll("=", "").replaceAll("+", "-").replaceAll("/", "_");

/** Header values, by the name of their header. */
const ofHeaders = {
  "x-api-key": plain("x-api-key"),
  "api-key": plain("api-key"),
  cookie: `session=${plain("cookie")}`,
  "proxy-authorization": `Basic ${plain("proxy")}`,
  "x-goog-api-key": plain("goog"),
  "x-amz-security-token": plain("amz-token"),
  "x-session-token": plain("session-token"),
  "x-client-secret": plain("client-secret"),
  "x-webhook-signature": plain("signature"),
  "x-private": plain("named-by-caller"),
  "x-operator": plain("named-by-operator"),
  "x-gateway-aws-secret-access-key": plain("aws-header"),
};
/** Members of a config with credentials. */
const ofConfig = { api_key: plain("config-key") };
/** Members of bodies that are secret by their names. */
const ofNames = {
  api_key: plain("api_key"),
  apiKey: plain("apiKey"),
  clientSecret: plain("clientSecret"),
  client_secret: plain("client_secret"),
  password: plain("password"),
  accessToken: plain("accessToken"),
  access_token: plain("access_token"),
  refreshToken: plain("refreshToken"),
  privateKey: plain("privateKey"),
  private_key: plain("private_key"),
  secretAccessKey: plain("secretAccessKey"),
  "x-api-key": plain("member-x-api-key"),
  authorization: plain("member-authorization"),
};
/** Secrets by their form, which stand in plain text. */
const ofForms = {
  openai: `sk-proj-${letters}`,
  openaiOld: `sk-${letters.slice(0, 48)}`,
  anthropic: `sk-ant-api03-${letters}`,
  google: `AIza${letters.slice(0, 35)}`,
  awsId: "AKIAIOSFODNN7PLANTED",
  groq: `gsk_${letters}`,
  huggingFace: `hf_${letters.slice(0, 34)}`,
  xai: `xai-${letters}${letters.slice(0, 28)}`,
  perplexity: `pplx-${letters}`,
  jwt: `${base64('{"alg":"HS256","typ":"JWT"}')}.${base64('{"sub":"planted","iat":1}')}.${letters.slice(0, 43)}`,
  privateKey: `-----BEGIN PRIVATE KEY-----\n${letters}\n-----END PRIVATE KEY-----`,
  gatewayKey: "",
};
const credential = plain("upstream-credential");

let gateway: TestGateway;
let upstream: RecordingUpstream;
let tail: TailReading;
const folder = createTemporaryFolder();
before(async () => {
  gateway = await createTestGateway({
    database: `file:${folder.path}/planted.db`,
    sensitiveHeaders: ["x-operator"],
  });
  const made = await done<{ key: string }>(
    call(gateway, "POST /api-keys/workspace/service", {
      key: workspaceKey,
      body: { name: "Planted", scopes: ["completions.write", "logs.write"] },
    }),
  );
  ofForms.gatewayKey = made.key;
  tail = await followLog(gateway);
  // metrics of requests begin with the first look at them
  await readMetrics();
  // repeats everything it got, in its headers too
  upstream = await startRecordingUpstream(({ headers, text, path }, response) => {
    const echoed = JSON.stringify({ headers, text });
    response.setHeader("content-type", "application/json");
    response.setHeader("set-cookie", plain("set-cookie"));
    response.setHeader("x-auth-token", plain("answered-token"));
    const completion = {
      id: "1",
      object: "chat.completion",
      created: 1,
      model: "m",
      choices: [
        {
          index: 0,
          message: { role: "assistant", content: echoed, refusal: null },
          finish_reason: "stop",
          logprobs: null,
        },
      ],
    };
    const message = {
      id: "1",
      type: "message",
      role: "assistant",
      model: "claude-x",
      content: [{ type: "text", text: echoed }],
      stop_reason: "end_turn",
      usage: { input_tokens: 1, output_tokens: 1 },
    };
    response.end(JSON.stringify(path.endsWith("/messages") ? message : completion));
  });
});
after(async () => {
  await gateway.close();
  await upstream.close();
  folder.remove();
});

const everything = (): string[] => [
  ...Object.values(ofHeaders).map((value) => value.replace(/^(?:session=|Basic )/, "")),
  ...Object.values(ofConfig),
  ...Object.values(ofNames),
  ...Object.values(ofForms).map((value) => value.split("\n")[1] ?? value),
  credential,
  plain("set-cookie"),
  plain("answered-token"),
  ...["metadata", "nested", "address"].map(plain),
];

/** Bytes of the database and its journal. */
function stored(): string {
  return ["", "-wal"].map((end) => readFileSync(`${folder.path}/planted.db${end}`).toString("latin1")).join("\n");
}

async function readMetrics(): Promise<string> {
  return (await gateway.fetch("/metrics", { headers: { "x-gateway-api-key": adminKey } })).text();
}

/** Refuses a text with one of the secrets. */
function requireNone(text: string, place: string): void {
  for (const secret of everything()) {
    const at = text.indexOf(secret);
    assert.ok(at < 0, `${secret} in ${place}: ${text.slice(Math.max(0, at - 60), at + 90)}`);
  }
}

async function requireNowhere(trace: string) {
  const row = await waitForLog(gateway, trace);
  const shown = JSON.stringify([row, await listLogs(gateway, `trace_id=${trace}`)]);
  assert.ok(shown.includes("marker-that-is-stored"), "the contents are stored");
  const bytes = stored();
  assert.ok(bytes.includes("marker-that-is-stored"), "they are stored as text");
  for (const secret of everything()) {
    assert.ok(
      !shown.includes(secret),
      `${secret} in ${trace}: ${shown.slice(shown.indexOf(secret) - 60, shown.indexOf(secret) + 90)}`,
    );
    assert.ok(!bytes.includes(secret), `${secret} in the database`);
  }
}

const prose = () =>
  `marker-that-is-stored ${Object.values(ofForms).join(" and ")} ${JSON.stringify({ nested: { deep: [{ apiKey: plain("nested") }] } })}`;

const sentHeaders = () => ({
  ...ofHeaders,
  "x-gateway-sensitive-headers": '["X-Private"]',
  "x-gateway-metadata": JSON.stringify({ password: plain("metadata"), team: "harbour" }),
});

test("more than 40 secrets are planted", () => {
  assert.ok(new Set(everything()).size >= 40, String(new Set(everything()).size));
});

for (const isStream of [false, true]) {
  test(`planted secrets are in no byte of the log of a converted request, stream ${isStream}`, async () => {
    const config = {
      provider: "anthropic",
      ...ofConfig,
      custom_host: `${upstream.url}/v1`,
      forward_headers: ["x-session-token", "x-private", "x-operator", "x-client-secret"],
      override_params: { metadata: { user_id: "u", api_key: ofNames.api_key } },
    };
    const trace = `planted-${isStream}`;
    const headers = {
      ...sentHeaders(),
      authorization: null,
      "x-gateway-provider": null,
      "x-gateway-config": JSON.stringify(config),
      "x-gateway-trace-id": trace,
    };
    const body = {
      model: "claude-x",
      max_tokens: 9,
      messages: [{ role: "user", content: prose() }],
      ...ofNames,
      ...(isStream && { stream: true }),
    };
    await (await chat(gateway, body, headers)).text();
    assert.ok(upstream.requests.length > 0);
    await requireNowhere(trace);
  });
}

test("planted secrets are in no byte of the log of a request that goes through unchanged", async () => {
  const headers = {
    ...sentHeaders(),
    authorization: `Bearer ${credential}`,
    "x-gateway-provider": "openai",
    "x-gateway-custom-host": `${upstream.url}/v1`,
    "x-gateway-trace-id": "planted-plain",
  };
  await (
    await chat(
      gateway,
      { model: "m", messages: [{ role: "user", content: `${prose()} ${credential}` }], ...ofNames },
      headers,
    )
  ).text();
  await requireNowhere("planted-plain");
});

test("planted secrets are in no byte of reported rows", async () => {
  const { "x-private": _, "x-operator": __, ...own } = ofHeaders;
  const request = {
    url: `https://u:${plain("address")}@api.example.test/v1/chat?key=${plain("address")}`,
    headers: { ...own, "x-private": ofHeaders["x-private"], "x-operator": ofHeaders["x-operator"] },
    body: { text: prose(), ...ofNames, packed: JSON.stringify(ofNames) },
  };
  const response = {
    headers: { "set-cookie": plain("set-cookie"), "x-auth-token": plain("answered-token") },
    body: { text: prose(), ...ofNames },
  };
  const metadata = { traceId: "planted-own", password: plain("metadata") };
  const headers = { "x-gateway-sensitive-headers": '["x-private"]' };
  await done(call(gateway, "POST /logs", { key: workspaceKey, body: { request, response, metadata }, headers }));
  await requireNowhere("planted-own");
});

test("planted secrets are in no byte of rows of spans", async () => {
  const traceId = "c".repeat(32);
  const attributes = [
    ...Object.entries(ofNames).map(([key, stringValue]) => ({ key, value: { stringValue } })),
    { key: "gen_ai.input.messages", value: { stringValue: JSON.stringify([{ text: prose(), ...ofNames }]) } },
    { key: "url.full", value: { stringValue: `https://api.example.test/v1?key=${plain("address")}` } },
  ];
  const span = { traceId, spanId: "d".repeat(16), name: "planted", attributes };
  const body = { resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] };
  await done(call(gateway, "POST /otel/v1/traces", { key: workspaceKey, body }));
  await requireNowhere(traceId);
});

test("planted secrets are in no event of the tail", async () => {
  const rows = JSON.stringify(await tail.take(5));
  await tail.close();
  assert.ok(rows.includes("planted-own") && rows.includes("planted-plain"));
  requireNone(rows, "the tail");
});

test("planted secrets are in no export", async () => {
  const fields = ["id", "trace_id", "request", "response", "request_url", "metadata", "config", "ai_model"];
  const { id } = await done<{ id: string }>(
    call(gateway, "POST /logs/exports", { key: workspaceKey, body: { filters: {}, requested_data: fields } }),
  );
  await done(call(gateway, `POST /logs/exports/${id}/start`, { key: workspaceKey }));
  await eventually("the export to be written", async () => {
    const { status } = await done<{ status: string }>(call(gateway, `GET /logs/exports/${id}`, { key: workspaceKey }));
    return status === "success";
  });
  const { signed_url } = await done<{ signed_url: string }>(
    call(gateway, `GET /logs/exports/${id}/download`, { key: workspaceKey }),
  );
  const { pathname, search } = new URL(signed_url);
  const text = await (await gateway.fetch(pathname + search)).text();
  assert.equal(text.trim().split("\n").length, 5);
  assert.ok(text.includes("marker-that-is-stored"));
  requireNone(text, "the export");
});

test("planted secrets are in no metric", async () => {
  const text = await readMetrics();
  assert.match(text, /^request_count/m);
  requireNone(text, "the metrics");
});

test("planted secrets are not in what a process prints, whatever fails", async () => {
  // nobody takes the spans, which is reported
  const away = "http://127.0.0.1:9";
  const env = {
    OTEL_EXPORTER_OTLP_ENDPOINT: away,
    OTEL_EXPORTER_OTLP_HEADERS: `authorization=${credential}`,
    OTEL_BSP_SCHEDULE_DELAY: "100",
  };
  const output = await withGateway({ env }, async (process) => {
    const send = async (path: string, body: string, headers: Record<string, string | null>) => {
      const sent = new Headers({ "content-type": "application/json", "x-gateway-api-key": process.workspaceKey });
      for (const [name, value] of Object.entries(headers)) if (value !== null) sent.set(name, value);
      const init = { method: "POST", headers: sent, body };
      return (await fetch(`${process.url}/v1${path}`, init)).text();
    };
    const body = { model: "m", messages: [{ role: "user", content: `${prose()} ${credential}` }], ...ofNames };
    const toUpstream = {
      ...sentHeaders(),
      authorization: `Bearer ${credential}`,
      "x-gateway-provider": "openai",
      "x-gateway-custom-host": `${upstream.url}/v1`,
    };
    const answer = await send("/chat/completions", JSON.stringify(body), toUpstream);
    assert.ok(answer.includes("marker-that-is-stored"), answer);
    const config = JSON.stringify({ provider: "openai", ...ofConfig, custom_host: "http://127.0.0.1:9" });
    await send("/chat/completions", JSON.stringify(body), { "x-gateway-config": config });
    await send("/chat/completions", `${JSON.stringify(body)}}`, toUpstream);
    await send("/chat/completions", JSON.stringify(body), { ...toUpstream, "x-gateway-config": `{${config}` });
    await send("/chat/completions", JSON.stringify(body), { "x-gateway-api-key": ofForms.gatewayKey });
    await send("/logs", JSON.stringify({ request: { url: `https://u:${plain("address")}@x/`, ...ofNames } }), {});
    await eventually("the exporter to report it", async () => process.output().includes("collector"));
    return process.output();
  });
  requireNone(output, "the output");
});
