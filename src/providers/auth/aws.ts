import { AwsV4Signer } from "aws4fetch";
import * as v from "valibot";
import { type Refuse, refuseWith } from "../../errors.ts";
import { sha256Hex } from "../../lib/hash.ts";
import { bearer } from "../core/headers.ts";
import {
  hiddenSetting,
  hostLabel,
  placeSetting,
  type Requirements,
  secretSetting,
  storedSetting,
  type VirtualKeyField,
} from "../core/settings.ts";
import type { AuthTools, SignableRequest } from "../core/types.ts";
import { machineKeys } from "./aws-machine.ts";
import {
  type AwsKeys,
  assumeRole,
  assumeWebIdentity,
  type StsPlace,
  toSessionTags,
  toSignatureTime,
} from "./aws-sts.ts";
import { requireIdentity } from "./identity.ts";

const Secret = v.optional(
  secretSetting(v.pipe(v.string(), v.regex(/^[!-~]{1,4096}$/, "must be visible characters without spaces"))),
);

/** Settings fields of every provider on AWS. */
export const awsEntries = {
  access_key_id: Secret,
  secret_access_key: Secret,
  session_token: Secret,
  region: v.optional(placeSetting(hostLabel("must be lower-case letters, digits and hyphens")), "us-east-1"),
  auth_type: v.optional(
    storedSetting(
      v.picklist(["accessKey", "assumedRole", "apiKey", "serviceRole"]),
      v.picklist(["accessKey", "assumedRole", "apiKey"], "must be one of accessKey, assumedRole, apiKey"),
    ),
  ),
  role_arn: v.optional(
    hiddenSetting(
      v.pipe(
        v.string(),
        v.regex(/^arn:aws[a-z-]{0,20}:iam::[0-9]{12}:role\/[\w+=,.@/-]{1,512}$/, "must be the ARN of a role"),
      ),
    ),
  ),
  external_id: v.optional(
    hiddenSetting(v.pipe(v.string(), v.regex(/^[\w+=,.@:/-]{2,1224}$/, "must be an external id"))),
  ),
};

const mode: NonNullable<Requirements["mode"]> = {
  setting: "aws_auth_type",
  integrations: {
    accessKey: ["aws_access_key_id", "aws_secret_access_key"],
    assumedRole: ["aws_role_arn"],
    apiKey: ["key"],
  },
  keyless: ["assumedRole", "serviceRole"],
};
const credentials = [["aws_access_key_id", "aws_secret_access_key"]];

/** What a provider on AWS needs. An integration that says nothing of how it authenticates has a key. */
export const awsRequirements: Requirements = { integrations: [], mode: { ...mode, absent: ["key"] }, credentials };

/** As `awsRequirements`, where integrations say how they authenticate, and in which region. */
export const statedAwsRequirements: Requirements = {
  integrations: ["aws_auth_type", "aws_region"],
  mode: { ...mode, ofVirtualKeys: "accessKey" },
  credentials,
};

/** Fields of virtual keys. */
export const awsVirtualKeys: Readonly<Record<string, VirtualKeyField>> = {
  aws_access_key_id: { field: "awsAccessKeyId" },
  aws_secret_access_key: { field: "awsSecretAccessKey" },
  aws_region: { field: "awsRegion" },
};

/** Settings of a provider on AWS. */
export const AwsSettings = v.object(awsEntries);
export type AwsSettings = v.InferOutput<typeof AwsSettings>;

/** What requests of a provider are signed for. */
interface AwsService {
  /** Slug of the provider, for error messages. */
  provider: string;
  /** Service name used in signatures. */
  service: string;
}

/** Domain of AWS services: the operator's, else the public one. */
export function awsDomain(environment: AuthTools["environment"]): string {
  return environment.AWS_ENDPOINT_DOMAIN || "amazonaws.com";
}

/** How the caller authenticates. Default: a bearer credential is an API key. */
function authTypeOf({ auth_type, access_key_id }: AwsSettings, credential: string | undefined) {
  if (auth_type !== undefined) return auth_type;
  return access_key_id === undefined && credential !== undefined ? "apiKey" : "accessKey";
}

/** Whether requests carry an API key instead of a signature. */
export function usesApiKey(settings: AwsSettings, credential: string | undefined): credential is string {
  return credential !== undefined && authTypeOf(settings, credential) === "apiKey";
}

/** The bearer header of an API key; empty for requests that are signed. */
export function awsApiKey(credential: string | undefined, settings: AwsSettings): Record<string, string> {
  return authTypeOf(settings, credential) === "apiKey" ? bearer(credential) : {};
}

const refuse: Refuse = refuseWith("invalid_credentials");

/** Keys the caller sent; undefined when they are missing. */
function callerKeys({ access_key_id, secret_access_key, session_token }: AwsSettings): AwsKeys | undefined {
  if (access_key_id === undefined || secret_access_key === undefined) return undefined;
  const keys = { accessKeyId: access_key_id, secretAccessKey: secret_access_key };
  return session_token === undefined ? keys : { ...keys, sessionToken: session_token };
}

/** The gateway's own identity: from a federated token, else from the container or instance it runs in. */
async function ownKeys(place: StsPlace): Promise<AwsKeys> {
  const { AWS_ROLE_ARN: role, AWS_WEB_IDENTITY_TOKEN_FILE: file } = place.tools.environment;
  const { readFile } = place.tools;
  if (role && file && readFile) return assumeWebIdentity({ role, readToken: () => readFile(file) }, place);
  const keys = await machineKeys(place);
  if (keys) return keys;
  const message =
    "Cannot use the gateway's own identity: the operator must set AWS_ROLE_ARN and AWS_WEB_IDENTITY_TOKEN_FILE, " +
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI or _FULL_URI, or AWS_EC2_METADATA";
  return refuse(message, "x-gateway-aws-auth-type");
}

/** The operator's identity, used to assume the caller's role. */
async function operatorKeys(place: StsPlace): Promise<AwsKeys> {
  const { environment } = place.tools;
  const accessKeyId = environment.AWS_ASSUME_ROLE_ACCESS_KEY_ID;
  const secretAccessKey = environment.AWS_ASSUME_ROLE_SECRET_ACCESS_KEY;
  const near: StsPlace = { ...place, region: environment.AWS_ASSUME_ROLE_REGION || place.region };
  const base = accessKeyId && secretAccessKey ? { accessKeyId, secretAccessKey } : await ownKeys(near);
  const role = environment.AWS_ASSUME_ROLE_SOURCE_ARN;
  if (!role) return base;
  const externalId = environment.AWS_ASSUME_ROLE_SOURCE_EXTERNAL_ID;
  return assumeRole({ role, externalId, keys: base, owner: "operator" }, near);
}

async function assumedKeys(settings: AwsSettings, place: StsPlace): Promise<AwsKeys> {
  const { role_arn: role, external_id: externalId } = settings;
  if (role === undefined) refuse("Cannot assume a role: name it in x-gateway-aws-role-arn", "x-gateway-aws-role-arn");
  const own = callerKeys(settings);
  const tags = toSessionTags(place.tools.metadata);
  if (!own) return assumeRole({ role, externalId, keys: await operatorKeys(place), owner: "operator", tags }, place);
  const owner = `${own.accessKeyId} ${await sha256Hex(`${own.secretAccessKey} ${own.sessionToken ?? ""}`)}`;
  return assumeRole({ role, externalId, keys: own, owner, tags }, place);
}

/**
 * Rejects custom hosts for requests signed with the operator's identity: only hosts of AWS may receive them. Hosts of
 * other services may belong to customers.
 */
function requireServiceHost(url: string, service: string, { region, tools: { environment } }: StsPlace): void {
  const { hostname } = new URL(url);
  for (const domain of [awsDomain(environment), "amazonaws.com", "amazonaws.com.cn", "api.aws"]) {
    for (const end of [`.${region}.${domain}`, `.${region}.vpce.${domain}`]) {
      if (!hostname.endsWith(end)) continue;
      const label = hostname.slice(0, -end.length).split(".").at(-1) ?? "";
      if (label === service || label.startsWith(`${service}-`)) return;
    }
  }
  refuse("Cannot sign for this host with the gateway's own identity: it is not a host of AWS", "x-gateway-custom-host");
}

function keysOf(type: string, settings: AwsSettings, target: { url: string; service: string; place: StsPlace }) {
  const { url, service, place } = target;
  if (type === "accessKey") {
    const keys = callerKeys(settings);
    if (keys) return keys;
    const message =
      "Cannot sign the request: set x-gateway-aws-access-key-id and x-gateway-aws-secret-access-key, an API key in " +
      "authorization, or another x-gateway-aws-auth-type";
    refuse(message, "x-gateway-aws-access-key-id");
  }
  if (type === "serviceRole" || callerKeys(settings) === undefined) {
    requireServiceHost(url, service, place);
    requireIdentity(place.tools, "x-gateway-aws-auth-type");
  }
  return type === "serviceRole" ? ownKeys(place) : assumedKeys(settings, place);
}

/**
 * Headers that sign a request (https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv.html). The signature
 * covers the host, the content type, `x-amz-` headers, and the body unless it is a stream.
 */
export async function signAwsRequest(
  request: Pick<SignableRequest, "method" | "url" | "headers" | "body" | "isStreamed">,
  keys: AwsKeys,
  { service, region, now }: { service: string; region: string; now: number },
): Promise<Record<string, string>> {
  const { method, url, body, isStreamed } = request;
  const replaced = new Set(["x-amz-date", "x-amz-security-token", "x-amz-content-sha256"]);
  const signed = Object.entries(request.headers).filter(
    ([name]) => (name === "content-type" || name.startsWith("x-amz-")) && !replaced.has(name),
  );
  if (isStreamed) signed.push(["x-amz-content-sha256", "UNSIGNED-PAYLOAD"]);
  const signer = new AwsV4Signer({
    ...keys,
    method,
    url,
    service,
    region,
    allHeaders: true,
    headers: signed,
    // the DOM types exclude bytes over shared memory
    body: (body ?? null) as BodyInit | null,
    datetime: toSignatureTime(now),
  });
  const { headers } = await signer.sign();
  const made = Object.fromEntries(
    ["authorization", ...replaced].flatMap((name) => {
      const value = headers.get(name);
      return value === null ? [] : [[name, value] as const];
    }),
  );
  // a digest the caller computed for its own request would contradict the signature
  if (!isStreamed && request.headers["x-amz-content-sha256"] !== undefined) {
    made["x-amz-content-sha256"] = await signer.hexBodyHash();
  }
  return made;
}

/**
 * Signs the requests of a provider with the caller's keys or those of a role
 * (https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRole.html).
 */
export function createAwsAuthorize({ provider, service }: AwsService) {
  return async (request: SignableRequest, settings: AwsSettings, tools: AuthTools): Promise<Record<string, string>> => {
    const type = authTypeOf(settings, request.credential);
    if (type === "apiKey") {
      if (request.credential !== undefined) return {};
      refuse(`Cannot call ${provider}: send an API key in authorization`, "authorization");
    }
    const { region } = settings;
    const place: StsPlace = { region, domain: awsDomain(tools.environment), provider, tools };
    const keys = await keysOf(type, settings, { url: request.url, service, place });
    if (keys.sessionToken === undefined && request.headers["x-amz-security-token"] !== undefined) {
      refuse("Cannot sign the request: leave x-amz-security-token out", "x-amz-security-token");
    }
    return signAwsRequest(request, keys, { service, region, now: tools.clock.now() });
  };
}
