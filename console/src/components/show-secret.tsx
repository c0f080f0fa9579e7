import { Button, Group, Modal, Stack, Text } from "@mantine/core";
import type { ReactNode } from "react";
import { text } from "@/text/frame.ts";
import { Command } from "./states.tsx";

/** Shows a secret once, right after it was made. */
export function ShowSecret({ value, onClose }: { readonly value: string; readonly onClose: () => void }): ReactNode {
  return (
    <Modal
      opened
      onClose={onClose}
      title={text.secret.title}
      closeOnClickOutside={false}
      withCloseButton={false}
      size="lg"
    >
      <Stack>
        <Text size="sm">{text.secret.hint}</Text>
        <Command value={value} />
        <Group justify="end">
          <Button onClick={onClose}>{text.secret.done}</Button>
        </Group>
      </Stack>
    </Modal>
  );
}
