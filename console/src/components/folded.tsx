import { Button, Collapse } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import type { ReactNode } from "react";
import { Icon } from "./icons.tsx";

interface FoldedProps {
  readonly label: string;
  /** Whether it is open at first. Default: false. */
  readonly isOpen?: boolean;
  readonly children: ReactNode;
}

/** A part of a form that a button folds and unfolds. While it is folded, it is not drawn. */
export function Folded({ label, isOpen = false, children }: FoldedProps): ReactNode {
  const [open, { toggle }] = useDisclosure(isOpen);
  return (
    <div>
      <Button
        variant="subtle"
        size="compact-xs"
        ml={-8}
        onClick={toggle}
        aria-expanded={open}
        rightSection={<Icon name={open ? "fold" : "unfold"} size={12} />}
      >
        {label}
      </Button>
      <Collapse expanded={open}>{open && children}</Collapse>
    </div>
  );
}
