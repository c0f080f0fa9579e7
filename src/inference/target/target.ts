import type { CallerContext } from "../../context.ts";
import { joinStoredName, readStoredName, type StoredName } from "../../control/stored-name.ts";
import { InvalidRequestError } from "../../errors.ts";
import { isHeaderValue, readNameList } from "../../lib/headers.ts";
import { withoutScheme } from "../../lib/secret-values.ts";
import type { Destination } from "../../providers/core/call.ts";
import { describeUnknownProvider } from "../../providers/registry.ts";
import type { InheritedSettings } from "../../routing/config.ts";
import { readCallerSetting } from "./caller-setting.ts";
import { noteCustomHost } from "./custom-host.ts";
import { readStoredDestination } from "./stored-provider.ts";

function refuse(message: string, param: string, code: string, cause?: unknown): never {
  throw new InvalidRequestError(message, { param, code, ...(cause !== undefined && { cause }) });
}

/** Whether the request names a provider at all. */
export function namesProvider(context: CallerContext): boolean {
  return ["provider", "config", "virtual-key"].some((name) => context.header(name) !== null);
}

/** The stored provider the headers of a request name. */
export function namedInHeaders(context: CallerContext): StoredName | undefined {
  const virtualKey = context.header("virtual-key");
  return (
    readStoredName(context.header("provider")) ??
    (virtualKey === null ? undefined : { slug: virtualKey.replace(/^@/, ""), model: undefined })
  );
}

/** The stored provider a request names: in its headers, else with its model. */
function readStored(context: CallerContext, model: string | undefined): StoredName | undefined {
  const named = namedInHeaders(context);
  return named || context.header("provider") === null ? joinStoredName(named, model) : undefined;
}

/**
 * Where a request goes: from its headers, or from a model written `@provider/model`.
 *
 * @param options.model The model the request names.
 * @param options.customHost Base address for requests that name none.
 * @throws {InvalidRequestError} If no provider is named, the provider is unknown or the host is refused.
 * @throws {GatewayError} As `readStoredDestination`, when the request names a stored provider.
 */
export function readRequestDestination(
  context: CallerContext,
  { model, customHost: fallbackHost }: { model?: string | undefined; customHost?: string | undefined },
): Destination | Promise<Destination> {
  const slug = context.header("provider");
  if (slug === null || slug.startsWith("@") || context.header("virtual-key") !== null) {
    const stored = readStored(context, model);
    if (stored) return readStoredDestination(stored, context, model);
  }
  if (slug === null) {
    const message =
      "Either x-gateway-config or x-gateway-provider header is required: name a provider, for example x-gateway-provider: openai";
    refuse(message, "x-gateway-provider", "provider_required");
  }
  const known = context.services.providers.get(slug);
  if (!known) {
    const problem = describeUnknownProvider(slug, context.services.providers.keys());
    refuse(`Invalid provider passed: ${problem}`, "x-gateway-provider", "invalid_provider");
  }
  const provider = known.bind((name) => {
    const plain = known.plainHeaders.includes(name) ? readClientHeader(name, context) : undefined;
    return readCallerSetting(context, name) ?? plain ?? null;
  });
  const customHost = readCallerSetting(context, "custom-host") ?? fallbackHost;
  if (customHost !== undefined) noteCustomHost(customHost, context);
  context.log.provider = slug;
  const { providerCredential: credential, providerAuthorization: authorization } = context;
  return { provider, customHost, credential, authorization };
}

const noNames: readonly string[] = [];
const unforwardable = new Set(["metadata-flavor", "x-aws-ec2-metadata-token", "x-google-metadata-request"]);

/**
 * The client's headers that `x-gateway-forward-headers` names, else those the config names.
 *
 * @throws {InvalidRequestError} If the list is malformed or names a header that must not be forwarded.
 */
export function readForwardedHeaders(
  context: CallerContext,
  ofConfig: readonly string[] = noNames,
): Record<string, string> {
  const list = context.header("forward-headers");
  if (list === null && ofConfig.length === 0) return {};
  const param = "x-gateway-forward-headers";
  const names =
    list === null
      ? ofConfig
      : (readNameList(list) ??
        refuse(`Cannot read ${param}: it must be a list of header names`, param, "invalid_header"));
  const forwarded: Record<string, string> = {};
  for (const name of names) {
    if (name === param || unforwardable.has(name))
      refuse(`Cannot forward ${name}: remove it from ${param}`, param, "invalid_header");
    // the credential is the gateway's, or sent by the provider's rule already
    if (name === "authorization" || !context.services.headerRules.mayGoUpstream(name)) continue;
    const value = context.headers.get(name);
    if (value === undefined || value.includes(context.gatewayKey)) continue;
    if (!isHeaderValue(value))
      refuse(`Cannot forward ${name}: its value holds control characters`, name, "invalid_header");
    forwarded[name] = value;
    // the provider may repeat it
    if (context.services.redactor.isSensitive(name)) context.log.secrets.push(withoutScheme(value));
  }
  return forwarded;
}

/**
 * Whether responses are limited to fields OpenAI's clients know: yes, unless the request or its config says otherwise.
 */
export function isStrict({ header }: CallerContext, settings?: { strict: boolean | undefined }): boolean {
  const asked = header("strict-open-ai-compliance") ?? header("strict-openai-compliance");
  return asked !== "false" && settings?.strict !== false;
}

/** Whether `x-gateway-beta` names a beta. */
export function namesBeta({ header }: CallerContext, beta: string): boolean {
  const list = header("beta");
  return list !== null && readNameList(list)?.includes(beta) === true;
}

/** A header of the client whose value may be sent upstream: it is well formed and does not hold the gateway's key. */
export function readClientHeader(name: string, { headers, gatewayKey }: CallerContext): string | undefined {
  const value = headers.get(name);
  return value !== undefined && isHeaderValue(value) && !value.includes(gatewayKey) ? value : undefined;
}

/**
 * Time limit for the provider, in milliseconds: from the request's header, its config, else the default.
 *
 * @throws {InvalidRequestError} If the header is not a whole number above zero.
 */
export function readTimeout(context: CallerContext, ofConfig?: number): number {
  const text = context.header("request-timeout");
  if (text === null) return ofConfig ?? context.services.limits.requestTimeoutMs;
  if (!/^[1-9][0-9]{0,9}$/.test(text)) {
    const message = "Cannot use x-gateway-request-timeout: it must be a whole number of milliseconds above zero";
    refuse(message, "x-gateway-request-timeout", "invalid_header");
  }
  return Number(text);
}

/** What decides which headers a target's provider receives. */
interface HeaderSource {
  destination: Destination;
  settings?: Pick<InheritedSettings, "forwardHeaders"> | undefined;
  guard?: { addHeaders(headers: Record<string, string>): void } | undefined;
}

/**
 * Headers for the provider besides those of the operation and the credential: forwarded ones, those the provider reads
 * of its clients, those of guardrails, and those of the integration.
 */
export function sentHeaders(
  { destination: { provider, managed }, settings, guard }: HeaderSource,
  context: CallerContext,
): Record<string, string> {
  const forwarded = readForwardedHeaders(context, settings?.forwardHeaders);
  for (const header of provider.clientHeaders) {
    const value = readClientHeader(header, context);
    if (value !== undefined) forwarded[header] ??= value;
  }
  guard?.addHeaders(forwarded);
  return managed ? Object.assign(forwarded, managed.headers) : forwarded;
}
