import { Button, Drawer } from "@mantine/core";
import type { ReactNode } from "react";
import { Icon } from "@/components/icons.tsx";
import { text } from "@/text/frame.ts";
import { Navigation } from "./navigation.tsx";

interface MenuDrawerProps {
  readonly opened: boolean;
  readonly onClose: () => void;
  /** Opens the command palette. */
  readonly onSearch: () => void;
}

/** The navigation on small screens. */
export function MenuDrawer({ opened, onClose, onSearch }: MenuDrawerProps): ReactNode {
  return (
    <Drawer
      opened={opened}
      onClose={onClose}
      size="16rem"
      title={text.nav.label}
      closeButtonProps={{ "aria-label": text.common.close }}
    >
      <Button
        variant="default"
        fullWidth
        leftSection={<Icon name="search" size={14} />}
        onClick={() => {
          onClose();
          onSearch();
        }}
      >
        {text.common.search}
      </Button>
      <nav aria-label={text.nav.label}>
        <Navigation />
      </nav>
    </Drawer>
  );
}
