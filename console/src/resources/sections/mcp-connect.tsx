import { Tabs, Text } from "@mantine/core";
import type { ReactNode } from "react";
import type { AnswerOf } from "@/api/client.ts";
import { Command } from "@/components/states.tsx";
import { type McpClient, mcpClientNames, writeMcpClient } from "@/lib/mcp-clients.ts";
import type { SectionProps } from "@/resources/types.ts";
import { text } from "@/text/text.ts";

const clients = Object.keys(mcpClientNames) as McpClient[]; // the keys of a record of this type

/** How MCP clients are connected to a server. */
export default function McpConnect({ record }: SectionProps<AnswerOf<"GET /v1/mcp-servers/{slug}">>): ReactNode {
  return (
    <>
      <Text size="sm" mb="sm">
        {text.resources.mcpServers.connectHint}
      </Text>
      <Tabs defaultValue="claude" keepMounted={false}>
        <Tabs.List mb="sm">
          {clients.map((client) => (
            <Tabs.Tab key={client} value={client}>
              {mcpClientNames[client]}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {clients.map((client) => (
          <Tabs.Panel key={client} value={client}>
            <Command value={writeMcpClient(client, record)} />
          </Tabs.Panel>
        ))}
      </Tabs>
    </>
  );
}
