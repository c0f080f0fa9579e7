import * as v from "valibot";
import { IsoTime } from "./objects.ts";

/** Who acts: a person, a key, or nobody, such as for alerts. */
export const actorTypes = ["user", "api_key", "system"] as const;

/** A row of the audit log. */
const AuditRecord = v.object({
  timestamp: IsoTime,
  request_id: v.string(),
  method: v.string(),
  uri: v.string(),
  /** JSON text, as are the body and the headers: secrets masked, cut after some thousand characters. */
  query_params: v.string(),
  /** Empty for requests without a JSON body. */
  request_body: v.string(),
  request_headers: v.string(),
  /** The acting user, or the key when there is no user. */
  user_id: v.string(),
  user_type: v.picklist(actorTypes),
  organisation_id: v.string(),
  workspace_id: v.nullable(v.string()),
  resource_type: v.string(),
  resource_id: v.nullable(v.string()),
  action: v.string(),
  response_status_code: v.number(),
  client_ip: v.string(),
  country: v.nullable(v.string()),
});
export type AuditRecord = v.InferOutput<typeof AuditRecord>;

/** Response of `GET /audit-logs`. */
export const AuditRecordList = v.object({
  records: v.array(AuditRecord),
  total: v.number(),
  object: v.literal("analytics-graph"),
});

/** Response of `GET /audit-logs/verification`. */
export const AuditVerification = v.object({
  object: v.literal("audit_verification"),
  intact: v.boolean(),
  /** The first broken row; null in an intact part. */
  problem: v.nullable(v.string()),
  /** Rows that this call checked. */
  checked: v.number(),
  /** What the next call sends as `after`. */
  last: v.string(),
  has_more: v.boolean(),
});
