import type { RequestContext } from "../../context.ts";
import { isObject, stringOf } from "../../lib/json.ts";

/** What a client asks a user for. */
export interface ClientFlow {
  readonly kind: "client";
  readonly clientId: string;
  readonly redirectUri: string;
  readonly state: string | null;
  readonly codeChallenge: string;
  /** Address of the MCP server. */
  readonly resource: string;
  readonly scope: string;
}

/** What a user of an API key is asked for: to connect an account to an MCP server. */
interface ConnectFlow {
  readonly kind: "connect";
  readonly organisationId: string;
  readonly workspaceId: string;
  readonly userId: string;
  readonly serverId: string;
  readonly slug: string;
}

/** What a browser is here for. */
export type Flow = ClientFlow | ConnectFlow;

/** Time for a user to finish. */
export const flowMs = 10 * 60_000;

/** A flow for one browser, as a value of a form. */
export function sealFlow(flow: Flow, browserId: string, { services }: RequestContext): Promise<string> {
  return services.oauth.seal.seal("flow", { flow, browser: browserId }, flowMs);
}

const strings = {
  client: ["clientId", "redirectUri", "codeChallenge", "resource", "scope"],
  connect: ["organisationId", "workspaceId", "userId", "serverId", "slug"],
} as const;

/** A flow as it was sealed; undefined for anything else. */
export function readFlow(value: unknown): Flow | undefined {
  if (!isObject(value) || (value.kind !== "client" && value.kind !== "connect")) return undefined;
  if (strings[value.kind].some((name) => stringOf(value[name]) === undefined)) return undefined;
  // each member was checked, and only functions of this file seal such values
  return value as unknown as Flow;
}

/** The flow of a form that this browser got; undefined if it is another's, too old, or none. */
export async function openFlow(
  sealed: string | undefined,
  browserId: string,
  { services }: RequestContext,
): Promise<Flow | undefined> {
  const content = sealed === undefined ? undefined : await services.oauth.seal.open("flow", sealed);
  return content?.browser === browserId ? readFlow(content.flow) : undefined;
}

/** Seals the flow of an address that a user of a key opens. */
export function sealTicket(flow: ConnectFlow, { services }: Pick<RequestContext, "services">): Promise<string> {
  return services.oauth.seal.seal("ticket", { flow }, flowMs);
}

/** The flow of an address that a user of a key opens. */
export async function openTicket(sealed: string | undefined, { services }: RequestContext): Promise<Flow | undefined> {
  const content = sealed === undefined ? undefined : await services.oauth.seal.open("ticket", sealed);
  const flow = readFlow(content?.flow);
  return flow?.kind === "connect" ? flow : undefined;
}
