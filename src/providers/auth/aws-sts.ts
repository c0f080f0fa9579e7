import { AwsV4Signer } from "aws4fetch";
import * as v from "valibot";
import { UpstreamError } from "../../errors.ts";
import { readBytes } from "../../lib/body.ts";
import { toOutboundError } from "../../lib/outbound.ts";
import type { FetchedToken } from "../core/token-cache.ts";
import type { AuthTools } from "../core/types.ts";

const AwsKeys = v.object({
  accessKeyId: v.string(),
  secretAccessKey: v.string(),
  sessionToken: v.optional(v.string()),
});

/** Keys that sign requests. */
export interface AwsKeys {
  accessKeyId: string;
  secretAccessKey: string;
  /** Set for temporary keys. */
  sessionToken?: string;
}

/** Dependencies, and the call the role is assumed for. */
export interface StsPlace {
  region: string;
  domain: string;
  /** Slug of the provider, for error messages. */
  provider: string;
  tools: AuthTools;
}

/** A role and the keys that assume it. */
interface RoleRequest {
  role: string;
  externalId: string | undefined;
  keys: AwsKeys;
  /** Identifies the keys in the cache without revealing them. */
  owner: string;
  /** Session tags: names and values. */
  tags?: readonly (readonly [string, string])[];
}

/** AWS limits on session tags: their number, and the characters of names and values. */
const maxTags = 50;
const tagForms = [/^[\p{L}\p{Z}\p{N}_.:/=+\-@]{1,128}$/u, /^[\p{L}\p{Z}\p{N}_.:/=+\-@]{0,256}$/u] as const;

/**
 * Request metadata as session tags, which AWS uses to attribute costs. The tags are sorted; values AWS does not allow
 * are dropped. The role must allow `sts:TagSession`.
 */
export function toSessionTags(metadata: AuthTools["metadata"] = {}): (readonly [string, string])[] {
  return Object.entries(metadata)
    .filter(([name, value]) => tagForms[0].test(name) && tagForms[1].test(value) && !/^aws:/i.test(name))
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .slice(0, maxTags);
}

/** Role credentials are renewed after five minutes so that a revoked role stops working soon. */
const keepMs = 6 * 60_000;
const answerBytes = 64 * 1024;
const waitMs = 10_000;

const entities: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

/** Text of an XML element that occurs once in a response. */
function textOf(xml: string, name: string): string | undefined {
  const text = new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1];
  return text?.trim().replace(/&(amp|lt|gt|quot|apos);/g, (whole, entity) => entities[entity] ?? whole);
}

function fail(status: number, problem: string, { provider, cause }: { provider: string; cause?: unknown }): never {
  throw new UpstreamError(status, `Cannot sign in to ${provider}: ${problem}`, {
    provider,
    code: "provider_sign_in_failed",
    ...(cause !== undefined && { cause }),
  });
}

/** Keys in a response of the token service. */
function readKeys(xml: string, { provider, tools }: StsPlace): FetchedToken {
  const accessKeyId = textOf(xml, "AccessKeyId");
  const secretAccessKey = textOf(xml, "SecretAccessKey");
  const sessionToken = textOf(xml, "SessionToken");
  const end = Date.parse(textOf(xml, "Expiration") ?? "");
  if (!accessKeyId || !secretAccessKey || !sessionToken || Number.isNaN(end)) {
    fail(502, "the token service of AWS did not return keys", { provider });
  }
  const token = JSON.stringify({ accessKeyId, secretAccessKey, sessionToken });
  return { token, expiresAt: Math.min(end, tools.clock.now() + keepMs) };
}

/** A timestamp in the format of AWS signatures. */
export function toSignatureTime(nowMs: number): string {
  return new Date(nowMs).toISOString().replace(/[:-]|\.\d{3}/g, "");
}

async function signatureOf(url: string, body: string, keys: AwsKeys, { region, tools }: StsPlace) {
  const datetime = toSignatureTime(tools.clock.now());
  const headers = { "content-type": formType };
  const options = { method: "POST", url, body, headers, service: "sts", region, datetime, allHeaders: true };
  const signed = await new AwsV4Signer({ ...options, ...keys }).sign();
  return Object.fromEntries(signed.headers);
}

const formType = "application/x-www-form-urlencoded; charset=utf-8";

/** Calls the token service. Parameters go into the body so that none of them appears in a URL. */
async function callSts(
  parameters: Readonly<Record<string, string>>,
  keys: AwsKeys | undefined,
  place: StsPlace,
): Promise<FetchedToken> {
  const { region, domain, provider, tools } = place;
  const url = `https://sts.${region}.${domain}/`;
  const body = new URLSearchParams({ Version: "2011-06-15", ...parameters }).toString();
  const signed = keys ? await signatureOf(url, body, keys, place) : { "content-type": formType };
  const headers = { ...signed, accept: "application/xml", "accept-encoding": "identity" };
  const signal = AbortSignal.timeout(waitMs);
  const times = { bytes: answerBytes, totalMs: waitMs, silenceMs: waitMs };
  let status: number;
  let text: string;
  try {
    const response = await tools.outbound(url, { method: "POST", headers, body, signal, origin: "influenced" });
    status = response.status;
    text = new TextDecoder().decode(await readBytes(response, times));
  } catch (cause) {
    const { kind } = toOutboundError(cause, signal);
    const problem = "the token service of AWS cannot be reached";
    fail(kind === "aborted" || kind === "connect_timeout" ? 504 : 502, problem, { provider, cause });
  }
  if (status >= 200 && status <= 299) return readKeys(text, place);
  const reason = /^\w{1,64}$/.exec(textOf(text, "Code") ?? "")?.[0] ?? `status ${status}`;
  fail(status >= 400 ? status : 502, `the token service of AWS rejected the request (${reason})`, { provider });
}

/** Session name in the AWS audit trail; contains the workspace. */
function sessionName({ tenant }: AuthTools): string {
  return `gateway-${(tenant.at(-1) ?? "").replaceAll(/[^\w+=,.@-]/g, "-")}`.slice(0, 64);
}

async function getKeys(key: readonly string[], load: () => Promise<FetchedToken>, place: StsPlace): Promise<AwsKeys> {
  const { tools, region, domain } = place;
  const text = await tools.tokens.get([...tools.tenant, "aws", domain, region, ...key], load);
  const { sessionToken, ...keys } = v.parse(AwsKeys, JSON.parse(text));
  return sessionToken === undefined ? keys : { ...keys, sessionToken };
}

/**
 * Credentials of a role (https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRole.html).
 *
 * @throws {UpstreamError} If AWS returns no keys.
 */
export function assumeRole(
  { role, externalId, keys, owner, tags = [] }: RoleRequest,
  place: StsPlace,
): Promise<AwsKeys> {
  const parameters = {
    Action: "AssumeRole",
    RoleArn: role,
    RoleSessionName: sessionName(place.tools),
    ...(externalId && { ExternalId: externalId }),
    ...Object.fromEntries(
      tags.flatMap(([name, value], index) => [
        [`Tags.member.${index + 1}.Key`, name],
        [`Tags.member.${index + 1}.Value`, value],
      ]),
    ),
  };
  const load = () => callSts(parameters, keys, place);
  return getKeys(["role", role, externalId ?? "", owner, JSON.stringify(tags)], load, place);
}

/**
 * Credentials of a role from a federated token
 * (https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRoleWithWebIdentity.html).
 *
 * @throws {UpstreamError} If AWS returns no keys.
 */
export function assumeWebIdentity(
  { role, readToken }: { role: string; readToken: () => Promise<string> },
  place: StsPlace,
): Promise<AwsKeys> {
  const load = async () => {
    const token = (await readToken()).trim();
    const name = sessionName(place.tools);
    const parameters = { RoleArn: role, RoleSessionName: name, WebIdentityToken: token };
    return callSts({ Action: "AssumeRoleWithWebIdentity", ...parameters }, undefined, place);
  };
  return getKeys(["web-identity", role], load, place);
}
