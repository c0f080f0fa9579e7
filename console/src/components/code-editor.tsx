import { Skeleton } from "@mantine/core";
import { lazy, type ReactNode, Suspense } from "react";
import type { CodeEditorProps } from "./code-editor-props.ts";

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
