import type { ReactNode } from "react";
import type { AnswerOf } from "@/api/client.ts";
import type { Attribute } from "@/components/attribute.ts";
import { RecordTable } from "@/components/record-table.tsx";
import { showUser } from "@/resources/names.tsx";
import type { RowIn, SectionProps } from "@/resources/types.ts";
import { text } from "@/text/text.ts";
import { Part } from "./part.tsx";
import { usePart } from "./use-part.ts";

const words = text.resources.mcpServers;
const fields = text.resources.fields;

type Connection = RowIn<AnswerOf<"GET /v1/mcp-servers/{slug}/connections">>;

const columns: readonly Attribute<Connection>[] = [
  { label: fields.user, of: ({ user_id }) => user_id, render: showUser },
  { label: words.state, of: ({ status }) => status, kind: "status" },
  { label: fields.expires, of: ({ expires_at }) => expires_at, kind: "ago" },
  { label: fields.created, of: ({ created_at }) => created_at, kind: "ago" },
];

/** Accounts that users connected at a tool server. */
export default function Connections({ id }: SectionProps): ReactNode {
  const part = usePart("/v1/mcp-servers/{slug}/connections", { path: { slug: id }, inWorkspace: true });
  return (
    <Part part={part}>
      {({ data }) => (
        <RecordTable
          label={words.connections}
          columns={columns}
          rows={data}
          idOf={({ user_id: user, issuer }) => `${user} ${issuer}`}
          empty={words.connectionsEmpty}
        />
      )}
    </Part>
  );
}
