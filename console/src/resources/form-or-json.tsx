import { Alert, SegmentedControl } from "@mantine/core";
import { type ReactNode, useState } from "react";
import { Icon } from "@/components/icons.tsx";
import { isJsonObject, type JsonObject } from "@/lib/json.ts";
import { text } from "@/text/frame.ts";

interface FormOrJsonProps {
  readonly isJson: boolean;
  readonly onChange: (isJson: boolean) => void;
}

/** The choice between fields and one JSON text. */
export function FormOrJson({ isJson, onChange }: FormOrJsonProps): ReactNode {
  return (
    <SegmentedControl
      aria-label={text.common.form}
      data={[
        { value: "form", label: text.common.form },
        { value: "json", label: text.common.json },
      ]}
      value={isJson ? "json" : "form"}
      onChange={(mode) => onChange(mode === "json")}
    />
  );
}

/** Why one stays on the side one is on. */
export function StaysHere({ reason }: { readonly reason: string | undefined }): ReactNode {
  if (reason === undefined) return null;
  return (
    <Alert color="yellow" variant="light" icon={<Icon name="warning" />} role="alert">
      {reason}
    </Alert>
  );
}

/** The object that a JSON text holds. @throws {Error} In words: it holds none. */
export function readBody(code: string): JsonObject {
  let body: unknown;
  try {
    body = JSON.parse(code);
  } catch (cause) {
    throw new Error(text.common.invalidJson, { cause });
  }
  if (!isJsonObject(body)) throw new Error(text.common.noJsonObject);
  return body;
}

interface Sides {
  /** The JSON that the form stands for. */
  readonly write: () => string;
  /** Fills the form with what was typed, unless it cannot show all: dotted paths of that. */
  readonly read: (body: JsonObject) => readonly string[];
}

/** Keeps the JSON of a form while it is edited. What was typed there is in the form afterwards, or one stays with the JSON. */
export function useFormOrJson({ write, read }: Sides) {
  const [code, setCode] = useState<string>();
  const [written, setWritten] = useState<string>();
  const [reason, setReason] = useState<string>();
  const start = (next: string | undefined) => {
    setCode(next);
    setWritten(next);
    setReason(undefined);
  };
  const switchTo = (isJson: boolean) => {
    try {
      if (isJson) return start(write());
      const left = code === undefined || code === written ? [] : read(readBody(code));
      if (left.length === 0) return start(undefined);
      setReason(text.common.formCannotShow({ members: left.join(", ") }));
    } catch (error) {
      setReason(error instanceof Error ? error.message : String(error));
    }
  };
  return {
    /** Undefined: the form is shown. */
    code,
    setCode,
    /** Shows the JSON of something else, or the form. */
    start,
    switchTo,
    reason,
  };
}
