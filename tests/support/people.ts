import { call, done } from "./control.ts";
import type { TestGateway } from "./gateway.ts";

/** Response to a new invite. */
export interface InviteReceipt {
  id: string;
  invite_link: string;
}

/** Response to an accepted invite. */
export interface Accepted {
  id: string;
  api_keys: { id: string; key: string; workspace_id: string }[];
}

/** A user who accepted an invite. */
export interface Person {
  id: string;
  email: string;
  /** The key of the first workspace; empty where none was asked for. */
  key: string;
  keyId: string;
}

/** The token of an invite's link. */
export function tokenOf(link: string): string {
  return new URL(link).searchParams.get("token") ?? "";
}

/** Input of an invitation. */
export interface Invitation {
  role?: string;
  workspaces?: { id: string; role: string }[];
  scopes?: readonly string[];
  key?: string;
}

/** Invites a user and accepts for them. */
export async function addPerson(
  gateway: Pick<TestGateway, "gateway">,
  email: string,
  { role = "member", workspaces = [], scopes, key }: Invitation = {},
): Promise<Person> {
  const body = { email, role, workspaces, ...(scopes && { workspace_api_key_details: { scopes } }) };
  const caller = key === undefined ? {} : { key };
  const invite = await done(call<InviteReceipt>(gateway, "POST /admin/users/invites", { body, ...caller }));
  const accepted = await done(
    call<Accepted>(gateway, `POST /admin/users/invites/${invite.id}/accept`, {
      key: "",
      body: { token: tokenOf(invite.invite_link) },
    }),
  );
  const [first] = accepted.api_keys;
  return { id: accepted.id, email, key: first?.key ?? "", keyId: first?.id ?? "" };
}

/** A list in a response. */
export interface List<Row> {
  object: string;
  total: number;
  data: Row[];
}

/** A refusal as text: status, code and field. */
export async function problem(
  gateway: Pick<TestGateway, "gateway">,
  route: string,
  options: Parameters<typeof call>[2],
): Promise<string> {
  const { status, body } = await call<{ error?: { code: string; param: string | null } }>(gateway, route, options);
  return `${status} ${body.error?.code} ${body.error?.param}`;
}
