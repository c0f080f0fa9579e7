import type { OfferedTool } from "./client.ts";

const path = { type: "string", description: "A path below the working folder" };

/** Tools of coding agents. */
const coding: readonly OfferedTool[] = [
  {
    name: "Read",
    description: "Reads a file.",
    schema: {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      type: "object",
      properties: { path, limit: { type: "number", exclusiveMinimum: 0 } },
      required: ["path"],
      additionalProperties: false,
    },
  },
  {
    name: "Bash",
    description: "Runs a command.",
    schema: {
      type: "object",
      properties: {
        path,
        timeout: { type: ["integer", "null"] },
        env: { type: "object", additionalProperties: { type: "string" } },
      },
      required: ["path"],
    },
  },
  {
    name: "TodoWrite",
    description: "Writes the list.",
    schema: { type: "object", properties: { items: { type: "array", items: {} } } },
  },
];

/** Schemas of MCP servers that hosts refuse in one form or another. */
const mcp: readonly OfferedTool[] = [
  {
    name: "mcp__notion__search_everything_in_the_workspace_by_words_and_by_filters_of_pages",
    description: "Searches pages.",
    schema: {
      type: "object",
      anyOf: [
        { properties: { query: { type: "string" } }, required: ["query"] },
        { properties: { page: { type: "string" } }, required: ["page"] },
      ],
    },
  },
  {
    name: "mcp__files__anything",
    description: "Takes any value.",
    schema: { type: "object", properties: { value: {}, note: { description: "Anything" }, list: { type: "array" } } },
  },
  {
    name: "mcp__tree__insert",
    description: "Inserts a node.",
    schema: {
      type: "object",
      $defs: {
        node: {
          type: "object",
          properties: { name: { type: "string" }, children: { type: "array", items: { $ref: "#/$defs/node" } } },
        },
      },
      properties: {
        root: { $ref: "#/$defs/node", description: "The root" },
        kind: { const: "tree" },
        mode: { enum: ["a", "b", null] },
      },
      required: ["root", "missing"],
    },
  },
  { name: "mcp__time__now", description: "The time.", schema: { type: "object" } },
  {
    name: "mcp__shapes__draw",
    description: "Draws a shape.",
    schema: {
      oneOf: [
        {
          type: "object",
          properties: { kind: { const: "circle" }, radius: { type: "number" } },
          required: ["kind", "radius"],
        },
        {
          type: "object",
          properties: { kind: { const: "square" }, side: { type: "number" } },
          required: ["kind", "side"],
        },
      ],
    },
  },
];

/** Schemas as servers of MCP declare them: drafts of JSON Schema, tuples, defaults, formats, references and free-form maps. */
const servers: readonly OfferedTool[] = [
  {
    name: "mcp__playwright__browser_take_screenshot",
    description: "Takes a screenshot.",
    schema: {
      $schema: "http://json-schema.org/draft-07/schema#",
      type: "object",
      properties: {
        type: { type: "string", enum: ["png", "jpeg"], default: "png" },
        clip: { type: "array", items: { type: "number" }, minItems: 4, maxItems: 4 },
        fullPage: { type: "boolean", default: false },
      },
      additionalProperties: false,
    },
  },
  {
    name: "mcp__github__create_or_update_a_pull_request_review_comment_in_a_pending_review_of_the_authenticated_user_for_a_line_range",
    description: "Comments on a pull request.",
    schema: {
      type: "object",
      properties: {
        owner: { type: "string", minLength: 1, maxLength: 39, pattern: "^[a-z-]+$" },
        line: { type: "integer", minimum: 1, exclusiveMaximum: 100_000 },
        side: { type: "string", enum: ["LEFT", "RIGHT", ""] },
        labels: { type: "array", items: { type: "string" }, uniqueItems: true },
        url: { type: "string", format: "uri" },
        due: { anyOf: [{ type: "string", format: "date-time" }, { type: "null" }], default: null },
      },
      required: ["owner", "line"],
    },
  },
  {
    name: "mcp__notion__patch_page",
    description: "Changes a page.",
    schema: {
      type: "object",
      properties: {
        page_id: { $ref: "#/definitions/uuid" },
        properties: {
          type: "object",
          patternProperties: { "^.*$": { type: "object", additionalProperties: true } },
          propertyNames: { maxLength: 100 },
        },
        parent: {
          oneOf: [
            { type: "object", properties: { type: { const: "page" }, id: { $ref: "#/definitions/uuid" } } },
            { type: "object", properties: { type: { const: "workspace" } } },
          ],
        },
      },
      required: ["page_id"],
      definitions: { uuid: { type: "string", format: "uuid", description: "An id" } },
    },
  },
  {
    name: "mcp__postgres__query",
    description: "Runs a query.",
    schema: {
      type: "object",
      title: "query_input",
      properties: {
        sql: { type: "string", title: "Sql" },
        params: { type: "array", prefixItems: [{ type: "string" }, { type: "number" }], items: true },
        row: { type: "array", items: [{ type: "string" }, { type: "integer" }] },
        limit: { type: ["integer", "string", "null"], default: 10, examples: [10, "all"] },
        flags: { allOf: [{ type: "object", properties: { dry: { type: "boolean" } } }, { description: "Flags" }] },
        when: { if: { properties: { dry: { const: true } } }, then: { required: ["dry"] }, type: "object" },
      },
      required: ["sql"],
      additionalProperties: { not: { type: "null" } },
    },
  },
];

const group = "mcp__a_server_whose_name_an_agent_chose";
const grammar = 'start: "*** Begin Patch" LF /(.|\\n)+/ "*** End Patch"';

/** Tools as Codex offers them: free text by a grammar, and groups of tools. */
const grouped: readonly OfferedTool[] = [
  {
    name: "exec_command",
    description: "Runs a command in a terminal.",
    schema: {
      type: "object",
      properties: { cmd: { type: "string" }, yield_time_ms: { type: "number" } },
      required: ["cmd"],
      additionalProperties: false,
    },
  },
  {
    name: "apply_patch",
    description: "Edits files by a patch.",
    isCustom: true,
    schema: {
      type: "object",
      properties: { input: { type: "string", description: grammar } },
      required: ["input"],
      additionalProperties: false,
    },
  },
  ...["search_pages", "read_page"].map((name) => ({
    name: `${group}__${name}`,
    namespace: group,
    description: `Does ${name} at a server.`,
    schema: { type: "object", properties: { query: { type: "string" } } },
  })),
];

/** Sets of tools that clients offer. */
export const toolSets: readonly (readonly OfferedTool[])[] = [
  coding,
  mcp,
  [...coding, ...mcp],
  [...coding, ...servers],
  grouped,
];

/** Name of a tool in its group. */
export const shortName = ({ name, namespace }: OfferedTool): string =>
  namespace === undefined ? name : name.slice(namespace.length + 2);
