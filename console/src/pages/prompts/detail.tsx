import { Button, Tabs } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { Link, useNavigate, useParams } from "@tanstack/react-router";
import { type ReactNode, useMemo } from "react";
import { DeleteButton } from "@/components/delete-button.tsx";
import { Icon } from "@/components/icons.tsx";
import { CopyValue, Failure, Waiting } from "@/components/states.tsx";
import { DetailPage } from "@/layout/page.tsx";
import { type Row, readText } from "@/lib/read.ts";
import { useSearchParams } from "@/lib/search.ts";
import classes from "@/pages/configs/config-tree.module.css";
import { useSession } from "@/session/context.tsx";
import { text } from "@/text/text.ts";
import { usePromptChange, usePromptRecord } from "./data.ts";
import { toDraft, variablesIn } from "./draft.ts";
import { PromptEditor } from "./prompt-editor.tsx";
import { TryPrompt } from "./try.tsx";
import { PromptVersions } from "./versions.tsx";

const words = text.prompts;

/** The page of one prompt: the version in the address, else the latest one. */
export default function PromptDetail(): ReactNode {
  const { id = "" } = useParams({ strict: false });
  const navigate = useNavigate();
  const { version = "" } = useSearchParams();
  const { data, error, refetch } = usePromptRecord(id, version || "latest");
  const head = usePromptRecord(id, "default");
  const initial = useMemo(() => toDraft(data ?? {}), [data]);
  const back = { to: "/prompts", label: words.title };
  if (error !== null) {
    return (
      <DetailPage title={id} back={back}>
        <Failure error={error} onRetry={() => void refetch()} />
      </DetailPage>
    );
  }
  if (data === undefined) return <Waiting />;
  const number = readText(data, "prompt_version");
  const slug = readText(data, "slug");
  return (
    <DetailPage
      title={readText(data, "name")}
      about={words.shown(slug, number)}
      back={back}
      actions={<Actions id={id} record={data} />}
    >
      <Tabs key={version} defaultValue="editor" keepMounted={false}>
        <Tabs.List mb="md">
          <Tabs.Tab value="editor">{words.editor}</Tabs.Tab>
          <Tabs.Tab value="versions">{words.versions}</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="editor" keepMounted>
          <div className={classes.halves}>
            <PromptEditor
              key={readText(data, "prompt_version_id")}
              id={id}
              initial={initial}
              onSaved={() => void navigate({ to: ".", search: {} })}
            />
            <TryPrompt
              key={`try ${number}`}
              reference={`${slug}@${number}`}
              variables={variablesIn(readText(data, "string"))}
            />
          </div>
        </Tabs.Panel>
        <Tabs.Panel value="versions">
          <PromptVersions id={id} defaultVersion={readText(head.data, "prompt_version")} />
        </Tabs.Panel>
      </Tabs>
    </DetailPage>
  );
}

function Actions({ id, record }: { readonly id: string; readonly record: Row }): ReactNode {
  const { can } = useSession();
  const navigate = useNavigate();
  const change = usePromptChange();
  const slug = readText(record, "slug");
  const remove = async () => {
    await change.mutateAsync({ method: "DELETE", path: `/v1/prompts/${encodeURIComponent(id)}`, body: undefined });
    notifications.show({ message: text.common.deleted(words.one) });
    await navigate({ to: "/prompts" });
  };
  return (
    <>
      <CopyValue value={slug} label={words.copySlug} />
      {can("POST /v1/chat/completions") && (
        <Button
          component={Link}
          to={`/playground?prompt=${encodeURIComponent(slug)}`}
          variant="default"
          leftSection={<Icon name="playground" size={14} />}
        >
          {text.nav.playground}
        </Button>
      )}
      <DeleteButton
        row="DELETE /v1/prompts/{id}"
        what={words.one}
        name={readText(record, "name") || id}
        onConfirm={remove}
      />
    </>
  );
}
