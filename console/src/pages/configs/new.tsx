import { type ReactNode, useState } from "react";
import { Waiting } from "@/components/states.tsx";
import { DetailPage } from "@/layout/page.tsx";
import { useSearchParams } from "@/lib/search.ts";
import { useProviderReferences } from "@/pages/playground/choices.ts";
import { ChooseWorkspace } from "@/session/choose-workspace.tsx";
import { useWorkspace } from "@/session/workspace.tsx";
import { text } from "@/text/text.ts";
import { ConfigEditor } from "./config-editor.tsx";
import { firstCode } from "./draft.ts";

/** The page that makes a config. */
export default function NewConfig(): ReactNode {
  const { choosable, current } = useWorkspace();
  const words = text.configs;
  return (
    <DetailPage title={words.create} back={{ to: "/configs", label: words.title }}>
      {choosable && current === undefined ? <ChooseWorkspace /> : <NewEditor />}
    </DetailPage>
  );
}

/** What it begins with stays, whatever providers are stored meanwhile. */
function NewEditor(): ReactNode {
  const { name = "" } = useSearchParams();
  const providers = useProviderReferences();
  const [code, setCode] = useState<string>();
  if (code === undefined && providers !== undefined) setCode(firstCode(providers));
  if (code === undefined) return <Waiting />;
  return <ConfigEditor initial={{ name, isDefault: false, code }} />;
}
