import { Button, Group, Modal, NumberInput, Select, Stack, Text, TextInput } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type FormEvent, type ReactNode, useState } from "react";
import { get, post } from "@/api/client.ts";
import { Failure } from "@/components/states.tsx";
import { useWorkspace } from "@/session/workspace.tsx";
import { text } from "@/text/text.ts";

const words = text.resources.exampleSets;

/** Most examples of a version. */
const most = 1000;

interface SaveExamplesProps {
  /** Filters of `GET /v1/logs`. */
  readonly filter: Readonly<Record<string, string>>;
  readonly onClose: () => void;
}

/** Makes the requests that filters choose a new example set, or adds them to one as its next version. */
export default function SaveExamples({ filter, onClose }: SaveExamplesProps): ReactNode {
  const { current } = useWorkspace();
  const [set, setSet] = useState<string | null>(null);
  const [name, setName] = useState("");
  const [limit, setLimit] = useState<number | string>(100);
  const [expected, setExpected] = useState("response");
  const queries = useQueryClient();
  const navigate = useNavigate();
  const place = current && { workspace_id: current.id };
  const sets = useQuery({
    queryKey: ["example-sets", "choices", place],
    queryFn: ({ signal }) => get("/v1/example-sets", { query: { ...place, page_size: 100 }, signal }),
  });
  const save = useMutation({
    mutationFn: () => {
      const logs = { filter, limit: Number(limit), expected };
      if (set === null) return post("/v1/example-sets", { body: { name, logs, ...place } });
      return post("/v1/example-sets/{id}/versions", { path: { id: set }, body: { logs, append: true } });
    },
    async onSuccess({ id, examples, skipped }) {
      notifications.show({ message: words.saved({ examples, skipped }) });
      await queries.invalidateQueries({ queryKey: ["example-sets"] });
      await navigate({ to: `/example-sets/${encodeURIComponent(id)}` });
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save.mutate();
  };
  return (
    <Modal opened onClose={onClose} title={words.save}>
      <form onSubmit={submit}>
        <Stack gap="sm">
          <Text size="sm" c="dimmed">
            {words.saveHelp}
          </Text>
          <Select
            label={words.saveIn}
            placeholder={words.newSet}
            data={(sets.data?.data ?? []).map(({ id, name: label }) => ({ value: id, label }))}
            value={set}
            onChange={setSet}
            clearable
            searchable
          />
          {set === null && (
            <TextInput
              label={text.resources.fields.name}
              value={name}
              required
              onChange={(event) => setName(event.currentTarget.value)}
            />
          )}
          <NumberInput label={words.limit} min={1} max={most} value={limit} required onChange={setLimit} />
          <Select
            label={words.expected}
            data={Object.entries(words.expectations).map(([value, label]) => ({ value, label }))}
            value={expected}
            allowDeselect={false}
            onChange={(next) => setExpected(next ?? expected)}
          />
          {save.error !== null && <Failure error={save.error} />}
          <Group justify="end">
            <Button type="submit" loading={save.isPending}>
              {words.save}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
