import { Button, Group, NumberInput, SimpleGrid, Stack, Switch, TextInput } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { type FormEvent, type ReactNode, useState } from "react";
import { Icon } from "@/components/icons.tsx";
import { RecordTable } from "@/components/record-table.tsx";
import { DeleteButton } from "@/layout/delete-button.tsx";
import { formatDollars } from "@/lib/format.ts";
import { type Row, readList, readPath, readText } from "@/lib/read.ts";
import { useSession } from "@/session/context.tsx";
import { text } from "@/text/text.ts";
import { Part } from "./part.tsx";
import { usePart } from "./use-part.ts";

const words = text.resources.integrations;
const fields = text.resources.fields;

const isOn = (value: unknown): boolean => value === true || value === 1;

/** The API's prices are cents per token, those of the page dollars per million tokens. */
const centsPerToken = 1e-4;

function showPrice(row: Row): ReactNode {
  const prices = readPath(row, "pricing_config.pay_as_you_go");
  if (prices === undefined) return words.listed;
  const [input, output] = ["request_token", "response_token"].map((kind) => {
    const cents = readPath(prices, `${kind}.price`);
    return cents === undefined ? "—" : formatDollars(Number((Number(cents) / centsPerToken).toPrecision(12)));
  });
  return words.priceIs(input ?? "", output ?? "");
}

const columns = [
  { label: fields.model, path: "slug", kind: "code" },
  { label: words.price, path: "pricing_config", render: showPrice },
] as const;

/** The models of an integration: all of the provider's, or a list with switches and prices. */
export default function Models({ id }: { readonly record: Row; readonly id: string }): ReactNode {
  const path = `/v1/integrations/${encodeURIComponent(id)}/models`;
  const part = usePart(path);
  const { can } = useSession();
  const editable = can("PUT /v1/integrations/{slug}/models");
  const put = (models: readonly Row[], allowAll?: boolean) =>
    part.write.mutate({
      method: "PUT",
      body: { models, ...(allowAll !== undefined && { allow_all_models: allowAll }) },
    });
  const remove = (slug: string) => part.write.mutateAsync({ method: "DELETE", at: path, body: { models: [slug] } });
  const buttons = (row: Row) => {
    const slug = readText(row, "slug");
    return (
      <Group gap="xs" justify="end" wrap="nowrap">
        <Switch
          aria-label={`${fields.enabled}: ${slug}`}
          checked={isOn(row.enabled)}
          disabled={!editable}
          onChange={(event) => put([{ slug, enabled: event.currentTarget.checked }])}
        />
        {isOn(row.is_custom) && (
          <DeleteButton
            row="DELETE /v1/integrations/{slug}/models"
            what={fields.model}
            name={slug}
            onConfirm={async () => void (await remove(slug))}
          />
        )}
      </Group>
    );
  };
  return (
    <Part part={part}>
      {(data) => (
        <>
          <Switch
            label={words.allowAll}
            disabled={!editable}
            checked={readPath(data, "allow_all_models") === true}
            onChange={(event) => put([], event.currentTarget.checked)}
          />
          <RecordTable
            label={words.models}
            columns={columns}
            rows={readList(data)}
            empty={words.modelsEmpty}
            id={["slug"]}
            actions={buttons}
          />
          {editable && <AddModel onAdd={(model) => put([model])} />}
        </>
      )}
    </Part>
  );
}

/** A button that opens the inputs for a model of one's own and what its tokens cost. */
function AddModel({ onAdd }: { readonly onAdd: (model: Row) => void }): ReactNode {
  const [open, { open: show, close }] = useDisclosure(false);
  if (!open) {
    return (
      <Group>
        <Button variant="default" leftSection={<Icon name="plus" size={14} />} onClick={show}>
          {words.addModel}
        </Button>
      </Group>
    );
  }
  const add = (model: Row) => {
    onAdd(model);
    close();
  };
  return <ModelForm onAdd={add} onCancel={close} />;
}

/** Who opened the inputs goes on in the first of them. */
const focus = (element: HTMLInputElement | null) => element?.focus();

interface ModelFormProps {
  readonly onAdd: (model: Row) => void;
  readonly onCancel: () => void;
}

function ModelForm({ onAdd, onCancel }: ModelFormProps): ReactNode {
  const [slug, setSlug] = useState("");
  const [input, setInput] = useState<string | number>("");
  const [output, setOutput] = useState<string | number>("");
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const prices = Object.entries({ request_token: input, response_token: output })
      .filter(([, dollars]) => dollars !== "")
      .map(([kind, dollars]) => [kind, { price: Number((Number(dollars) * centsPerToken).toPrecision(12)) }]);
    onAdd({
      slug: slug.trim(),
      enabled: true,
      is_custom: true,
      ...(prices.length > 0 && { pricing_config: { type: "static", pay_as_you_go: Object.fromEntries(prices) } }),
    });
  };
  return (
    <form onSubmit={submit}>
      <Stack gap="sm">
        <SimpleGrid cols={{ base: 1, sm: 3 }} spacing="sm">
          <TextInput
            ref={focus}
            label={words.modelSlug}
            value={slug}
            onChange={(event) => setSlug(event.currentTarget.value)}
          />
          <NumberInput label={words.inputPrice} value={input} onChange={setInput} min={0} decimalScale={6} />
          <NumberInput label={words.outputPrice} value={output} onChange={setOutput} min={0} decimalScale={6} />
        </SimpleGrid>
        <Group gap="xs">
          <Button type="submit" disabled={slug.trim() === ""}>
            {words.addModel}
          </Button>
          <Button variant="default" onClick={onCancel}>
            {text.common.cancel}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
