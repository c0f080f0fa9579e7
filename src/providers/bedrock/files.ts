import * as v from "valibot";
import { InvalidRequestError, type Refuse, refuseWith } from "../../errors.ts";
import { plainIssues } from "../../lib/issues.ts";
import type { BatchLine } from "../../schemas/batches.ts";
import { ChatRequest } from "../../schemas/chat.ts";
import { decodeId, type ObjectRules, type RowOptions } from "../core/records.ts";
import { fileSetting } from "../core/settings.ts";
import { isSafeKey, objectPath } from "./batches.ts";
import { readModel } from "./model.ts";
import { toConverse } from "./request.ts";

const Encryption = v.optional(v.picklist(["AES256", "aws:kms", "aws:kms:dsse"]));
const EncryptionKey = v.optional(v.pipe(v.string(), v.regex(/^[\w:/-]{1,2048}$/, "must be the id of a key")));

const ObjectKey = v.optional(fileSetting(v.pipe(v.string(), v.check(isSafeKey, "must be the key of an object"))));

/** Members of the settings that say where files go (https://docs.aws.amazon.com/AmazonS3/latest/API/API_CreateMultipartUpload.html). */
export const fileEntries = {
  s3_bucket: v.optional(
    v.pipe(v.string(), v.regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, "must be the name of a bucket")),
  ),
  s3_object_key: ObjectKey,
  server_side_encryption: Encryption,
  server_side_encryption_kms_key_id: EncryptionKey,
  // the same settings under S3's own header names
  amz_server_side_encryption: Encryption,
  amz_server_side_encryption_aws_kms_key_id: EncryptionKey,
  provider_file_name: ObjectKey,
  provider_model: v.optional(v.string()),
};
type FileSettings = v.InferOutput<v.ObjectSchema<typeof fileEntries, undefined>>;

const refuse: Refuse = refuseWith("invalid_header");

/** The batch record of a line: a Converse request with the line's id. */
function toBatchRow({ custom_id: recordId, body }: BatchLine, model: string | undefined, { drop }: RowOptions): object {
  const asked = model ?? body.model;
  if (typeof asked !== "string")
    return refuse("Cannot convert the file: set x-gateway-aws-bedrock-model", "x-gateway-aws-bedrock-model");
  const checked = v.safeParse(ChatRequest, { ...body, model: asked }, plainIssues);
  if (!checked.success) {
    throw new InvalidRequestError(`Invalid body: ${checked.issues[0].message}`, {
      code: "invalid_body",
      param: "file",
    });
  }
  return { recordId, modelInput: toConverse(checked.output, readModel(asked), { strict: true, drop }) };
}

/** Files as objects of S3. */
export function createObjectRules(settings: FileSettings & { bedrock_model?: string | undefined }): ObjectRules {
  const { s3_bucket: bucket } = settings;
  const encryption = settings.server_side_encryption ?? settings.amz_server_side_encryption;
  const keyId = settings.server_side_encryption_kms_key_id ?? settings.amz_server_side_encryption_aws_kms_key_id;
  const model = settings.bedrock_model ?? settings.provider_model;
  return {
    upload: "parts",
    bucket,
    place(name) {
      if (bucket === undefined)
        return refuse("Cannot store the file: set x-gateway-aws-s3-bucket", "x-gateway-aws-s3-bucket");
      const uri = `s3://${bucket}/${settings.s3_object_key ?? settings.provider_file_name ?? `${name}.jsonl`}`;
      const place = objectPath(uri);
      if (!place) return refuse("Cannot store the file: its object key is not valid", "x-gateway-aws-s3-object-key");
      const headers = {
        ...(encryption !== undefined && { "x-amz-server-side-encryption": encryption }),
        ...(keyId !== undefined && { "x-amz-server-side-encryption-aws-kms-key-id": keyId }),
      };
      return { path: place.path, id: encodeURIComponent(uri), headers };
    },
    find: (id) => objectPath(decodeId(id)),
    // records of a fine-tuning file already have the format of the service
    toRow: (line, purpose, options) => (purpose === "batch" ? toBatchRow(line, model, options) : line),
  };
}
