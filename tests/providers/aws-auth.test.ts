import assert from "node:assert/strict";
import { test } from "node:test";
import { GatewayError } from "../../src/errors.ts";
import type { OutboundInit } from "../../src/lib/outbound.ts";
import { type AwsSettings, createAwsAuthorize, signAwsRequest } from "../../src/providers/auth/aws.ts";
import { createTokenCache } from "../../src/providers/core/token-cache.ts";
import type { AuthTools } from "../../src/providers/core/types.ts";
import { fixture, jsonFixture } from "../conformance/suite.ts";
import { requireSigned } from "../support/aws.ts";
import { createTestClock } from "../support/gateway.ts";

const own = { accessKeyId: "AKIDOWNEXAMPLE", secretAccessKey: "own/Secret+Key" };
const operator = { accessKeyId: "AKIDOPERATOR", secretAccessKey: "operatorSecret" };
const assumed = { accessKeyId: "ASIAFXEXAMPLE", secretAccessKey: "fxSecretExample" };
const role = "arn:aws:iam::111122223333:role/team/model-caller";
const webIdentity = { AWS_ROLE_ARN: role, AWS_WEB_IDENTITY_TOKEN_FILE: "/t" };
const authorize = createAwsAuthorize({ provider: "bedrock", service: "bedrock" });
const plain: AwsSettings = { region: "eu-central-1" };
const ofOwn = { access_key_id: own.accessKeyId, secret_access_key: own.secretAccessKey };
const request = {
  method: "POST",
  url: "https://bedrock-runtime.eu-central-1.amazonaws.com/model/a.b/converse",
  headers: { "content-type": "application/json", accept: "application/json" } as Record<string, string>,
  body: '{"messages":[]}',
  credential: undefined as string | undefined,
};

interface Sent {
  url: string;
  init: OutboundInit;
}

type Answer = (sent: Sent) => Response;

const keysAnswer: Answer = () =>
  new Response(fixture("bedrock", "sts-assume-role.xml").replace("2026-03-04", "2099-01-01"));

/** Dependencies of authentication, with a fake token service. */
function createWorld(environment: AuthTools["environment"] = {}, answer: Answer = keysAnswer) {
  const clock = createTestClock();
  const sent: Sent[] = [];
  const files: string[] = [];
  const tools: AuthTools = {
    clock,
    environment,
    tokens: createTokenCache(clock),
    tenant: ["org", "workspace/1"],
    identityOrganisations: new Set(["org"]),
    outbound: async (url, init) => {
      sent.push({ url, init });
      return answer({ url, init });
    },
    readFile: async (path) => {
      files.push(path);
      return "web.identity.token\n";
    },
  };
  return { tools, clock, sent, files };
}

function requireStsSigned({ url, init }: Sent, keys: typeof own) {
  const { host } = new URL(url);
  assert.ok(typeof init.body === "string");
  const found = requireSigned({ ...init, url, headers: { ...init.headers, host }, body: init.body }, keys);
  assert.equal(found.scope.service, "sts");
  return Object.fromEntries(new URLSearchParams(init.body));
}

async function requireRequestSigned(made: Record<string, string>, keys: typeof own, sent = request) {
  const { host } = new URL(sent.url);
  return requireSigned({ ...sent, headers: { ...sent.headers, ...made, host } }, keys);
}

test("signAwsRequest() produces the signature of the test vector", async () => {
  const { input, authorization } = jsonFixture("bedrock", "sigv4-vector.json") as {
    input: Record<string, string> & { headers: Record<string, string> };
    authorization: string;
  };
  const { accessKeyId = "", secretAccessKey = "", sessionToken = "" } = input;
  const made = await signAwsRequest(
    { method: input.method ?? "", url: input.url ?? "", headers: input.headers, body: input.body },
    { accessKeyId, secretAccessKey, sessionToken },
    { service: "bedrock", region: "us-east-1", now: Date.UTC(2026, 2, 4, 10) },
  );
  assert.equal(made.authorization, authorization);
  assert.equal(made["x-amz-date"], "20260304T100000Z");
  assert.equal(made["x-amz-security-token"], "fxSessionToken");
});

for (const [name, change] of [
  ["a plain request", {}],
  ["a query", { method: "GET", body: undefined, url: `${request.url}?b=2&a=x%20y&a=%2F%3D&empty=` }],
  ["an encoded path", { url: "https://host.example/model/arn%3Aaws%3Abedrock%3A%3Amodel%2Fx!'()*/converse" }],
  ["a port", { url: "http://127.0.0.1:8080/x" }],
  ["bytes", { body: new TextEncoder().encode("é") }],
  ["no body", { body: undefined }],
] as const) {
  test(`signAwsRequest() signs ${name}`, async () => {
    const one = { ...request, ...change };
    const made = await signAwsRequest(one, own, { service: "s", region: "r", now: 0 });
    const { host } = new URL(one.url);
    requireSigned({ ...one, headers: { ...one.headers, ...made, host }, body: one.body ?? "" }, own);
  });
}

test("signAwsRequest() does not sign what proxies change, and ignores the caller's digests", async () => {
  const headers = {
    ...request.headers,
    "user-agent": "x",
    "x-amz-date": "20000101T000000Z",
    "x-amz-content-sha256": "STREAMING",
    authorization: "a",
    "x-amz-target": "Kept.This",
  };
  const made = await signAwsRequest({ ...request, headers }, own, { service: "s", region: "r", now: 0 });
  assert.equal(made["x-amz-date"], "19700101T000000Z");
  const { signed } = requireSigned(
    {
      ...request,
      headers: { ...headers, ...made, host: new URL(request.url).host, "x-amz-content-sha256": undefined },
    },
    own,
  );
  assert.deepEqual(signed, ["content-type", "host", "x-amz-date", "x-amz-target"]);
  assert.match(made["x-amz-content-sha256"] ?? "", /^[0-9a-f]{64}$/);
});

test("signAwsRequest() leaves a streamed body unsigned and declares it", async () => {
  const streamed = { ...request, body: undefined, isStreamed: true };
  const made = await signAwsRequest(streamed, own, { service: "s", region: "r", now: 0 });
  assert.equal(made["x-amz-content-sha256"], "UNSIGNED-PAYLOAD");
  await requireRequestSigned(made, own);
});

test("bedrock signs with the caller's keys and session token", async () => {
  const { tools, sent } = createWorld();
  const made = await authorize(request, { ...plain, ...ofOwn, session_token: "tok" }, tools);
  const { scope, signed } = await requireRequestSigned(made, own);
  assert.deepEqual(scope, { date: "20260115", region: "eu-central-1", service: "bedrock", end: "aws4_request" });
  assert.ok(signed.includes("x-amz-security-token"));
  assert.equal(made["x-amz-security-token"], "tok");
  assert.deepEqual(sent, []);
});

for (const auth_type of [undefined, "apiKey"] as const) {
  test(`bedrock sends an API key instead of a signature (${auth_type ?? "by itself"})`, async () => {
    const { tools } = createWorld();
    const settings: AwsSettings = auth_type ? { ...plain, auth_type } : plain;
    assert.deepEqual(await authorize({ ...request, credential: "k" }, settings, tools), {});
  });
}

test("bedrock assumes a role with the caller's keys once for parallel requests, and again after five minutes", async () => {
  const { tools, sent, clock } = createWorld();
  const settings: AwsSettings = { ...plain, ...ofOwn, auth_type: "assumedRole", role_arn: role, external_id: "ext/1" };
  const all = await Promise.all([1, 2, 3].map(() => authorize(request, settings, tools)));
  assert.equal(sent.length, 1);
  for (const made of all) {
    await requireRequestSigned(made, assumed);
    assert.equal(made["x-amz-security-token"], "fxTokenExample");
  }
  const [first] = sent;
  assert.ok(first);
  assert.equal(first.url, "https://sts.eu-central-1.amazonaws.com/");
  assert.equal(first.init.origin, "influenced");
  assert.deepEqual(requireStsSigned(first, own), {
    Version: "2011-06-15",
    Action: "AssumeRole",
    RoleArn: role,
    ExternalId: "ext/1",
    RoleSessionName: "gateway-workspace-1",
  });
  clock.advance(4 * 60_000);
  await authorize(request, settings, tools);
  assert.equal(sent.length, 1);
  clock.advance(2 * 60_000);
  await authorize(request, settings, tools);
  assert.equal(sent.length, 2);
});

for (const [name, change, tenant] of [
  ["another secret", { secret_access_key: "other" }, undefined],
  ["another external id", { external_id: "ext" }, undefined],
  ["another role", { role_arn: `${role}2` }, undefined],
  ["another region", { region: "eu-west-1" }, undefined],
  ["another workspace", {}, ["org", "other"]],
] as const) {
  test(`bedrock does not share keys of a role with ${name}`, async () => {
    const { tools, sent } = createWorld();
    const settings: AwsSettings = { ...plain, ...ofOwn, auth_type: "assumedRole", role_arn: role };
    await authorize(request, settings, tools);
    await authorize(request, { ...settings, ...change }, { ...tools, tenant: tenant ?? tools.tenant });
    assert.equal(sent.length, 2);
  });
}

test("toSessionTags() turns metadata into session tags, and tagged sessions are not shared", async () => {
  const { tools, sent } = createWorld();
  const settings: AwsSettings = { ...plain, ...ofOwn, auth_type: "assumedRole", role_arn: role };
  const metadata = { team: "tides", _user: "é@x", "aws:reserved": "no", bad: "a\nb" };
  await authorize(request, settings, { ...tools, metadata });
  await authorize(request, settings, { ...tools, metadata: Object.fromEntries(Object.entries(metadata).toReversed()) });
  await authorize(request, settings, { ...tools, metadata: { team: "winds" } });
  const [first] = sent;
  assert.ok(first && sent.length === 2);
  const asked = Object.entries(requireStsSigned(first, own)).filter(([name]) => name.startsWith("Tags"));
  assert.deepEqual(Object.fromEntries(asked), {
    "Tags.member.1.Key": "_user",
    "Tags.member.1.Value": "é@x",
    "Tags.member.2.Key": "team",
    "Tags.member.2.Value": "tides",
  });
});

test("bedrock assumes a role in two hops from the operator's identity", async () => {
  const { tools, sent } = createWorld({
    AWS_ASSUME_ROLE_ACCESS_KEY_ID: operator.accessKeyId,
    AWS_ASSUME_ROLE_SECRET_ACCESS_KEY: operator.secretAccessKey,
    AWS_ASSUME_ROLE_REGION: "us-west-2",
    AWS_ASSUME_ROLE_SOURCE_ARN: "arn:aws:iam::999999999999:role/gateway",
    AWS_ASSUME_ROLE_SOURCE_EXTERNAL_ID: "source",
    AWS_ENDPOINT_DOMAIN: "amazonaws.com.cn",
  });
  const made = await authorize(request, { ...plain, auth_type: "assumedRole", role_arn: role }, tools);
  await requireRequestSigned(made, assumed);
  const [near, far] = sent;
  assert.ok(near && far && sent.length === 2);
  assert.equal(near.url, "https://sts.us-west-2.amazonaws.com.cn/");
  assert.equal(far.url, "https://sts.eu-central-1.amazonaws.com.cn/");
  const first = requireStsSigned(near, operator);
  assert.deepEqual([first.RoleArn, first.ExternalId], ["arn:aws:iam::999999999999:role/gateway", "source"]);
  assert.equal(requireStsSigned(far, assumed).RoleArn, role);
});

test("serviceRole uses the operator's federated token, which appears in no URL", async () => {
  const { tools, sent, files } = createWorld({
    AWS_ROLE_ARN: role,
    AWS_WEB_IDENTITY_TOKEN_FILE: "/var/run/token",
  });
  const made = await authorize(request, { ...plain, auth_type: "serviceRole" }, tools);
  await requireRequestSigned(made, assumed);
  assert.deepEqual(files, ["/var/run/token"]);
  const [one] = sent;
  assert.equal(one?.url, "https://sts.eu-central-1.amazonaws.com/");
  assert.equal(one.init.headers.authorization, undefined);
  assert.deepEqual(Object.fromEntries(new URLSearchParams(String(one.init.body))), {
    Version: "2011-06-15",
    Action: "AssumeRoleWithWebIdentity",
    RoleArn: role,
    RoleSessionName: "gateway-workspace-1",
    WebIdentityToken: "web.identity.token",
  });
});

for (const [host, isTaken] of [
  ["bedrock-runtime.eu-central-1.amazonaws.com", true],
  ["bedrock.eu-central-1.amazonaws.com.cn", true],
  ["bedrock-runtime-fips.eu-central-1.amazonaws.com", true],
  ["vpce-0a1b-xyz.bedrock-runtime.eu-central-1.vpce.amazonaws.com", true],
  ["bedrock-runtime.eu-central-1.own.example", true],
  ["bedrock-runtime.eu-west-1.amazonaws.com", false],
  ["bedrock.s3.eu-central-1.amazonaws.com", false],
  ["abc.execute-api.eu-central-1.amazonaws.com", false],
  ["bedrockish.eu-central-1.amazonaws.com", false],
  ["bedrock.eu-central-1.elb.amazonaws.com", false],
  ["bedrock.eu-central-1.amazonaws.com.example.org", false],
  ["bedrock.eu-central-1.evilamazonaws.com", false],
  ["127.0.0.1", false],
] as const) {
  test(`the operator's identity signs for ${host}: ${isTaken}`, async () => {
    const { tools, sent } = createWorld({ ...webIdentity, AWS_ENDPOINT_DOMAIN: "own.example" });
    const signing = authorize({ ...request, url: `https://${host}/x` }, { ...plain, auth_type: "serviceRole" }, tools);
    if (isTaken) assert.ok((await signing).authorization);
    else await assert.rejects(signing, /not a host of AWS/);
    assert.equal(sent.length, isTaken ? 1 : 0);
  });
}

const denied: Answer = () =>
  new Response(
    "<ErrorResponse><Error><Code>AccessDenied</Code><Message>arn of the operator</Message></Error></ErrorResponse>",
    {
      status: 403,
    },
  );

for (const [
  name,
  settings,
  { status, text, environment = {}, answer = keysAnswer, url = request.url, headers = {} },
] of [
  ["no keys", {}, { status: 400, text: /set x-gateway-aws-access-key-id/ }],
  ["half the keys", { access_key_id: "AKID" }, { status: 400, text: /secret-access-key/ }],
  ["no API key", { auth_type: "apiKey" }, { status: 400, text: /API key/ }],
  ["no role", { auth_type: "assumedRole", ...ofOwn }, { status: 400, text: /x-gateway-aws-role-arn/ }],
  [
    "no identity of the operator",
    { auth_type: "assumedRole", role_arn: role },
    { status: 400, text: /operator must set/ },
  ],
  [
    "a host that is not AWS' for the operator's identity",
    { auth_type: "serviceRole" },
    { status: 400, text: /not a host of AWS/, environment: webIdentity, url: "https://amazonaws.com.example.org/x" },
  ],
  [
    "a host that is not AWS' for a role assumed by the operator",
    { auth_type: "assumedRole", role_arn: role },
    { status: 400, text: /not a host of AWS/, environment: webIdentity, url: "https://evilamazonaws.com/x" },
  ],
  [
    "a refusal of the token service, without what it says of the operator",
    { auth_type: "serviceRole" },
    { status: 403, text: /rejected the request \(AccessDenied\)$/, environment: webIdentity, answer: denied },
  ],
  [
    "an answer without keys",
    { auth_type: "serviceRole" },
    { status: 502, text: /did not return keys/, environment: webIdentity, answer: () => new Response("<x/>") },
  ],
  [
    "a token service that cannot be reached",
    { auth_type: "serviceRole" },
    {
      status: 502,
      text: /cannot be reached/,
      environment: webIdentity,
      answer: () => {
        throw new TypeError("no connection");
      },
    },
  ],
  [
    "a session token that belongs to no key of ours",
    ofOwn,
    { status: 400, text: /leave x-amz-security-token out/, headers: { "x-amz-security-token": "other" } },
  ],
] satisfies readonly (readonly [
  string,
  Partial<AwsSettings>,
  {
    status: number;
    text: RegExp;
    environment?: Record<string, string>;
    answer?: Answer;
    url?: string;
    headers?: Record<string, string>;
  },
])[]) {
  test(`bedrock never sends an unsigned request: ${name}`, async () => {
    const { tools } = createWorld(environment, answer);
    const one = { ...request, url, headers: { ...request.headers, ...headers } };
    await assert.rejects(
      authorize(one, { ...plain, ...settings }, tools),
      (error) => error instanceof GatewayError && error.status === status && text.test(error.message),
    );
  });
}
