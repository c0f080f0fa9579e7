import { resolve } from "node:path";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

/** Parts of the log and of records that pages without a form have too. */
const isShared =
  /[\\/]src[\\/](?:pages[\\/]logs[\\/](?:columns|row|time-filter|filter|analytics-filters|logs\.module|views[\\/](?:data|local|question|views))|resources[\\/](?:health|key-names|scope-presets))/;

/** What pages without a form are made of: no part of an editor, a chart, Markdown or a form. */
function isPart(id: string): boolean {
  if (/[\\/](?:drawn-chart|code-diff|code-mirror|markdown|json-schema)\.tsx?$/.test(id)) return false;
  if (isShared.test(id)) return true;
  if (/[\\/](?:NumberInput|MultiSelect|TagsInput|Textarea)[\\/]/.test(id)) return false;
  if (/[\\/]console[\\/]src[\\/]/.test(id)) return !/[\\/]src[\\/](?:pages|records|resources|chat)[\\/]/.test(id);
  return /[\\/]node_modules[\\/](?:@mantine[\\/](?!charts)|@floating-ui|@tanstack|react-(?:remove|style|transition))/.test(
    id,
  );
}

/** What forms and pages of records are made of. */
const isForm =
  /[\\/](?:src[\\/](?:resources|records|chat)[\\/]|(?:NumberInput|MultiSelect|TagsInput|Textarea)[\\/]|react-number-format|react-textarea)/;

/** The code editor, and the parts of configs that pages of configs, prompts and the playground have. */
const isEditor =
  /[\\/](?:@codemirror|@lezer|code-mirror\.tsx|json-schema\.ts)|[\\/]pages[\\/](?:configs[\\/](?!(?:configs|list|detail|new)\.)|playground[\\/](?:choices|model-field))/;

/** Pages of a prompt, which share most of their parts. */
const isPrompting =
  /[\\/]pages[\\/](?:prompts[\\/](?:prompt-editor|labels-of|detail|new)\.|playground[\\/]tools-field)/;

/** Tabs of MCP servers and integrations, of which a page shows several at once. */
const isTab = /[\\/]sections[\\/](?:capabilities|connections|integration-access|mcp-connect|models|user-access)\./;

const gateway = process.env.GATEWAY_URL ?? "http://127.0.0.1:8787";

// `vite` alone serves the sources for development and passes everything that is not the console to a gateway.
// A build names its files by where they stand: a gateway may be below a path of a proxy.
export default defineConfig(({ command }) => ({
  base: command === "build" ? "./" : "/console/",
  plugins: [react()],
  resolve: { alias: { "@": resolve(import.meta.dirname, "src") } },
  build: {
    outDir: resolve(import.meta.dirname, "../dist/console"),
    emptyOutDir: true,
    // Fonts stay files: the Content-Security-Policy takes no data URL for scripts or styles.
    assetsInlineLimit: 0,
    target: "es2023",
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 900,
    // Few files, so that a page is not many requests: what the frame and the overview need, what other pages share, and a
    // file for each page. Editors, charts and Markdown stay apart, and are loaded where they are shown.
    cssCodeSplit: false,
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [
            { name: "frame", tags: ["$initial"], priority: 3 },
            { name: "parts", test: isPart, minShareCount: 2, priority: 2 },
            { name: "forms", test: isForm, minShareCount: 2, priority: 1 },
            { name: "analytics", test: /[\\/]pages[\\/]analytics[\\/]/, priority: 1 },
            { name: "editor", test: isEditor, priority: 1 },
            { name: "prompting", test: isPrompting, priority: 0 },
            { name: "tabs", test: isTab, priority: 0 },
          ],
        },
      },
    },
  },
  server: {
    port: 5173,
    proxy: { "^/(?!console/(?!session|sign-in)|console$)": { target: gateway, changeOrigin: true } },
  },
}));
