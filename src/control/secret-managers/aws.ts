import { AwsV4Signer } from "aws4fetch";
import { fromBase64Url } from "../../lib/base64.ts";
import { decodeUtf8, isObject } from "../../lib/json.ts";
import type { Outbound } from "../../lib/outbound.ts";
import type { AwsAuth } from "../../schemas/secret-references.ts";
import { askStore, requireText, SecretUnavailableError, type StoreRequest } from "./request.ts";

/** Credentials for signing requests to AWS. */
interface AwsCredentials {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string;
}

/** Options for reading from AWS Secrets Manager. */
export interface AwsOptions {
  outbound: Outbound;
  now(): number;
  /** Base address of a service in a region; by default AWS's own. */
  awsEndpoint?: (service: "secretsmanager" | "sts", region: string) => string;
  /** The operator's identity for assuming roles; without it roles cannot be assumed. */
  awsIdentity?: () => Promise<AwsCredentials>;
}

function defaultEndpoint(service: string, region: string): string {
  return `https://${service}.${region}.amazonaws.com${region.startsWith("cn-") ? ".cn" : ""}`;
}

/** Destination and signing credentials of a request. */
interface Signing {
  service: "secretsmanager" | "sts";
  region: string;
  credentials: AwsCredentials;
}

/** Signs a request (AWS Signature Version 4). */
async function sign(
  { service, region, credentials }: Signing,
  request: StoreRequest & { body: string },
  { now, awsEndpoint = defaultEndpoint }: AwsOptions,
): Promise<StoreRequest & { url: string }> {
  const signer = new AwsV4Signer({
    service,
    region,
    ...credentials,
    ...request,
    url: `${awsEndpoint(service, region)}/`,
    datetime: new Date(now()).toISOString().replace(/[:-]|\.\d{3}/g, ""),
  });
  const { url, headers } = await signer.sign();
  return { ...request, headers: Object.fromEntries(headers), url: url.href };
}

/** Content of an element of an XML response; credentials contain no entities. */
function readElement(xml: string, name: string): string {
  return requireText(new RegExp(`<${name}>\\s*([^<]*?)\\s*</${name}>`).exec(xml)?.[1], name);
}

/** Temporary credentials of a role (STS AssumeRole). */
async function assumeRole(
  auth: AwsAuth & { aws_auth_type: "assumedRole" },
  options: AwsOptions,
  organisationId: string,
): Promise<AwsCredentials> {
  if (!options.awsIdentity) {
    throw new SecretUnavailableError("roles cannot be assumed: the operator gave this gateway no identity at AWS");
  }
  const fields = {
    Action: "AssumeRole",
    Version: "2011-06-15",
    RoleArn: auth.aws_role_arn,
    RoleSessionName: "gateway",
    DurationSeconds: "900",
    // the external id keeps one tenant from using a role that trusts this gateway for another
    ExternalId: auth.aws_external_id ?? organisationId,
  };
  const headers = { "content-type": "application/x-www-form-urlencoded; charset=utf-8" };
  const body = new URLSearchParams(fields).toString();
  const credentials = await options.awsIdentity();
  const signing = { service: "sts", region: auth.aws_region, credentials } as const;
  const request = await sign(signing, { method: "POST", headers, body }, options);
  const { text } = await askStore(options.outbound, "AWS STS", request);
  const element = /<Credentials>[\s\S]*<\/Credentials>/.exec(text)?.[0] ?? "";
  return {
    accessKeyId: readElement(element, "AccessKeyId"),
    secretAccessKey: readElement(element, "SecretAccessKey"),
    sessionToken: readElement(element, "SessionToken"),
  };
}

function toCredentials(auth: AwsAuth, options: AwsOptions, organisationId: string): Promise<AwsCredentials> {
  switch (auth.aws_auth_type) {
    case "accessKey":
      return Promise.resolve({
        accessKeyId: auth.aws_access_key_id,
        secretAccessKey: auth.aws_secret_access_key,
      });
    case "assumedRole":
      return assumeRole(auth, options, organisationId);
    case "serviceRole":
      throw new SecretUnavailableError(
        "aws_auth_type serviceRole is not offered: the gateway's own role is not available to tenants",
      );
  }
}

/**
 * Reads a secret by name or ARN (GetSecretValue).
 *
 * @throws {SecretUnavailableError}
 */
export async function readAwsSecret(
  auth: AwsAuth,
  { secretPath, organisationId }: { secretPath: string; organisationId: string },
  options: AwsOptions,
): Promise<string> {
  const credentials = await toCredentials(auth, options, organisationId);
  const region = requireText(auth.aws_region, "aws_region");
  const headers = {
    "content-type": "application/x-amz-json-1.1",
    "x-amz-target": "secretsmanager.GetSecretValue",
  };
  const body = JSON.stringify({ SecretId: secretPath });
  const request = await sign(
    { service: "secretsmanager", region, credentials },
    { method: "POST", headers, body },
    options,
  );
  const { json } = await askStore(options.outbound, "AWS Secrets Manager", request);
  const answer = isObject(json) ? json : {};
  if (typeof answer.SecretBinary !== "string") return requireText(answer.SecretString, "SecretString");
  try {
    return decodeUtf8(fromBase64Url(answer.SecretBinary));
  } catch (cause) {
    throw new SecretUnavailableError("the secret is binary, not text", { cause });
  }
}
