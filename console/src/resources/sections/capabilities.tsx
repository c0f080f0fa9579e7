import { Switch } from "@mantine/core";
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
}

/** Tools, prompts and resources with a switch each. */
function Capabilities({ path, row: writing }: CapabilitiesProps): ReactNode {
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
          empty={words.capabilitiesEmpty}
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
  return <Capabilities path={`/v1/mcp-integrations/${encodeURIComponent(id)}/capabilities`} row={row} />;
}

export function ServerCapabilities({ id }: SectionProps): ReactNode {
  const row = "PUT /v1/mcp-servers/{slug}/capabilities";
  return <Capabilities path={`/v1/mcp-servers/${encodeURIComponent(id)}/capabilities`} row={row} />;
}
