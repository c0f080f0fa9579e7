import { Skeleton } from "@mantine/core";
import { lazy, type ReactNode, Suspense } from "react";

export interface CodeEditorProps {
  readonly value: string;
  /** Left out: the code is only shown. */
  readonly onChange?: ((value: string) => void) | undefined;
  /** Accessible name of the editor. */
  readonly label: string;
  /** `text` highlights `{{variables}}` of templates. Default: `json`. */
  readonly language?: "json" | "text";
  /** JSON schema for completion and errors in place. */
  readonly schema?: Readonly<Record<string, unknown>> | undefined;
  readonly minHeight?: string;
  readonly maxHeight?: string;
}

const Mirror = lazy(async () => ({ default: (await import("./code-mirror.tsx")).CodeMirror }));

/** An editor of JSON or templates; its code is loaded when it is first shown. */
export function CodeEditor(props: CodeEditorProps): ReactNode {
  return (
    <Suspense fallback={<Skeleton height={props.minHeight ?? "12rem"} />}>
      <Mirror {...props} />
    </Suspense>
  );
}
