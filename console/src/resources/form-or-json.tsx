import { SegmentedControl } from "@mantine/core";
import type { ReactNode } from "react";
import { text } from "@/text/text.ts";

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
