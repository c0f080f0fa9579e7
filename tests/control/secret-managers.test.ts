import assert from "node:assert/strict";
import { createHash, createHmac } from "node:crypto";
import type { ServerResponse } from "node:http";
import { test } from "node:test";
import { mayUseReference } from "../../src/control/secret-managers/open.ts";
import { SecretUnavailableError } from "../../src/control/secret-managers/request.ts";
import { createSecretResolver, type SecretResolverOptions } from "../../src/control/secret-managers/resolver.ts";
import type { SecretReferenceRow } from "../../src/db/tables/secrets.ts";
import { createAddressGuard } from "../../src/lib/address.ts";
import { createOutbound, OutboundError } from "../../src/lib/outbound.ts";
import { createRuntimeTransport, createTestClock } from "../support/gateway.ts";
import { type ReceivedRequest, type RecordingUpstream, startRecordingUpstream } from "../support/upstream.ts";

const accessKey = { accessKeyId: "AKIAEXAMPLE", secretAccessKey: "aws-secret" };
const roleKey = { accessKeyId: "ASIAROLE", secretAccessKey: "role/secret+=", sessionToken: "session//token==" };

function reference(changes: Partial<SecretReferenceRow>): SecretReferenceRow {
  return {
    id: "reference",
    organisationId: "organisation",
    slug: "slug",
    name: "name",
    description: null,
    masked: {},
    managerType: "aws_sm",
    authConfig: {},
    secretPath: "prod/openai",
    secretKey: null,
    allowAllWorkspaces: true,
    allowedWorkspaces: null,
    tags: null,
    status: "active",
    createdBy: "key",
    createdAt: 1,
    lastUpdatedAt: 1,
    ...changes,
  };
}

const aws = reference({ authConfig: { aws_auth_type: "accessKey", aws_region: "eu-west-1" } });
const awsSecrets = { aws_access_key_id: accessKey.accessKeyId, aws_secret_access_key: accessKey.secretAccessKey };
const roleArn = "arn:aws:iam::123456789012:role/reader";
const assumed = reference({
  authConfig: {
    aws_auth_type: "assumedRole",
    aws_region: "eu-west-1",
    aws_role_arn: roleArn,
    aws_external_id: "ext:1",
  },
});
const tenantId = "0000aaaa-0000-0000-0000-000000000000";
const azureAuth = { azure_auth_mode: "entra", azure_entra_tenant_id: tenantId, azure_entra_client_id: "client" };
const azure = (url: string) =>
  reference({ managerType: "azure_kv", authConfig: { ...azureAuth, azure_vault_url: url }, secretPath: "openai" });
const azureSecrets = { azure_entra_client_secret: "entra secret&=" };
const vault = (url: string, authConfig: object = { vault_auth_type: "token" }, secretPath = "secret/data/openai") =>
  reference({ managerType: "hashicorp_vault", authConfig: { vault_addr: url, ...authConfig }, secretPath });
const vaultSecrets = { vault_token: "hvs.token" };

function answer(response: ServerResponse, body: unknown, status = 200): void {
  response.writeHead(status, { "content-type": typeof body === "string" ? "text/xml" : "application/json" });
  response.end(typeof body === "string" ? body : JSON.stringify(body));
}

const sha256 = (text: string | Buffer) => createHash("sha256").update(text).digest("hex");
const hmac = (key: string | Buffer, text: string) => createHmac("sha256", key).update(text).digest();

/** The signature a request should have (AWS Signature Version 4). */
function signatureOf(request: ReceivedRequest, secretAccessKey: string): string {
  const [, scope = "", names = ""] =
    /Credential=[^/]+\/([^,]+), ?SignedHeaders=([^,]+)/.exec(String(request.headers.authorization)) ?? [];
  const canonicalHeaders = names.split(";").map((name) => `${name}:${request.headers[name]}\n`);
  const [path, query = ""] = request.path.split("?");
  const canonical = [request.method, path, query, canonicalHeaders.join(""), names, sha256(request.body)].join("\n");
  const text = ["AWS4-HMAC-SHA256", request.headers["x-amz-date"], scope, sha256(canonical)].join("\n");
  const key = scope.split("/").reduce<string | Buffer>((former, part) => hmac(former, part), `AWS4${secretAccessKey}`);
  return hmac(key, text).toString("hex");
}

/** Whether a request is signed by these credentials for a service. */
function isSigned(
  request: ReceivedRequest,
  key: typeof accessKey & { sessionToken?: string },
  service: string,
): boolean {
  const header = String(request.headers.authorization);
  const names = /SignedHeaders=([^,]+)/.exec(header)?.[1]?.split(";") ?? [];
  return (
    header.includes(`Credential=${key.accessKeyId}/20260115/eu-west-1/${service}/aws4_request`) &&
    header.endsWith(`Signature=${signatureOf(request, key.secretAccessKey)}`) &&
    request.headers["x-amz-security-token"] === key.sessionToken &&
    ["host", "x-amz-date"].every((name) => names.includes(name))
  );
}

interface Bench {
  upstream: RecordingUpstream;
  resolver: ReturnType<typeof createSecretResolver>;
  clock: ReturnType<typeof createTestClock>;
}

/** Runs a test with a resolver whose fixed services are a loopback server. */
async function using(
  script: (request: ReceivedRequest, response: ServerResponse) => unknown,
  run: (bench: Bench) => Promise<void>,
  options: Partial<SecretResolverOptions> = {},
): Promise<void> {
  const upstream = await startRecordingUpstream(script);
  const clock = createTestClock();
  const guard = createAddressGuard({ trustedHosts: ["127.0.0.1"] });
  const outbound = createOutbound({ transport: createRuntimeTransport(), guard });
  const resolver = createSecretResolver({
    outbound,
    guard,
    clock,
    awsEndpoint: (service) => `${upstream.url}/${service}`,
    azureLoginUrl: upstream.url,
    ...options,
  });
  try {
    await run({ upstream, resolver, clock });
  } finally {
    await upstream.close();
  }
}

/** Why a secret could not be read. */
async function reasonOf(work: Promise<string>): Promise<string> {
  try {
    return `resolved: ${await work}`;
  } catch (error) {
    assert.ok(error instanceof SecretUnavailableError, String(error));
    assert.equal(error.message, "Cannot read a secret from its store");
    assert.ok(error.cause instanceof Error);
    return error.reason;
  }
}

function secretsManager(request: ReceivedRequest, response: ServerResponse): unknown {
  if (!isSigned(request, accessKey, "secretsmanager")) {
    return answer(response, { __type: "com.amazon#InvalidSignatureException", message: "aws-secret" }, 400);
  }
  const { SecretId } = JSON.parse(request.text);
  const known: Record<string, object> = {
    "prod/openai": { SecretString: "sk-1" },
    json: { SecretString: JSON.stringify({ key: "sk-2", nested: { a: 1 }, none: null }) },
    binary: { SecretBinary: Buffer.from("sk-3 ÿ>?").toString("base64") },
    bytes: { SecretBinary: "//79" },
    empty: { Name: "empty" },
  };
  if (SecretId === "text") return answer(response, "<html>");
  if (!known[SecretId]) return answer(response, { __type: "ResourceNotFoundException" }, 400);
  answer(response, known[SecretId]);
}

test("AWS Secrets Manager is asked with a signature that holds", () =>
  using(secretsManager, async ({ upstream, resolver }) => {
    assert.equal(await resolver.resolve(aws, awsSecrets), "sk-1");
    const [request] = upstream.requests;
    assert.deepEqual([request?.method, request?.path], ["POST", "/secretsmanager/"]);
    assert.equal(request?.headers["x-amz-target"], "secretsmanager.GetSecretValue");
    assert.equal(request?.headers["content-type"], "application/x-amz-json-1.1");
  }));

for (const [path, secretKey, wanted] of [
  ["json", null, '{"key":"sk-2","nested":{"a":1},"none":null}'],
  ["json", "key", "sk-2"],
  ["json", "nested", '{"a":1}'],
  ["binary", null, "sk-3 ÿ>?"],
] as const) {
  test(`resolve() reads ${path} ${secretKey ?? ""}`, () =>
    using(secretsManager, async ({ resolver }) => {
      assert.equal(await resolver.resolve({ ...aws, secretPath: path, secretKey }, awsSecrets), wanted);
    }));
}

test("resolve() lets its caller choose another field", () =>
  using(secretsManager, async ({ resolver }) => {
    const row = { ...aws, secretPath: "json", secretKey: "nested" };
    assert.equal(await resolver.resolve(row, awsSecrets, { secretKey: "key" }), "sk-2");
    assert.equal(await resolver.resolve(row, awsSecrets, { secretKey: null }), '{"a":1}');
  }));

for (const [path, secretKey, reason] of [
  ["gone", null, "AWS Secrets Manager returned 400 (ResourceNotFoundException)"],
  ["empty", null, "SecretString is missing in the response"],
  ["text", null, "SecretString is missing in the response"],
  ["bytes", null, "the secret is binary, not text"],
  ["prod/openai", "key", "the secret is not a JSON object, and secret_key names a field"],
  ["json", "other", "the secret has no field secret_key"],
  ["json", "none", "the secret has no field secret_key"],
  ["json", "constructor", "the secret has no field secret_key"],
] as const) {
  test(`resolve() fails for ${path} ${secretKey ?? ""}: ${reason}`, () =>
    using(secretsManager, async ({ resolver }) => {
      assert.equal(await reasonOf(resolver.resolve({ ...aws, secretPath: path, secretKey }, awsSecrets)), reason);
    }));
}

test("a wrong AWS key fails without revealing a secret", () =>
  using(secretsManager, async ({ resolver }) => {
    const secrets = { ...awsSecrets, aws_secret_access_key: "wrong" };
    const reason = await reasonOf(resolver.resolve(aws, secrets));
    assert.equal(reason, "AWS Secrets Manager returned 400 (InvalidSignatureException)");
  }));

const credentialsXml = (token: string) => `<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
  <AssumeRoleResult><AssumedRoleUser><Arn>arn</Arn></AssumedRoleUser><Credentials>
    <AccessKeyId>${roleKey.accessKeyId}</AccessKeyId><SecretAccessKey>${roleKey.secretAccessKey}</SecretAccessKey>
    ${token}<Expiration>2026-01-15T13:00:00Z</Expiration>
  </Credentials></AssumeRoleResult></AssumeRoleResponse>`;

const sessionXml = `<SessionToken>\n${roleKey.sessionToken}\n</SessionToken>`;

function withRole(xml: string) {
  return (request: ReceivedRequest, response: ServerResponse) => {
    if (request.path === "/sts/") {
      return isSigned(request, accessKey, "sts") ? answer(response, xml) : answer(response, "<Error/>", 403);
    }
    if (!isSigned(request, roleKey, "secretsmanager")) return answer(response, {}, 403);
    answer(response, { SecretString: "by role" });
  };
}
const awsIdentity = () => Promise.resolve(accessKey);

test("a role is assumed with the operator's identity and the external id", () =>
  using(
    withRole(credentialsXml(sessionXml)),
    async ({ upstream, resolver }) => {
      assert.equal(await resolver.resolve(assumed, {}), "by role");
      assert.deepEqual(Object.fromEntries(new URLSearchParams(upstream.requests[0]?.text)), {
        Action: "AssumeRole",
        Version: "2011-06-15",
        RoleArn: roleArn,
        RoleSessionName: "gateway",
        DurationSeconds: "900",
        ExternalId: "ext:1",
      });
    },
    { awsIdentity },
  ));

test("a role without external id is assumed with the organisation's", () =>
  using(
    withRole(credentialsXml(sessionXml)),
    async ({ upstream, resolver }) => {
      const authConfig = { aws_auth_type: "assumedRole", aws_region: "eu-west-1", aws_role_arn: roleArn };
      await resolver.resolve({ ...assumed, authConfig }, {});
      assert.equal(new URLSearchParams(upstream.requests[0]?.text).get("ExternalId"), "organisation");
    },
    { awsIdentity },
  ));

test("unusable responses of AWS STS are failures", async () => {
  for (const [xml, reason] of [
    [credentialsXml(""), "SessionToken is missing in the response"],
    ["{}", "AccessKeyId is missing in the response"],
  ] as const) {
    await using(
      withRole(xml),
      async ({ resolver }) => assert.equal(await reasonOf(resolver.resolve(assumed, {})), reason),
      { awsIdentity },
    );
  }
  await using(
    withRole(""),
    async ({ resolver }) => assert.equal(await reasonOf(resolver.resolve(assumed, {})), "AWS STS returned 403"),
    { awsIdentity: () => Promise.resolve({ ...accessKey, secretAccessKey: "wrong" }) },
  );
});

function azureVault(request: ReceivedRequest, response: ServerResponse): unknown {
  if (request.path === `/${tenantId}/oauth2/v2.0/token`) {
    const form = new URLSearchParams(request.text);
    const needsNoChange =
      form.get("grant_type") === "client_credentials" &&
      form.get("client_id") === "client" &&
      form.get("client_secret") === azureSecrets.azure_entra_client_secret &&
      form.get("scope") === "https://vault.azure.net/.default";
    return needsNoChange
      ? answer(response, { token_type: "Bearer", expires_in: 3599, access_token: "entra-token" })
      : answer(response, { error: "invalid_client", error_description: form.get("client_secret") }, 401);
  }
  if (request.headers.authorization !== "Bearer entra-token") return answer(response, {}, 401);
  const known: Record<string, unknown> = {
    "/secrets/openai?api-version=7.4": { value: "sk-azure", id: "x" },
    "/secrets/openai/0123?api-version=7.4": { value: "sk-old" },
    "/secrets/odd%3Fname%23?api-version=7.4": { value: "sk-odd" },
    "/secrets/none?api-version=7.4": { value: 1 },
  };
  if (!known[request.path]) return answer(response, { error: { code: "SecretNotFound", message: "m" } }, 404);
  answer(response, known[request.path]);
}

for (const [path, wanted] of [
  ["openai", "sk-azure"],
  ["openai/0123", "sk-old"],
  ["odd?name#", "sk-odd"],
] as const) {
  test(`Azure Key Vault gives ${path} to a client of Entra`, () =>
    using(azureVault, async ({ upstream, resolver }) => {
      assert.equal(await resolver.resolve({ ...azure(upstream.url), secretPath: path }, azureSecrets), wanted);
    }));
}

for (const [path, secrets, reason] of [
  ["gone", azureSecrets, "Azure Key Vault returned 404 (SecretNotFound)"],
  ["none", azureSecrets, "value is missing in the response"],
  ["../keys/openai", azureSecrets, "secret_path is not a path of this store"],
  ["/", azureSecrets, "secret_path is not a path of this store"],
  ["openai", { azure_entra_client_secret: "wrong" }, "Microsoft Entra returned 401 (invalid_client)"],
  ["openai", {}, "auth_config is not complete: azure_entra_client_secret"],
] as const) {
  test(`Azure Key Vault fails for ${path}: ${reason}`, () =>
    using(azureVault, async ({ upstream, resolver }) => {
      assert.equal(await reasonOf(resolver.resolve({ ...azure(upstream.url), secretPath: path }, secrets)), reason);
    }));
}

function hashicorp(request: ReceivedRequest, response: ServerResponse): unknown {
  if (request.path === "/base/v1/auth/approle/login" && request.method === "POST") {
    const { role_id, secret_id } = JSON.parse(request.text);
    return role_id === "role" && secret_id === "secret-id"
      ? answer(response, { auth: { client_token: "hvs.token" } })
      : answer(response, { errors: ["invalid role or secret ID"] }, 400);
  }
  if (request.headers["x-vault-token"] !== "hvs.token") return answer(response, { errors: ["permission denied"] }, 403);
  if (request.headers["x-vault-namespace"] === "team/a") return answer(response, { data: { key: "namespaced" } });
  const known: Record<string, unknown> = {
    "/base/v1/secret/data/openai": { data: { data: { key: "v2" }, metadata: { version: 3 } } },
    "/base/v1/kv/openai": { data: { key: "v1", data: "x" } },
    "/base/v1/kv/list": { data: ["key"] },
    "/base/v1/kv/moved": undefined,
  };
  if (request.path === "/base/v1/kv/moved") {
    response.writeHead(307, { location: "/base/v1/kv/openai" }).end();
    return;
  }
  if (!known[request.path]) return answer(response, { errors: [] }, 404);
  answer(response, known[request.path]);
}

for (const [name, authConfig, secrets, path, wanted] of [
  ["version 2", { vault_auth_type: "token" }, vaultSecrets, "secret/data/openai", "v2"],
  ["version 1", { vault_auth_type: "token" }, vaultSecrets, "/kv/openai", "v1"],
  ["a namespace", { vault_auth_type: "token", vault_namespace: "team/a" }, vaultSecrets, "kv/x", "namespaced"],
  [
    "an approle",
    { vault_auth_type: "approle", vault_role_id: "role" },
    { vault_secret_id: "secret-id" },
    "secret/data/openai",
    "v2",
  ],
] as const) {
  test(`HashiCorp Vault gives secrets of ${name}`, () =>
    using(hashicorp, async ({ upstream, resolver }) => {
      const row = vault(`${upstream.url}/base/`, authConfig, path);
      assert.equal(await resolver.resolve(row, secrets, { secretKey: "key" }), wanted);
    }));
}

test("HashiCorp Vault returns all fields if no field is named", () =>
  using(hashicorp, async ({ upstream, resolver }) => {
    assert.equal(await resolver.resolve(vault(`${upstream.url}/base`), vaultSecrets), '{"key":"v2"}');
  }));

for (const [authConfig, secrets, path, reason] of [
  [{ vault_auth_type: "token" }, { vault_token: "wrong" }, "kv/openai", "The vault returned 403"],
  [{ vault_auth_type: "token" }, vaultSecrets, "kv/gone", "The vault returned 404"],
  [{ vault_auth_type: "token" }, vaultSecrets, "kv/moved", "The vault returned 307"],
  [{ vault_auth_type: "token" }, vaultSecrets, "kv/list", "data is missing in the response"],
  [{ vault_auth_type: "token" }, vaultSecrets, "../sys/seal", "secret_path is not a path of this store"],
  [
    { vault_auth_type: "approle", vault_role_id: "role" },
    { vault_secret_id: "wrong" },
    "kv/openai",
    "The vault's login returned 400",
  ],
] as const) {
  test(`HashiCorp Vault fails for ${path}: ${reason}`, () =>
    using(hashicorp, async ({ upstream, resolver }) => {
      const row = vault(`${upstream.url}/base`, authConfig, path);
      assert.equal(await reasonOf(resolver.resolve(row, secrets)), reason);
    }));
}

const azureUrl = "https://main.vault.azure.net";
for (const [name, row, reason] of [
  ["serviceRole", reference({ authConfig: { aws_auth_type: "serviceRole" } }), /serviceRole is not offered/],
  ["assumedRole without an identity", assumed, /the operator gave this gateway no identity/],
  [
    "managed",
    reference({ managerType: "azure_kv", authConfig: { azure_auth_mode: "managed", azure_vault_url: azureUrl } }),
    /managed is not offered: it needs a metadata service/,
  ],
  [
    "default",
    reference({ managerType: "azure_kv", authConfig: { azure_auth_mode: "default", azure_vault_url: azureUrl } }),
    /default is not offered: it needs a metadata service/,
  ],
  ["kubernetes", vault("https://v.example.com", { vault_auth_type: "kubernetes", vault_role: "r" }), /not offered/],
  [
    "another manager",
    reference({ managerType: "environment" as string as "aws_sm" }),
    /there is no manager_type environment/,
  ],
  [
    "a region that is a host",
    reference({ authConfig: { aws_auth_type: "accessKey", aws_region: "x.example.com/" } }),
    /auth_config is not complete: aws_region/,
  ],
] as const) {
  test(`resolve() refuses ${name} and sends nothing`, () =>
    using(hashicorp, async ({ upstream, resolver }) => {
      assert.match(await reasonOf(resolver.resolve(row, awsSecrets)), reason);
      assert.equal(upstream.requests.length, 0);
    }));
}

for (const url of ["http://10.0.0.1:8200", "http://169.254.169.254", "http://[::1]:8200", "http://127.0.0.2"]) {
  test(`resolve() refuses a vault at ${url}`, () =>
    using(hashicorp, async ({ resolver }) => {
      assert.match(await reasonOf(resolver.resolve(vault(url), vaultSecrets)), /^the address of the store is refused/);
      assert.match(await reasonOf(resolver.resolve(azure(url), azureSecrets)), /^the address of the store is refused/);
    }));
}

test("resolve() refuses a public vault without encryption", () =>
  using(hashicorp, async ({ resolver }) => {
    const reason = await reasonOf(resolver.resolve(vault("http://vault.example.com"), vaultSecrets));
    assert.equal(reason, "the address of the store is refused: it must start with https://");
  }));

test("the guard sees addresses of AWS too", () =>
  using(
    hashicorp,
    async ({ resolver }) => {
      const error = await resolver.resolve(aws, awsSecrets).catch((thrown: unknown) => thrown);
      assert.ok(error instanceof SecretUnavailableError && error.cause instanceof OutboundError);
      assert.equal(error.cause.kind, "refused_address");
    },
    { awsEndpoint: () => "http://10.0.0.1" },
  ));

test("a store that ends the connection is a failure", () =>
  using(
    (_request, response) => void response.socket?.destroy(),
    async ({ resolver }) => {
      assert.equal(await reasonOf(resolver.resolve(aws, awsSecrets)), "AWS Secrets Manager returned no response");
    },
  ));

test("a response of more than 512 KiB is a failure", () =>
  using(
    (_request, response) => answer(response, { SecretString: "x".repeat(600_000) }),
    async ({ resolver }) => {
      const reason = await reasonOf(resolver.resolve(aws, awsSecrets));
      assert.equal(reason, "AWS Secrets Manager returned an unreadable response: too_large");
    },
  ));

test("resolve() caches a value for five minutes", () =>
  using(secretsManager, async ({ upstream, resolver, clock }) => {
    for (const [advance, requests] of [
      [0, 1],
      [299_999, 1],
      [1, 2],
    ] as const) {
      clock.advance(advance);
      assert.equal(await reasonOf(resolver.resolve(aws, awsSecrets)).then(() => upstream.requests.length), requests);
    }
  }));

test("resolve() caches a failure for five seconds", () =>
  using(secretsManager, async ({ upstream, resolver, clock }) => {
    const row = { ...aws, secretPath: "gone" };
    for (const [advance, requests] of [
      [0, 1],
      [4_999, 1],
      [1, 2],
    ] as const) {
      clock.advance(advance);
      await reasonOf(resolver.resolve(row, awsSecrets));
      assert.equal(upstream.requests.length, requests);
    }
  }));

test("concurrent calls share one request, and credentials are opened once", () =>
  using(secretsManager, async ({ upstream, resolver }) => {
    let opened = 0;
    const open = () => {
      opened++;
      return Promise.resolve(awsSecrets);
    };
    const values = await Promise.all(Array.from({ length: 10 }, () => resolver.resolve(aws, open)));
    assert.deepEqual([new Set(values).size, opened, upstream.requests.length], [1, 1, 1]);
  }));

test("credentials that do not open are a failure", () =>
  using(secretsManager, async ({ upstream, resolver }) => {
    const reason = await reasonOf(resolver.resolve(aws, () => Promise.reject(new Error("sealed"))));
    assert.equal(reason, "the credentials of the store are not available");
    assert.equal(upstream.requests.length, 0);
  }));

for (const [name, changes] of [
  ["organisation", { organisationId: "other" }],
  ["reference", { id: "other" }],
  ["change", { lastUpdatedAt: 2 }],
] as const) {
  test(`another ${name} has its own value`, () =>
    using(secretsManager, async ({ upstream, resolver }) => {
      await resolver.resolve(aws, awsSecrets);
      await resolver.resolve({ ...aws, ...changes }, awsSecrets);
      assert.equal(upstream.requests.length, 2);
    }));
}

for (const [allowAllWorkspaces, allowedWorkspaces, workspaceId, wanted] of [
  [true, null, "a", true],
  [false, ["a"], "a", true],
  [false, ["a"], "b", false],
  [false, null, "a", false],
  [false, ["a"], null, true],
] as const) {
  test(`mayUseReference() is ${wanted} for ${workspaceId} of ${JSON.stringify(allowedWorkspaces)}`, () => {
    const list = allowedWorkspaces === null ? null : [...allowedWorkspaces];
    assert.equal(mayUseReference({ allowAllWorkspaces, allowedWorkspaces: list }, workspaceId), wanted);
  });
}
