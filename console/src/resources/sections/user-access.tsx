import { Select, Switch } from "@mantine/core";
import type { ReactNode } from "react";
import { RecordTable } from "@/components/record-table.tsx";
import { type Row, readList, readText } from "@/lib/read.ts";
import { choices } from "@/resources/options.ts";
import { useSession } from "@/session/context.tsx";
import { text } from "@/text/text.ts";
import { needsAccounts } from "../mcp-facts.tsx";
import { Part } from "./part.tsx";
import { usePart } from "./use-part.ts";

const words = text.resources.mcpServers;
const fields = text.resources.fields;

/** Which users may call a tool server. */
export default function UserAccess({ record, id }: { readonly record: Row; readonly id: string }): ReactNode {
  const part = usePart(`/v1/mcp-servers/${encodeURIComponent(id)}/user-access`, { inWorkspace: true });
  const { can } = useSession();
  const editable = can("PUT /v1/mcp-servers/{slug}/user-access");
  const columns = [
    { label: fields.email, path: "email" },
    ...(needsAccounts(record) ? [{ label: words.state, path: "connection_status", kind: "status" } as const] : []),
  ];
  return (
    <Part part={part}>
      {(data) => (
        <>
          <Select
            label={words.defaultAccess}
            data={[...choices("allow", "deny")]}
            value={readText(data, "default_user_access") || null}
            disabled={!editable}
            allowDeselect={false}
            onChange={(value) => part.write.mutate({ method: "PUT", body: { default_user_access: value } })}
            w="12rem"
          />
          <RecordTable
            label={words.access}
            columns={columns}
            rows={readList(data)}
            empty={text.common.emptyList}
            id={["user_id"]}
            actionsLabel={fields.enabled}
            actions={(row) => (
              <Switch
                aria-label={`${fields.enabled}: ${readText(row, "email")}`}
                checked={row.enabled === true}
                disabled={!editable}
                onChange={(event) =>
                  part.write.mutate({
                    method: "PUT",
                    body: { user_access: [{ user_id: row.user_id, enabled: event.currentTarget.checked }] },
                  })
                }
              />
            )}
          />
        </>
      )}
    </Part>
  );
}
