import { Button, Group, Select, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type FormEvent, type ReactNode, useState } from "react";
import { type AnswerOf, get } from "@/api/client.ts";
import type { Attribute } from "@/components/attribute.ts";
import { RecordTable } from "@/components/record-table.tsx";
import { DeleteButton } from "@/layout/delete-button.tsx";
import { workspaceRoles } from "@/resources/options.ts";
import type { RowIn, SectionProps } from "@/resources/types.ts";
import { useSession } from "@/session/context.tsx";
import { text } from "@/text/text.ts";
import { Part } from "./part.tsx";
import { usePart } from "./use-part.ts";

const words = text.resources.workspaces;
const fields = text.resources.fields;

type Member = RowIn<AnswerOf<"GET /v1/admin/workspaces/{id}/users">>;

/** The people of a workspace and their role there. */
export default function Members({ id }: SectionProps): ReactNode {
  const part = usePart("/v1/admin/workspaces/{id}/users", { path: { id } });
  const { can } = useSession();
  const columns: readonly Attribute<Member>[] = [
    {
      label: fields.email,
      of: ({ email }) => email,
      // a long address must leave room for the role and its button
      render: ({ email }) => <span style={{ overflowWrap: "anywhere" }}>{email}</span>,
    },
    {
      label: fields.role,
      of: ({ role }) => role,
      render: ({ id: userId, email, role: current }) => (
        <Select
          aria-label={`${fields.role}: ${email}`}
          data={[...workspaceRoles]}
          value={current}
          allowDeselect={false}
          disabled={!can("PUT /v1/admin/workspaces/{id}/users/{userId}")}
          onChange={(role) =>
            part.write.mutate({
              row: "PUT /v1/admin/workspaces/{id}/users/{userId}",
              path: { id, userId },
              body: { role },
            })
          }
          w={{ base: "6.5rem", sm: "8rem" }}
        />
      ),
    },
  ];
  return (
    <Part part={part}>
      {({ data }) => (
        <>
          <RecordTable
            label={words.members}
            columns={columns}
            rows={data}
            idOf={({ id: user }) => user}
            empty={words.membersEmpty}
            actions={({ id: userId, email }) => (
              <DeleteButton
                row="DELETE /v1/admin/workspaces/{id}/users/{userId}"
                what={words.member}
                name={email}
                verb={words.remove}
                onConfirm={async () =>
                  void (await part.write.mutateAsync({
                    row: "DELETE /v1/admin/workspaces/{id}/users/{userId}",
                    path: { id, userId },
                  }))
                }
              />
            )}
          />
          {can("POST /v1/admin/workspaces/{id}/users") && (
            <AddMember
              onAdd={(user, onSuccess) =>
                part.write.mutate(
                  { row: "POST /v1/admin/workspaces/{id}/users", body: { users: [user] } },
                  { onSuccess },
                )
              }
            />
          )}
        </>
      )}
    </Part>
  );
}

interface NewMember {
  readonly id?: string;
  readonly email?: string;
  readonly role: string;
}

/** Adds a user: chosen by those who may list the users of the organisation, else named by the e-mail address. */
function AddMember({ onAdd }: { readonly onAdd: (user: NewMember, onSuccess: () => void) => void }): ReactNode {
  const { can } = useSession();
  const listsUsers = can("GET /v1/admin/users");
  const { data } = useQuery({
    queryKey: ["options", "/v1/admin/users"],
    enabled: listsUsers,
    queryFn: ({ signal }) => get("/v1/admin/users", { query: { pageSize: 100 }, signal }),
  });
  const [user, setUser] = useState("");
  const [role, setRole] = useState("member");
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (user !== "") onAdd(listsUsers ? { id: user, role } : { email: user, role }, () => setUser(""));
  };
  return (
    <form onSubmit={submit}>
      <Group align="end" gap="xs">
        {listsUsers ? (
          <Select
            label={fields.user}
            data={(data?.data ?? []).map(({ id, email }) => ({ value: id, label: email }))}
            value={user === "" ? null : user}
            onChange={(next) => setUser(next ?? "")}
            searchable
          />
        ) : (
          <TextInput
            label={words.userEmail}
            type="email"
            placeholder={words.userEmailHint}
            value={user}
            w={{ base: "100%", xs: "18rem" }}
            onChange={(event) => setUser(event.currentTarget.value.trim())}
          />
        )}
        <Select
          label={fields.role}
          data={[...workspaceRoles]}
          value={role}
          allowDeselect={false}
          onChange={(next) => setRole(next ?? "member")}
          w="8rem"
        />
        <Button type="submit" variant="default" disabled={user === ""}>
          {words.add}
        </Button>
      </Group>
    </form>
  );
}
