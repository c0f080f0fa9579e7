import { Button, Group, Modal, Select, Stack, TextInput } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type FormEvent, type ReactNode, useState } from "react";
import { post } from "@/api/client.ts";
import { Failure } from "@/components/states.tsx";
import { useWorkspaceQuery } from "@/resources/data.ts";
import { useCollections } from "@/resources/prompt-options.ts";
import { text } from "@/text/text.ts";
import { openingOf, readTools, toParameters } from "./request.ts";
import type { Column, Playground } from "./state.ts";

const words = text.playground;

interface SaveDialogProps {
  readonly state: Playground;
  readonly column: Column;
  readonly onClose: () => void;
}

/** Saves the messages, model and parameters of a column as a prompt. */
export function SaveDialog({ state, column, onClose }: SaveDialogProps): ReactNode {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const workspace = useWorkspaceQuery({ workspace: "required" });
  const collections = useCollections();
  const [name, setName] = useState("");
  const [chosen, setChosen] = useState<string | null>(null);
  const [status, setStatus] = useState<{ busy: boolean; error?: unknown }>({ busy: false });
  const collection = chosen ?? collections[0]?.value ?? null;
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setStatus({ busy: true });
    try {
      const { target } = column;
      const tools = readTools(state.tools);
      const { slug } = await post("/v1/prompts", {
        body: {
          ...workspace,
          name,
          collection_id: collection,
          string: JSON.stringify(openingOf(state, column)),
          parameters: toParameters(column.parameters),
          model: target.model === "" ? null : target.model,
          virtual_key: target.kind === "provider" && target.provider.startsWith("@") ? target.provider.slice(1) : "",
          ...(tools !== undefined && tools.length > 0 && { tools }),
        },
      });
      await queries.invalidateQueries({ queryKey: ["prompts"] });
      notifications.show({ message: text.common.created({ what: text.prompts.one }) });
      await navigate({ to: `/prompts/${encodeURIComponent(slug)}` });
    } catch (error) {
      setStatus({ busy: false, error });
    }
  };
  return (
    <Modal opened onClose={onClose} title={words.saveTitle} closeButtonProps={{ "aria-label": text.common.close }}>
      <form onSubmit={submit}>
        <Stack>
          <TextInput
            label={text.common.name}
            required
            data-autofocus
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
          />
          <Select
            label={text.prompts.collection}
            data={[...collections]}
            value={collection}
            onChange={setChosen}
            allowDeselect={false}
          />
          {status.error !== undefined && <Failure error={status.error} />}
          <Group justify="end">
            <Button variant="default" onClick={onClose}>
              {text.common.cancel}
            </Button>
            <Button type="submit" loading={status.busy} disabled={name.trim() === "" || collection === null}>
              {text.common.save}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
