import { Anchor, Switch } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { AnswerOf, ApiRow } from "@/api/client.ts";
import type { Attribute } from "@/components/attribute.ts";
import { RecordTable } from "@/components/record-table.tsx";
import { StatusBadge } from "@/components/value.tsx";
import type { RowIn, SectionProps } from "@/resources/types.ts";
import { useSession } from "@/session/context.tsx";
import { text } from "@/text/text.ts";
import { Part } from "./part.tsx";
import { usePart } from "./use-part.ts";

const words = text.resources.mcpIntegrations;
const fields = text.resources.fields;

type McpServer = AnswerOf<"GET /v1/mcp-servers/{slug}">;
type Capability = RowIn<AnswerOf<"GET /v1/mcp-integrations/{slug}/capabilities">>;

/** Leads to the page of a capability of an integration or a server. */
function nameColumn(page: string, slug: string): Attribute<Capability> {
  return {
    label: fields.name,
    of: ({ name }) => name,
    render: ({ type, name }) => (
      <Anchor
        component={Link}
        to={`/${page}/${encodeURIComponent(slug)}/capability?${new URLSearchParams({ type, name })}`}
        className="code"
        inherit
      >
        {name}
      </Anchor>
    ),
  };
}

const columns: readonly Attribute<Capability>[] = [
  { label: fields.type, of: ({ type }) => type, kind: "word" },
  { label: fields.description, of: ({ description }) => description, wide: true },
  {
    label: text.common.status,
    of: ({ approval }) => approval,
    render: ({ approval }) =>
      approval !== "approved" && <StatusBadge value="no_data" label={text.tools.approvals[approval]} />,
    empty: "",
  },
];

interface CapabilitiesProps {
  readonly path: "/v1/mcp-integrations/{slug}/capabilities" | "/v1/mcp-servers/{slug}/capabilities";
  readonly slug: string;
  /** Row of the API that switches one. */
  readonly row: ApiRow;
  /** What stands where nothing was read yet. */
  readonly empty: ReactNode;
}

/** Tools, prompts and resources with a switch each. */
function Capabilities({ path, slug, row: writing, empty }: CapabilitiesProps): ReactNode {
  const part = usePart(path, { path: { slug }, inWorkspace: true });
  const { can } = useSession();
  return (
    <Part part={part}>
      {({ data }) => (
        <RecordTable
          label={words.capabilities}
          columns={[nameColumn(path.split("/")[2] ?? "", slug), ...columns]}
          rows={data}
          empty={empty}
          idOf={({ type, name }) => `${type} ${name}`}
          actionsLabel={fields.enabled}
          actions={({ name, type, enabled }) => (
            <Switch
              aria-label={`${fields.enabled}: ${type} ${name}`}
              checked={enabled}
              disabled={!can(writing)}
              onChange={(event) =>
                part.write.mutate({
                  row: writing,
                  body: { capabilities: [{ name, type, enabled: event.currentTarget.checked }] },
                })
              }
            />
          )}
        />
      )}
    </Part>
  );
}

export function IntegrationCapabilities({ id }: SectionProps): ReactNode {
  const row = "PUT /v1/mcp-integrations/{slug}/capabilities";
  const path = "/v1/mcp-integrations/{slug}/capabilities";
  return <Capabilities path={path} slug={id} row={row} empty={words.capabilitiesEmpty} />;
}

export function ServerCapabilities({ record, id }: SectionProps<McpServer>): ReactNode {
  const row = "PUT /v1/mcp-servers/{slug}/capabilities";
  const path = "/v1/mcp-servers/{slug}/capabilities";
  return <Capabilities path={path} slug={id} row={row} empty={<NothingRead server={record} />} />;
}

/** Leads to the integration of a server, where its capabilities are read. */
function NothingRead({ server }: { readonly server: McpServer }): ReactNode {
  const { can } = useSession();
  const integration = server.mcp_integration_details;
  return (
    <>
      {words.capabilitiesEmpty}{" "}
      {integration !== null && can("GET /v1/mcp-integrations/{slug}") && (
        <Anchor
          component={Link}
          to={`/mcp-integrations/${encodeURIComponent(integration.slug)}`}
          inherit
          underline="always"
        >
          {words.capabilitiesOf({ name: integration.name || integration.slug })}
        </Anchor>
      )}
    </>
  );
}
