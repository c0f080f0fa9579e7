import * as v from "valibot";
import { InvalidRequestError } from "../../errors.ts";
import { readServiceAccount } from "../auth/google.ts";
import { fileSetting, hostLabel, placeSetting, secretSetting, storedSetting } from "../core/settings.ts";

const ProjectId = v.pipe(v.string(), v.regex(/^[A-Za-z0-9][A-Za-z0-9:._-]{0,99}$/, "must be the id of a project"));

/** Settings of Vertex AI, from headers `x-gateway-vertex-…`. */
export const VertexSettings = v.object({
  project_id: v.optional(placeSetting(ProjectId)),
  region: v.optional(placeSetting(hostLabel("must be the name of a region")), "us-central1"),
  storage_bucket_name: v.optional(
    v.pipe(v.string(), v.regex(/^[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]$/, "must be the name of a bucket")),
  ),
  provider_file_name: v.optional(fileSetting(v.string())),
  provider_model: v.optional(v.string()),
  provider_batch_endpoint: v.optional(v.picklist(["/v1/chat/completions", "/v1/embeddings"])),
  auth_type: v.optional(
    storedSetting(
      v.picklist(["basic", "serviceAccount", "workload"], "must be basic, serviceAccount or workload"),
      v.picklist(["basic", "serviceAccount"], "must be one of basic, serviceAccount"),
    ),
  ),
  service_account_json: v.optional(
    storedSetting(
      secretSetting(
        v.pipe(
          v.string(),
          v.transform(readServiceAccount),
          v.check((account) => account !== undefined, "must be the JSON of a service account key"),
          v.check(
            (account) => !account?.project_id || v.is(ProjectId, account.project_id),
            "its project_id must be the id of a project",
          ),
        ),
      ),
      // JSON text, or the object itself
      v.union([v.string(), v.looseObject({})], "must be the JSON of a service account key"),
    ),
  ),
});
export type VertexSettings = v.InferOutput<typeof VertexSettings>;

/** Project of the calls; the service account's project takes precedence. */
export function projectOf({ project_id: named, service_account_json: account }: VertexSettings): string | undefined {
  return account?.project_id ?? named;
}

/**
 * Base URL of the service in a region (https://cloud.google.com/vertex-ai/docs/reference/rest#rest_endpoints). API keys
 * without a project use the global one.
 */
export function baseUrlOf(settings: VertexSettings, { path }: { path: string } = { path: "" }): string {
  // https://cloud.google.com/text-to-speech/docs/reference/rest
  if (path.startsWith("/v1/text:")) return "https://texttospeech.googleapis.com";
  const { region } = settings;
  if (path.includes("/rankingConfigs/")) return "https://discoveryengine.googleapis.com";
  if (region === "global" || projectOf(settings) === undefined) return "https://aiplatform.googleapis.com";
  if (region === "us" || region === "eu") return `https://aiplatform.${region}.rep.googleapis.com`;
  return `https://${region}-aiplatform.googleapis.com`;
}

/**
 * Path of a project in its region.
 *
 * @throws {InvalidRequestError} If no project is named.
 */
export function locationPath(settings: VertexSettings, version = "v1"): string {
  const project = projectOf(settings);
  if (project !== undefined) return `/${version}/projects/${project}/locations/${settings.region}`;
  throw new InvalidRequestError("Cannot call vertex-ai: set the project in x-gateway-vertex-project-id", {
    param: "x-gateway-vertex-project-id",
    code: "invalid_header",
  });
}
