import { Anchor } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { type ApiRow, get } from "@/api/client.ts";
import { Value } from "@/components/value.tsx";
import { nameOf, wordOf } from "@/lib/words.ts";
import { useSession } from "@/session/context.tsx";
import { useWorkspace } from "@/session/workspace.tsx";
import { text } from "@/text/text.ts";
import { useKeyNames } from "./key-names.ts";
import { Labelled } from "./labelled.tsx";
import { labelOfSetting } from "./setting-label.ts";

interface NameProps {
  readonly id: string;
}

/** A workspace by its name; by its id where the viewer does not see it. */
function WorkspaceName({ id }: NameProps): ReactNode {
  const { all } = useWorkspace();
  const name = all.find((workspace) => workspace.id === id)?.name;
  return name ?? <Value value={id} kind="code" />;
}

/** A user by the e-mail address; by the id where the viewer may not read users. */
function UserName({ id }: NameProps): ReactNode {
  const { can } = useSession();
  const { data } = useQuery({
    queryKey: ["users", "name", id],
    enabled: id !== "" && can("GET /v1/admin/users/{userId}"),
    staleTime: 60_000,
    queryFn: async ({ signal }) => (await get("/v1/admin/users/{userId}", { path: { userId: id }, signal })).email,
  });
  return data === undefined || data === "" ? <Value value={id} kind="code" /> : data;
}

interface Actor {
  readonly user_id: string | null;
  readonly user_type: string;
}

/** Who made a change, by name: an API key, a user or the gateway. */
export function ActorName({ record }: { readonly record: Actor }): ReactNode {
  const keys = useKeyNames();
  const id = record.user_id ?? "";
  switch (record.user_type) {
    case "api_key":
      return keys.get(id) ?? <Value value={id} kind="code" />;
    case "user":
      return <UserName id={id} />;
    default:
      return text.audit.system;
  }
}

/** Ids of records. */
const ids = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;

/** A text in which the ids of API keys and workspaces are their names. */
export function WithNames({ value }: { readonly value: string }): ReactNode {
  const keys = useKeyNames();
  const { all } = useWorkspace();
  return value.replaceAll(ids, (id) => keys.get(id) ?? all.find((workspace) => workspace.id === id)?.name ?? id);
}

interface ConditionOfLimit {
  readonly key: string;
  readonly value: string | readonly string[];
  readonly excludes?: string | readonly string[];
}

/** Conditions of a limit as `key = value`. */
export function conditionsOf({ conditions }: { readonly conditions: readonly ConditionOfLimit[] }): ReactNode {
  const parts = conditions.map(({ key, value, excludes }) => {
    const values = [excludes ?? value].flat().join(", ");
    return `${nameOf(key)} ${excludes === undefined ? "=" : "≠"} ${values}`;
  });
  return <WithNames value={parts.join("; ")} />;
}

/** The workspace of a record. */
export const showWorkspace = ({ workspace_id: id }: { readonly workspace_id: string | null }): ReactNode => (
  <WorkspaceName id={id ?? ""} />
);

interface Invited {
  readonly workspaces: readonly { readonly workspace_id: string; readonly role: string }[];
}

/** Workspaces by name, each with a role there. */
export const workspacesWithRoles = ({ workspaces }: Invited): ReactNode => (
  <>
    {workspaces.map(({ workspace_id: id, role }) => (
      <div key={id}>
        <WorkspaceName id={id} />: {wordOf(role)}
      </div>
    ))}
  </>
);

interface GuardrailNamesProps {
  readonly workspace: string;
  readonly ids: readonly string[];
}

/** Guardrails by name; by id where the viewer does not see them. */
function GuardrailNames({ workspace, ids }: GuardrailNamesProps): ReactNode {
  const { can } = useSession();
  const query = { page_size: 100, workspace_id: workspace };
  const { data } = useQuery({
    queryKey: ["options", "/v1/guardrails", undefined, { workspace_id: workspace }],
    enabled: can("GET /v1/guardrails"),
    staleTime: 30_000,
    queryFn: ({ signal }) => get("/v1/guardrails", { query, signal }),
  });
  const names = new Map(data?.data.map(({ id, name }) => [id, name]));
  return ids.map((id) => names.get(id) ?? id).join(", ");
}

/** Guardrails of a workspace, by their ids. */
export const showGuardrails = (workspace: string, ids: readonly string[] = []): ReactNode => (
  <GuardrailNames workspace={workspace} ids={ids} />
);

/** The user of a record. */
export const showUser = ({ user_id: id }: { readonly user_id: string | null }): ReactNode => <UserName id={id ?? ""} />;

interface RecordLinkProps {
  /** Address of the record in the console. */
  readonly to: string;
  /** Row of the API that its page reads. */
  readonly row: ApiRow;
  readonly children: ReactNode;
}

/** The name of a record, as a link for those who may read it. */
function RecordLink({ to, row, children }: RecordLinkProps): ReactNode {
  const { can } = useSession();
  return can(row) ? (
    <Anchor component={Link} to={to} inherit>
      {children}
    </Anchor>
  ) : (
    children
  );
}

interface IntegrationLinkProps {
  readonly kind: "integrations" | "mcp-integrations";
  readonly slug: string;
  readonly name: string | null;
}

/** The integration of a provider or an MCP server, as a link. */
export function IntegrationLink({ kind, slug, name }: IntegrationLinkProps): ReactNode {
  return (
    <RecordLink to={`/${kind}/${encodeURIComponent(slug)}`} row={`GET /v1/${kind}/{slug}`}>
      {name || slug}
    </RecordLink>
  );
}

/** A file of the gateway by its name, as a link; by its id where the gateway does not hold it. */
function FileName({ id }: NameProps): ReactNode {
  const { can } = useSession();
  const { data } = useQuery({
    queryKey: ["files", "name", id],
    enabled: id !== "" && can("GET /v1/files/{id}"),
    staleTime: 60_000,
    retry: false,
    queryFn: async ({ signal }) => (await get("/v1/files/{id}", { path: { id }, signal })).filename,
  });
  if (data === undefined || data === "") return <Value value={id} kind="code" />;
  return (
    <RecordLink to={`/files/${encodeURIComponent(id)}`} row="GET /v1/files/{id}">
      {data}
    </RecordLink>
  );
}

/** A file by its name, from its id. */
export const showFile = (id: string | null | undefined): ReactNode => <FileName id={id ?? ""} />;

interface Mapped {
  readonly secret_mappings?: readonly { readonly target_field: string; readonly secret_reference_id: string }[] | null;
}

/** What is read from a vault, and by which reference. */
export function showMappings({ secret_mappings: mappings }: Mapped): ReactNode {
  const members = (mappings ?? []).map(({ target_field: field, secret_reference_id: reference }) => [
    field.replace(/^configurations\./, ""),
    reference,
  ]);
  return <Labelled value={Object.fromEntries(members)} labelOf={labelOfSetting} />;
}
