import { createOwnRequest, type OwnRequestInit } from "../../context/own-request.ts";
import type { ConnectionInfo } from "../../context.ts";
import type { GatewayBatchRow } from "../../db/tables/batches.ts";
import { errorOf, retryableStatuses } from "./call-line.ts";
import { readOwnAnswer } from "./internal-request.ts";
import { openOptions } from "./options.ts";
import type { StepParts } from "./progress.ts";

/** Why a provider's batch cannot continue. */
export class ProviderFailure extends Error {
  readonly code: string;
  /** Status of the provider's response, if there was one. */
  readonly status: number | undefined;
  /** The failure may be temporary. */
  readonly isPassing: boolean;

  constructor(
    code: string,
    message: string,
    { status, isPassing = false }: { status?: number; isPassing?: boolean } = {},
  ) {
    super(message);
    this.code = code;
    this.status = status;
    this.isPassing = isPassing;
  }
}

/** Statuses of temporary failures. */
function mayPass(status: number): boolean {
  return retryableStatuses.has(status) || status === 409 || status === 425 || status > 499;
}

/** What went wrong, for the owner of the batch. */
function describe(what: string, { provider }: GatewayBatchRow, status: number, message: string): string {
  const refused = status === 401 || status === 403 ? " and refused the credential or its permissions" : "";
  return `Cannot ${what}: ${provider} answered ${status}${refused}: ${message}`.slice(0, 2_000);
}

async function toFailure(what: string, row: GatewayBatchRow, response: Response): Promise<ProviderFailure> {
  const { status } = response;
  const { code, message } = errorOf(await readOwnAnswer(response).catch(() => ({})), status);
  return new ProviderFailure(code, describe(what, row, status, message), { status, isPassing: mayPass(status) });
}

/** A request about a batch to its provider. */
interface ProviderRequest extends Omit<OwnRequestInit, "signal" | "headers"> {
  /** What it is for, such as `upload the input`. */
  what: string;
  path: string;
  headers?: Readonly<Record<string, string>>;
  /** Models its body does not name. */
  models?: ConnectionInfo["models"];
  onSettled?: ConnectionInfo["onSettled"];
}

/**
 * Calls the provider of a batch as a client with the batch's key would.
 *
 * @throws {ProviderFailure} For any response that is not a success.
 */
export async function askProvider(
  row: GatewayBatchRow,
  { what, path, headers, models, onSettled, ...init }: ProviderRequest,
  { services, signal }: StepParts,
): Promise<Response> {
  const principal = await services.authenticator.ofKey(row.apiKeyId);
  if (!principal || principal.workspaceId !== row.workspaceId) {
    throw new ProviderFailure("invalid_api_key", "The API key that made the batch can no longer be used");
  }
  const options = await openOptions(row, services);
  const all = { "x-gateway-trace-id": row.id, ...headers, ...options, ...contentOf(headers) };
  const request = createOwnRequest(path, { ...init, headers: all, signal });
  const connection = { actingFor: principal, ...(models && { models }), ...(onSettled && { onSettled }) };
  const response = await services.handle(request, connection);
  if (response.status > 199 && response.status < 300) return response;
  throw await toFailure(what, row, response);
}

/** The gateway sets the content type itself. */
function contentOf(headers: ProviderRequest["headers"]): Record<string, string> {
  const type = headers?.["content-type"];
  return type === undefined ? {} : { "content-type": type };
}

/** As `askProvider`, with the fields of the JSON response. */
export async function askForRecord(
  row: GatewayBatchRow,
  request: ProviderRequest,
  parts: StepParts,
): Promise<Record<string, unknown>> {
  const response = await askProvider(row, request, parts);
  try {
    return await readOwnAnswer(response);
  } catch {
    throw unreadable(request.what, row);
  }
}

/** A response that lacks what the next step needs. */
export function unreadable(what: string, { provider }: GatewayBatchRow): ProviderFailure {
  const message = `Cannot ${what}: the response of ${provider} cannot be parsed`;
  return new ProviderFailure("upstream_bad_answer", message, { isPassing: true });
}

/** A provider's id as a path segment; ids that are encoded already are not encoded again. */
export function toSegment(id: string): string {
  return id.includes("%") ? id : encodeURIComponent(id);
}

/** Whether a string can be an id: the provider's value becomes part of a path. */
export function isId(id: string): boolean {
  return /^[A-Za-z0-9][\w.:~%/+-]{0,2047}$/.test(id) && !/(?:^|\/|%2f)\.\.?(?:$|\/|%2f)/i.test(id);
}
