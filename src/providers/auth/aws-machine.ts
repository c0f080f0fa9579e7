import * as v from "valibot";
import { UpstreamError } from "../../errors.ts";
import { readBytes } from "../../lib/body.ts";
import { decodeUtf8, parseJson } from "../../lib/json.ts";
import { toOutboundError } from "../../lib/outbound.ts";
import type { FetchedToken } from "../core/token-cache.ts";
import type { AuthTools } from "../core/types.ts";
import type { AwsKeys } from "./aws-sts.ts";
import { isSwitchedOn } from "./identity.ts";

/**
 * Address from which containers get their keys
 * (https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-iam-roles.html).
 */
const containerHost = "http://169.254.170.2";
/**
 * Hosts that a full URI may name: this machine, and those of ECS and EKS
 * (https://docs.aws.amazon.com/sdkref/latest/guide/feature-container-credentials.html).
 */
const containerHosts: ReadonlySet<string> = new Set([
  "localhost",
  "[::1]",
  "169.254.170.2",
  "169.254.170.23",
  "[fd00:ec2::23]",
]);
/** Instance metadata (https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/configuring-instance-metadata-service.html). */
const instanceHost = "http://169.254.169.254";
const rolesPath = "/latest/meta-data/iam/security-credentials/";

/** Timeout in milliseconds for local credential services: they respond quickly or do not exist. */
const waitMs = 5_000;
const answerBytes = 64 * 1024;
/** Lifetime of keys that have no stated expiry. */
const unstatedMs = 5 * 60_000;

const Keys = v.looseObject({
  AccessKeyId: v.pipe(v.string(), v.minLength(1)),
  SecretAccessKey: v.pipe(v.string(), v.minLength(1)),
  Token: v.nullish(v.string()),
  Expiration: v.nullish(v.string()),
});

/** Dependencies and the provider that asks. */
interface MachineTools {
  /** Slug of the provider, for error messages. */
  provider: string;
  tools: AuthTools;
}

/**
 * The address of the container credentials; undefined where the environment sets none.
 *
 * @throws {TypeError} If it is neither an address of this machine nor of the container service.
 */
export function containerAddress(environment: AuthTools["environment"]): string | undefined {
  const { AWS_CONTAINER_CREDENTIALS_RELATIVE_URI: relative, AWS_CONTAINER_CREDENTIALS_FULL_URI: full } = environment;
  if (relative) {
    const url = relative.startsWith("/") ? URL.parse(containerHost + relative) : null;
    if (url?.origin === containerHost) return url.href;
    throw new TypeError(
      "Cannot use AWS_CONTAINER_CREDENTIALS_RELATIVE_URI: it must be a path that begins with a slash",
    );
  }
  if (!full) return undefined;
  const url = URL.parse(full);
  const isNear = url !== null && (containerHosts.has(url.hostname) || /^127\.\d+\.\d+\.\d+$/.test(url.hostname));
  if (isNear && /^https?:$/.test(url.protocol) && url.username === "" && url.password === "") return url.href;
  throw new TypeError(
    "Cannot use AWS_CONTAINER_CREDENTIALS_FULL_URI: its host must be a loopback address or that of the container service",
  );
}

function fail(problem: string, { provider }: MachineTools, cause?: unknown): never {
  throw new UpstreamError(502, `Cannot sign in to ${provider}: ${problem}`, {
    provider,
    code: "provider_sign_in_failed",
    ...(cause !== undefined && { cause }),
  });
}

/** Response text of a local credential service. Details of a failure are for the operator only. */
async function ask(
  url: string,
  init: { method: string; headers: Record<string, string> },
  { what, ...machine }: MachineTools & { what: string },
): Promise<string> {
  const signal = AbortSignal.timeout(waitMs);
  let status: number;
  let text: string;
  try {
    const headers = { accept: "*/*", "accept-encoding": "identity", ...init.headers };
    const response = await machine.tools.outbound(url, { ...init, headers, signal, origin: "fixed" });
    status = response.status;
    const times = { bytes: answerBytes, totalMs: waitMs, silenceMs: waitMs };
    text = decodeUtf8(await readBytes(response, times));
  } catch (cause) {
    return fail(`${what} cannot be reached`, machine, toOutboundError(cause, signal));
  }
  return status === 200 ? text : fail(`${what} returned status ${status}`, machine);
}

function readKeys(text: string, { what, ...machine }: MachineTools & { what: string }): FetchedToken {
  const read = v.safeParse(Keys, parseJson(text));
  if (!read.success) return fail(`${what} did not return keys`, machine);
  const { AccessKeyId: accessKeyId, SecretAccessKey: secretAccessKey, Token, Expiration } = read.output;
  const end = Date.parse(Expiration ?? "");
  const keys: AwsKeys = { accessKeyId, secretAccessKey, ...(Token && { sessionToken: Token }) };
  const expiresAt = Number.isNaN(end) ? machine.tools.clock.now() + unstatedMs : end;
  return { token: JSON.stringify(keys), expiresAt };
}

/** The token for the container credential service. A token file is read on every use because its content changes. */
async function containerToken(machine: MachineTools): Promise<Record<string, string>> {
  const { environment, readFile } = machine.tools;
  const file = environment.AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE;
  if (!file) {
    const token = environment.AWS_CONTAINER_AUTHORIZATION_TOKEN;
    return token ? { authorization: token } : {};
  }
  const text = readFile
    ? await readFile(file).catch((cause) => fail(unreadable, machine, cause))
    : fail(unreadable, machine);
  const authorization = text.trim();
  // a line break would end the header
  return /^[\x20-\x7e]+$/.test(authorization) ? { authorization } : fail(unreadable, machine);
}

const unreadable = "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE cannot be used";

async function loadContainerKeys(url: string, machine: MachineTools): Promise<FetchedToken> {
  const named = { ...machine, what: "the container credentials service" };
  return readKeys(await ask(url, { method: "GET", headers: await containerToken(machine) }, named), named);
}

/** Keys of the role of this instance, by the second version of its metadata service. */
async function loadInstanceKeys(machine: MachineTools): Promise<FetchedToken> {
  const named = { ...machine, what: "the instance metadata service" };
  const lifetime = { "x-aws-ec2-metadata-token-ttl-seconds": "300" };
  const token = await ask(`${instanceHost}/latest/api/token`, { method: "PUT", headers: lifetime }, named);
  if (!/^[\x21-\x7e]{1,4096}$/.test(token)) return fail(`${named.what} returned no token`, machine);
  const init = { method: "GET", headers: { "x-aws-ec2-metadata-token": token } };
  const [role = ""] = (await ask(instanceHost + rolesPath, init, named)).trim().split(/\s+/);
  if (role === "") return fail("this instance has no role", machine);
  return readKeys(await ask(instanceHost + rolesPath + encodeURIComponent(role), init, named), named);
}

/**
 * Keys of the container or instance this process runs in; undefined where the operator enabled neither. All callers
 * that may use them get the same keys.
 *
 * @throws {UpstreamError} 502 if the service returns no keys.
 */
export async function machineKeys(machine: MachineTools): Promise<AwsKeys | undefined> {
  const { environment, tokens } = machine.tools;
  const url = addressOrFail(machine);
  if (url !== undefined) {
    const text = await tokens.get(["operator", "aws-container", url], () => loadContainerKeys(url, machine));
    return JSON.parse(text);
  }
  if (!isSwitchedOn(environment.AWS_EC2_METADATA)) return undefined;
  return JSON.parse(await tokens.get(["operator", "aws-instance"], () => loadInstanceKeys(machine)));
}

function addressOrFail(machine: MachineTools): string | undefined {
  try {
    return containerAddress(machine.tools.environment);
  } catch (cause) {
    return fail("the operator's container credentials address is not allowed", machine, cause);
  }
}
