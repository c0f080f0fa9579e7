import { Button, Tabs } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { Link, useNavigate, useParams } from "@tanstack/react-router";
import { type ReactNode, useMemo } from "react";
import { Icon } from "@/components/icons.tsx";
import { CopyValue, Failure, Waiting } from "@/components/states.tsx";
import { DeleteButton } from "@/layout/delete-button.tsx";
import { DetailPage } from "@/layout/page.tsx";
import { useSearchParams } from "@/lib/search.ts";
import classes from "@/pages/configs/config-tree.module.css";
import { useSession } from "@/session/context.tsx";
import { text } from "@/text/text.ts";
import { type PromptRecord, usePromptChange, usePromptRecord } from "./data.ts";
import { toDraft, variablesIn } from "./draft.ts";
import { PromptEditor } from "./prompt-editor.tsx";
import { TryPrompt } from "./try.tsx";
import { PromptVersions } from "./versions.tsx";

const words = text.prompts;

/** What requests without a version get. */
const defaultWords = (shown: string, version: string): string =>
  shown === version ? words.shownDefault : words.otherDefault({ version });

/** The page of one prompt: the version in the address, else the latest one. */
export default function PromptDetail(): ReactNode {
  const { id = "" } = useParams({ strict: false });
  const navigate = useNavigate();
  const { version = "" } = useSearchParams();
  const { data, error, refetch } = usePromptRecord(id, version || "latest");
  const head = usePromptRecord(id, "default");
  const initial = useMemo(() => data && toDraft(data), [data]);
  const back = { to: "/prompts", label: words.title };
  if (error !== null) {
    return (
      <DetailPage title={id} back={back}>
        <Failure error={error} onRetry={() => void refetch()} />
      </DetailPage>
    );
  }
  if (data === undefined || initial === undefined) return <Waiting />;
  const { slug } = data;
  const number = String(data.prompt_version);
  const defaultVersion = head.data === undefined ? "" : String(head.data.prompt_version);
  return (
    <DetailPage
      title={data.name}
      about={[
        words.shown({ slug, version: number, isNewest: version === "" }),
        ...(defaultVersion === "" ? [] : [defaultWords(number, defaultVersion)]),
      ].join(" · ")}
      back={back}
      actions={<Actions id={id} record={data} defaultVersion={defaultVersion} />}
    >
      <Tabs key={version} defaultValue="editor" keepMounted={false}>
        <Tabs.List mb="md">
          <Tabs.Tab value="editor">{words.editor}</Tabs.Tab>
          <Tabs.Tab value="versions">{words.versions}</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="editor" keepMounted>
          <div className={classes.halves}>
            <PromptEditor
              key={data.prompt_version_id}
              id={id}
              initial={initial}
              onSaved={() => void navigate({ to: ".", search: {} })}
            />
            <TryPrompt key={`try ${number}`} reference={`${slug}@${number}`} variables={variablesIn(data.string)} />
          </div>
        </Tabs.Panel>
        <Tabs.Panel value="versions">
          <PromptVersions id={id} defaultVersion={defaultVersion} />
        </Tabs.Panel>
      </Tabs>
    </DetailPage>
  );
}

interface ActionsProps {
  readonly id: string;
  /** The version that is shown. */
  readonly record: PromptRecord;
  /** Number of the version that requests without a version get; empty until it is known. */
  readonly defaultVersion: string;
}

function Actions({ id, record, defaultVersion }: ActionsProps): ReactNode {
  const { can } = useSession();
  const navigate = useNavigate();
  const change = usePromptChange();
  const { slug } = record;
  const number = String(record.prompt_version);
  const isOther = defaultVersion !== "" && number !== defaultVersion;
  const makeDefault = async () => {
    const body = { version: record.prompt_version };
    await change.mutateAsync({ row: "PUT /v1/prompts/{id}/makeDefault", path: { id }, body });
    notifications.show({ message: words.nowDefault({ version: number }) });
  };
  const remove = async () => {
    await change.mutateAsync({ row: "DELETE /v1/prompts/{id}", path: { id } });
    notifications.show({ message: text.common.deleted({ what: words.one }) });
    await navigate({ to: "/prompts" });
  };
  return (
    <>
      <CopyValue value={slug} label={words.copySlug} />
      {isOther && can("PUT /v1/prompts/{id}/makeDefault") && (
        <Button variant="default" loading={change.isPending} onClick={() => void makeDefault()}>
          {words.makeDefaultOf({ version: number })}
        </Button>
      )}
      {can("POST /v1/chat/completions") && (
        <Button
          component={Link}
          to={`/playground?prompt=${encodeURIComponent(isOther ? `${slug}@${number}` : slug)}`}
          variant="default"
          leftSection={<Icon name="playground" size={14} />}
        >
          {text.nav.playground}
        </Button>
      )}
      <DeleteButton row="DELETE /v1/prompts/{id}" what={words.one} name={record.name || id} onConfirm={remove} />
    </>
  );
}
