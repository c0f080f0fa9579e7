import { type CSSProperties, type ReactNode, useState } from "react";
import { text } from "@/text/text.ts";
import { useModels } from "./choices.ts";
import { FreeChoice } from "./free-choice.tsx";

const words = text.playground;

interface ModelFieldProps {
  /** As a request names it; empty: models of the workspace. */
  readonly provider: string;
  readonly value: string;
  readonly onChange: (model: string) => void;
  readonly placeholder?: string;
  readonly style?: CSSProperties;
}

/** The model of a request: one that the gateway lists, or any other by its name. */
export function ModelField({ provider, ...others }: ModelFieldProps): ReactNode {
  // asked for while the field has the focus: a provider that is being typed is no provider yet
  const [open, setOpen] = useState(false);
  const { names, busy, failed } = useModels(provider, open);
  const label = provider === "" ? words.workspaceModels : words.modelsOf({ provider });
  return (
    <FreeChoice
      {...others}
      label={words.model}
      description={failed ? words.noModelList : undefined}
      groups={[{ label, choices: names.map((name) => ({ value: name })) }]}
      busy={busy}
      onFocus={() => setOpen(true)}
      onBlur={() => setOpen(false)}
    />
  );
}
