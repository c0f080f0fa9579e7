import { Button, Group, Switch, TextInput } from "@mantine/core";
import { type FormEvent, type ReactNode, useState } from "react";
import { RecordTable } from "@/components/record-table.tsx";
import { type Row, readList, readPath, readText } from "@/lib/read.ts";
import { useSession } from "@/session/context.tsx";
import { text } from "@/text/text.ts";
import { Part } from "./part.tsx";
import { usePart } from "./use-part.ts";

const words = text.resources.integrations;
const fields = text.resources.fields;

/** The models of an integration: all of the provider's, or a list with switches and prices. */
export default function Models({ id }: { readonly record: Row; readonly id: string }): ReactNode {
  const part = usePart(`/v1/integrations/${encodeURIComponent(id)}/models`);
  const { can } = useSession();
  const [slug, setSlug] = useState("");
  const editable = can("PUT /v1/integrations/{slug}/models");
  const put = (models: readonly Row[], allowAll?: boolean) =>
    part.write.mutate({
      method: "PUT",
      body: { models, ...(allowAll !== undefined && { allow_all_models: allowAll }) },
    });
  const add = (event: FormEvent) => {
    event.preventDefault();
    put([{ slug: slug.trim(), enabled: true, is_custom: true }]);
    setSlug("");
  };
  const columns = [
    { label: fields.model, path: "slug", kind: "code" },
    { label: fields.enabled, path: "enabled", kind: "boolean" },
    { label: "pricing_config", path: "pricing_config", kind: "json" },
  ] as const;
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
            id="slug"
            actions={(row) =>
              editable && (
                <Switch
                  aria-label={`${fields.enabled}: ${readText(row, "slug")}`}
                  checked={readPath(row, "enabled") === true || readPath(row, "enabled") === 1}
                  onChange={(event) => put([{ slug: row.slug, enabled: event.currentTarget.checked }])}
                />
              )
            }
          />
          {editable && (
            <form onSubmit={add}>
              <Group align="end" gap="xs">
                <TextInput
                  label={words.modelSlug}
                  value={slug}
                  onChange={(event) => setSlug(event.currentTarget.value)}
                />
                <Button type="submit" variant="default" disabled={slug.trim() === ""}>
                  {words.addModel}
                </Button>
              </Group>
            </form>
          )}
        </>
      )}
    </Part>
  );
}
