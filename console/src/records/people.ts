import { action, defineResource, optionsOf } from "@/resources/define.ts";
import { showGuardrails, showWorkspace, workspacesWithRoles } from "@/resources/names.tsx";
import {
  allScopes,
  choices,
  descriptionField,
  nameField,
  numbered,
  oneRateLimitField,
  usageLimitsField,
  workspaceRoles,
  workspaceSource,
} from "@/resources/options.ts";
import type { Condition, Field } from "@/resources/types.ts";
import { text } from "@/text/text.ts";

const fields = text.resources.fields;
const settings = text.settings.names;
const ofWorkspaces = text.resources.workspaces;
const ofUsers = text.resources.users;
const ofInvites = text.resources.invites;
const ofTokens = text.resources.scimTokens;
const ofMappings = text.resources.scimMappings;

const camelCase = { page: "currentPage", size: "pageSize", first: 0 } as const;

const guardrailField = <N extends string>(name: N, label: string, ofRecord: boolean): Field<N> => ({
  name,
  label,
  section: ofWorkspaces.ofRequests,
  kind: "multi",
  // stored under their ids; those of a workspace exist once it does
  options: ofRecord
    ? optionsOf("/v1/guardrails", ({ id, name: label }) => ({ value: id, label }), { idAs: "workspace_id" })
    : optionsOf("/v1/admin/v2/guardrails", ({ id, name: label }) => ({ value: id, label }), { idAs: "workspace_id" }),
});

const workspaceFields = (ofRecord: boolean) =>
  [
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
  ] as const satisfies readonly Field[];

const ofUserKeys = { section: ofWorkspaces.ofUserKeys };

/** Settings that a workspace has for itself once the organisation lets it. */
const workspaceSettings = [
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
    options: optionsOf("/v1/configs", ({ name, slug }) => ({ value: slug, label: name }), { idAs: "workspace_id" }),
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
  ...(["user_api_key_auto_create", "user_key_metadata", "user_key_metadata_override"] as const).map(
    (name) => ({ name: `settings.${name}`, label: settings[name] ?? name, ...ofUserKeys, kind: "switch" }) as const,
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
] as const satisfies readonly Field[];

/** Teams and projects: `/v1/admin/workspaces`. */
export const workspaces = defineResource({
  name: "workspaces",
  text: { ...ofWorkspaces, emptyHint: ofWorkspaces.empty },
  workspace: "none",
  list: { path: "/v1/admin/workspaces", paging: numbered },
  id: ({ id }) => id,
  title: ({ name }) => name,
  columns: [
    { label: fields.name, of: ({ name }) => name, track: "minmax(10rem, 2fr)" },
    { label: fields.slug, of: ({ slug }) => slug, kind: "id" },
    { label: fields.description, of: ({ description }) => description, wide: true, track: "minmax(10rem, 2fr)" },
    { label: fields.created, of: ({ created_at }) => created_at, kind: "ago", track: "7rem", wide: true },
  ],
  facts: [
    { label: fields.name, of: ({ name }) => name },
    { label: fields.slug, of: ({ slug }) => slug, kind: "id" },
    { label: fields.description, of: ({ description }) => description, empty: fields.none },
    { label: ofWorkspaces.metadata, of: ({ defaults }) => defaults?.metadata, kind: "json", empty: fields.none },
    {
      label: ofWorkspaces.inputGuardrails,
      of: ({ defaults }) => defaults?.input_guardrails,
      render: ({ id, defaults }) => showGuardrails(id, defaults?.input_guardrails),
      empty: fields.none,
    },
    {
      label: ofWorkspaces.outputGuardrails,
      of: ({ defaults }) => defaults?.output_guardrails,
      render: ({ id, defaults }) => showGuardrails(id, defaults?.output_guardrails),
      empty: fields.none,
    },
    { label: fields.usageLimits, of: ({ usage_limits }) => usage_limits, kind: "settings", empty: fields.noLimit },
    { label: fields.rateLimits, of: ({ rate_limits }) => rate_limits, kind: "settings", empty: fields.noLimit },
    { label: fields.created, of: ({ created_at }) => created_at, kind: "time" },
  ],
  read: "/v1/admin/workspaces/{id}",
  create: { rows: ["POST /v1/admin/workspaces"], fields: workspaceFields(false), made: ({ id }) => id },
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
});

/** The owner of the organisation stays what and where they are. */
const isNoOwner: Condition<{ readonly role: string }> = ({ role }) => role !== "owner";

/** People: `/v1/admin/users`. */
export const users = defineResource({
  name: "users",
  text: { ...ofUsers, emptyHint: ofUsers.empty },
  workspace: "none",
  list: {
    path: "/v1/admin/users",
    paging: camelCase,
    filters: [{ name: "role", label: fields.role, options: choices("owner", "admin", "member") }],
  },
  id: ({ id }) => id,
  title: ({ email }) => email,
  columns: [
    { label: fields.email, of: ({ email }) => email, track: "minmax(12rem, 2fr)" },
    { label: ofUsers.first, of: ({ first_name }) => first_name, wide: true },
    { label: ofUsers.last, of: ({ last_name }) => last_name, wide: true },
    { label: fields.role, of: ({ role }) => role, kind: "word", track: "6rem" },
    { label: fields.created, of: ({ created_at }) => created_at, kind: "ago", track: "7rem", wide: true },
  ],
  facts: [
    { label: fields.email, of: ({ email }) => email },
    { label: ofUsers.first, of: ({ first_name }) => first_name },
    { label: ofUsers.last, of: ({ last_name }) => last_name },
    { label: fields.role, of: ({ role }) => role, kind: "word" },
    { label: fields.id, of: ({ id }) => id, kind: "id" },
    { label: fields.created, of: ({ created_at }) => created_at, kind: "time" },
  ],
  read: "/v1/admin/users/{userId}",
  createAt: { row: "POST /v1/admin/users/invites", to: "/invites/new" },
  update: {
    rows: ["PUT /v1/admin/users/{userId}"],
    fields: [{ name: "role", label: fields.role, kind: "select", required: true, options: choices("admin", "member") }],
    when: isNoOwner,
  },
  remove: { row: "DELETE /v1/admin/users/{userId}", when: isNoOwner },
});

const isPending: Condition<{ readonly status: string }> = ({ status }) => status === "pending";

/** Invitations: `/v1/admin/users/invites`. */
export const invites = defineResource({
  name: "invites",
  text: { ...ofInvites, emptyHint: ofInvites.empty },
  workspace: "none",
  list: {
    path: "/v1/admin/users/invites",
    paging: camelCase,
    filters: [
      { name: "status", label: text.common.status, options: choices("pending", "accepted", "expired", "cancelled") },
    ],
  },
  id: ({ id }) => id,
  title: ({ email }) => email,
  columns: [
    { label: fields.email, of: ({ email }) => email, track: "minmax(12rem, 2fr)" },
    { label: fields.role, of: ({ role }) => role, kind: "word", track: "6rem", wide: true },
    { label: text.common.status, of: ({ status }) => status, kind: "status", track: "7rem" },
    { label: fields.expires, of: ({ expires_at }) => expires_at, kind: "ago", track: "7rem", wide: true },
  ],
  facts: [
    { label: fields.email, of: ({ email }) => email },
    { label: ofUsers.first, of: ({ first_name }) => first_name, empty: fields.none },
    { label: ofUsers.last, of: ({ last_name }) => last_name, empty: fields.none },
    { label: fields.role, of: ({ role }) => role, kind: "word" },
    { label: text.common.status, of: ({ status }) => status, kind: "status" },
    {
      label: ofInvites.workspaces,
      of: ({ workspaces }) => workspaces,
      render: workspacesWithRoles,
      empty: fields.none,
    },
    { label: fields.expires, of: ({ expires_at }) => expires_at, kind: "time" },
    { label: fields.created, of: ({ created_at }) => created_at, kind: "time" },
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
    others: ["workspace_role"],
    secret: ({ invite_link }) => invite_link,
    made: ({ id }) => id,
  },
  remove: { row: "DELETE /v1/admin/users/invites/{inviteId}" },
  actions: [
    action({
      label: ofInvites.resend,
      icon: "invites",
      row: "POST /v1/admin/users/invites/{inviteId}/resend",
      secret: ({ inviteLink }) => inviteLink,
      done: () => ({ message: ofInvites.resent }),
      when: isPending,
    }),
  ],
});

/** Bearer tokens of identity providers: `/v1/admin/scim/tokens`. */
export const scimTokens = defineResource({
  name: "scim-tokens",
  text: { ...ofTokens, emptyHint: ofTokens.empty },
  workspace: "none",
  list: { path: "/v1/admin/scim/tokens" },
  id: ({ id }) => id,
  title: ({ name }) => name,
  columns: [
    { label: fields.name, of: ({ name }) => name },
    { label: ofTokens.token, of: ({ token }) => token, kind: "code" },
    { label: fields.expires, of: ({ expires_at }) => expires_at, kind: "ago", track: "7rem", empty: fields.never },
    { label: fields.created, of: ({ created_at }) => created_at, kind: "ago", track: "7rem", wide: true },
  ],
  create: {
    rows: ["POST /v1/admin/scim/tokens"],
    fields: [nameField, { name: "expires_at", label: fields.expires, kind: "time" }],
    secret: ({ token }) => token,
  },
  remove: { row: "DELETE /v1/admin/scim/tokens/{id}" },
});

/** Groups of identity providers and what their members may do: `/v1/scim/workspaces`. */
export const scimMappings = defineResource({
  name: "scim-groups",
  text: { ...ofMappings, emptyHint: ofMappings.empty },
  workspace: "none",
  list: { path: "/v1/scim/workspaces", paging: { page: "page", size: "page_size", first: 0 } },
  id: ({ id }) => id,
  title: ({ scim_group }) => scim_group,
  columns: [
    { label: ofMappings.group, of: ({ scim_group }) => scim_group },
    { label: fields.workspace, of: ({ workspace_id }) => workspace_id, render: showWorkspace },
    { label: fields.role, of: ({ role }) => role, kind: "word", track: "6rem" },
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
});
