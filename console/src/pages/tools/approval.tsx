import { Button, Group, Stack, Text } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { ask } from "@/api/client.ts";
import { TextDiff } from "@/components/code-editor.tsx";
import { Failure } from "@/components/states.tsx";
import { Section } from "@/layout/page.tsx";
import { useSession } from "@/session/context.tsx";
import { text } from "@/text/text.ts";
import type { Capability } from "./types.ts";

const words = text.tools;

/** What the gateway compares with what was approved. */
function comparedOf(
  definition: Pick<Capability, "description" | "input_schema" | "annotations" | "arguments">,
): string {
  const { description, input_schema: schema, annotations, arguments: given } = definition;
  return JSON.stringify({ description, input_schema: schema, annotations, arguments: given }, undefined, 2);
}

interface ApprovalProps {
  readonly capability: Capability;
  readonly integration: string | undefined;
}

/** A definition that nobody approved: what changed, beside the button that approves it. */
export function Approval({ capability, integration }: ApprovalProps): ReactNode {
  const { can } = useSession();
  const queries = useQueryClient();
  const { type, name, approval, approved_definition: approved } = capability;
  const { mutate, error, isPending } = useMutation({
    mutationFn: () =>
      ask("POST /v1/mcp-integrations/{slug}/capabilities/approve", {
        path: { slug: integration ?? "" },
        body: { capabilities: [{ type, name }] },
      }),
    onSuccess: async () => {
      notifications.show({ message: words.approved });
      await queries.invalidateQueries({ queryKey: ["part"] });
    },
  });
  const [before, after] = [approved === null ? "" : comparedOf(approved), comparedOf(capability)];
  return (
    <Section
      title={words.approvals[approval]}
      actions={
        integration !== undefined &&
        can("POST /v1/mcp-integrations/{slug}/capabilities/approve") && (
          <Button loading={isPending} onClick={() => mutate()}>
            {words.approve}
          </Button>
        )
      }
    >
      <Stack gap="sm">
        {error !== null && <Failure error={error} />}
        {approved !== null &&
          (before === after ? (
            <Text size="sm" c="dimmed">
              {words.unseen}
            </Text>
          ) : (
            <TextDiff label={words.changes} before={before} after={after} />
          ))}
        {approved === null && <Group>{words.approvals[approval]}</Group>}
      </Stack>
    </Section>
  );
}
