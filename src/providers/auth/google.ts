import { AwsV4Signer } from "aws4fetch";
import { importPKCS8, SignJWT } from "jose";
import * as v from "valibot";
import { type Refuse, refuseWith, UpstreamError } from "../../errors.ts";
import { sha256Hex } from "../../lib/hash.ts";
import { parseJson } from "../../lib/json.ts";
import { bearer } from "../core/headers.ts";
import type { FetchedToken } from "../core/token-cache.ts";
import { requestToken } from "../core/token-request.ts";
import type { AuthTools, SignableRequest } from "../core/types.ts";
import { machineKeys } from "./aws-machine.ts";
import { type AwsKeys, toSignatureTime } from "./aws-sts.ts";
import { mayUseIdentity } from "./identity.ts";

const scope = "https://www.googleapis.com/auth/cloud-platform";
const defaultTokenUri = "https://oauth2.googleapis.com/token";
/** Hosts that issue tokens for service accounts. */
const tokenHosts = new Set([
  "oauth2.googleapis.com",
  "oauth2.mtls.googleapis.com",
  "www.googleapis.com",
  "accounts.google.com",
]);
/** Longest lifetime of a JWT assertion for a service account. */
const assertionSeconds = 3600;
const nonEmpty = v.pipe(v.string(), v.minLength(1));

/** Key file of a service account (https://cloud.google.com/iam/docs/keys-create-delete). */
const ServiceAccountKey = v.looseObject({
  client_email: nonEmpty,
  private_key: nonEmpty,
  private_key_id: v.nullish(nonEmpty),
  project_id: v.nullish(nonEmpty),
  token_uri: v.nullish(nonEmpty),
});
type ServiceAccountKey = v.InferOutput<typeof ServiceAccountKey>;

/** The service account key from its JSON; undefined when the JSON is not a key. */
export function readServiceAccount(text: string): ServiceAccountKey | undefined {
  const result = v.safeParse(ServiceAccountKey, parseJson(text));
  return result.success ? result.output : undefined;
}

/** Who authenticates, besides the credential of the request. */
interface GoogleIdentity {
  serviceAccount: ServiceAccountKey | undefined;
  /** How: `basic` uses the credential, `serviceAccount` a key, `workload` the operator's own identity. */
  authType: "basic" | "serviceAccount" | "workload" | undefined;
}

const refuse: Refuse = refuseWith("invalid_credential");

/** Whether a credential is an API key, not an access token (https://cloud.google.com/docs/authentication/api-keys). */
export function isApiKey(credential: string | undefined): boolean {
  return credential !== undefined && /^(?:AIza|AQ\.)/.test(credential);
}

/** The token URL of a service account. The assertion must not be sent to other hosts. */
function tokenUriOf({ token_uri: uri }: ServiceAccountKey): string {
  if (uri === undefined || uri === null) return defaultTokenUri;
  const url = URL.parse(uri);
  const isOwn = url?.protocol === "https:" && url.port === "" && url.username === "" && tokenHosts.has(url.hostname);
  if (url && isOwn) return url.href;
  return refuse("Cannot use this service account: its token_uri is not a Google URL", "token_uri");
}

/**
 * The JWT assertion that proves possession of the account's key (RFC 7523;
 * https://developers.google.com/identity/protocols/oauth2/service-account).
 */
async function signAssertion(account: ServiceAccountKey, audience: string, nowMs: number): Promise<string> {
  const issuedAt = Math.floor(nowMs / 1000);
  const pem = account.private_key.replaceAll("\\n", "\n");
  const key = await importPKCS8(pem, "RS256").catch(() =>
    refuse("Cannot use this service account: its private_key is not a PKCS #8 key in PEM form", "private_key"),
  );
  const { client_email: email, private_key_id: kid } = account;
  return new SignJWT({ scope })
    .setProtectedHeader({ alg: "RS256", typ: "JWT", ...(kid && { kid }) })
    .setIssuer(email)
    .setSubject(email)
    .setAudience(audience)
    .setIssuedAt(issuedAt)
    .setExpirationTime(issuedAt + assertionSeconds)
    .sign(key);
}

/**
 * An access token of a service account.
 *
 * @throws {InvalidRequestError} If its key or token URL cannot be used.
 * @throws {UpstreamError} If no token is returned.
 */
async function serviceAccountToken(account: ServiceAccountKey, tools: AuthTools): Promise<string> {
  const url = tokenUriOf(account);
  const digest = await sha256Hex(JSON.stringify([account.client_email, account.private_key, url]));
  return tools.tokens.get([...tools.tenant, "google-service-account", digest], async () => {
    const assertion = await signAssertion(account, url, tools.clock.now());
    const fields = { grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer", assertion };
    return requestToken({ url, origin: "influenced", fields, param: "token_uri" }, tools);
  });
}

/** A proof of this process's identity from another system. */
interface SubjectToken {
  subject_token: string;
  subject_token_type: string;
}

/** A signed AWS request that Google sends to AWS to verify the identity (https://google.aip.dev/auth/4117). */
async function signCallerIdentity(
  audience: string,
  keys: AwsKeys,
  { environment, clock }: AuthTools,
): Promise<SubjectToken> {
  const { AWS_REGION, AWS_DEFAULT_REGION } = environment;
  const region = AWS_REGION ?? AWS_DEFAULT_REGION ?? "us-east-1";
  if (!/^[a-z0-9-]{1,63}$/.test(region)) refuse("Cannot use AWS_REGION: it is not a region", "AWS_REGION");
  const signer = new AwsV4Signer({
    url: `https://sts.${region}.amazonaws.com/?Action=GetCallerIdentity&Version=2011-06-15`,
    method: "POST",
    service: "sts",
    region,
    headers: { "x-goog-cloud-target-resource": audience },
    ...keys,
    datetime: toSignatureTime(clock.now()),
  });
  const { url, headers } = await signer.sign();
  const listed = [...headers, ["host", url.host] as const].map(([key, value]) => ({ key, value }));
  return {
    subject_token: encodeURIComponent(JSON.stringify({ url: url.href, method: "POST", headers: listed })),
    subject_token_type: "urn:ietf:params:aws:token-type:aws4_request",
  };
}

/** Static AWS keys from the environment. */
function staticKeys({ environment }: AuthTools): AwsKeys | undefined {
  const { AWS_ACCESS_KEY_ID: id, AWS_SECRET_ACCESS_KEY: secret, AWS_SESSION_TOKEN: sessionToken } = environment;
  if (!id) return undefined;
  return { accessKeyId: id, secretAccessKey: secret ?? "", ...(sessionToken && { sessionToken }) };
}

async function readSubject(audience: string, tools: AuthTools): Promise<SubjectToken> {
  const { environment, readFile } = tools;
  const { GCP_WIF_TOKEN_FILE, AWS_WEB_IDENTITY_TOKEN_FILE, AZURE_FEDERATED_TOKEN_FILE } = environment;
  const keys = GCP_WIF_TOKEN_FILE === undefined ? staticKeys(tools) : undefined;
  if (keys) return signCallerIdentity(audience, keys, tools);
  const path = GCP_WIF_TOKEN_FILE ?? AWS_WEB_IDENTITY_TOKEN_FILE ?? AZURE_FEDERATED_TOKEN_FILE;
  const ofMachine = path === undefined ? await machineKeys({ provider: "vertex-ai", tools }) : undefined;
  if (ofMachine) return signCallerIdentity(audience, ofMachine, tools);
  const text = path && readFile ? await readFile(path).catch(() => "") : "";
  if (text.trim() === "") {
    throw new UpstreamError(502, "Cannot get a token from Google: this gateway has no identity to authenticate with", {
      code: "token_unavailable",
    });
  }
  return { subject_token: text.trim(), subject_token_type: "urn:ietf:params:oauth:token-type:jwt" };
}

const ImpersonatedToken = v.object({ accessToken: nonEmpty, expireTime: nonEmpty });

function readImpersonatedToken(answer: unknown): FetchedToken | undefined {
  const result = v.safeParse(ImpersonatedToken, answer);
  const expiresAt = result.success ? Date.parse(result.output.expireTime) : Number.NaN;
  return result.success && !Number.isNaN(expiresAt) ? { token: result.output.accessToken, expiresAt } : undefined;
}

/**
 * Impersonates a service account
 * (https://cloud.google.com/iam/docs/reference/credentials/rest/v1/projects.serviceAccounts/generateAccessToken).
 */
function impersonate(email: string, token: string, tools: AuthTools): Promise<FetchedToken> {
  const account = encodeURIComponent(email);
  const url = `https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/${account}:generateAccessToken`;
  const request = {
    url,
    origin: "fixed",
    headers: bearer(token),
    json: { scope: [scope] },
    read: readImpersonatedToken,
  } as const;
  return requestToken({ ...request, param: "GCP_WIF_SERVICE_ACCOUNT_EMAIL" }, tools);
}

/**
 * A Google token in exchange for this process's token of another identity provider
 * (https://cloud.google.com/iam/docs/reference/sts/rest/v1/TopLevel/token).
 */
async function exchange(audience: string, tools: AuthTools): Promise<FetchedToken> {
  const fields = {
    grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
    audience,
    scope,
    requested_token_type: "urn:ietf:params:oauth:token-type:access_token",
    ...(await readSubject(audience, tools)),
  };
  const url = "https://sts.googleapis.com/v1/token";
  const exchanged = await requestToken({ url, origin: "fixed", fields, param: "GCP_WIF_AUDIENCE" }, tools);
  const email = tools.environment.GCP_WIF_SERVICE_ACCOUNT_EMAIL;
  return email ? impersonate(email, exchanged.token, tools) : exchanged;
}

/**
 * The token of the machine this process runs on (https://cloud.google.com/compute/docs/access/authenticate-workloads).
 */
function machineToken(tools: AuthTools): Promise<FetchedToken> {
  const url = "http://metadata.google.internal/computeMetadata/v1/instance/service-accounts/default/token";
  const headers = { "metadata-flavor": "Google" };
  return requestToken({ url, method: "GET", origin: "fixed", headers, param: "GCP_AUTH_MODE" }, tools);
}

/** Whether the caller may use the gateway's own identity. */
function sharesIdentity(tools: AuthTools): boolean {
  const { GCP_WIF_AUDIENCE: audience, GCP_AUTH_MODE: mode } = tools.environment;
  return (Boolean(audience) || mode === "workload") && mayUseIdentity(tools);
}

/**
 * An access token of the operator's own identity: federated where `GCP_WIF_AUDIENCE` is set, else the machine's.
 *
 * @throws {UpstreamError} If no token is returned.
 */
function workloadToken(tools: AuthTools): Promise<string> {
  const { GCP_WIF_AUDIENCE: audience, GCP_WIF_SERVICE_ACCOUNT_EMAIL: email } = tools.environment;
  const key = [...tools.tenant, "google-workload", audience ?? "", email ?? ""];
  return tools.tokens.get(key, () => (audience ? exchange(audience, tools) : machineToken(tools)));
}

/** Whether a URL belongs to Google Cloud: the operator's identity is sent to no other host. */
function isOwnAddress(url: string): boolean {
  const parsed = URL.parse(url);
  return (
    parsed?.protocol === "https:" &&
    /^(?:discoveryengine|texttospeech|(?:[a-z0-9-]+-)?aiplatform(?:\.[a-z0-9-]+\.rep)?)\.googleapis\.com$/.test(
      parsed.hostname,
    )
  );
}

function accountOf(
  { credential }: SignableRequest,
  { serviceAccount, authType }: GoogleIdentity,
): ServiceAccountKey | undefined {
  if (authType === "basic" || authType === "workload") return undefined;
  const own = credential?.trimStart().startsWith("{") ? readServiceAccount(credential) : undefined;
  const account = serviceAccount ?? own;
  if (account || (authType === undefined && !credential?.trimStart().startsWith("{"))) return account;
  return refuse("Cannot call vertex-ai: the service account key is missing or invalid", "service_account_json");
}

/**
 * Authorisation headers: a service account token, the credential itself, or, when the caller sends neither, the
 * operator's identity where it is shared with the caller.
 *
 * @throws {InvalidRequestError} If the credential cannot be used.
 * @throws {UpstreamError} If no token is returned.
 */
export async function authorizeGoogle(
  request: SignableRequest,
  identity: GoogleIdentity,
  tools: AuthTools,
): Promise<Record<string, string>> {
  const account = accountOf(request, identity);
  if (account) return bearer(await serviceAccountToken(account, tools));
  const { credential, url } = request;
  const isAsked = identity.authType === "workload";
  if (credential !== undefined && !isAsked) {
    return isApiKey(credential) ? { "x-goog-api-key": credential } : bearer(credential);
  }
  if (sharesIdentity(tools) && isOwnAddress(url)) return bearer(await workloadToken(tools));
  if (!isAsked) return {};
  return refuse(
    "Cannot use vertex_auth_type workload: this gateway does not share its identity with this caller or for this host",
    "auth_type",
  );
}
