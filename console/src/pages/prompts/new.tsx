import type { ReactNode } from "react";
import { Empty } from "@/components/states.tsx";
import { DetailPage } from "@/layout/page.tsx";
import { useWorkspace } from "@/session/workspace.tsx";
import { text } from "@/text/text.ts";
import { newDraft } from "./draft.ts";
import { PromptEditor } from "./prompt-editor.tsx";

/** The page that makes a prompt. */
export default function NewPrompt(): ReactNode {
  const { choosable, current } = useWorkspace();
  const words = text.prompts;
  return (
    <DetailPage title={words.create} back={{ to: "/prompts", label: words.title }}>
      {choosable && current === undefined ? (
        <Empty title={text.common.chooseWorkspace} hint={text.common.chooseWorkspaceHint} />
      ) : (
        <PromptEditor initial={newDraft} />
      )}
    </DetailPage>
  );
}
