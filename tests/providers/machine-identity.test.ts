import assert from "node:assert/strict";
import { after, test } from "node:test";
import { GatewayError } from "../../src/errors.ts";
import type { Transport, TransportInit } from "../../src/lib/outbound.ts";
import { createAwsAuthorize } from "../../src/providers/auth/aws.ts";
import { authorizeAzure } from "../../src/providers/auth/azure.ts";
import { createTokenCache } from "../../src/providers/core/token-cache.ts";
import type { AuthTools } from "../../src/providers/core/types.ts";
import { readSettings } from "../../src/settings.ts";
import { createOrganisation } from "../support/control.ts";
import { chat, createTestClock, createTestGateway, readJson, type TestGatewayOptions } from "../support/gateway.ts";

const authorize = createAwsAuthorize({ provider: "bedrock", service: "bedrock" });
const serviceRole = { region: "eu-central-1", auth_type: "serviceRole" } as const;
const request = {
  method: "POST",
  url: "https://bedrock-runtime.eu-central-1.amazonaws.com/model/a.b/converse",
  headers: {},
  body: "{}",
  credential: undefined,
};
const start = Date.UTC(2026, 0, 15, 12);
const expiration = (minutes: number) => new Date(start + minutes * 60_000).toISOString();
const keys = (minutes = 60) => ({
  AccessKeyId: "ASIAFAKEMACHINE",
  SecretAccessKey: "fake-machine-secret",
  Token: "fake-session",
  Expiration: expiration(minutes),
});

interface Asked {
  method: string | undefined;
  url: string;
  headers: Readonly<Record<string, string>>;
}

/** Dependencies of authentication: services beside the process, by URL. */
function createWorld(
  environment: AuthTools["environment"],
  answers: Readonly<Record<string, () => Response>>,
  changes: Partial<AuthTools> = {},
) {
  const clock = createTestClock(start);
  const asked: Asked[] = [];
  const tools: AuthTools = {
    clock,
    environment,
    tokens: createTokenCache(clock),
    tenant: ["first", "w"],
    identityOrganisations: new Set(["first", "second"]),
    async outbound(url, { method, headers, origin }) {
      assert.equal(origin, "fixed");
      asked.push({ method, url, headers });
      const answer = answers[`${method} ${url}`];
      if (!answer) throw new TypeError("no connection");
      return answer();
    },
    readFile: async (path) => `token of ${path}\n`,
    ...changes,
  };
  return { tools, clock, asked };
}

async function refusalOf(work: Promise<unknown>): Promise<[number, string]> {
  try {
    await work;
  } catch (error) {
    assert.ok(error instanceof GatewayError, String(error));
    return [error.status, error.message];
  }
  throw new Error("nothing was refused");
}

const relative = { AWS_CONTAINER_CREDENTIALS_RELATIVE_URI: "/v2/credentials/a-b" };
const relativeUrl = "GET http://169.254.170.2/v2/credentials/a-b";

test("serviceRole signs with the keys of the container", async () => {
  const { tools, asked } = createWorld(relative, { [relativeUrl]: () => Response.json(keys()) });
  const signed = await authorize(request, serviceRole, tools);
  assert.match(signed.authorization ?? "", /^AWS4-HMAC-SHA256 Credential=ASIAFAKEMACHINE\//);
  assert.equal(signed["x-amz-security-token"], "fake-session");
  assert.equal(asked[0]?.headers.authorization, undefined);
});

for (const [name, environment, authorization] of [
  ["its file", { AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: "/run/token" }, "token of /run/token"],
  ["its variable", { AWS_CONTAINER_AUTHORIZATION_TOKEN: "Basic abc" }, "Basic abc"],
  [
    "its file before its variable",
    { AWS_CONTAINER_AUTHORIZATION_TOKEN: "x", AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: "/t" },
    "token of /t",
  ],
] as const) {
  test(`serviceRole in an EKS pod sends the token of ${name}`, async () => {
    const full = "http://169.254.170.23/v1/credentials";
    const world = createWorld(
      { AWS_CONTAINER_CREDENTIALS_FULL_URI: full, ...environment },
      { [`GET ${full}`]: () => Response.json(keys()) },
    );
    await authorize(request, serviceRole, world.tools);
    assert.equal(world.asked[0]?.headers.authorization, authorization);
  });
}

test("serviceRole requests container keys once for parallel requests of any tenant, and again before they expire", async () => {
  const { tools, clock, asked } = createWorld(relative, { [relativeUrl]: () => Response.json(keys()) });
  const second = { ...tools, tenant: ["second", "x"] };
  await Promise.all([authorize(request, serviceRole, tools), authorize(request, serviceRole, second)]);
  clock.advance(58 * 60_000);
  await authorize(request, serviceRole, tools);
  assert.equal(asked.length, 1);
  clock.advance(90_000);
  await authorize(request, serviceRole, tools);
  assert.equal(asked.length, 2);
});

const metadata = "http://169.254.169.254/latest";
const roles = `${metadata}/meta-data/iam/security-credentials/`;
const instance = {
  [`PUT ${metadata}/api/token`]: () => new Response("fake-imds-token"),
  [`GET ${roles}`]: () => new Response("team-role\n"),
  [`GET ${roles}team-role`]: () => Response.json({ Code: "Success", ...keys() }),
};

test("serviceRole signs with the keys of the instance when its metadata service is enabled", async () => {
  const { tools, asked } = createWorld({ AWS_EC2_METADATA: "true" }, instance);
  const signed = await authorize(request, serviceRole, tools);
  assert.match(signed.authorization ?? "", /Credential=ASIAFAKEMACHINE\//);
  assert.deepEqual(
    asked.map(({ method, url, headers }) => [method, url, headers["x-aws-ec2-metadata-token"]]),
    [
      ["PUT", `${metadata}/api/token`, undefined],
      ["GET", roles, "fake-imds-token"],
      ["GET", `${roles}team-role`, "fake-imds-token"],
    ],
  );
  await authorize(request, serviceRole, tools);
  assert.equal(asked.length, 3);
});

test("serviceRole assumes the caller's role with the keys of the machine", async () => {
  const sts: string[] = [];
  const { tools } = createWorld({ AWS_EC2_METADATA: "1" }, instance);
  const outbound: AuthTools["outbound"] = (url, init) => {
    if (!url.startsWith("https://sts.")) return tools.outbound(url, init);
    sts.push(init.headers?.authorization ?? "");
    const found = { AccessKeyId: "ASIAROLE", SecretAccessKey: "s", SessionToken: "t", Expiration: expiration(30) };
    const xml = Object.entries(found).map(([name, value]) => `<${name}>${value}</${name}>`);
    return Promise.resolve(new Response(`<R>${xml.join("")}</R>`));
  };
  const role_arn = "arn:aws:iam::111122223333:role/caller";
  const settings = { region: "eu-central-1", auth_type: "assumedRole", role_arn } as const;
  const signed = await authorize(request, settings, { ...tools, outbound });
  assert.match(sts[0] ?? "", /Credential=ASIAFAKEMACHINE\//);
  assert.match(signed.authorization ?? "", /Credential=ASIAROLE\//);
});

const broken = () => new Response("secret of the operator", { status: 500 });
for (const [name, environment, answers, wanted] of [
  ["an identity the operator does not share", {}, {}, [400, /operator must set/]],
  ["metadata service that is not enabled", { AWS_EC2_METADATA: "false" }, instance, [400, /operator must set/]],
  ["an unreachable container service", relative, {}, [502, /container credentials service cannot be reached/]],
  ["a container service that fails", relative, { [relativeUrl]: broken }, [502, /status 500$/]],
  ["keys without a secret", relative, { [relativeUrl]: () => Response.json({}) }, [502, /did not return keys/]],
  [
    "an instance without a role",
    { AWS_EC2_METADATA: "true" },
    { ...instance, [`GET ${roles}`]: () => new Response("") },
    [502, /has no role/],
  ],
  [
    "metadata that gives no token",
    { AWS_EC2_METADATA: "true" },
    { ...instance, [`PUT ${metadata}/api/token`]: () => new Response("", { status: 403 }) },
    [502, /status 403/],
  ],
  [
    "a token file with two lines",
    { ...relative, AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: "/a\nx" },
    { [relativeUrl]: () => Response.json(keys()) },
    [502, /AUTHORIZATION_TOKEN_FILE/],
  ],
] satisfies readonly (readonly [
  string,
  Record<string, string>,
  Record<string, () => Response>,
  readonly [number, RegExp],
])[]) {
  test(`serviceRole fails for ${name}`, async () => {
    const { tools } = createWorld(environment, answers);
    const [status, message] = await refusalOf(authorize(request, serviceRole, tools));
    assert.equal(status, wanted[0]);
    assert.match(message, wanted[1]);
    assert.doesNotMatch(message, /secret of the operator/);
  });
}

for (const [name, value, isTaken] of [
  ["FULL_URI", "http://127.0.0.1:8080/creds", true],
  ["FULL_URI", "http://localhost/creds", true],
  ["FULL_URI", "http://[fd00:ec2::23]/v1/credentials", true],
  ["FULL_URI", "http://169.254.169.254/latest/meta-data", false],
  ["FULL_URI", "https://keys.example.com/creds", false],
  ["FULL_URI", "http://169.254.170.2@keys.example.com/", false],
  ["FULL_URI", "http://user@127.0.0.1/", false],
  ["FULL_URI", "file:///etc/passwd", false],
  ["RELATIVE_URI", "/get", true],
  ["RELATIVE_URI", "@keys.example.com/x", false],
  ["RELATIVE_URI", ".example.com/x", false],
  ["RELATIVE_URI", ":8080/x", false],
] as const) {
  test(`AWS_CONTAINER_CREDENTIALS_${name} of ${value} is ${isTaken ? "accepted" : "rejected"}, at startup and at use`, async () => {
    const environment = { [`AWS_CONTAINER_CREDENTIALS_${name}`]: value };
    const { tools, asked } = createWorld(environment, {});
    await refusalOf(authorize(request, serviceRole, tools));
    assert.equal(asked.length, isTaken ? 1 : 0);
    if (isTaken) readSettings(environment);
    else assert.throws(() => readSettings(environment), new RegExp(`AWS_CONTAINER_CREDENTIALS_${name}`));
  });
}

const azureRequest = { ...request, url: "https://r.openai.azure.com/openai/x" };
const azure = { tools: undefined, toKeyHeaders: () => ({}) };
const imds =
  "http://169.254.169.254/metadata/identity/oauth2/token?api-version=2018-02-01&resource=https%3A%2F%2Fcognitiveservices.azure.com%2F";

test("managed mode gets the token of the instance when its metadata service is enabled", async () => {
  const answer = () => Response.json({ access_token: "fake-azure-token", expires_in: "3600", token_type: "Bearer" });
  const { tools, asked } = createWorld({ AZURE_INSTANCE_METADATA: "true" }, { [`GET ${imds}`]: answer });
  const ask = (given: AuthTools) => authorizeAzure(azureRequest, { auth_mode: "managed" }, { ...azure, tools: given });
  const second = { ...tools, tenant: ["second", "x"] };
  const both = await Promise.all([ask(tools), ask(second)]);
  assert.deepEqual(both, Array(2).fill({ authorization: "Bearer fake-azure-token" }));
  assert.deepEqual([asked.length, asked[0]?.headers.metadata], [1, "true"]);
});

test("settings reject switches that are neither on nor off, and malformed ids", () => {
  assert.throws(() => readSettings({ AWS_EC2_METADATA: "perhaps" }), /AWS_EC2_METADATA/);
  assert.throws(() => readSettings({ AZURE_INSTANCE_METADATA: "yes please" }), /AZURE_INSTANCE_METADATA/);
  assert.throws(() => readSettings({ CLOUD_IDENTITY_ORGANISATIONS: "default" }), /CLOUD_IDENTITY_ORGANISATIONS/);
  const id = crypto.randomUUID();
  assert.deepEqual(
    readSettings({ CLOUD_IDENTITY_ORGANISATIONS: ` ${id.toUpperCase()} ` }).gateway.identityOrganisations,
    [id],
  );
  assert.equal(readSettings({}).gateway.identityOrganisations, undefined);
});

/** What each cloud is sent when the operator's own identity is used. */
const clouds = {
  bedrock: { "x-gateway-aws-auth-type": "serviceRole" },
  "azure-openai": {
    "x-gateway-azure-auth-mode": "managed",
    "x-gateway-azure-resource-name": "r",
    "x-gateway-azure-deployment-id": "d",
    "x-gateway-azure-api-version": "v1",
  },
  "vertex-ai": { "x-gateway-vertex-auth-type": "workload", "x-gateway-vertex-project-id": "p" },
} as const;

async function createClouds(changes: TestGatewayOptions = {}) {
  const sent: { url: string; init: TransportInit }[] = [];
  const transport: Transport = {
    async send(url, init) {
      sent.push({ url, init });
      if (url.startsWith("http://169.254.170.2/"))
        return Response.json({ ...keys(), Expiration: "2099-01-01T00:00:00Z" });
      if (/metadata/.test(url)) return Response.json({ access_token: "fake-token", expires_in: 3600 });
      return Response.json({ error: { message: "enough" } }, { status: 418 });
    },
  };
  const cloudEnvironment = { ...relative, AZURE_INSTANCE_METADATA: "true", GCP_AUTH_MODE: "workload" };
  const gateway = await createTestGateway({ transport, cloudEnvironment, inFile: true, ...changes });
  after(() => gateway.close());
  const other = await createOrganisation(await gateway.openFile(), "other");
  return { gateway, sent, other };
}

const body = { model: "gemini-2.5-flash", messages: [{ role: "user", content: "Hello" }] };
const lent = await createClouds();
for (const [provider, settings] of Object.entries(clouds)) {
  const ask = (key: Record<string, string>) =>
    chat(lent.gateway, body, { "x-gateway-provider": provider, authorization: null, ...settings, ...key });

  test(`the first organisation calls ${provider} as the operator`, async () => {
    lent.sent.length = 0;
    const response = await ask({});
    assert.equal(response.status, 418, await response.text());
    assert.match(lent.sent.at(-1)?.init.headers.authorization ?? "", /^(?:Bearer fake-token|AWS4-HMAC-SHA256 )/);
  });

  test(`another organisation does not call ${provider} as the operator`, async () => {
    lent.sent.length = 0;
    const response = await ask({ "x-gateway-api-key": lent.other.workspaceKey });
    const { error } = await readJson<{ error: { message: string } }>(response);
    assert.equal(response.status, 400, error.message);
    assert.equal(lent.sent.length, 0);
  });
}

test("another organisation without a credential calls vertex-ai without the operator's identity", async () => {
  lent.sent.length = 0;
  await chat(lent.gateway, body, {
    "x-gateway-provider": "vertex-ai",
    authorization: null,
    "x-gateway-vertex-project-id": "p",
    "x-gateway-api-key": lent.other.workspaceKey,
  });
  assert.deepEqual(
    lent.sent.map(({ init }) => init.headers.authorization),
    [undefined],
  );
});

test("only the organisations the operator names call as the operator", async () => {
  const named = crypto.randomUUID();
  const { gateway, sent } = await createClouds({ identityOrganisations: [named] });
  const response = await chat(gateway, body, {
    "x-gateway-provider": "bedrock",
    authorization: null,
    ...clouds.bedrock,
  });
  assert.equal(response.status, 400, await response.text());
  assert.equal(sent.length, 0);
});
