import { Anchor, Switch } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { RecordTable } from "@/components/record-table.tsx";
import { type Row, readList, readText } from "@/lib/read.ts";
import { useSession } from "@/session/context.tsx";
import { text } from "@/text/text.ts";
import { Part } from "./part.tsx";
import { usePart } from "./use-part.ts";

const words = text.resources.mcpIntegrations;
const fields = text.resources.fields;

interface CapabilitiesProps {
  readonly path: string;
  /** Row of the API that switches one. */
  readonly row: string;
  /** What stands where nothing was read yet. */
  readonly empty: ReactNode;
}

/** Tools, prompts and resources with a switch each. */
function Capabilities({ path, row: writing, empty }: CapabilitiesProps): ReactNode {
  const part = usePart(path, { inWorkspace: true });
  const { can } = useSession();
  const columns = [
    { label: fields.name, path: "name", kind: "code" },
    { label: fields.type, path: "type", kind: "word" },
    { label: fields.description, path: "description", wide: true },
  ] as const;
  const isOn = (row: Row) => row.enabled === true || row.enabled === 1;
  return (
    <Part part={part}>
      {(data) => (
        <RecordTable
          label={words.capabilities}
          columns={columns}
          rows={readList(data)}
          empty={empty}
          id={["type", "name"]}
          actionsLabel={fields.enabled}
          actions={(row) => (
            <Switch
              aria-label={`${fields.enabled}: ${readText(row, "type")} ${readText(row, "name")}`}
              checked={isOn(row)}
              disabled={!can(writing)}
              onChange={(event) =>
                part.write.mutate({
                  method: "PUT",
                  body: { capabilities: [{ name: row.name, type: row.type, enabled: event.currentTarget.checked }] },
                })
              }
            />
          )}
        />
      )}
    </Part>
  );
}

interface SectionProps {
  readonly record: Row;
  readonly id: string;
}

export function IntegrationCapabilities({ id }: SectionProps): ReactNode {
  const row = "PUT /v1/mcp-integrations/{slug}/capabilities";
  const path = `/v1/mcp-integrations/${encodeURIComponent(id)}/capabilities`;
  return <Capabilities path={path} row={row} empty={words.capabilitiesEmpty} />;
}

export function ServerCapabilities({ record, id }: SectionProps): ReactNode {
  const row = "PUT /v1/mcp-servers/{slug}/capabilities";
  const path = `/v1/mcp-servers/${encodeURIComponent(id)}/capabilities`;
  return <Capabilities path={path} row={row} empty={<NothingRead server={record} />} />;
}

/** Leads to the integration of a server, where its capabilities are read. */
function NothingRead({ server }: { readonly server: Row }): ReactNode {
  const { can } = useSession();
  const slug = readText(server, "mcp_integration_details.slug");
  return (
    <>
      {words.capabilitiesEmpty}{" "}
      {slug !== "" && can("GET /v1/mcp-integrations/{slug}") && (
        <Anchor component={Link} to={`/mcp-integrations/${encodeURIComponent(slug)}`} inherit underline="always">
          {words.capabilitiesOf(readText(server, "mcp_integration_details.name") || slug)}
        </Anchor>
      )}
    </>
  );
}
