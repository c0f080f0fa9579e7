import type { ReactNode } from "react";
import { RecordTable } from "@/components/record-table.tsx";
import { type Row, readList } from "@/lib/read.ts";
import { userAt } from "@/resources/names.tsx";
import { text } from "@/text/text.ts";
import { Part } from "./part.tsx";
import { usePart } from "./use-part.ts";

const words = text.resources.mcpServers;
const fields = text.resources.fields;

/** Accounts that users connected at a tool server. */
export default function Connections({ id }: { readonly record: Row; readonly id: string }): ReactNode {
  const part = usePart(`/v1/mcp-servers/${encodeURIComponent(id)}/connections`, { inWorkspace: true });
  const columns = [
    { label: fields.user, path: "user_id", render: userAt("user_id") },
    { label: words.state, path: "status", kind: "status" },
    { label: fields.expires, path: "expires_at", kind: "ago" },
    { label: fields.created, path: "created_at", kind: "ago" },
  ] as const;
  return (
    <Part part={part}>
      {(data) => (
        <RecordTable label={words.connections} columns={columns} rows={readList(data)} empty={words.connectionsEmpty} />
      )}
    </Part>
  );
}
