import { Button } from "@mantine/core";
import { type ReactNode, useState } from "react";
import type { ApiRow } from "@/api/client.ts";
import { ConfirmName } from "@/components/confirm-name.tsx";
import { Icon } from "@/components/icons.tsx";
import { useSession } from "@/session/context.tsx";
import { text } from "@/text/frame.ts";

interface DeleteButtonProps {
  /** Row of the API that deletes: without the right to call it, nothing is shown. */
  readonly row: ApiRow;
  readonly what: string;
  /** What must be typed to confirm. */
  readonly name: string;
  /** What the buttons say. Default: Delete. */
  readonly verb?: string;
  readonly onConfirm: () => Promise<void>;
}

/** A button that deletes or removes a record once its name was typed. */
export function DeleteButton({ row, what, name, verb = text.common.delete, onConfirm }: DeleteButtonProps): ReactNode {
  const { can } = useSession();
  const [isAsking, setAsking] = useState(false);
  if (!can(row)) return null;
  return (
    <>
      <Button variant="default" onClick={() => setAsking(true)} leftSection={<Icon name="trash" size={14} />}>
        {verb}
      </Button>
      {isAsking && (
        <ConfirmName what={what} name={name} verb={verb} onConfirm={onConfirm} onClose={() => setAsking(false)} />
      )}
    </>
  );
}
