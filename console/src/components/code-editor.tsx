import { Skeleton } from "@mantine/core";
import { lazy, type ReactNode, Suspense } from "react";
import type { JsonMark, JsonPath } from "./json-schema.ts";

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
  /** What the gateway refused, shown at the values it named. */
  readonly marks?: readonly JsonMark[] | undefined;
  /** The value to bring into view and select; a new object each time. */
  readonly reveal?: { readonly path: JsonPath } | undefined;
  /** What an empty editor says. */
  readonly placeholder?: string | undefined;
  readonly minHeight?: string;
  readonly maxHeight?: string;
  /** false: without line numbers, for short values. */
  readonly lines?: boolean;
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

const Diff = lazy(async () => ({ default: (await import("./code-diff.tsx")).CodeDiff }));

/** What differs between two strings, side by side. */
export function TextDiff(props: {
  readonly before: string;
  readonly after: string;
  readonly label: string;
  readonly language?: "json" | "text";
}): ReactNode {
  return (
    <Suspense fallback={<Skeleton height="12rem" />}>
      <Diff {...props} />
    </Suspense>
  );
}
