import { objectsIn } from "../../lib/json.ts";
import { type Line, readLines } from "../../lib/lines.ts";
import type { BatchError } from "../../schemas/batches.ts";
import { isOwnLabel } from "../facts/server-labels.ts";
import { isOwnFileTool } from "../facts/store-ids.ts";
import { batchEndpoints, isBlank, maxLineBytes, parseLine } from "./lines.ts";

/** Most requests of a batch, and most problems that are listed. */
const maxRequests = 50_000;
const maxProblems = 100;

/** What the input of a batch holds. */
export interface CheckedInput {
  requests: number;
  /** The first problems, in the order of the lines. */
  problems: BatchError[];
  /** Models and routes the lines name; a line without a route has that of the batch. At most two of each. */
  models: ReadonlySet<string>;
  urls: ReadonlySet<string>;
  /** A line has a tool that the gateway alone runs. */
  hasOwnTools: boolean;
}

/** Defaults for lines that leave them out. */
interface LineDefaults {
  endpoint: string;
  model: string | null;
}

/** Whether a request names a vector store of the gateway, or an MCP server of the workspace. */
function offersOwnTool({ tools }: Readonly<Record<string, unknown>>): boolean {
  return objectsIn(tools).some((tool) => isOwnFileTool(tool) || isOwnLabel(tool.server_label));
}

/** Reads the whole input of a batch and reports what is wrong with it. */
export async function checkInput(
  content: AsyncIterable<Uint8Array>,
  { endpoint, model: usual }: LineDefaults,
): Promise<CheckedInput> {
  const models = new Set<string>();
  const urls = new Set<string>();
  if (!batchEndpoints.includes(endpoint)) {
    const message = `The endpoint must be a route batches can call: ${batchEndpoints.join(", ")}`;
    return {
      requests: 0,
      problems: [{ code: "invalid_endpoint", message, param: "endpoint", line: null }],
      models,
      urls,
      hasOwnTools: false,
    };
  }
  const known = new Set<string>();
  const problems: BatchError[] = [];
  let number = 0;
  let hasOwnTools = false;
  const look = (line: Line) => {
    const parsed = parseLine(line, endpoint);
    if ("problem" in parsed) {
      problems.push({ ...parsed.problem, line: number });
    } else if (known.has(parsed.request.custom_id)) {
      const message = `The custom_id ${JSON.stringify(parsed.request.custom_id)} is also on an earlier line`;
      problems.push({ code: "duplicate_custom_id", message, param: "custom_id", line: number });
    } else {
      known.add(parsed.request.custom_id);
      const { model = usual } = parsed.request.body;
      if (typeof model === "string" && models.size < 2) models.add(model);
      if (urls.size < 2) urls.add(parsed.url);
      hasOwnTools ||= offersOwnTool(parsed.request.body);
    }
  };
  for await (const line of readLines(content, { maxBytes: maxLineBytes })) {
    number++;
    if (!isBlank(line)) look(line);
    if (known.size > maxRequests) {
      problems.push({
        code: "too_many_requests",
        message: `There are more than ${maxRequests}`,
        param: null,
        line: number,
      });
    }
    if (problems.length >= maxProblems || known.size > maxRequests) break;
  }
  if (known.size === 0 && problems.length === 0) {
    problems.push({ code: "empty_file", message: "The input holds no request", param: "input_file_id", line: null });
  }
  return { requests: known.size, problems, models, urls, hasOwnTools };
}
