import { Anchor } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { call } from "@/api/client.ts";
import { formatDuration } from "@/lib/format.ts";
import { isRow, type Row, readList, readText } from "@/lib/read.ts";
import classes from "@/resources/checks/checks.module.css";
import { text } from "@/text/text.ts";
import { useWorkspaceQuery } from "./data.ts";
import { Labelled } from "./labelled.tsx";

const words = text.resources.mcpServers;
const labels: Readonly<Record<string, string>> = { ...words.settingLabels, timeout_ms: words.longestCall };

/** Whether users connect accounts at a server: its integration asks for one of each. */
export const needsAccounts = (server: Row): boolean =>
  ["oauth_auto", "external"].includes(readText(server, "mcp_integration_details.auth_type"));

/** The settings of an MCP server in words. */
export function showServerSettings({ settings }: Row): ReactNode {
  if (!isRow(settings)) return null;
  const { pinning, tool_mode: mode, timeout_ms: limit, ...switches } = settings;
  const shown = {
    pinning: words.pinning[String(pinning)] ?? pinning,
    tool_mode: words.toolMode[String(mode)] ?? mode,
    timeout_ms: typeof limit === "number" ? formatDuration(limit) : words.gatewayLimit,
    ...switches,
  };
  return <Labelled value={shown} labelOf={(name) => labels[name] ?? name} />;
}

/** The servers that a server joins. */
export function showJoined({ aggregate }: Row): ReactNode {
  return isRow(aggregate) ? <JoinedServers aggregate={aggregate} /> : null;
}

function JoinedServers({ aggregate }: { readonly aggregate: Row }): ReactNode {
  const members = Array.isArray(aggregate.members) ? aggregate.members.filter(isRow) : [];
  const id = members.map((member) => readText(member, "mcp_server_id")).join(",");
  const workspace = useWorkspaceQuery({ workspace: "optional" });
  const { data } = useQuery({
    queryKey: ["mcp-servers", "list", "joined", workspace, id],
    queryFn: ({ signal }) => call("GET", "/v1/mcp-servers", { query: { ...workspace, id }, signal }),
  });
  const servers = readList(data);
  const mode = readText(aggregate, "prefix_mode");
  return (
    <ul className={classes.list} data-plain>
      {members.map((member) => (
        <li key={readText(member, "prefix")}>
          <Joined member={member} server={servers.find(({ id }) => id === member.mcp_server_id)} />
        </li>
      ))}
      <li className={classes.set}>
        {words.prefixMode}: {words.prefixModes[mode] ?? mode}
      </li>
    </ul>
  );
}

interface JoinedProps {
  readonly member: Row;
  /** Undefined while it is read. */
  readonly server: Row | undefined;
}

function Joined({ member, server }: JoinedProps): ReactNode {
  const names = (list: unknown) => (Array.isArray(list) ? list.map(String).join(", ") : "");
  const include = names(member.include);
  const exclude = names(member.exclude);
  const slug = readText(server, "slug");
  return (
    <>
      {slug === "" ? (
        readText(member, "mcp_server_id")
      ) : (
        <Anchor component={Link} to={`/mcp-servers/${encodeURIComponent(slug)}`} inherit>
          {readText(server, "name")}
        </Anchor>
      )}{" "}
      <span className="code">{readText(member, "prefix")}</span>
      {include !== "" && <> · {words.only(include)}</>}
      {exclude !== "" && <> · {words.without(exclude)}</>}
    </>
  );
}
