import { ActionIcon, Button, Group, Tooltip } from "@mantine/core";
import type { ReactNode } from "react";
import { Icon } from "@/components/icons.tsx";
import type { JsonObject } from "@/lib/json.ts";
import { text } from "@/text/text.ts";
import {
  addTarget,
  canRemove,
  move,
  moveInto,
  moveOut,
  type NodePath,
  remove,
  type TreeChange,
  wrap,
} from "./edit-tree.ts";

const words = text.configs;

interface TreeButtonsProps {
  readonly root: JsonObject;
  /** The chosen node. */
  readonly at: NodePath;
  readonly onChange: (change: TreeChange) => void;
}

/** What can be done with the chosen node of a tree: what cannot be done is switched off. */
export function TreeButtons({ root, at, onChange }: TreeButtonsProps): ReactNode {
  const buttons = [
    { icon: "up", label: words.moveUp, change: move(root, at, -1) },
    { icon: "down", label: words.moveDown, change: move(root, at, 1) },
    { icon: "back", label: words.moveOut, change: moveOut(root, at) },
    { icon: "leave", label: words.moveInto, change: moveInto(root, at) },
    { icon: "folder", label: words.wrap, change: wrap(root, at) },
    { icon: "trash", label: words.remove, change: canRemove(root, at) ? remove(root, at) : undefined },
  ] as const;
  return (
    <Group gap="xs" mb="sm" role="toolbar" aria-label={words.targets}>
      <Button
        variant="default"
        size="xs"
        leftSection={<Icon name="plus" size={14} />}
        onClick={() => onChange(addTarget(root, at))}
      >
        {words.addTarget}
      </Button>
      {buttons.map(({ icon, label, change }) => (
        <Tooltip key={icon} label={label}>
          <ActionIcon
            variant="default"
            aria-label={label}
            disabled={change === undefined}
            onClick={() => change !== undefined && onChange(change)}
          >
            <Icon name={icon} size={14} />
          </ActionIcon>
        </Tooltip>
      ))}
    </Group>
  );
}
