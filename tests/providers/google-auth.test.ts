import assert from "node:assert/strict";
import { after, test } from "node:test";
import { exportPKCS8, generateKeyPair, jwtVerify } from "jose";
import { GatewayError } from "../../src/errors.ts";
import { authorizeGoogle, readServiceAccount } from "../../src/providers/auth/google.ts";
import { createTokenCache } from "../../src/providers/core/token-cache.ts";
import type { AuthTools, SignableRequest } from "../../src/providers/core/types.ts";
import { vertexAi } from "../../src/providers/vertex-ai/mod.ts";
import { jsonFixture } from "../conformance/suite.ts";
import { createTestClock } from "../support/gateway.ts";
import { startServer } from "../support/upstream.ts";

const { privateKey, publicKey } = await generateKeyPair("RS256", { extractable: true });
const account = {
  type: "service_account",
  project_id: "fx-project",
  private_key_id: "fx-key",
  private_key: await exportPKCS8(privateKey),
  client_email: "robot@fx-project.example",
  token_uri: "https://oauth2.googleapis.com/token",
};

/** Requests to the token services, and their responses. */
interface Asked {
  path: string;
  headers: Record<string, unknown>;
  body: string;
}
const asked: Asked[] = [];
const answers = new Map<string, { status: number; body: unknown }>();
const server = await startServer(async (request, response) => {
  let body = "";
  for await (const piece of request) body += piece;
  const path = request.url ?? "";
  asked.push({ path, headers: request.headers, body });
  const answer = answers.get(path) ?? { status: 200, body: jsonFixture("vertex-ai", "token.json") };
  response.writeHead(answer.status, { "content-type": "application/json" });
  response.end(JSON.stringify(answer.body));
});
after(() => server.close());

/** Dependencies for one tenant; every URL leads to the loopback server, under its host name. */
function createTools(environment: Record<string, string> = {}, tenant = ["organisation", "workspace"]) {
  const clock = createTestClock();
  const origins: string[] = [];
  const tools: AuthTools = {
    clock,
    environment,
    tenant,
    tokens: createTokenCache(clock),
    identityOrganisations: new Set(["organisation"]),
    readFile: (path) => (path === "/token" ? Promise.resolve("federated\n") : Promise.reject(new Error("no file"))),
    outbound(url, { method, headers, body, origin }) {
      const { host, pathname } = new URL(url);
      origins.push(origin);
      return fetch(`${server.url}/${host}${pathname}`, { method, headers, body: body as string });
    },
  };
  return { tools, clock, origins };
}

const url = "https://us-central1-aiplatform.googleapis.com/v1/projects/p/locations/l";
const signable = (credential?: string, address = url): SignableRequest => ({
  method: "POST",
  url: address,
  headers: {},
  body: "{}",
  credential,
});
const basic = { serviceAccount: undefined, authType: undefined } as const;
const withAccount = (changes: object = {}) => ({
  serviceAccount: readServiceAccount(JSON.stringify({ ...account, ...changes })),
  authType: undefined,
});

/** The status and message of the error. */
async function refusalOf(work: Promise<unknown>): Promise<[number, string]> {
  try {
    await work;
  } catch (error) {
    assert.ok(error instanceof GatewayError, String(error));
    return [error.status, error.message];
  }
  throw new Error("nothing was refused");
}

test("authorizeGoogle() signs an assertion for a service account and caches the token until it expires", async () => {
  const { tools, clock, origins } = createTools();
  asked.length = 0;
  const wanted = { authorization: "Bearer ya29.fx-example" };
  const both = await Promise.all([1, 2].map(() => authorizeGoogle(signable(), withAccount(), tools)));
  assert.deepEqual(both, [wanted, wanted]);
  assert.equal(asked.length, 1);
  assert.equal(asked[0]?.path, "/oauth2.googleapis.com/token");
  assert.deepEqual(origins, ["influenced"]);
  const form = new URLSearchParams(asked[0]?.body);
  assert.equal(form.get("grant_type"), "urn:ietf:params:oauth:grant-type:jwt-bearer");
  const verified = await jwtVerify(form.get("assertion") ?? "", publicKey, {
    issuer: account.client_email,
    subject: account.client_email,
    audience: account.token_uri,
    currentDate: new Date(clock.now()),
  });
  assert.deepEqual(verified.protectedHeader, { alg: "RS256", typ: "JWT", kid: "fx-key" });
  assert.equal(verified.payload.scope, "https://www.googleapis.com/auth/cloud-platform");
  assert.equal((verified.payload.exp ?? 0) - (verified.payload.iat ?? 0), 3600);
  clock.advance(3_500_000);
  await authorizeGoogle(signable(), withAccount(), tools);
  assert.equal(asked.length, 1);
  clock.advance(60_000);
  await authorizeGoogle(signable(), withAccount(), tools);
  assert.equal(asked.length, 2);
});

test("authorizeGoogle() takes the key of a service account as the credential", async () => {
  const { tools } = createTools();
  const headers = await authorizeGoogle(signable(JSON.stringify(account)), basic, tools);
  assert.deepEqual(headers, { authorization: "Bearer ya29.fx-example" });
  const [status, message] = await refusalOf(authorizeGoogle(signable('{"secret":"s3"}'), basic, tools));
  assert.equal(status, 400);
  assert.doesNotMatch(message, /s3/);
});

test("authorizeGoogle() never shares a token between tenants or keys of one account", async () => {
  const { tools } = createTools();
  const other = { ...tools, tenant: ["organisation", "other"] };
  const { privateKey: second } = await generateKeyPair("RS256", { extractable: true });
  asked.length = 0;
  await authorizeGoogle(signable(), withAccount(), tools);
  await authorizeGoogle(signable(), withAccount(), other);
  await authorizeGoogle(signable(), withAccount({ private_key: await exportPKCS8(second) }), tools);
  assert.equal(asked.length, 3);
});

for (const token_uri of [
  "https://tokens.example.com/token",
  "http://oauth2.googleapis.com/token",
  "https://oauth2.googleapis.com.example.com/token",
  "https://oauth2.googleapis.com:8443/token",
  "https://user@oauth2.googleapis.com/token",
  "token",
]) {
  test(`authorizeGoogle() does not send an assertion to ${token_uri}`, async () => {
    const { tools } = createTools();
    asked.length = 0;
    const [status] = await refusalOf(authorizeGoogle(signable(), withAccount({ token_uri }), tools));
    assert.deepEqual([status, asked.length], [400, 0]);
  });
}

test("authorizeGoogle() reports a rejected account and an invalid key", async () => {
  const { tools } = createTools();
  answers.set("/oauth2.googleapis.com/token", { status: 400, body: { error: "invalid_grant" } });
  const [status, message] = await refusalOf(authorizeGoogle(signable(), withAccount(), tools));
  answers.clear();
  assert.equal(status, 401);
  assert.match(message, /invalid_grant/);
  const private_key = "-----BEGIN RSA PRIVATE KEY-----\nc2VjcmV0\n-----END RSA PRIVATE KEY-----";
  const [bad, text] = await refusalOf(authorizeGoogle(signable(), withAccount({ private_key }), tools));
  assert.equal(bad, 400);
  assert.doesNotMatch(text, /c2VjcmV0/);
});

test("authorizeGoogle() sends tokens unchanged, and keys in their own header", async () => {
  const { tools } = createTools();
  assert.deepEqual(await authorizeGoogle(signable("ya29.x"), basic, tools), { authorization: "Bearer ya29.x" });
  assert.deepEqual(await authorizeGoogle(signable("AIzaFx"), basic, tools), { "x-goog-api-key": "AIzaFx" });
  assert.deepEqual(await authorizeGoogle(signable(), basic, tools), {});
});

const federated = { GCP_WIF_AUDIENCE: "//iam.googleapis.com/projects/1/providers/x" };
const workload = { serviceAccount: undefined, authType: "workload" } as const;

test("authorizeGoogle() exchanges a federated token and impersonates an account", async () => {
  const GCP_WIF_SERVICE_ACCOUNT_EMAIL = "robot@fx.example";
  const path = "/iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/robot%40fx.example:generateAccessToken";
  answers.set(path, { status: 200, body: { accessToken: "lent", expireTime: "2026-01-15T13:00:00Z" } });
  const environment = { ...federated, GCP_WIF_SERVICE_ACCOUNT_EMAIL, AZURE_FEDERATED_TOKEN_FILE: "/token" };
  const { tools, origins } = createTools(environment);
  asked.length = 0;
  for (const identity of [basic, workload]) {
    assert.deepEqual(await authorizeGoogle(signable(), identity, tools), { authorization: "Bearer lent" });
  }
  assert.deepEqual(
    asked.map((one) => one.path),
    ["/sts.googleapis.com/v1/token", path],
  );
  assert.deepEqual(origins, ["fixed", "fixed"]);
  const form = Object.fromEntries(new URLSearchParams(asked[0]?.body));
  assert.equal(form.subject_token, "federated");
  assert.equal(form.subject_token_type, "urn:ietf:params:oauth:token-type:jwt");
  assert.equal(form.audience, federated.GCP_WIF_AUDIENCE);
  assert.equal(asked[1]?.headers.authorization, "Bearer ya29.fx-example");
  answers.set(path, { status: 403, body: {} });
  const [status] = await refusalOf(authorizeGoogle(signable(), workload, createTools(environment).tools));
  answers.clear();
  assert.equal(status, 401);
});

test("authorizeGoogle() authenticates with a signed AWS request", async () => {
  const { tools } = createTools({
    ...federated,
    AWS_ACCESS_KEY_ID: "AKIDFX",
    AWS_SECRET_ACCESS_KEY: "fx",
    AWS_REGION: "eu-west-1",
  });
  asked.length = 0;
  assert.deepEqual(await authorizeGoogle(signable(), workload, tools), { authorization: "Bearer ya29.fx-example" });
  const form = Object.fromEntries(new URLSearchParams(asked[0]?.body));
  assert.equal(form.subject_token_type, "urn:ietf:params:aws:token-type:aws4_request");
  const question = JSON.parse(decodeURIComponent(form.subject_token ?? ""));
  assert.equal(question.url, "https://sts.eu-west-1.amazonaws.com/?Action=GetCallerIdentity&Version=2011-06-15");
  const headers = Object.fromEntries(
    question.headers.map(({ key, value }: { key: string; value: string }) => [key, value]),
  );
  assert.equal(headers["x-goog-cloud-target-resource"], federated.GCP_WIF_AUDIENCE);
  assert.match(
    headers.authorization,
    /Credential=AKIDFX\/20260115\/eu-west-1\/sts.*SignedHeaders=host;x-amz-date;x-goog-cloud-target-resource/,
  );
});

test("authorizeGoogle() requests the machine's token", async () => {
  const { tools } = createTools({ GCP_AUTH_MODE: "workload" });
  asked.length = 0;
  assert.deepEqual(await authorizeGoogle(signable(), workload, tools), { authorization: "Bearer ya29.fx-example" });
  assert.equal(asked[0]?.headers["metadata-flavor"], "Google");
});

test("authorizeGoogle() uses the operator's identity for the speech service", async () => {
  const { tools } = createTools({ GCP_AUTH_MODE: "workload" });
  const address = "https://texttospeech.googleapis.com/v1/text:synthesize";
  const headers = { authorization: "Bearer ya29.fx-example" };
  assert.deepEqual(await authorizeGoogle(signable(undefined, address), workload, tools), headers);
});

test("authorizeGoogle() uses the operator's identity only where it is shared, and only for Google Cloud", async () => {
  const lent = createTools({ GCP_AUTH_MODE: "workload" }).tools;
  const elsewhere = "https://aiplatform.googleapis.com.example.com/v1";
  asked.length = 0;
  assert.deepEqual(await authorizeGoogle(signable(undefined, elsewhere), basic, lent), {});
  assert.equal((await refusalOf(authorizeGoogle(signable(undefined, elsewhere), workload, lent)))[0], 400);
  assert.equal((await refusalOf(authorizeGoogle(signable(), workload, createTools().tools)))[0], 400);
  assert.equal(asked.length, 0);
  const [status, message] = await refusalOf(authorizeGoogle(signable(), workload, createTools(federated).tools));
  assert.deepEqual([status, /no identity to authenticate/.test(message)], [502, true]);
});

const bind = (settings: Record<string, string>) => vertexAi.bind((name) => settings[name] ?? null);

for (const [region, host] of [
  ["europe-west4", "europe-west4-aiplatform.googleapis.com"],
  ["global", "aiplatform.googleapis.com"],
  ["eu", "aiplatform.eu.rep.googleapis.com"],
  [undefined, "us-central1-aiplatform.googleapis.com"],
] as const) {
  test(`vertex-ai is at ${host} in ${region}`, () => {
    const settings = { "vertex-project-id": "p", ...(region && { "vertex-region": region }) };
    assert.equal(bind(settings).baseUrl, `https://${host}`);
  });
}

for (const settings of [
  { "vertex-region": "evil.example.com/" },
  { "vertex-project-id": "../x" },
  { "vertex-project-id": ".." },
  { "vertex-auth-type": "none" },
  { "vertex-service-account-json": '{"private_key":"s3cret"}' },
  { "vertex-service-account-json": JSON.stringify({ ...account, project_id: "a/b" }) },
]) {
  test(`vertex-ai rejects the settings ${JSON.stringify(settings).slice(0, 80)}`, () => {
    assert.throws(
      () => bind(settings),
      (error) => error instanceof GatewayError && error.status === 400 && !/s3cret|PRIVATE/.test(error.message),
    );
  });
}

test("vertex-ai needs a project, except with global API keys", async () => {
  const { tools } = createTools();
  const address = "https://aiplatform.googleapis.com/v1/publishers/google/models/m:generateContent";
  const authorize = (credential: string) => bind({}).authorize?.(signable(credential, address), tools);
  assert.deepEqual(await authorize("AIzaFx"), { "x-goog-api-key": "AIzaFx" });
  const [status, message] = await refusalOf(authorize("ya29.x") ?? Promise.resolve());
  assert.deepEqual([status, /vertex-project-id/.test(message)], [400, true]);
});
