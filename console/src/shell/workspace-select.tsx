import { Select } from "@mantine/core";
import type { ReactNode } from "react";
import { useWorkspace } from "@/session/workspace.tsx";
import { text } from "@/text/frame.ts";

/** Chooses the workspace in view. It is open at first: its code is loaded once it is reached. */
export function WorkspaceSelect(): ReactNode {
  const { all, current, choose } = useWorkspace();
  return (
    <Select
      aria-label={text.common.workspace}
      placeholder={text.common.allWorkspaces}
      data={all.map(({ id, name }) => ({ value: id, label: name }))}
      value={current?.id ?? null}
      onChange={(id) => choose(id ?? undefined)}
      clearable
      searchable
      autoFocus
      defaultDropdownOpened
      w={{ base: "9.5rem", sm: "11rem" }}
    />
  );
}
