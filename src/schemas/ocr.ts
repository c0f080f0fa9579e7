import * as v from "valibot";

const text = v.nullish(v.string());
const flag = v.nullish(v.boolean());
const positiveInteger = v.nullish(v.pipe(v.number(), v.integer(), v.minValue(1)));
/** A format of an annotation, such as a JSON schema. */
const format = v.nullish(v.looseObject({ type: v.string() }));

/** A document, an image, or a file stored at the provider. */
export const OcrDocument = v.variant("type", [
  v.looseObject({ type: v.literal("document_url"), document_url: v.string(), document_name: text }),
  v.looseObject({
    type: v.literal("image_url"),
    image_url: v.union([v.string(), v.looseObject({ url: v.string() })]),
  }),
  v.looseObject({ type: v.literal("file"), file_id: v.string() }),
]);
export type OcrDocument = v.InferOutput<typeof OcrDocument>;

/** Body of `POST /ocr`. Unknown fields are forwarded. */
export const OcrRequest = v.looseObject({
  model: v.string(),
  document: OcrDocument,
  /** Page numbers from 0, or ranges such as `0-3,5`; absent: all pages. */
  pages: v.nullish(v.union([v.string(), v.array(v.pipe(v.number(), v.integer(), v.minValue(0)))])),
  include_image_base64: flag,
  image_limit: positiveInteger,
  image_min_size: positiveInteger,
  id: text,
  bbox_annotation_format: format,
  document_annotation_format: format,
  document_annotation_prompt: text,
  table_format: v.nullish(v.picklist(["markdown", "html"])),
  extract_header: flag,
  extract_footer: flag,
  confidence_scores_granularity: text,
});
export type OcrRequest = v.InferOutput<typeof OcrRequest>;

/** Response of `POST /ocr`. */
export const OcrResponse = v.looseObject({
  pages: v.array(
    v.looseObject({
      index: v.number(),
      markdown: v.string(),
      images: v.nullish(v.array(v.looseObject({ id: text, image_base64: text }))),
      dimensions: v.nullish(
        v.looseObject({ dpi: v.nullish(v.number()), height: v.nullish(v.number()), width: v.nullish(v.number()) }),
      ),
    }),
  ),
  model: text,
  usage_info: v.nullish(
    v.looseObject({ pages_processed: v.nullish(v.number()), doc_size_bytes: v.nullish(v.number()) }),
  ),
  /** JSON as text. */
  document_annotation: text,
  provider: v.optional(v.string()),
});
export type OcrResponse = v.InferOutput<typeof OcrResponse>;
