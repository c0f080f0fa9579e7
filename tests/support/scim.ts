import { call, done } from "./control.ts";
import { adminKey, type TestGateway } from "./gateway.ts";

/** What a route of the protocol answered. */
export interface ScimAnswer<Shape> {
  status: number;
  type: string | null;
  location: string | null;
  body: Shape;
}

/** A user or a group in SCIM format. */
export interface Resource {
  id: string;
  externalId?: string;
  userName: string;
  displayName?: string;
  name?: { givenName?: string; familyName?: string; formatted?: string };
  emails: { value: string; type: string; primary: boolean }[];
  active: boolean;
  groups: { value: string; display: string }[];
  members?: { value: string }[];
  meta: { resourceType: string; location: string };
}

/** A list as the protocol shows it. */
export interface ResourceList {
  totalResults: number;
  itemsPerPage: number;
  startIndex: number;
  Resources: Resource[];
}

/** Calls the protocol as one identity provider. */
export interface ScimClient {
  token: string;
  tokenId: string;
  /** `route` is a method and a path below `/scim/v2`. */
  send<Shape = Resource>(route: string, body?: unknown, base?: string): Promise<ScimAnswer<Shape>>;
  /** The body of a call that must succeed. */
  done<Shape = Resource>(route: string, body?: unknown): Promise<Shape>;
  /** Status and `scimType` of a call that must be refused in the protocol's form. */
  refusal(route: string, body?: unknown): Promise<string>;
}

export const errorSchema = "urn:ietf:params:scim:api:messages:2.0:Error";

/** Sends a request of the protocol with any headers. */
export async function sendScim<Shape>(
  { gateway }: Pick<TestGateway, "gateway">,
  route: string,
  headers: Record<string, string>,
  body?: unknown,
): Promise<ScimAnswer<Shape>> {
  const [method = "GET"] = route.split(" ", 1);
  const path = route.slice(method.length + 1);
  const response = await gateway.fetch(
    new Request(`http://gateway.test${path}`, {
      method,
      headers: { "content-type": "application/scim+json", ...headers },
      ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
    }),
    { remoteAddress: "192.0.2.1" },
  );
  const text = await response.text();
  return {
    status: response.status,
    type: response.headers.get("content-type"),
    location: response.headers.get("location"),
    body: text === "" ? {} : JSON.parse(text),
  };
}

/** Creates an identity provider with a SCIM token. */
export async function createScimClient(gateway: TestGateway, key: string = adminKey): Promise<ScimClient> {
  const { token, id: tokenId } = await done<{ token: string; id: string }>(
    call<{ token: string; id: string }>(gateway, "POST /admin/scim/tokens", { key, body: { name: "Test" } }),
  );
  const send = <Shape = Resource>(route: string, body?: unknown, base = "/scim/v2") => {
    const [method = "GET"] = route.split(" ", 1);
    const path = `${method} ${base}${route.slice(method.length + 1)}`;
    return sendScim<Shape>(gateway, path, { authorization: `Bearer ${token}` }, body);
  };
  return {
    token,
    tokenId,
    send,
    async done<Shape = Resource>(route: string, body?: unknown) {
      const answer = await send<Shape>(route, body);
      if (answer.status < 300) return answer.body;
      throw new Error(`Answered ${answer.status}: ${JSON.stringify(answer.body)}`);
    },
    async refusal(route, body) {
      const {
        status,
        type,
        body: error,
      } = await send<{
        schemas: string[];
        status: string;
        scimType?: string;
        detail: string;
      }>(route, body);
      const isError = error.schemas?.[0] === errorSchema && error.status === String(status) && error.detail !== "";
      if (!isError || type !== "application/scim+json") throw new Error(`Answered ${status}: ${JSON.stringify(error)}`);
      return `${status} ${error.scimType ?? ""}`.trim();
    },
  };
}
