import { Anchor } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { call } from "@/api/client.ts";
import { Value } from "@/components/value.tsx";
import { isRow, type Row, readList, readPath, readRecord, readText } from "@/lib/read.ts";
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
    queryFn: async ({ signal }) =>
      readText(readRecord(await call("GET", `/v1/admin/users/${encodeURIComponent(id)}`, { signal })), "email"),
  });
  return data === undefined || data === "" ? <Value value={id} kind="code" /> : data;
}

/** Who made a change, by name: an API key, a user or the gateway. */
export function ActorName({ record }: { readonly record: Row }): ReactNode {
  const keys = useKeyNames();
  const id = readText(record, "user_id");
  switch (readText(record, "user_type")) {
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

/** Conditions of a limit as `key = value`. */
export function conditionsOf({ conditions }: Row): ReactNode {
  const parts = (Array.isArray(conditions) ? conditions.filter(isRow) : []).map(({ key, value, excludes }) => {
    const values = [excludes ?? value].flat().map(String).join(", ");
    return `${nameOf(String(key))} ${excludes === undefined || excludes === null ? "=" : "≠"} ${values}`;
  });
  return <WithNames value={parts.join("; ")} />;
}

/** Renders the workspace whose id stands at a path. */
export const workspaceAt =
  (path: string) =>
  (row: Row): ReactNode => <WorkspaceName id={String(readPath(row, path) ?? "")} />;

/** Workspaces by name, each with a role there. */
export const workspacesWithRoles = ({ workspaces }: Row): ReactNode => (
  <>
    {(Array.isArray(workspaces) ? workspaces.filter(isRow) : []).map((one) => (
      <div key={readText(one, "workspace_id")}>
        <WorkspaceName id={readText(one, "workspace_id")} />: {wordOf(readText(one, "role"))}
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
    queryFn: ({ signal }) => call("GET", "/v1/guardrails", { query, signal }),
  });
  const names = new Map(readList(data).map((row) => [readText(row, "id"), readText(row, "name")]));
  return ids.map((id) => names.get(id) ?? id).join(", ");
}

/** Renders the guardrails of a workspace whose ids stand at a path. */
export const guardrailsAt =
  (path: string) =>
  (row: Row): ReactNode => {
    const ids = readPath(row, path);
    return <GuardrailNames workspace={readText(row, "id")} ids={Array.isArray(ids) ? ids.map(String) : []} />;
  };

/** Renders the user whose id stands at a path. */
export const userAt =
  (path: string) =>
  (row: Row): ReactNode => <UserName id={String(readPath(row, path) ?? "")} />;

interface RecordLinkProps {
  /** Address of the record in the console. */
  readonly to: string;
  /** Row of the API that its page reads. */
  readonly row: string;
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

/** Renders the integration of a provider or an MCP server as a link; its slug and name stand at two paths. */
export const integrationAt =
  (kind: "integrations" | "mcp-integrations", slugPath: string, namePath: string) =>
  (row: Row): ReactNode => {
    const slug = readText(row, slugPath);
    return (
      <RecordLink to={`/${kind}/${encodeURIComponent(slug)}`} row={`GET /v1/${kind}/{slug}`}>
        {readText(row, namePath) || slug}
      </RecordLink>
    );
  };

/** A file of the gateway by its name, as a link; by its id where the gateway does not hold it. */
function FileName({ id }: NameProps): ReactNode {
  const { can } = useSession();
  const { data } = useQuery({
    queryKey: ["files", "name", id],
    enabled: id !== "" && can("GET /v1/files/{id}"),
    staleTime: 60_000,
    retry: false,
    queryFn: async ({ signal }) =>
      readText(readRecord(await call("GET", `/v1/files/${encodeURIComponent(id)}`, { signal })), "filename"),
  });
  if (data === undefined || data === "") return <Value value={id} kind="code" />;
  return (
    <RecordLink to={`/files/${encodeURIComponent(id)}`} row="GET /v1/files/{id}">
      {data}
    </RecordLink>
  );
}

/** Renders the file whose id stands at a path. */
export const fileAt =
  (path: string) =>
  (row: Row): ReactNode => <FileName id={readText(row, path)} />;

/** What is read from a vault, and by which reference. */
export function showMappings({ secret_mappings: mappings }: Row): ReactNode {
  const rows = Array.isArray(mappings) ? mappings.filter(isRow) : [];
  const members = rows.map((one) => [
    readText(one, "target_field").replace(/^configurations\./, ""),
    readText(one, "secret_reference_id"),
  ]);
  return <Labelled value={Object.fromEntries(members)} labelOf={labelOfSetting} />;
}
