import type { S3Settings } from "../control/object-store.ts";
import { type Environment, text } from "./read.ts";

/** The variables of a store. */
interface StoreVariables {
  /** Region of the signatures, by default `us-east-1`, and keys. */
  region: string;
  accessKeyId: string;
  secretAccessKey: string;
}

function requireOrigin(variable: string, endpoint: string): string {
  if (/^https?:\/\/[^/?#@\s]+\/?$/.test(endpoint) && URL.canParse(endpoint)) return endpoint;
  throw new TypeError(`Cannot use ${variable}: it must be an address such as https://s3.example.com, without a path`);
}

/** Region and keys; the variable that turns the store on demands the others that are needed. */
function readAccess(
  environment: Environment,
  demandedBy: string,
  { region, ...names }: StoreVariables & { bucket: string },
): Omit<S3Settings, "endpoint"> {
  const [bucket, accessKeyId, secretAccessKey] = [names.bucket, names.accessKeyId, names.secretAccessKey].map((name) =>
    text(environment, name),
  );
  if (bucket === undefined || accessKeyId === undefined || secretAccessKey === undefined) {
    const missing = Object.values(names).filter((name) => text(environment, name) === undefined);
    throw new TypeError(`Cannot use ${demandedBy}: ${missing.join(", ")} must be set too`);
  }
  return { region: text(environment, region) ?? "us-east-1", bucket, accessKeyId, secretAccessKey };
}

/** The S3 store for files; all of its settings or none. */
export function fileStore(environment: Environment): S3Settings | undefined {
  const endpoint = text(environment, "FILES_S3_ENDPOINT");
  if (endpoint === undefined) return undefined;
  const prefix = text(environment, "FILES_S3_PREFIX");
  return {
    endpoint: requireOrigin("FILES_S3_ENDPOINT", endpoint),
    ...readAccess(environment, "FILES_S3_ENDPOINT", {
      bucket: "FILES_S3_BUCKET",
      accessKeyId: "FILES_S3_ACCESS_KEY_ID",
      secretAccessKey: "FILES_S3_SECRET_ACCESS_KEY",
      region: "FILES_S3_REGION",
    }),
    ...(prefix !== undefined && { prefix }),
  };
}

/** The S3 store for headers and bodies of log rows. The bucket may have a prefix behind it. */
export function logStore(environment: Environment): S3Settings | undefined {
  const kind = text(environment, "LOG_STORE");
  if (kind === undefined) return undefined;
  if (kind !== "s3" && kind !== "s3_custom") {
    throw new TypeError("Cannot use LOG_STORE: it must be s3 or s3_custom");
  }
  const access = readAccess(environment, "LOG_STORE", {
    bucket: "LOG_STORE_GENERATIONS_BUCKET",
    accessKeyId: "LOG_STORE_ACCESS_KEY",
    secretAccessKey: "LOG_STORE_SECRET_KEY",
    region: "LOG_STORE_REGION",
  });
  const base = text(environment, "LOG_STORE_BASEPATH");
  if (base === undefined && kind === "s3_custom") {
    throw new TypeError("Cannot use LOG_STORE: for s3_custom, LOG_STORE_BASEPATH must be set too");
  }
  const endpoint = requireOrigin("LOG_STORE_BASEPATH", base ?? `https://s3.${access.region}.amazonaws.com`);
  const [bucket = "", ...folders] = access.bucket.split("/").filter((part) => part !== "");
  return { ...access, endpoint, bucket, ...(folders.length > 0 && { prefix: `${folders.join("/")}/` }) };
}
