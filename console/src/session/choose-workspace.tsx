import { Button, Group } from "@mantine/core";
import type { ReactNode } from "react";
import { Empty } from "@/components/states.tsx";
import { text } from "@/text/frame.ts";
import { useWorkspace } from "./workspace.tsx";

/** Workspaces that are offered as buttons; all of them are in the header. */
const offered = 8;

/** Shown in place of records that belong to a workspace, while none is chosen. */
export function ChooseWorkspace(): ReactNode {
  const { all, choose } = useWorkspace();
  const choices = (
    <Group gap="xs" justify="center">
      {all.slice(0, offered).map(({ id, name }) => (
        <Button key={id} variant="default" onClick={() => choose(id)}>
          {name}
        </Button>
      ))}
    </Group>
  );
  return <Empty title={text.common.chooseWorkspace} hint={text.common.chooseWorkspaceHint} action={choices} />;
}
