import * as v from "valibot";
import { Text } from "./control.ts";
import { maxSearchResults } from "./search.ts";

const whole = (minimum: number, maximum: number) =>
  v.pipe(
    v.number("must be a number"),
    v.integer("must be a whole number"),
    v.minValue(minimum, `must be at least ${minimum}`),
    v.maxValue(maximum, `must be at most ${maximum}`),
  );

/** `server_tools.web_search` of a config. */
export const webSearchMembers = {
  /** Searches with this model of `POST /search`: `@provider/model`, an alias or the slug of a config. */
  model: Text(256),
  /** In place of a model: a tool of an MCP server of the workspace. It is read separately. */
  mcp: v.record(v.string(), v.unknown(), "must be an object"),
  /** `missing`: only where a target cannot search itself. Default. */
  run: v.picklist(["missing", "always"], "must be missing or always"),
  /** Searches of one request. Default: 8. */
  max_uses: whole(1, 100),
  /** Results of one search. Default: 5. */
  max_results: whole(1, maxSearchResults),
  /** Characters of one result. Default: 3,000. */
  max_characters: whole(100, 50_000),
  /** Milliseconds of one search. Default: 10,000. */
  timeout: whole(100, 120_000),
} satisfies Record<string, v.GenericSchema>;

/** `server_tools.web_search.mcp`. */
export const searchToolMembers = {
  /** Slug of the server. */
  server: Text(256),
  /** Name of the tool. */
  tool: Text(256),
  /** Argument that takes the query. Default: `query`. */
  argument: Text(256),
} satisfies Record<string, v.GenericSchema>;

/** `server_tools.file_search` of a config. */
export const fileSearchMembers = {
  /** What makes the vectors of new vector stores: `@provider/model`, an alias or the slug of a config. */
  embeddings: Text(256),
  /** Numbers of their vectors. Default: 256 where the model can make them so short, else as many as it makes. */
  dimensions: whole(8, 4_096),
} satisfies Record<string, v.GenericSchema>;
