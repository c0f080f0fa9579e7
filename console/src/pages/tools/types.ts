import type { AnswerOf } from "@/api/client.ts";
import type { RowIn } from "@/resources/types.ts";

/** A tool, prompt or resource of a server or of an integration. */
export type Capability = RowIn<AnswerOf<"GET /v1/mcp-integrations/{slug}/capabilities">>;
