import { Select, Switch } from "@mantine/core";
import type { ReactNode } from "react";
import type { AnswerOf } from "@/api/client.ts";
import type { Attribute } from "@/components/attribute.ts";
import { RecordTable } from "@/components/record-table.tsx";
import { choices } from "@/resources/options.ts";
import type { RowIn, SectionProps } from "@/resources/types.ts";
import { useSession } from "@/session/context.tsx";
import { text } from "@/text/text.ts";
import { needsAccounts } from "../mcp-facts.tsx";
import { Part } from "./part.tsx";
import { usePart } from "./use-part.ts";

const words = text.resources.mcpServers;
const fields = text.resources.fields;

type Access = RowIn<AnswerOf<"GET /v1/mcp-servers/{slug}/user-access">>;

const email: Attribute<Access> = { label: fields.email, of: ({ email }) => email };
const connection: Attribute<Access> = {
  label: words.state,
  of: ({ connection_status: status }) => status,
  kind: "status",
};

/** Which users may call a tool server. */
export default function UserAccess({ record, id }: SectionProps<AnswerOf<"GET /v1/mcp-servers/{slug}">>): ReactNode {
  const part = usePart("/v1/mcp-servers/{slug}/user-access", { path: { slug: id }, inWorkspace: true });
  const { can } = useSession();
  const row = "PUT /v1/mcp-servers/{slug}/user-access";
  const editable = can(row);
  const columns = needsAccounts(record) ? [email, connection] : [email];
  return (
    <Part part={part}>
      {({ data, default_user_access: access }) => (
        <>
          <Select
            label={words.defaultAccess}
            data={[...choices("allow", "deny")]}
            value={access}
            disabled={!editable}
            allowDeselect={false}
            onChange={(value) => part.write.mutate({ row, body: { default_user_access: value } })}
            w="12rem"
          />
          <RecordTable
            label={words.access}
            columns={columns}
            rows={data}
            empty={text.common.emptyList}
            idOf={({ user_id: user }) => user}
            actionsLabel={fields.enabled}
            actions={({ user_id, email: address, enabled }) => (
              <Switch
                aria-label={`${fields.enabled}: ${address}`}
                checked={enabled}
                disabled={!editable}
                onChange={(event) =>
                  part.write.mutate({
                    row,
                    body: { user_access: [{ user_id, enabled: event.currentTarget.checked }] },
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
