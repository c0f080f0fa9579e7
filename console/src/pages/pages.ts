import type { ComponentType } from "react";
import type { ApiRow } from "@/api/client.ts";
import type { IconName } from "@/components/icons.tsx";
import type { NavGroup } from "@/layout/nav-groups.ts";
import type { text } from "@/text/frame.ts";
import Home from "./home.tsx";

/** Names of words of the navigation. */
type NavWord = Exclude<keyof typeof text.nav, "records">;

/** A page that is not one of the resources of `resources/all.ts`. */
export interface PageEntry {
  /** Address below `/console`; `$name` is a parameter. */
  readonly path: string;
  /** Rows of the API the page needs: it is shown where the viewer may call the first. */
  readonly rows: readonly ApiRow[];
  readonly load: () => Promise<{ readonly default: ComponentType }>;
  /** Place in the navigation; left out for pages that are reached from others. */
  readonly nav?: { readonly group: NavGroup; readonly word: NavWord; readonly icon: IconName };
  /** The words for what opening it does, as the command palette offers it: `Create prompt`. */
  readonly action?: NavWord;
}

/** Every page with code of its own. Adding one: its file with a default export, and a row here. */
export const pages: readonly PageEntry[] = [
  {
    path: "/",
    rows: ["GET /v1/analytics/summary/requests"],
    load: async () => ({ default: Home }),
    nav: { group: "observe", word: "overview", icon: "overview" },
  },
  {
    path: "/logs",
    rows: ["GET /v1/logs"],
    load: () => import("./logs/logs.tsx"),
    nav: { group: "observe", word: "logs", icon: "logs" },
  },
  {
    path: "/analytics",
    rows: ["GET /v1/analytics/graphs/requests"],
    load: () => import("./analytics/analytics.tsx"),
    nav: { group: "observe", word: "analytics", icon: "analytics" },
  },
  {
    path: "/health",
    rows: ["GET /v1/health/summary"],
    load: () => import("./health/health.tsx"),
    nav: { group: "observe", word: "health", icon: "health" },
  },
  { path: "/logs/$id", rows: ["GET /v1/logs/{id}"], load: () => import("./logs/log.tsx") },
  {
    path: "/sessions",
    rows: ["GET /v1/sessions"],
    load: () => import("./sessions/sessions.tsx"),
    nav: { group: "observe", word: "sessions", icon: "batches" },
  },
  { path: "/sessions/$id", rows: ["GET /v1/sessions"], load: () => import("./sessions/session.tsx") },
  { path: "/traces/$id", rows: ["GET /v1/logs"], load: () => import("./traces/trace.tsx") },
  {
    path: "/playground",
    rows: [],
    load: () => import("./playground/playground.tsx"),
    nav: { group: "build", word: "playground", icon: "playground" },
  },
  {
    path: "/prompts",
    rows: ["GET /v1/prompts"],
    load: () => import("./prompts/list.tsx"),
    nav: { group: "build", word: "prompts", icon: "prompts" },
  },
  {
    path: "/prompts/new",
    rows: ["POST /v1/prompts"],
    load: () => import("./prompts/new.tsx"),
    action: "newPrompt",
  },
  { path: "/prompts/$id", rows: ["GET /v1/prompts/{id}"], load: () => import("./prompts/detail.tsx") },
  {
    path: "/configs",
    rows: ["GET /v1/configs"],
    load: () => import("./configs/list.tsx"),
    nav: { group: "build", word: "configs", icon: "configs" },
  },
  {
    path: "/configs/new",
    rows: ["POST /v1/configs"],
    load: () => import("./configs/new.tsx"),
    action: "newConfig",
  },
  { path: "/configs/$slug", rows: ["GET /v1/configs/{slug}"], load: () => import("./configs/detail.tsx") },
  {
    path: "/models",
    rows: ["GET /v1/models"],
    load: () => import("./models/models.tsx"),
    nav: { group: "connect", word: "models", icon: "models" },
  },
  {
    path: "/mcp-servers/$id/capability",
    rows: ["GET /v1/mcp-servers/{slug}/capabilities"],
    load: async () => ({ default: (await import("./tools/capability.tsx")).ServerCapability }),
  },
  {
    path: "/mcp-integrations/$id/capability",
    rows: ["GET /v1/mcp-integrations/{slug}/capabilities"],
    load: async () => ({ default: (await import("./tools/capability.tsx")).IntegrationCapability }),
  },
  {
    path: "/settings",
    rows: ["GET /v1/organisations/{id}"],
    load: () => import("./organisation/settings.tsx"),
    nav: { group: "organisation", word: "settings", icon: "settings" },
  },
  {
    path: "/audit",
    rows: ["GET /v1/audit-logs"],
    load: () => import("./organisation/audit.tsx"),
    nav: { group: "organisation", word: "audit", icon: "audit" },
  },
];
