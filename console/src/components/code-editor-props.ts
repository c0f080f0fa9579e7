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
