import { Button, Group, NumberInput, SimpleGrid, Stack, Switch, TextInput } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { type FormEvent, type ReactNode, useState } from "react";
import type { AnswerOf } from "@/api/client.ts";
import type { Attribute } from "@/components/attribute.ts";
import { Icon } from "@/components/icons.tsx";
import { RecordTable } from "@/components/record-table.tsx";
import { DeleteButton } from "@/layout/delete-button.tsx";
import { formatDollars } from "@/lib/format.ts";
import type { SectionProps } from "@/resources/types.ts";
import { useSession } from "@/session/context.tsx";
import { text } from "@/text/text.ts";
import { Part } from "./part.tsx";
import { usePart } from "./use-part.ts";

const words = text.resources.integrations;
const fields = text.resources.fields;

type Model = AnswerOf<"GET /v1/integrations/{slug}/models">["models"][number];
type Price = NonNullable<Model["pricing_config"]>["pay_as_you_go"][string];

/** The API's prices are cents per token, those of the page dollars per million tokens. */
const centsPerToken = 1e-4;

/** Dollars for a million tokens; a dash without a price, or with one for each place or size. */
const dollarsOf = (price: Price | undefined): string =>
  typeof price?.price === "number" ? formatDollars(Number((price.price / centsPerToken).toPrecision(12))) : "—";

function showPrice({ pricing_config: config }: Model): ReactNode {
  if (config === null) return words.listed;
  const { request_token: input, response_token: output } = config.pay_as_you_go;
  return words.priceIs({ input: dollarsOf(input), output: dollarsOf(output) });
}

const columns: readonly Attribute<Model>[] = [
  { label: fields.model, of: ({ slug }) => slug, kind: "id" },
  { label: words.price, of: ({ pricing_config }) => pricing_config, render: showPrice },
  { label: words.facts, of: (model) => model.model_facts, kind: "settings", empty: words.factsNone },
];

/** A model as the API takes it. */
interface NewModel {
  readonly slug: string;
  readonly enabled: boolean;
  readonly is_custom?: boolean;
  readonly pricing_config?: object;
}

/** The models of an integration: all of the provider's, or a list with switches and prices. */
export default function Models({ id }: SectionProps): ReactNode {
  const part = usePart("/v1/integrations/{slug}/models", { path: { slug: id } });
  const { can } = useSession();
  const editable = can("PUT /v1/integrations/{slug}/models");
  const put = (models: readonly NewModel[], allowAll?: boolean) =>
    part.write.mutate({
      row: "PUT /v1/integrations/{slug}/models",
      body: { models, ...(allowAll !== undefined && { allow_all_models: allowAll }) },
    });
  const remove = (slug: string) =>
    part.write.mutateAsync({ row: "DELETE /v1/integrations/{slug}/models", body: { models: [slug] } });
  const buttons = ({ slug, enabled, is_custom: isCustom }: Model) => {
    return (
      <Group gap="xs" justify="end" wrap="nowrap">
        <Switch
          aria-label={`${fields.enabled}: ${slug}`}
          checked={enabled}
          disabled={!editable}
          onChange={(event) => put([{ slug, enabled: event.currentTarget.checked }])}
        />
        {isCustom && (
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
      {({ models, allow_all_models: allowsAll }) => (
        <>
          <Switch
            label={words.allowAll}
            disabled={!editable}
            checked={allowsAll}
            onChange={(event) => put([], event.currentTarget.checked)}
          />
          <RecordTable
            label={words.models}
            columns={columns}
            rows={models}
            empty={words.modelsEmpty}
            idOf={({ slug }) => slug}
            actions={buttons}
          />
          {editable && <AddModel onAdd={(model) => put([model])} />}
        </>
      )}
    </Part>
  );
}

/** A button that opens the inputs for a model of one's own and what its tokens cost. */
function AddModel({ onAdd }: { readonly onAdd: (model: NewModel) => void }): ReactNode {
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
  const add = (model: NewModel) => {
    onAdd(model);
    close();
  };
  return <ModelForm onAdd={add} onCancel={close} />;
}

/** Who opened the inputs goes on in the first of them. */
const focus = (element: HTMLInputElement | null) => element?.focus();

interface ModelFormProps {
  readonly onAdd: (model: NewModel) => void;
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
