import { Button, Group, Modal, Stack, Text, TextInput } from "@mantine/core";
import { type FormEvent, type ReactNode, useState } from "react";
import { text } from "@/text/frame.ts";
import { Failure } from "./states.tsx";

interface ConfirmNameProps {
  readonly what: string;
  /** What must be typed before the button works. */
  readonly name: string;
  /** What is to be done with it, as the button says it. */
  readonly verb: string;
  readonly onConfirm: () => Promise<void>;
  readonly onClose: () => void;
}

/** Asks for the name of what is to be deleted or removed. A failure is shown in the dialog. */
export function ConfirmName({ what, name, verb, onConfirm, onClose }: ConfirmNameProps): ReactNode {
  const [typed, setTyped] = useState("");
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (typed !== name) return;
    setBusy(true);
    try {
      await onConfirm();
    } catch (failure) {
      setError(failure);
      setBusy(false);
    }
  };
  return (
    <Modal
      opened
      onClose={onClose}
      title={text.confirm.title({ verb, what })}
      closeButtonProps={{ "aria-label": text.common.close }}
    >
      <form onSubmit={submit}>
        <Stack>
          <Text size="sm">{text.confirm.hint({ name, isFinal: verb === text.common.delete })}</Text>
          <TextInput
            label={text.confirm.name}
            value={typed}
            onChange={(event) => setTyped(event.currentTarget.value)}
            autoComplete="off"
            data-autofocus
          />
          {error !== undefined && <Failure error={error} />}
          <Group justify="end">
            <Button variant="default" onClick={onClose}>
              {text.common.cancel}
            </Button>
            <Button type="submit" color="red" disabled={typed !== name} loading={busy}>
              {verb}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
