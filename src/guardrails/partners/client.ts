import * as v from "valibot";
import type { Clock } from "../../lib/clock.ts";
import { isHeaderValue } from "../../lib/headers.ts";
import { isObject } from "../../lib/json.ts";
import { mapParallel } from "../../lib/parallel.ts";
import { createValueMask } from "../../lib/secret-values.ts";
import {
  callService,
  ForwardHeaders,
  forwardedHeaders,
  isLatin,
  type ServiceAnswer,
  timeoutOf,
  toStatusError,
} from "../call.ts";
import { readStrings } from "../strings/bodies.ts";
import {
  type AnyCheck,
  type Authorization,
  type Check,
  CheckError,
  type CheckInput,
  type CheckOutcome,
  type CheckTools,
} from "../types.ts";
import { cloudPartnerChecks } from "./cloud-partners.ts";
import { judgePartnerChecks } from "./judge-partners.ts";
import { richPartnerChecks } from "./rich-partners.ts";
import { searchPartnerChecks } from "./search-partners.ts";
import { BaseUrl, simplePartnerChecks } from "./simple-partners.ts";
import type { AnyPartnerCheck, Credentials, PartnerCall, PartnerVerdict, Question, Turn } from "./types.ts";

/** Every check of a partner. */
export const partnerChecks: readonly AnyPartnerCheck[] = [
  ...simplePartnerChecks,
  ...richPartnerChecks,
  ...judgePartnerChecks,
  ...cloudPartnerChecks,
  ...searchPartnerChecks,
];

/** Most parts that are sent one by one, and how many at once. */
const maxCalls = 64;
const callsAtOnce = 4;
const defaultTimeoutMs = 5_000;

/** Parameters of every partner check, besides its own. */
interface CommonParameters {
  readonly credentials: Readonly<Record<string, unknown>> | undefined;
  readonly integration: string | undefined;
  readonly timeout: number;
  readonly forwardHeaders: readonly string[];
}
type Parameters = CommonParameters & Readonly<Record<string, unknown>>;

/** Schema of the parameters of a check. */
function schemaOf({ parameters, timeoutMs = defaultTimeoutMs }: AnyPartnerCheck) {
  return v.object({
    ...parameters,
    credentials: v.optional(v.record(v.string(), v.unknown())),
    integration: v.optional(v.pipe(v.string(), v.minLength(1), v.maxLength(255))),
    timeout: timeoutOf(timeoutMs),
    forwardHeaders: ForwardHeaders,
  });
}

/** The parameters of the check alone: what all checks have must not reach its service. */
function ownOf(parameters: Parameters): never {
  const { credentials: _, integration: __, timeout: ___, forwardHeaders: ____, ...own } = parameters;
  return own as never; // parsed by the check's own schema
}

/** Text of a message's content. */
function contentOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.flatMap((part) => (isObject(part) && typeof part.text === "string" ? [part.text] : [])).join("\n");
}

/** The conversation: the request's messages, and the response. Requests without messages are one message. */
function turnsOf(input: CheckInput): Turn[] {
  const { messages, system } = input.request.body;
  const own = (Array.isArray(messages) ? messages : [])
    .filter(isObject)
    .map(({ role, content }) => ({ role: typeof role === "string" ? role : "user", content: contentOf(content) }))
    .filter(({ content }) => content !== "");
  const first = contentOf(system);
  const asked = [...(first === "" ? [] : [{ role: "system", content: first }]), ...own];
  if (!input.response) return asked.length > 0 ? asked : [{ role: "user", content: input.text }];
  return [...asked, { role: "assistant", content: input.text }];
}

function toQuestion(input: CheckInput, credentials: Credentials, clock: Clock): Question {
  const { requestType, request, response, strings, rest } = input;
  return {
    input,
    isOutput: response !== undefined,
    text: input.text,
    parts: [...strings, ...rest],
    changeable: strings.length,
    get lastTurn() {
      return readStrings({ phase: "beforeRequestHook", requestType }, request.body, "last").join("\n");
    },
    get turns() {
      return turnsOf(input);
    },
    credentials,
    now: clock.now(),
  };
}

/** Credentials as strings; those of a group where the check has one. */
function readCredentials(given: Readonly<Record<string, unknown>>, group: string | undefined): Credentials {
  const inner = group === undefined ? undefined : given[group];
  const entries = Object.entries(isObject(inner) ? { ...given, ...inner } : given);
  return Object.fromEntries(
    entries.filter((entry): entry is [string, string] => typeof entry[1] === "string" && entry[1] !== ""),
  );
}

/**
 * Checks that credentials are complete and of the right form.
 *
 * @throws {CheckError} Without their values.
 */
function requireCredentials({ partner }: AnyPartnerCheck, credentials: Credentials): Credentials {
  for (const [name, { isOptional, schema }] of Object.entries(partner.credentials)) {
    const value = credentials[name];
    if (value === undefined && isOptional) continue;
    if (value === undefined) throw new CheckError(`Cannot call the service: its credentials have no ${name}`);
    const isUsable = isHeaderValue(value) && isLatin(value) && (schema === undefined || v.is(schema, value));
    if (!isUsable) throw new CheckError(`Cannot call the service: ${name} of its credentials cannot be used`);
  }
  const { customHost } = credentials;
  if (customHost !== undefined && !v.is(BaseUrl, customHost)) {
    throw new CheckError("Cannot call the service: customHost of its credentials cannot be used");
  }
  return credentials;
}

/** The credentials in the parameters or, without them, those of an integration. Never a mixture of both. */
async function findCredentials(
  tools: CheckTools,
  check: AnyPartnerCheck,
  { input, parameters }: { input: CheckInput; parameters: CommonParameters },
): Promise<Credentials> {
  const { credentials, integration } = parameters;
  const { partner } = check;
  if (credentials) return requireCredentials(check, readCredentials(credentials, check.credentialGroup));
  const stored = await tools.findCredentials?.({
    tenant: input.tenant,
    partner: partner.slug,
    name: integration,
    isOrganisations: input.isOrganisations === true,
  });
  if (stored) return requireCredentials(check, stored);
  if (integration === undefined && Object.keys(partner.credentials).length === 0) return {};
  throw new CheckError(
    integration === undefined
      ? `Cannot call the service: there are no credentials for ${partner.slug}; name an integration`
      : `Cannot call the service: the workspace has no active integration ${integration} of ${partner.slug}`,
  );
}

const unsigned = (headers: Record<string, string>): Authorization => ({ headers, refuse: () => false });

/** Whether a service may have refused a token. Clouds return 403 for an expired one too. */
const isRefused = ({ status }: ServiceAnswer): boolean => status === 401 || status === 403;

/** Sends one call, and once more with another token if its service refuses the cached one. */
async function send(
  tools: CheckTools,
  { partner }: AnyPartnerCheck,
  call: PartnerCall & {
    credentials: Credentials;
    tenant: string;
    forwarded: Record<string, string>;
    own: Readonly<Record<string, string>> | undefined;
    timeoutMs: number;
  },
): Promise<unknown> {
  const { credentials, tenant, forwarded, own, timeoutMs } = call;
  const base = (credentials.customHost ?? partner.baseUrl(credentials)).replace(/\/+$/, "");
  const url = `${base}${call.path}`;
  const body = JSON.stringify(call.body);
  const plain = { ...forwarded, ...call.headers, "content-type": "application/json" };
  const request = { method: "POST" as const, url, headers: plain, body };
  const { signs: kind, headers: fallback } = partner;
  const sign = async (): Promise<Authorization> =>
    kind === undefined
      ? unsigned(fallback(credentials))
      : authorize(tools, { kind, request, credentials, tenant, fallback });
  const askBy = tools.clock.monotonic() + timeoutMs;
  const ask = ({ headers }: Authorization) => {
    const left = Math.max(1, Math.round(askBy - tools.clock.monotonic()));
    return callService(tools, { ...request, headers: { ...plain, ...own, ...headers }, timeoutMs: left });
  };
  const signed = await sign();
  const first = await ask(signed);
  const answer = isRefused(first) && signed.refuse() ? await ask(await sign()) : first;
  if (!answer.isOk) throw toStatusError(answer);
  if (answer.json === undefined) {
    throw new CheckError("Cannot use the response of the service: it is not JSON", { name: "PartnerError" });
  }
  return answer.json;
}

/** The authentication of a cloud; its errors are those of the check. */
async function authorize(
  tools: CheckTools,
  {
    kind,
    request,
    credentials,
    tenant,
    fallback,
  }: {
    kind: "aws" | "azure";
    request: { method: "POST"; url: string; headers: Readonly<Record<string, string>>; body: string };
    credentials: Credentials;
    tenant: string;
    fallback: (credentials: Credentials) => Record<string, string>;
  },
): Promise<Authorization> {
  if (!tools.authorize) return unsigned(fallback(credentials));
  try {
    return await tools.authorize(kind, request, { credentials, tenant });
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : "the credentials cannot be used";
    throw new CheckError(`Cannot call the service: ${why}`, { cause });
  }
}

/** All calls of a check, within its time limit. */
async function ask(
  tools: CheckTools,
  check: AnyPartnerCheck,
  { question, parameters }: { question: Question; parameters: Parameters },
): Promise<readonly unknown[]> {
  const { input, credentials } = question;
  const calls = check.calls(question, ownOf(parameters));
  if (calls.length === 0) throw new CheckError("Cannot check: there is no text", { verdict: true });
  if (calls.length > maxCalls) throw new CheckError(`Cannot check: the text has more than ${maxCalls} parts`);
  const forwarded = forwardedHeaders(input, parameters.forwardHeaders);
  // the fixed address of a partner never leads back
  const isNamed = Object.keys(credentials).some(
    (name) => name === "customHost" || check.partner.credentials[name]?.isAddress,
  );
  const own = isNamed ? input.request.ownHeaders : undefined;
  const startedAt = tools.clock.monotonic();
  return mapParallel(calls, callsAtOnce, (call) => {
    const timeoutMs = Math.max(1, Math.round(parameters.timeout - (tools.clock.monotonic() - startedAt)));
    const common = { credentials, tenant: input.tenant, forwarded, own };
    return send(tools, check, { ...call, ...common, timeoutMs });
  });
}

const elsewhere = "a finding is outside the messages, such as in a tool or a schema, which cannot be changed";

/** The verdict as the outcome of a check: only parts of messages can be changed. */
function toOutcome({ pass, data, parts, body }: PartnerVerdict, { changeable, input }: Question): CheckOutcome {
  const explanation = `The service ${pass ? "passed" : "failed"} the ${input.response ? "response" : "request"}`;
  const outcome = { pass, data: { explanation, ...data } };
  if (body) return { ...outcome, body };
  if (!parts) return outcome;
  const isElsewhere = parts.slice(changeable).some((part, index) => {
    const before = input.rest[index];
    return typeof part === "string" && part !== before;
  });
  if (isElsewhere && input.mustSeeAll) throw new CheckError(`Cannot replace every finding: ${elsewhere}`);
  const strings = input.strings.map((text, index) => (parts[index] === text ? null : (parts[index] ?? null)));
  return { ...outcome, strings, ...(isElsewhere && { error: `Cannot replace every finding: ${elsewhere}` }) };
}

/** A value without any secret in its strings. */
function maskIn<Value>(value: Value, secrets: readonly string[]): Value {
  const mask = createValueMask(secrets, () => "*****");
  const text = JSON.stringify(value);
  return text !== undefined && mask.mayStandIn(text) ? JSON.parse(mask.mask(text)) : value;
}

/** The secrets of credentials. */
function secretsOf({ partner }: AnyPartnerCheck, credentials: Credentials): string[] {
  return Object.entries(credentials)
    .filter(([name]) => partner.credentials[name]?.secret !== undefined)
    .map(([, value]) => value);
}

async function run(
  tools: CheckTools,
  check: AnyPartnerCheck,
  { input, parameters }: { input: CheckInput; parameters: Parameters },
): Promise<CheckOutcome> {
  if (input.text.trim() === "") throw new CheckError("Cannot check: there is no text", { verdict: true });
  const credentials = await findCredentials(tools, check, { input, parameters });
  const secrets = secretsOf(check, credentials);
  const question = toQuestion(input, credentials, tools.clock);
  try {
    const answers = await ask(tools, check, { question, parameters });
    const outcome = toOutcome(check.read(answers, question, ownOf(parameters)), question);
    return { ...outcome, ...(outcome.data && { data: maskIn(outcome.data, secrets) }) };
  } catch (error) {
    if (!(error instanceof CheckError)) throw error;
    const { name, message, verdict, data } = error;
    // services may repeat the credential in their errors
    const shown = { name, verdict: check.onlyAdds ?? verdict, ...(data && { data: maskIn(data, secrets) }) };
    throw new CheckError(maskIn(message, secrets), shown);
  }
}

/** The checks of all partners. */
export function createPartnerChecks(tools: CheckTools): AnyCheck[] {
  return partnerChecks.map((check): AnyCheck => {
    const made: Check<Parameters> = {
      id: check.id,
      ...(check.aliases && { aliases: check.aliases }),
      phases: check.phases,
      partner: check.partner.slug,
      parameters: schemaOf(check) as v.GenericSchema<unknown, Parameters>, // it has the common ones and others
      readsAll: () => check.onlyAdds !== true,
      changes: (parameters) => check.changes?.(ownOf(parameters)) === true,
      run: (input, parameters) => run(tools, check, { input, parameters }),
    };
    return made as unknown as AnyCheck; // it only runs with parameters from its own schema
  });
}
