import { InvalidRequestError } from "../../errors.ts";
import type { OperationName } from "../../providers/core/operations.ts";

/** Operations that take tools which run at their provider. */
const operations: ReadonlySet<OperationName> = new Set(["chat", "messages", "responses", "generateContent"]);

/** Tools that run at their provider, by how conversions name those they leave out. */
const serverTool = new RegExp(
  `^(?:web_search_options|tools\\.(?:${[
    // https://platform.openai.com/docs/guides/tools
    "web_search(?:_preview)?(?:_\\d{4}_\\d\\d_\\d\\d)?",
    "file_search",
    "code_interpreter",
    // https://platform.claude.com/docs/en/agents-and-tools/tool-use/overview
    "(?:web_search|web_fetch|code_execution)_\\d{8}",
    // https://ai.google.dev/api/caching#Tool
    "googleSearch",
    "googleSearchRetrieval",
    "enterpriseWebSearch",
    "googleMaps",
    "urlContext",
    "codeExecution",
    "fileSearch",
  ].join("|")}))$`,
);

/** Searches of the web, which the gateway can run. */
const webSearch = /^(?:web_search_options|tools\.(?:web_search|googleSearch|enterpriseWebSearch))/;

/**
 * Refuses a request whose conversion leaves out a tool that runs at its provider: the model would answer without it, and
 * its caller could not see that.
 *
 * @throws {InvalidRequestError} 400 naming the tool.
 */
export function refuseServerTool(member: string, operation: OperationName): void {
  if (!operations.has(operation) || !serverTool.test(member)) return;
  const name = member.replace(/^tools\./, "");
  const search = webSearch.test(member)
    ? "set server_tools.web_search in the config so that the gateway searches, "
    : "";
  throw new InvalidRequestError(
    `Cannot use ${name}: the provider of this model does not have it, and the gateway does not run it. Choose another ` +
      `provider, ${search}or leave it out with drop_params: ["${member}"]`,
    { param: member, code: "unsupported_tool" },
  );
}
