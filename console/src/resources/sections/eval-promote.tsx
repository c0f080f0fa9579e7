import { Button, Group, NumberInput, Select, Stack, Text, TextInput } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, type ReactNode, useState } from "react";
import { type AnswerOf, post } from "@/api/client.ts";
import { Failure } from "@/components/states.tsx";
import type { SectionProps } from "@/resources/types.ts";
import { text } from "@/text/text.ts";

const words = text.resources.evalRuns;

type Run = AnswerOf<"GET /v1/eval-runs/{id}">;

/** Makes a variant the default: the version of its prompt, or what a saved config calls. */
export default function EvalPromote({ record, id }: SectionProps<Run>): ReactNode {
  const [variant, setVariant] = useState(record.winner ?? record.variants[0]?.name ?? "");
  const [config, setConfig] = useState("");
  const [target, setTarget] = useState<number | string>("");
  const queries = useQueryClient();
  const chosen = record.variants.find(({ name }) => name === variant);
  const hasPrompt = chosen?.prompt !== undefined;
  const promote = useMutation({
    mutationFn: () => {
      const place = { config, ...(typeof target === "number" && { target }) };
      return post("/v1/eval-runs/{id}/promote", { path: { id }, body: { variant, ...(!hasPrompt && place) } });
    },
    async onSuccess({ slug }) {
      notifications.show({ message: words.promoteDone({ slug }) });
      await queries.invalidateQueries();
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    promote.mutate();
  };
  return (
    <form onSubmit={submit}>
      <Stack gap="sm">
        <Text size="sm" c="dimmed">
          {words.promoteHelp}
        </Text>
        <Group align="end">
          <Select
            label={words.variant}
            data={record.variants.map(({ name }) => name)}
            value={variant}
            allowDeselect={false}
            onChange={(next) => setVariant(next ?? variant)}
          />
          {!hasPrompt && (
            <TextInput
              label={words.promoteTo}
              value={config}
              required
              onChange={(event) => setConfig(event.currentTarget.value)}
            />
          )}
          {!hasPrompt && <NumberInput label={words.target} min={0} value={target} onChange={setTarget} />}
          <Button type="submit" loading={promote.isPending}>
            {words.promote}
          </Button>
        </Group>
        {promote.error !== null && <Failure error={promote.error} />}
      </Stack>
    </form>
  );
}
