import { guardrailsAt, workspaceAt, workspacesWithRoles } from "@/resources/names.tsx";
import {
  allScopes,
  choices,
  descriptionField,
  guardrailSource,
  nameField,
  numbered,
  oneRateLimitField,
  usageLimitsField,
  workspaceRoles,
  workspaceSource,
} from "@/resources/options.ts";
import type { Condition, Field, Resource } from "@/resources/types.ts";
import { text } from "@/text/text.ts";

const fields = text.resources.fields;
const settings = text.settings.names;
const ofWorkspaces = text.resources.workspaces;
const ofUsers = text.resources.users;
const ofInvites = text.resources.invites;
const ofTokens = text.resources.scimTokens;
const ofMappings = text.resources.scimMappings;

const camelCase = { page: "currentPage", size: "pageSize", first: 0 } as const;

const guardrailField = (name: string, label: string, ofRecord: boolean): Field => ({
  name,
  label,
  section: ofWorkspaces.ofRequests,
  kind: "multi",
  // stored under their ids; those of a workspace exist once it does
  options: { ...guardrailSource, value: "id", ...(ofRecord && { path: "/v1/guardrails" }) },
});

const workspaceFields = (ofRecord: boolean): readonly Field[] => [
  nameField,
  descriptionField,
  {
    name: "defaults.metadata",
    label: ofWorkspaces.metadata,
    help: ofWorkspaces.metadataHelp,
    section: ofWorkspaces.ofRequests,
    kind: "pairs",
  },
  guardrailField("defaults.input_guardrails", ofWorkspaces.inputGuardrails, ofRecord),
  guardrailField("defaults.output_guardrails", ofWorkspaces.outputGuardrails, ofRecord),
  { ...usageLimitsField, section: ofWorkspaces.limits },
  { ...oneRateLimitField, section: ofWorkspaces.limits },
];

const ofUserKeys = { section: ofWorkspaces.ofUserKeys };

/** Settings that a workspace has for itself once the organisation lets it. */
const workspaceSettings: readonly Field[] = [
  { name: "settings.debug_log", label: settings.debug_log ?? "", section: ofWorkspaces.ofLogs, kind: "switch" },
  {
    name: "data_plane_security_settings.block_inline_config",
    label: settings["data_plane_security_settings.block_inline_config"] ?? "",
    section: ofWorkspaces.ofLogs,
    kind: "switch",
  },
  {
    name: "defaults.user_api_key_config",
    label: ofWorkspaces.userKeyConfig,
    ...ofUserKeys,
    kind: "select",
    options: { path: "/v1/configs", value: "slug", label: "name", idAs: "workspace_id" },
  },
  {
    name: "settings.user_api_key_count",
    label: settings.user_api_key_count ?? "",
    ...ofUserKeys,
    kind: "number",
    none: -1,
    placeholder: fields.noLimit,
  },
  {
    name: "settings.user_api_key_ttl",
    label: settings.user_api_key_ttl ?? "",
    ...ofUserKeys,
    kind: "number",
    none: 0,
    placeholder: fields.never,
    unit: text.durations.days,
  },
  {
    name: "settings.user_api_key_max_ttl",
    label: settings.user_api_key_max_ttl ?? "",
    ...ofUserKeys,
    kind: "number",
    none: 0,
    placeholder: fields.noLimit,
    unit: text.durations.days,
  },
  ...["user_api_key_auto_create", "user_key_metadata", "user_key_metadata_override"].map(
    (name): Field => ({ name: `settings.${name}`, label: settings[name] ?? name, ...ofUserKeys, kind: "switch" }),
  ),
  {
    name: "security_settings",
    label: settings.security_settings ?? "",
    help: ofWorkspaces.openHelp,
    section: ofWorkspaces.roles,
    kind: "own",
    input: async () => ({ default: (await import("@/resources/permissions-input.tsx")).PermissionsInput }),
    isMerged: true,
  },
];

/** Teams and projects: `/v1/admin/workspaces`. */
export const workspaces: Resource = {
  name: "workspaces",
  group: "organisation",
  icon: "workspaces",
  text: { ...ofWorkspaces, emptyHint: ofWorkspaces.empty },
  workspace: "none",
  list: { path: "/v1/admin/workspaces", paging: numbered },
  id: "id",
  title: "name",
  columns: [
    { label: fields.name, path: "name", track: "minmax(10rem, 2fr)" },
    { label: fields.slug, path: "slug", kind: "code" },
    { label: fields.description, path: "description", wide: true, track: "minmax(10rem, 2fr)" },
    { label: fields.created, path: "created_at", kind: "ago", track: "7rem", wide: true },
  ],
  facts: [
    { label: fields.name, path: "name" },
    { label: fields.slug, path: "slug", kind: "code" },
    { label: fields.description, path: "description", empty: fields.none },
    { label: ofWorkspaces.metadata, path: "defaults.metadata", kind: "json", empty: fields.none },
    {
      label: ofWorkspaces.inputGuardrails,
      path: "defaults.input_guardrails",
      render: guardrailsAt("defaults.input_guardrails"),
      empty: fields.none,
    },
    {
      label: ofWorkspaces.outputGuardrails,
      path: "defaults.output_guardrails",
      render: guardrailsAt("defaults.output_guardrails"),
      empty: fields.none,
    },
    { label: fields.usageLimits, path: "usage_limits", kind: "settings", empty: fields.noLimit },
    { label: fields.rateLimits, path: "rate_limits", kind: "settings", empty: fields.noLimit },
    { label: fields.created, path: "created_at", kind: "time" },
  ],
  read: "/v1/admin/workspaces/{id}",
  create: { rows: ["POST /v1/admin/workspaces"], fields: workspaceFields(false) },
  update: { rows: ["PUT /v1/admin/workspaces/{id}"], fields: [...workspaceFields(true), ...workspaceSettings] },
  remove: {
    row: "DELETE /v1/admin/workspaces/{id}",
    body: ({ name }) => ({ name }),
    when: ({ is_default }) => is_default !== 1,
  },
  sections: [
    {
      title: ofWorkspaces.members,
      row: "GET /v1/admin/workspaces/{id}/users",
      load: () => import("@/resources/sections/members.tsx"),
    },
  ],
};

/** The owner of the organisation stays what and where they are. */
const isNoOwner: Condition = ({ role }) => role !== "owner";

/** People: `/v1/admin/users`. */
export const users: Resource = {
  name: "users",
  group: "organisation",
  icon: "users",
  text: { ...ofUsers, emptyHint: ofUsers.empty },
  workspace: "none",
  list: {
    path: "/v1/admin/users",
    paging: camelCase,
    filters: [{ name: "role", label: fields.role, options: choices("owner", "admin", "member") }],
  },
  id: "id",
  title: "email",
  columns: [
    { label: fields.email, path: "email", track: "minmax(12rem, 2fr)" },
    { label: ofUsers.first, path: "first_name", wide: true },
    { label: ofUsers.last, path: "last_name", wide: true },
    { label: fields.role, path: "role", kind: "word", track: "6rem" },
    { label: fields.created, path: "created_at", kind: "ago", track: "7rem", wide: true },
  ],
  facts: [
    { label: fields.email, path: "email" },
    { label: ofUsers.first, path: "first_name" },
    { label: ofUsers.last, path: "last_name" },
    { label: fields.role, path: "role", kind: "word" },
    { label: fields.id, path: "id", kind: "code" },
    { label: fields.created, path: "created_at", kind: "time" },
  ],
  read: "/v1/admin/users/{userId}",
  createAt: { row: "POST /v1/admin/users/invites", to: "/invites/new" },
  update: {
    rows: ["PUT /v1/admin/users/{userId}"],
    fields: [{ name: "role", label: fields.role, kind: "select", required: true, options: choices("admin", "member") }],
    when: isNoOwner,
  },
  remove: { row: "DELETE /v1/admin/users/{userId}", when: isNoOwner },
};

/** Invitations: `/v1/admin/users/invites`. */
export const invites: Resource = {
  name: "invites",
  group: "organisation",
  icon: "invites",
  text: { ...ofInvites, emptyHint: ofInvites.empty },
  workspace: "none",
  list: {
    path: "/v1/admin/users/invites",
    paging: camelCase,
    filters: [
      { name: "status", label: text.common.status, options: choices("pending", "accepted", "expired", "cancelled") },
    ],
  },
  id: "id",
  title: "email",
  columns: [
    { label: fields.email, path: "email", track: "minmax(12rem, 2fr)" },
    { label: fields.role, path: "role", kind: "word", track: "6rem", wide: true },
    { label: text.common.status, path: "status", kind: "status", track: "7rem" },
    { label: fields.expires, path: "expires_at", kind: "ago", track: "7rem", wide: true },
  ],
  facts: [
    { label: fields.email, path: "email" },
    { label: ofUsers.first, path: "first_name", empty: fields.none },
    { label: ofUsers.last, path: "last_name", empty: fields.none },
    { label: fields.role, path: "role", kind: "word" },
    { label: text.common.status, path: "status", kind: "status" },
    { label: ofInvites.workspaces, path: "workspaces", render: workspacesWithRoles, empty: fields.none },
    { label: fields.expires, path: "expires_at", kind: "time" },
    { label: fields.created, path: "created_at", kind: "time" },
  ],
  read: "/v1/admin/users/invites/{inviteId}",
  create: {
    rows: ["POST /v1/admin/users/invites"],
    fields: [
      { name: "email", label: fields.email, kind: "text", required: true },
      {
        name: "role",
        label: fields.role,
        kind: "select",
        required: true,
        initial: "member",
        options: choices("admin", "member"),
      },
      {
        name: "workspaces",
        label: ofInvites.workspaces,
        kind: "multi",
        placeholder: ofInvites.noWorkspaces,
        options: workspaceSource,
      },
      {
        name: "workspace_role",
        label: ofInvites.workspaceRole,
        kind: "select",
        required: true,
        initial: "member",
        options: workspaceRoles,
        when: ({ workspaces: chosen }) => Array.isArray(chosen) && chosen.length > 0,
      },
      {
        name: "workspace_api_key_details.scopes",
        label: ofInvites.keyScopes,
        kind: "multi",
        placeholder: ofInvites.noKey,
        options: allScopes,
      },
      { name: "first_name", label: ofUsers.first, kind: "text" },
      { name: "last_name", label: ofUsers.last, kind: "text" },
    ],
    toBody({ workspaces: ids, workspace_role: workspaceRole, ...body }) {
      // the JSON of the form has what the API takes already
      const workspaces = (Array.isArray(ids) ? ids : []).map((id) =>
        typeof id === "string" ? { id, role: workspaceRole } : id,
      );
      return { ...body, workspaces };
    },
    secret: ["invite_link"],
  },
  remove: { row: "DELETE /v1/admin/users/invites/{inviteId}" },
  actions: [
    {
      label: ofInvites.resend,
      icon: "invites",
      row: "POST /v1/admin/users/invites/{inviteId}/resend",
      secret: ["inviteLink"],
      done: () => ({ message: ofInvites.resent }),
      when: ({ status }) => status === "pending",
    },
  ],
};

/** Bearer tokens of identity providers: `/v1/admin/scim/tokens`. */
export const scimTokens: Resource = {
  name: "scim-tokens",
  group: "organisation",
  icon: "sync",
  text: { ...ofTokens, emptyHint: ofTokens.empty },
  workspace: "none",
  list: { path: "/v1/admin/scim/tokens" },
  id: "id",
  title: "name",
  columns: [
    { label: fields.name, path: "name" },
    { label: ofTokens.token, path: "token", kind: "code" },
    { label: fields.expires, path: "expires_at", kind: "ago", track: "7rem", empty: fields.never },
    { label: fields.created, path: "created_at", kind: "ago", track: "7rem", wide: true },
  ],
  create: {
    rows: ["POST /v1/admin/scim/tokens"],
    fields: [nameField, { name: "expires_at", label: fields.expires, kind: "time" }],
    secret: ["token"],
  },
  remove: { row: "DELETE /v1/admin/scim/tokens/{id}" },
};

/** Groups of identity providers and what their members may do: `/v1/scim/workspaces`. */
export const scimMappings: Resource = {
  name: "scim-groups",
  group: "organisation",
  icon: "groups",
  text: { ...ofMappings, emptyHint: ofMappings.empty },
  workspace: "none",
  list: { path: "/v1/scim/workspaces", paging: { page: "page", size: "page_size", first: 0 } },
  id: "id",
  title: "scim_group",
  columns: [
    { label: ofMappings.group, path: "scim_group" },
    { label: fields.workspace, path: "workspace_id", render: workspaceAt("workspace_id") },
    { label: fields.role, path: "role", kind: "word", track: "6rem" },
  ],
  create: {
    rows: ["POST /v1/scim/workspaces"],
    fields: [
      { name: "workspace_id", label: fields.workspace, kind: "select", required: true, options: workspaceSource },
      { name: "role", label: fields.role, kind: "select", required: true, initial: "member", options: workspaceRoles },
      { name: "scim_group_name", label: ofMappings.group, help: ofMappings.groupHelp, kind: "text" },
      { name: "scim_group_id", label: ofMappings.groupId, kind: "text" },
    ],
  },
  remove: { row: "DELETE /v1/scim/workspaces/{id}" },
};
