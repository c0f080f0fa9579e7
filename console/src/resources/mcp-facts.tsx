import { Anchor } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { type AnswerOf, get } from "@/api/client.ts";
import { formatDuration } from "@/lib/format.ts";
import classes from "@/resources/checks/checks.module.css";
import { text } from "@/text/text.ts";
import { useWorkspaceQuery } from "./data.ts";
import { Labelled } from "./labelled.tsx";

const words = text.resources.mcpServers;
const labels: Readonly<Record<string, string>> = { ...words.settingLabels, timeout_ms: words.longestCall };

type McpServer = AnswerOf<"GET /v1/mcp-servers/{slug}">;
type Aggregate = NonNullable<McpServer["aggregate"]>;
type Member = Aggregate["members"][number];

/** Whether users connect accounts at a server: its integration asks for one of each. */
export const needsAccounts = ({ mcp_integration_details: integration }: McpServer): boolean =>
  integration?.auth_type === "oauth_auto" || integration?.auth_type === "external";

/** The settings of an MCP server in words. */
export function showServerSettings({ settings }: McpServer): ReactNode {
  const { pinning, tool_mode: mode, timeout_ms: limit, ...switches } = settings;
  const shown = {
    pinning: words.pinning[pinning] ?? pinning,
    tool_mode: words.toolMode[mode] ?? mode,
    timeout_ms: limit === null ? words.gatewayLimit : formatDuration(limit),
    ...switches,
  };
  return <Labelled value={shown} labelOf={(name) => labels[name] ?? name} />;
}

/** The servers that a server joins. */
export function showJoined({ aggregate }: McpServer): ReactNode {
  return aggregate === null ? null : <JoinedServers aggregate={aggregate} />;
}

function JoinedServers({ aggregate }: { readonly aggregate: Aggregate }): ReactNode {
  const { members, prefix_mode: mode } = aggregate;
  const id = members.map(({ mcp_server_id: server }) => server).join(",");
  const workspace = useWorkspaceQuery({ workspace: "optional" });
  const { data } = useQuery({
    queryKey: ["mcp-servers", "list", "joined", workspace, id],
    queryFn: ({ signal }) => get("/v1/mcp-servers", { query: { ...workspace, id }, signal }),
  });
  return (
    <ul className={classes.list} data-plain>
      {members.map((member) => (
        <li key={member.prefix}>
          <Joined member={member} server={data?.data.find(({ id }) => id === member.mcp_server_id)} />
        </li>
      ))}
      <li className={classes.set}>
        {words.prefixMode}: {words.prefixModes[mode] ?? mode}
      </li>
    </ul>
  );
}

interface JoinedProps {
  readonly member: Member;
  /** Undefined while it is read. */
  readonly server: { readonly slug: string; readonly name: string } | undefined;
}

function Joined({ member, server }: JoinedProps): ReactNode {
  const include = member.include?.join(", ") ?? "";
  const exclude = member.exclude?.join(", ") ?? "";
  return (
    <>
      {server === undefined ? (
        member.mcp_server_id
      ) : (
        <Anchor component={Link} to={`/mcp-servers/${encodeURIComponent(server.slug)}`} inherit>
          {server.name}
        </Anchor>
      )}{" "}
      <span className="code">{member.prefix}</span>
      {include !== "" && <> · {words.only({ names: include })}</>}
      {exclude !== "" && <> · {words.without({ names: exclude })}</>}
    </>
  );
}
