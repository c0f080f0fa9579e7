import { noDefaults, type Principal } from "../auth/principal.ts";
import { scopesOfKind } from "../auth/scopes.ts";
import type { Services } from "../context.ts";
import type { Handle } from "../handler.ts";

/** Handles a request of the process itself. */
export type OwnHandle = (request: Request) => Promise<Response>;

/** The process, with the rights of an admin key. Its audit rows say so. */
function principalOf(organisationId: string): Principal {
  return {
    keyId: "gateway",
    kind: "organisation-service",
    organisationId,
    workspaceId: null,
    userId: null,
    scopes: new Set(scopesOfKind("organisation-service")),
    defaults: noDefaults,
  };
}

/**
 * Handles requests of the process with the rights of an organisation.
 *
 * @param name Its id or slug; absent: the only one.
 * @throws {Error} If there is no such organisation, or there are several and the name is absent.
 */
export async function ownHandle(
  { handle, services: { control } }: { handle: Handle; services: Services },
  name: string | undefined,
): Promise<OwnHandle> {
  const all = await control.stores.organisations.listAll();
  const [first, other] = name === undefined ? all : all.filter(({ id, slug }) => id === name || slug === name);
  if (!first) throw new Error(`Cannot find the organisation ${name ?? ""}`);
  if (other) throw new Error("Cannot choose among several organisations: name one by its id or slug");
  const principal = principalOf(first.id);
  return (request) => handle(request, { actingFor: principal });
}
