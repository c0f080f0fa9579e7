import { useSearch } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { DetailPage } from "@/layout/page.tsx";
import { readText } from "@/lib/read.ts";
import { ChooseWorkspace } from "@/session/choose-workspace.tsx";
import { useWorkspace } from "@/session/workspace.tsx";
import { text } from "@/text/text.ts";
import { ConfigEditor } from "./config-editor.tsx";
import { emptyConfig } from "./draft.ts";

/** The page that makes a config. */
export default function NewConfig(): ReactNode {
  const { choosable, current } = useWorkspace();
  const search: unknown = useSearch({ strict: false });
  const words = text.configs;
  return (
    <DetailPage title={words.create} back={{ to: "/configs", label: words.title }}>
      {choosable && current === undefined ? (
        <ChooseWorkspace />
      ) : (
        <ConfigEditor initial={{ name: readText(search, "name"), isDefault: false, code: emptyConfig }} />
      )}
    </DetailPage>
  );
}
