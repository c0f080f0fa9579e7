import type { ReactNode } from "react";
import { DetailPage } from "@/layout/page.tsx";
import { ChooseWorkspace } from "@/session/choose-workspace.tsx";
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
      {choosable && current === undefined ? <ChooseWorkspace /> : <PromptEditor initial={newDraft} />}
    </DetailPage>
  );
}
