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

/** Sets of tools that clients offer. */
export const toolSets: readonly (readonly OfferedTool[])[] = [coding, mcp, [...coding, ...mcp]];
