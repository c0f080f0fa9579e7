import { Input } from "@mantine/core";
import type { ReactNode } from "react";
import { CodeEditor } from "./code-editor.tsx";
import type { CodeEditorProps } from "./code-editor-props.ts";

interface CodeFieldProps extends CodeEditorProps {
  /** Stands between the label and the editor. */
  readonly hint?: string | undefined;
}

/** A code editor with its label in view, as the fields around it have theirs. */
export function CodeField({ hint, ...editor }: CodeFieldProps): ReactNode {
  return (
    <Input.Wrapper
      label={editor.label}
      description={hint}
      labelElement="div"
      inputContainer={(children) => (
        <div style={{ marginBlockStart: hint === undefined ? 0 : "var(--space-1)" }}>{children}</div>
      )}
    >
      <CodeEditor {...editor} />
    </Input.Wrapper>
  );
}
