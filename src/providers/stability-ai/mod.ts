import * as v from "valibot";
import { defineProvider } from "../core/define.ts";
import { bearer } from "../core/headers.ts";
import { generateImage, serviceOf } from "./images.ts";

/** Stability AI (https://platform.stability.ai/docs/api-reference). */
export const stability = defineProvider({
  slug: "stability-ai",
  settings: {
    prefix: "stability",
    schema: v.object({
      organization: v.optional(v.string()),
      client_id: v.optional(v.string()),
      client_user_id: v.optional(v.string()),
      client_version: v.optional(v.string()),
    }),
  },
  baseUrl: "https://api.stability.ai",
  authenticate: (credential, { organization, client_id, client_user_id, client_version }) => ({
    ...bearer(credential),
    ...(organization !== undefined && { organization }),
    ...(client_id !== undefined && { "stability-client-id": client_id }),
    ...(client_user_id !== undefined && { "stability-client-user-id": client_user_id }),
    ...(client_version !== undefined && { "stability-client-version": client_version }),
  }),
  models: {
    canonical(model) {
      const service = serviceOf(model);
      return service === undefined || service === "sd3" ? model : service;
    },
    inPath(path) {
      const [, engine] = /(?:^|\/)generation\/([^/]+)/i.exec(path) ?? [];
      const [, service] = /(?:^|\/)v2beta\/(?:stable-image\/generate\/)?(.+)$/i.exec(path) ?? [];
      // the form selects one of them
      return service === "sd3" ? null : (engine ?? service);
    },
  },
  operations: { generateImage },
});
